/* A chart as `chart_data` describes it, drawn with Apache ECharts. Horizontal charts have a row for each name: x runs
 * down and y, what is measured, to the right. */

const MARKERS = {
  circle: "M8 2a6 6 0 1 0 0.001 0z",
  square: "M3 3h10v10h-10z",
  diamond: "M8 1l6.5 7-6.5 7-6.5-7z",
  triangle: "M8 2l6.5 11.5h-13z",
  "triangle-down": "M8 14l6.5-11.5h-13z",
  "triangle-left": "M2 8l11.5-6.5v13z",
  "triangle-right": "M14 8l-11.5-6.5v13z",
  plus: "M6 2h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
  cross: "M4.5 1.7l3.5 3.5 3.5-3.5 2.8 2.8-3.5 3.5 3.5 3.5-2.8 2.8-3.5-3.5-3.5 3.5-2.8-2.8 3.5-3.5-3.5-3.5z",
  hexagon: "M8 1.5l5.6 3.25v6.5l-5.6 3.25-5.6-3.25v-6.5z",
  pentagon: "M8 1.5l6.4 4.7-2.4 7.5h-8l-2.4-7.5z",
  star: "M8 1l2.1 4.6 5 .5-3.8 3.3 1.1 4.9-4.4-2.6-4.4 2.6 1.1-4.9-3.8-3.3 5-.5z",
};
const DASHES = { solid: "solid", dashed: [7, 4], dotted: [2, 3] };
const END_LABEL_WIDTH = 640; // of a chart that has room for the names of many lines at their ends
const MAX_LEGEND_LINES = 3; // a chart with more names its lines at their ends where there is room
const MAX_MARKERS = 14; // of a line that has a marker at each point
const ZOOMED_AXES = ["xAxisIndex", "yAxisIndex"];
const RESET_ICON = "path://M5 3v6h6M5.6 9a8 8 0 1 1-.8 5"; // an arrow that turns back

class ChartView {
  constructor(host, chart) {
    this.chart = chart;
    this.isHorizontal = chart.rows.length > 0;
    this.scales = { x: scaleOf(chart.xLog), y: scaleOf(chart.yLog) };
    this.zoom = null; // what is enlarged, as values on the axes: {x: [low, high], y: [low, high]}
    this.canvas = element("div", { class: "canvas", role: "img", tabindex: "0", "aria-label": chart.description });
    host.replaceChildren(this.canvas);
    host.classList.remove("waiting");
    Object.assign(
      this,
      mountPlot(this.canvas, (theme, width) => this.build(theme, width)),
    );
    this.plot.on("datazoom", () => this.readZoom());
    this.canvas.addEventListener("keydown", (event) => this.pressKey(event));
    for (const name of ["wheel", "mousewheel"])
      this.canvas.addEventListener(name, keepScrolling, { capture: true, passive: true });
  }

  // ---- the whole drawing

  build(theme, width) {
    const { chart, isHorizontal } = this;
    const named = chart.lines.filter((line) => line.label && (line.kind === "line" || line.kind === "reference"));
    const hasEndLabels = named.length > MAX_LEGEND_LINES && width >= END_LABEL_WIDTH && !isHorizontal;
    const inLegend = chart.lines.filter((line) => line.label && !(hasEndLabels && named.includes(line)));
    const names = [...new Set(inLegend.map((line) => line.label))];
    const legend = this.legend(names.length > 1 || hasEndLabels ? names : [], width, theme);
    const longest = Math.max(...named.map((line) => textWidth(line.label, fontOf(line))));
    const right = hasEndLabels ? Math.min(longest + 30, Math.round(width * 0.34)) : 16;
    const markRows = Math.min(chart.marks.filter((mark) => mark.label && this.isVertical(mark)).length, 2);
    const top = 30 + 15 * markRows;
    const height = isHorizontal
      ? top + 54 + legend.height + 30 * chart.rows.length
      : Math.min(Math.max(Math.round(width * 0.5), 250), 420) + legend.height;
    const endLabels = hasEndLabels ? { left: width - right + 14, width: right - 16 } : null;
    const series = chart.lines.flatMap((line, place) => this.lineSeries(line, place, theme, endLabels));
    const [across, up] = [this.axis("x", theme, width - right), this.axis("y", theme, height - top)];
    return {
      height,
      option: {
        title: {
          text: isHorizontal ? chart.xLabel : chart.yLabel,
          left: 0,
          top: 4,
          textStyle: {
            color: theme.colour("muted"),
            fontSize: 13,
            fontWeight: "normal",
            width: width - 120, // beside the icons
            overflow: "truncate",
          },
        },
        grid: {
          left: 2,
          right,
          top,
          bottom: 30 + legend.height,
          outerBoundsMode: "same",
          outerBoundsContain: "axisLabel",
        },
        xAxis: isHorizontal ? up : across,
        yAxis: isHorizontal ? across : up,
        legend: legend.option,
        tooltip: this.tooltip(theme),
        toolbox: this.toolbox(theme),
        dataZoom: ZOOMED_AXES.map((axis) => ({
          id: axis,
          type: "inside",
          [axis]: 0,
          filterMode: "none",
          moveOnMouseMove: false,
          preventDefaultMouseMove: false,
        })),
        series: [...series, this.markSeries(theme, width - right - 60)],
      },
    };
  }

  legend(names, width, theme) {
    const texts = new Map(names.map((name) => [name, truncate(name, width - 60)]));
    let rows = 0,
      end = Infinity;
    for (const text of texts.values()) {
      const size = textWidth(text) + 48;
      [rows, end] = end + size > width ? [rows + 1, size] : [rows, end + size];
    }
    const muted = theme.colour("muted");
    return {
      height: rows ? 22 * rows + 8 : 0,
      option: {
        show: rows > 0,
        data: names,
        left: 0,
        bottom: 0,
        itemWidth: 28,
        itemHeight: 10,
        itemGap: 12,
        inactiveColor: muted,
        textStyle: { color: theme.colour("ink") },
        formatter: (name) => texts.get(name) || name,
      },
    };
  }

  toolbox(theme) {
    return {
      right: 0,
      top: -8,
      itemSize: 17,
      itemGap: 12,
      iconStyle: { borderColor: theme.colour("muted") },
      emphasis: { iconStyle: { borderColor: theme.colour("accent"), textFill: theme.colour("ink") } },
      feature: {
        dataZoom: {
          title: { zoom: "Select a part", back: "Undo" },
          filterMode: "none",
          brushStyle: { color: theme.colour("accent"), opacity: 0.15 },
        },
        myReset: { show: true, title: "Show all", icon: RESET_ICON, onclick: () => this.zoomBy(Infinity) },
      },
    };
  }

  // ---- axes

  /** The axis of x or of y, which is drawn over `length` pixels. */
  axis(name, theme, length) {
    const { chart, isHorizontal } = this,
      muted = theme.colour("muted");
    const isRows = isHorizontal && name === "x",
      isUpright = (name === "y") !== isHorizontal;
    const log = name === "x" ? chart.xLog : chart.yLog;
    const { to, from } = this.scales[name];
    const range = name === "x" ? chart.xRange : chart.yRange;
    const view = (this.zoom && this.zoom[name]) || range;
    const isFixed = log || isRows || name === "x" || chart.isCropped;
    const most = Math.max(2, Math.floor(length / (isUpright ? 45 : 90)));
    let ticks = null;
    if (isRows) ticks = chart.rows.map((_, k) => k);
    else if (name === "x" && chart.xTicks && !this.zoom) ticks = chart.xTicks;
    else if (log) ticks = logTicks(...view, most);
    else if (isFixed || this.zoom) ticks = evenTicks(...view, most);
    const largest = Math.max(Math.abs(view[0]), Math.abs(view[1]));
    const text = (at) => tickText(from(at), view[0], largest, log);
    const label = isUpright ? "" : isHorizontal ? chart.yLabel : chart.xLabel;
    const custom = ticks ? { customValues: ticks.map(to) } : {};
    return {
      type: "value", // ECharts zooms a logarithmic axis as if it were linear: points have their logarithms
      ...(isFixed ? { min: to(range[0]), max: to(range[1]) } : { scale: range[0] > 0 }),
      inverse: isRows,
      splitNumber: Math.min(most, 5),
      name: label,
      nameLocation: "middle",
      nameGap: 28,
      nameTextStyle: { color: muted, fontSize: 13 },
      axisLabel: {
        ...custom,
        color: muted,
        fontSize: 12,
        hideOverlap: !isRows,
        formatter: isRows ? (value) => truncate(chart.rows[value] || "", this.canvas.clientWidth * 0.4) : text,
      },
      axisTick: { ...custom, show: !isUpright, lineStyle: { color: muted } },
      axisLine: { show: !isUpright, onZero: false, lineStyle: { color: muted } },
      splitLine: { show: !isRows && (isUpright || isHorizontal), lineStyle: { color: theme.colour("grid") } },
      axisPointer: { snap: true, label: { show: false }, lineStyle: { color: muted } },
    };
  }

  isVertical(mark) {
    return (mark.axis === "x") !== this.isHorizontal;
  }

  /** A point on the axes' scales, in the order in which ECharts takes it. */
  point(x, y) {
    const [along, measured] = [this.scales.x.to(x), this.scales.y.to(y)];
    return this.isHorizontal ? [measured, along] : [along, measured];
  }

  /** Has a value a place on the axis of x or of y? */
  hasPlace(name, value) {
    return value !== null && Number.isFinite(this.scales[name].to(value));
  }

  // ---- lines

  lineSeries(line, place, theme, endLabels) {
    const colours = theme.isDark ? line.dark : line.light;
    const isScatter = line.kind === "points" || line.kind === "cloud";
    const along = [...line.x.keys()].filter((k) => this.hasPlace("x", line.x[k]) && line.y[k] !== null);
    const indices = along.filter((k) => this.hasPlace("y", line.y[k]));
    const data = indices.map((k) => this.point(line.x[k], line.y[k]));
    const every = Math.ceil(data.length / 9);
    const size = { cloud: 4, points: 9 }[line.kind] || (line.strong ? 9 : 7);
    const base = {
      name: line.label,
      emphasis: { disabled: true }, // hovering changes no marker: a hollow one has a meaning
      z: { cloud: 2, reference: 3, line: 4, points: 5 }[line.kind],
    };
    const still = { ...base, silent: true, tooltip: { show: false } };
    const marker = {
      symbol: line.marker ? `path://${MARKERS[line.marker]}` : "none",
      itemStyle: {
        color: !line.marker
          ? "transparent"
          : line.hollow
            ? isScatter
              ? "transparent"
              : theme.colour("paper")
            : colours.stroke,
        borderColor: colours.stroke,
        borderWidth: line.marker && line.hollow ? 1.6 : 0,
        opacity: line.kind === "cloud" ? 0.35 : 1,
      },
    };
    const series = [];
    if (isScatter) series.push({ ...(line.label ? base : still), type: "scatter", data, symbolSize: size, ...marker });
    else
      series.push({
        ...base,
        type: "line",
        data,
        ...marker,
        showAllSymbol: true,
        symbolSize: (_, { dataIndex }) =>
          data.length <= MAX_MARKERS || dataIndex % every === (2 * place) % every ? size : 0,
        lineStyle: { color: colours.stroke, width: widthOf(line), type: DASHES[line.dash], cap: "butt" },
      });
    if (line.low) series.push({ ...still, ...this.rangeSeries(line, isScatter, colours.stroke, theme) });
    const zeros = along.filter((k) => !this.hasPlace("y", line.y[k])).map((k) => line.x[k]);
    if (zeros.length) series.push({ ...still, ...this.zeroSeries(zeros, colours, marker.itemStyle) });
    const last = indices.findLast((k) => this.isInView(line.x[k], line.y[k]));
    const end =
      last !== undefined
        ? [line.x[last], line.y[last]]
        : zeros.length && !this.zoom // a line of zeros alone ends at the foot of the axis
          ? [zeros.at(-1), this.chart.yRange[0]]
          : null;
    if (endLabels && line.label && !isScatter && end)
      series.push({
        ...still,
        type: "scatter",
        data: [this.point(...end)],
        symbolSize: 1,
        itemStyle: { color: "transparent", opacity: 1 },
        label: {
          show: true,
          position: "right",
          formatter: () => truncate(line.label, endLabels.width, fontOf(line)), // a string would be a template
          color: colours.text,
          fontWeight: fontOf(line).weight,
          lineHeight: 16,
        },
        labelLayout: { x: endLabels.left, moveOverlap: "shiftY" },
        labelLine: { show: true, length2: 4, lineStyle: { color: colours.stroke, width: 0.8, opacity: 0.7 } },
      });
    return series;
  }

  isInView(x, y) {
    const { x: across, y: up } = this.zoom || { x: [-Infinity, Infinity], y: [-Infinity, Infinity] };
    return x >= across[0] && x <= across[1] && y >= up[0] && y <= up[1];
  }

  /** The band of a line, or the bars of points; on a logarithmic axis what is not positive ends at its foot. */
  rangeSeries(line, isScatter, stroke, theme) {
    const foot = (y) => (this.hasPlace("y", y) ? y : this.chart.yRange[0]);
    const ranges = line.x
      .map((x, k) => ({ x, low: line.low[k], high: line.high[k] }))
      .filter(({ x, low, high }) => this.hasPlace("x", x) && low !== null && high !== null)
      .map(({ x, low, high }) => [...this.point(x, foot(low)), ...this.point(x, foot(high))]);
    const ends = (api, range) => [api.coord(range.slice(0, 2)), api.coord(range.slice(2))];
    const bar = (params, api) => {
      const [[x1, y1], [x2, y2]] = ends(api, ranges[params.dataIndex]);
      const pathData = this.isHorizontal
        ? `M${x1} ${y1}H${x2}M${x1} ${y1 - 3}v6M${x2} ${y2 - 3}v6`
        : `M${x1} ${y1}V${y2}M${x1 - 3} ${y1}h6M${x2 - 3} ${y2}h6`;
      return { type: "path", shape: { pathData }, style: { fill: "none", stroke, lineWidth: 1.2 } };
    };
    const opacity = (theme.isDark ? 0.2 : 0.14) * (this.chart.lines.length > 6 ? 0.7 : 1);
    const band = (params, api) => {
      if (params.dataIndex) return null; // the first item draws the whole band
      const edges = ranges.map((range) => ends(api, range));
      const points = [...edges.map(([low]) => low), ...edges.map(([, high]) => high).reverse()];
      return { type: "polygon", shape: { points }, style: { fill: stroke, opacity } };
    };
    const encode = { x: this.isHorizontal ? [0, 2] : 0, y: this.isHorizontal ? 1 : [1, 3] };
    return {
      type: "custom",
      clip: true,
      data: ranges,
      encode,
      renderItem: isScatter ? bar : band,
      z: isScatter ? 5 : 1,
    };
  }

  /** Markers at the foot of a logarithmic axis for values that have no place on it, each with the label "0". */
  zeroSeries(places, colours, itemStyle) {
    return {
      type: "scatter",
      clip: false,
      data: places.map((x) => this.point(x, this.chart.yRange[0])),
      symbol: `path://${MARKERS[this.isHorizontal ? "triangle-left" : "triangle-down"]}`,
      symbolSize: 8,
      symbolOffset: this.isHorizontal ? ["60%", 0] : [0, "-60%"],
      itemStyle: { ...itemStyle, opacity: 1 },
      label: {
        show: true,
        position: this.isHorizontal ? "right" : "top",
        formatter: "0",
        color: colours.text,
        fontSize: 11,
      },
      labelLayout: { hideOverlap: true },
    };
  }

  /** The chart's marks; names stand above the axes in two rows, as far as there is space in `width` pixels. */
  markSeries(theme, width) {
    const ends = [0, 0]; // of the names in each row
    const range = (this.isHorizontal ? this.chart.yRange : this.chart.xRange).map(
      this.scales[this.isHorizontal ? "y" : "x"].to,
    );
    const marks = this.chart.marks
      .map((mark) => ({ ...mark, at: this.scales[mark.axis].to(mark.at) }))
      .filter(({ at }) => Number.isFinite(at))
      .sort((a, b) => a.at - b.at);
    const data = marks.map((mark) => {
      if (!this.isVertical(mark))
        return {
          yAxis: mark.at,
          label: { position: "insideEndTop", formatter: () => mark.label, show: mark.label !== "" },
        };
      const middle = ((mark.at - range[0]) / (range[1] - range[0])) * width,
        size = textWidth(mark.label);
      const from = Math.min(Math.max(middle - size / 2, 0), width - size);
      const row = ends.findIndex((end) => end <= from);
      if (row >= 0) ends[row] = from + size + 10;
      const label = {
        position: this.isHorizontal ? "start" : "end",
        rotate: 0,
        distance: [0, 4 + 15 * row],
        offset: [from + size / 2 - middle, 0],
        formatter: () => mark.label,
        show: mark.label !== "" && row >= 0,
      };
      return { xAxis: mark.at, label };
    });
    const extent = marks.map((mark) => (this.isVertical(mark) ? [mark.at, NaN] : [NaN, mark.at]));
    return {
      type: "line",
      silent: true,
      data: extent,
      symbol: "none",
      tooltip: { show: false },
      z: 2,
      markLine: {
        silent: true,
        symbol: "none",
        data,
        emphasis: { disabled: true },
        lineStyle: { color: theme.colour("muted"), type: [3, 3], width: 1 },
        label: { color: theme.colour("muted"), textBorderColor: theme.colour("paper"), textBorderWidth: 3 },
      },
    };
  }

  // ---- values

  tooltip(theme) {
    return {
      ...tooltipBase(theme),
      trigger: "axis",
      axisPointer: { type: "line", axis: this.isHorizontal ? "y" : "x", triggerEmphasis: false },
      formatter: ([{ axisValue }]) => this.valuesAt(this.scales.x.from(Number(axisValue)), theme),
    };
  }

  /** The values of all visible lines at x, as an element. */
  valuesAt(at, theme) {
    const { chart } = this,
      x = this.isHorizontal ? Math.round(at) : at;
    const selected = this.plot.getOption().legend[0].selected;
    const values = chart.lines
      .filter((line) => line.label && line.kind !== "cloud" && selected[line.label] !== false)
      .map((line) => ({ line, ...valueOf(line, x, chart.yLog, this.isHorizontal) }))
      .filter(({ y }) => y !== undefined)
      .sort((a, b) => b.y - a.y);
    const hasRange = values.some(({ low }) => low !== null);
    const head = ["", "", chart.middle, chart.range].map((words) => element("th", { scope: "col" }, words));
    const rows = values.map(({ line, y, low, high, isBetween }) =>
      element(
        "tr",
        {},
        element("td", {}, swatch(line, theme)),
        element("th", { scope: "row" }, line.label),
        element("td", {}, `${isBetween ? "≈ " : ""}${short(y)}`),
        element("td", {}, low === null ? "" : `${short(low)} to ${short(high)}`),
      ),
    );
    const place = this.isHorizontal ? chart.rows[x] : `${chart.xLabel}: ${position(x)}`;
    return element(
      "div",
      { role: "status" },
      element("p", {}, element("b", {}, place || ""), element("br", {}), chart.yLabel),
      element("table", {}, ...(hasRange ? [element("tr", {}, ...head)] : []), ...rows),
    );
  }

  // ---- zoom and keys

  readZoom() {
    const [x, y] = ZOOMED_AXES.map((axis) => this.plot.getOption().dataZoom.find(({ id }) => id === axis));
    const isWhole = [x, y].every(({ start, end }) => start < 0.01 && end > 99.99);
    const [along, measured] = this.isHorizontal ? [y, x] : [x, y];
    const view = (scale, { startValue, endValue }) => [startValue, endValue].map(scale.from);
    this.zoom = isWhole ? null : { x: view(this.scales.x, along), y: view(this.scales.y, measured) };
    this.plot.dispatchAction({ type: "hideTip" });
    queueMicrotask(this.redraw); // names stand at the last points in view
  }

  /** Enlarge what is in view if the factor is less than 1; an infinite one shows all. */
  zoomBy(factor) {
    const zooms = this.plot.getOption().dataZoom;
    const batch = ZOOMED_AXES.map((dataZoomId) => {
      const { start, end } = zooms.find(({ id }) => id === dataZoomId);
      const reach = ((end - start) / 2) * factor,
        middle = (start + end) / 2;
      return { dataZoomId, start: Math.max(middle - reach, 0), end: Math.min(middle + reach, 100) };
    });
    this.plot.dispatchAction({ type: "dataZoom", batch });
  }

  pressKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+") this.zoomBy(0.6);
    else if (event.key === "-") this.zoomBy(1 / 0.6);
    else if (event.key === "0") this.zoomBy(Infinity);
    else if (event.key === "Escape") this.plot.dispatchAction({ type: "hideTip" });
    else if (!this.showByKey(event.key)) return;
    event.preventDefault();
  }

  /** Show the values at the position that a key leads to from the present one. */
  showByKey(key) {
    const series = this.plot.getOption().series;
    const along = this.isHorizontal ? 1 : 0;
    const positions = new Map();
    series.forEach(({ name, tooltip, data }, seriesIndex) => {
      if (name && (!tooltip || tooltip.show !== false))
        data.forEach((point, dataIndex) => positions.set(point[along], { seriesIndex, dataIndex }));
    });
    const all = [...positions.keys()].sort((a, b) => a - b);
    const now = all.indexOf(this.shown);
    const moves = { ArrowRight: now + 1, ArrowLeft: now < 0 ? all.length - 1 : now - 1, Home: 0, End: all.length - 1 };
    if (!(key in moves) || !all.length) return false;
    this.shown = all[Math.min(Math.max(moves[key], 0), all.length - 1)];
    this.plot.dispatchAction({ type: "showTip", ...positions.get(this.shown) });
    return true;
  }
}

/** To the values of an axis and back: logarithms on a logarithmic one. */
const scaleOf = (isLog) => ({
  to: (value) => (isLog ? Math.log10(value) : value), // not finite where a value has no place
  from: (at) => Number((isLog ? 10 ** at : at).toPrecision(12)),
});
/** Hide a turn of the wheel without Ctrl from ECharts, which would keep the page from scrolling. */
function keepScrolling(event) {
  if (!event.ctrlKey) event.stopPropagation();
}

const fontOf = (line) => ({ weight: line.strong ? "bold" : "normal" });
const widthOf = (line) => (line.kind === "reference" ? 1.2 : line.strong ? 3 : 2);

/** The line's value at x: at a point of its own, or between two of its points; {} where it has none. */
function valueOf(line, x, isLog, isHorizontal) {
  const isClose = (other) => Math.abs(other - x) <= 1e-9 * Math.abs(x);
  const own = line.x.findLastIndex((other, k) => isClose(other) && line.y[k] !== null);
  if (own >= 0)
    return {
      y: line.y[own],
      low: line.low ? line.low[own] : null,
      high: line.high ? line.high[own] : null,
      isBetween: false,
    };
  const after = line.x.findIndex((other) => other > x);
  if (isHorizontal || line.kind === "points" || after < 1) return {};
  const [a, b] = [line.y[after - 1], line.y[after]];
  if (a === null || b === null) return {};
  const share = (x - line.x[after - 1]) / (line.x[after] - line.x[after - 1]);
  const y = isLog && a > 0 && b > 0 ? a ** (1 - share) * b ** share : a + share * (b - a);
  return { y, low: null, high: null, isBetween: true };
}

/** Round numbers from low to high, evenly apart, at most `most`. */
function evenTicks(low, high, most) {
  const least = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((width) => width >= least * (1 - 1e-9));
  const first = Math.ceil(low / step - 1e-9),
    last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

/** Round numbers between two positive ones, at most `most`: powers of ten, or multiples of them where those are few. */
function logTicks(low, high, most) {
  const first = Math.floor(Math.log10(low)),
    last = Math.ceil(Math.log10(high));
  const among = (multiples) => {
    const powers = Array.from({ length: last - first + 1 }, (_, k) => 10 ** (first + k));
    const all = powers.flatMap((power) => multiples.map((factor) => Number((factor * power).toPrecision(6))));
    return all.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  };
  const powers = among([1]);
  if (powers.length >= 3) return powers.filter((_, k) => k % Math.ceil(powers.length / most) === 0);
  for (const multiples of [
    [1, 1.5, 2, 3, 5, 7],
    [1, 2, 5],
    [1, 3],
  ]) {
    const ticks = among(multiples);
    if (ticks.length >= 3 && ticks.length <= most) return ticks;
  }
  return evenTicks(low, high, most).filter((tick) => tick > 0);
}

const SVG = "http://www.w3.org/2000/svg";

/** A marker, or a piece of a line without one, beside a name. */
function swatch(line, theme) {
  const { stroke } = theme.isDark ? line.dark : line.light;
  const svg = document.createElementNS(SVG, "svg"),
    path = document.createElementNS(SVG, "path");
  const fill = line.hollow || !line.marker ? "none" : stroke;
  const attributes = { d: line.marker ? MARKERS[line.marker] : "M0 8H16", fill, stroke, "stroke-width": 1.8 };
  for (const [key, value] of Object.entries(attributes)) path.setAttribute(key, value);
  for (const [key, value] of Object.entries({ viewBox: "-1 -1 18 18", width: 12, height: 12, "aria-hidden": "true" }))
    svg.setAttribute(key, value);
  svg.append(path);
  return svg;
}
