/* The panels of a recorded run, drawn by ECharts from what Python describes, up to the frame that is shown. */

const data = JSON.parse(document.getElementById("data").textContent);
const frames = data.frames;
const lastFrame = frames.length - 1;
const lastRound = Math.max(2, frames[lastFrame].round);
const byId = (id) => document.getElementById(id);

const ROW_PX = 20;
const CROSS = "path://M0,0L8,8M0,8L8,0";
const NARROW_PX = 520;
const LOG_ZERO = 0.5; // where a logarithmic axis of counts shows 0

/** The frame that is shown. */
const view = { frame: lastFrame };

// ---- parts of charts

const clamp = (value, [low, high]) => Math.min(high, Math.max(low, value));

/** Labels of an axis of values. */
function valueAxis(theme, [min, max], name = "") {
  return {
    type: "value",
    min,
    max,
    name,
    nameLocation: "middle",
    nameGap: 24,
    nameTextStyle: { color: theme.colour("muted") },
    axisLabel: {
      color: theme.colour("muted"),
      hideOverlap: true,
      showMinLabel: min === 0,
      showMaxLabel: false,
      formatter: (value) => tickText(value, 1, Math.max(Math.abs(min), Math.abs(max)), false),
    },
    splitLine: { lineStyle: { color: theme.colour("grid") } },
  };
}

/** Rows with names, from the top. */
function rowAxis(theme, names) {
  return {
    type: "category",
    data: names.map((name, k) => ({ value: `${k} ${name}` })),
    inverse: true,
    axisTick: { show: false },
    axisLine: { show: false },
    axisLabel: {
      color: theme.colour("ink"),
      interval: names.length > 40 ? 1 : 0,
      formatter: (text) => text.replace(/^\d+ /, ""),
    },
  };
}

/** The rounds of the run, on a logarithmic scale. */
function roundAxis(theme) {
  const isPower = Number.isInteger(Math.log10(lastRound));
  return {
    type: "log",
    min: 1,
    max: lastRound,
    axisLine: { lineStyle: { color: theme.colour("rule") } },
    axisLabel: {
      color: theme.colour("muted"),
      hideOverlap: true,
      showMaxLabel: isPower,
      alignMaxLabel: "right",
      formatter: (value) => tickText(value, 1, lastRound, true),
    },
    splitLine: { lineStyle: { color: theme.colour("grid") } },
  };
}

const tooltip = (theme, text) => ({
  ...tooltipBase(theme),
  trigger: "item",
  formatter: (params) => element("div", {}, text(params)),
});

/** The space that names of rows need at the left. */
const marginFor = (names, most) => Math.min(most, 14 + Math.max(0, ...names.map((name) => textWidth(name))));

// ---- panels over time

/** Bars, boxes and dotted borders of rows, as far as they have come. */
function spanSeries(panel, theme, until) {
  const spans = panel.spans.filter((span) => span.start <= until);
  return {
    type: "custom",
    data: spans.map((span) => ({ value: [span.start, Math.min(span.end, until), span.first], text: span.text })),
    encode: { x: [0, 1], y: 2 },
    z: 3,
    renderItem: (params, api) => {
      const span = spans[params.dataIndex];
      const [left, top] = api.coord([api.value(0), span.first]);
      const [right, bottom] = api.coord([api.value(1), span.last]);
      const band = api.size([0, 1])[1];
      const width = Math.max(1, right - left);
      if (span.kind === "border") {
        const y = bottom + band / 2;
        const style = { stroke: theme.colour("ink"), lineWidth: 3, lineDash: [2, 2] };
        return { type: "line", shape: { x1: left, x2: left + width, y1: y, y2: y }, style };
      }
      if (span.kind === "bar")
        return { type: "rect", shape: { x: left, y: top - 2.5, width, height: 5 }, style: { fill: span.colour } };
      const shape = { x: left, y: top - band / 2 + 2, width, height: bottom - top + band - 4, r: 2 };
      const style = { fill: `${span.colour}47`, stroke: span.colour, lineWidth: 1.4 };
      return { type: "rect", shape, style };
    },
  };
}

/** The band around a curve, which ECharts has no series for. */
function bandSeries(curve, until) {
  const points = curve.band.filter(([at]) => at <= until);
  const outline = [...points.map(([at, , high]) => [at, high]), ...points.map(([at, low]) => [at, low]).reverse()];
  return {
    type: "custom",
    data: points.length ? [[points[0][0], points[0][1]]] : [],
    silent: true,
    clip: true,
    renderItem: (params, api) => ({
      type: "polygon",
      shape: { points: outline.map((point) => api.coord(point)) },
      style: { fill: curve.colour, opacity: 0.12 },
    }),
  };
}

function curveSeries(curve, panel, theme, until) {
  const colour = curve.neutral ? theme.colour("ink") : curve.colour;
  const isThreshold = curve.neutral && curve.dashed;
  const shown = curve.points
    .filter(([at]) => at <= until)
    .map(([at, y]) => [at, panel.y_log ? Math.max(LOG_ZERO, y) : y]);
  return {
    type: "line",
    name: curve.name,
    data: shown,
    showSymbol: false,
    z: 4,
    lineStyle: { color: colour, width: curve.bold ? 2.6 : 1.6, type: curve.dashed ? "dashed" : "solid" },
    itemStyle: { color: colour },
    endLabel: {
      show: curve.label !== "" && !isThreshold && curve.name !== "regret",
      formatter: `{line|━} ${curve.label}`,
      rich: { line: { color: colour } },
      distance: panel.truths.length ? 12 : 5,
      minMargin: 3,
      color: theme.colour("ink"),
      textBorderColor: theme.colour("paper"),
      textBorderWidth: 3,
    },
    labelLayout: { moveOverlap: "shiftY" },
  };
}

function markSeries(panel, theme, until, plotWidth) {
  const pixels = (from, to) => (plotWidth * Math.log(to / Math.max(1, from))) / Math.log(lastRound);
  const ink = theme.colour("ink");
  const shapes = {
    cross: { symbol: CROSS, symbolSize: 8, itemStyle: { color: "none", borderColor: ink, borderWidth: 1.8 } },
    tick: { symbol: "rect", symbolSize: [2, 10], itemStyle: { color: ink } },
    dot: { symbol: "circle", symbolSize: 8, itemStyle: { borderColor: ink, borderWidth: 1 } },
  };
  const marks = panel.marks.filter((mark) => mark.round <= until);
  return {
    type: "scatter",
    z: 5,
    clip: false,
    data: marks.map((mark) => {
      const { symbol, symbolSize, itemStyle } = shapes[mark.shape];
      const hasRoom = mark.label && textWidth(mark.label, { size: 11 }) + 14 < pixels(mark.round, mark.free_until);
      return {
        value: [Math.max(1, mark.round), mark.y],
        text: mark.text,
        symbol,
        symbolSize,
        itemStyle: { ...itemStyle, ...(mark.shape === "dot" ? { color: mark.colour || theme.colour("muted") } : {}) },
        label: { show: Boolean(hasRoom), formatter: mark.label },
      };
    }),
    label: { position: "right", fontSize: 11, color: ink, textBorderColor: theme.colour("paper"), textBorderWidth: 3 },
  };
}

/** Where windows end, their names above, and the moment that is shown. */
function guideSeries(panel, theme, until, plotWidth) {
  const areas = [];
  let start = 1;
  for (const [end, name] of panel.dividers) {
    if (start > until) break;
    const stop = Math.max(1, Math.min(end, until));
    const hasRoom = (plotWidth * Math.log(stop / start)) / Math.log(lastRound) > textWidth(name, { size: 11 }) + 6;
    areas.push([{ xAxis: start, name, label: { show: hasRoom && name !== "" } }, { xAxis: stop }]);
    start = Math.max(1, end);
  }
  const ends = panel.dividers.filter(([end]) => end <= until && end < lastRound);
  return {
    type: "line",
    data: [],
    silent: true,
    markArea: {
      data: areas,
      itemStyle: { color: "transparent" },
      label: { position: "top", color: theme.colour("muted"), fontSize: 11, formatter: "{b}" },
    },
    markLine: {
      symbol: "none",
      label: { show: false },
      data: [
        ...ends.map(([end]) => ({ xAxis: end, lineStyle: { color: theme.colour("muted"), type: [2, 3], width: 1 } })),
        { xAxis: until, lineStyle: { color: theme.colour("ink"), type: "solid", opacity: 0.35, width: 1 } },
      ],
    },
  };
}

/** The names and values of all curves at a round. */
function curveTooltip(theme, panel) {
  return {
    ...tooltipBase(theme),
    trigger: "axis",
    formatter: (points) => {
      const rows = points.filter((point) => point.seriesName && !point.seriesName.startsWith("series"));
      const value = ({ value: [, y] }) => short(panel.y_log && y === LOG_ZERO ? 0 : y);
      const lines = rows.map((point) => element("div", {}, `${point.seriesName}: ${value(point)}`));
      return element("div", {}, element("strong", {}, `round ${grouped(points[0].value[0])}`), ...lines);
    },
  };
}

function timeOption(panel, theme, width) {
  const until = Math.max(1, frames[view.frame].round);
  const labels = panel.curves.map((curve) => (curve.name === "regret" ? "" : curve.label));
  const left = panel.rows.length ? marginFor(panel.rows, 150) : 52;
  const right = Math.max(
    14,
    ...labels.map((label) => Math.min(120, textWidth(label) + (panel.truths.length ? 40 : 32))),
  );
  const plotWidth = width - left - right;
  const scale = panel.y_log ? { ...valueAxis(theme, [LOG_ZERO, panel.y_range[1]]), type: "log" } : null;
  if (scale) scale.axisLabel.formatter = (value) => tickText(value, 1, lastRound, true);
  return {
    grid: { left, right, top: panel.dividers.some(([, name]) => name) ? 22 : 10, bottom: 26 },
    xAxis: roundAxis(theme),
    yAxis: panel.rows.length ? rowAxis(theme, panel.rows) : scale || valueAxis(theme, panel.y_range),
    tooltip: panel.rows.length ? tooltip(theme, ({ data: item }) => item.text) : curveTooltip(theme, panel),
    series: [
      guideSeries(panel, theme, until, plotWidth),
      ...panel.curves.filter((curve) => curve.band.length).map((curve) => bandSeries(curve, until)),
      ...panel.curves.map((curve) => curveSeries(curve, panel, theme, until)),
      ...(panel.spans.length ? [spanSeries(panel, theme, until)] : []),
      markSeries(panel, theme, until, plotWidth),
      truthSeries(panel, theme),
    ],
  };
}

/** Triangles at the right edge that point at the true values. */
const truthSeries = (panel, theme) => ({
  type: "scatter",
  clip: false,
  symbol: "triangle",
  symbolSize: 7,
  symbolRotate: 90,
  symbolOffset: [5, 0],
  itemStyle: { color: theme.colour("ink") },
  data: panel.truths.map(([value, text]) => ({ value: [lastRound, value], text })),
});

const timeChart = (id, heightOf) =>
  mountPlot(byId(id), (theme, width) => ({ height: heightOf(data[id]), option: timeOption(data[id], theme, width) }));

// ---- panels of one moment

const rowText = ({ name, estimate, low, high, active, text }, hollow) =>
  [
    `${name}${active ? "" : " (inactive)"}`,
    estimate === null ? "" : `${short(estimate)}${hollow ? " now" : ""}`,
    low === null ? "" : `${hollow ? "at the last check " : ""}from ${short(low)} to ${short(high)}`,
    text,
  ]
    .filter(Boolean)
    .join("; ");

/** Intervals, estimates and reference values, one below the other; an empty row where `rows` has null. */
function rowsOption(rows, range, xLabel, hollow, theme, width) {
  const left = marginFor(
    rows.map((row) => (row ? row.name : "")),
    width < NARROW_PX ? 130 : 190,
  );
  const colour = (row) => (row.active ? row.colour : theme.colour("rule"));
  const numbered = rows.map((row, y) => [row, y]).filter(([row]) => row);
  const bars = numbered.filter(([row]) => row.low !== null);
  const dots = numbered.filter(([row]) => row.estimate !== null);
  const ticks = numbered.filter(([row]) => row.tick !== null);
  const text = (row) => rowText(row, hollow);
  return {
    grid: { left, right: 16, top: 4, bottom: xLabel ? 42 : 26 },
    xAxis: { ...valueAxis(theme, range, xLabel) },
    yAxis: rowAxis(
      theme,
      rows.map((row) => (row ? row.name : "")),
    ),
    tooltip: tooltip(theme, ({ data: item }) => item.text),
    series: [
      {
        type: "custom",
        data: bars.map(([row, y]) => ({ value: [clamp(row.low, range), clamp(row.high, range), y], text: text(row) })),
        encode: { x: [0, 1], y: 2 },
        renderItem: (params, api) => {
          const [x, y] = api.coord([api.value(0), api.value(2)]);
          const width = Math.max(1, api.coord([api.value(1), api.value(2)])[0] - x);
          const style = { fill: colour(bars[params.dataIndex][0]) };
          return { type: "rect", shape: { x, y: y - 2.5, width, height: 5 }, style };
        },
      },
      {
        type: "scatter",
        symbolSize: 8,
        clip: false,
        z: 4,
        data: dots.map(([row, y]) => ({
          value: [clamp(row.estimate, range), y],
          text: text(row),
          itemStyle: { color: hollow ? theme.colour("paper") : colour(row), borderColor: colour(row), borderWidth: 2 },
        })),
      },
      {
        type: "scatter",
        symbol: "rect",
        symbolSize: [2, 14],
        clip: false,
        z: 5,
        itemStyle: { color: theme.colour("ink") },
        data: ticks.map(([row, y]) => ({ value: [clamp(row.tick, range), y], text: text(row) })),
      },
    ],
  };
}

/** The rows of a panel at the frame that is shown. */
function rowsAt(panel) {
  return panel.frames[view.frame].map(([number, estimate, low, high, tick, active, text]) => {
    const [name, colour] = panel.names[number];
    return { name, colour, estimate, low, high, tick, active, text };
  });
}

const rowsHeight = (count, xLabel) => (count > 30 ? 15 : ROW_PX) * Math.max(1, count) + (xLabel ? 48 : 32);

const rowsChart = (id) =>
  mountPlot(byId(id), (theme, width) => {
    const panel = data[id];
    const rows = rowsAt(panel);
    const most = Math.max(...panel.frames.map((frame) => frame.length));
    const padded = [...rows, ...Array(most - rows.length).fill(null)];
    return {
      height: rowsHeight(most, panel.x_label),
      option: rowsOption(padded, panel.x_range, panel.x_label, panel.hollow, theme, width),
    };
  });

/** The decisions of the latest frame that has some, up to the one that is shown. */
function latestDecisions() {
  const past = data.decisions.decisions.filter((decision) => decision.frame <= view.frame);
  const latest = past.length ? past[past.length - 1].frame : -1;
  return past.filter((decision) => decision.frame === latest);
}

const decisionsChart = () =>
  mountPlot(byId("decisions"), (theme, width) => {
    const { x_range: range, x_label: xLabel } = data.decisions;
    const rows = latestDecisions().flatMap((decision, k) => (k ? [null, ...decision.rows] : decision.rows));
    return { height: rowsHeight(rows.length, xLabel), option: rowsOption(rows, range, xLabel, false, theme, width) };
  });

const playsChart = () =>
  mountPlot(byId("plays"), (theme, width) => {
    const grid = data.plays;
    const cell = Math.max(4, Math.min(34, (width - 44) / grid.columns.length, 420 / grid.rows.length));
    const share = new Map(grid.shares[view.frame]);
    const outlined = new Set(grid.outlined[view.frame]);
    const cells = grid.cells.flatMap((places, pair) =>
      places.map(([row, column]) => {
        const played = share.get(pair) || 0;
        const often = played ? `in ${percent(played)} of the rounds since the frame before` : "not played";
        const isOutlined = outlined.has(pair);
        return {
          value: [column, row, Math.sqrt(played)],
          text: `${grid.names[pair]}: ${often}; true mean ${short(grid.means[pair])}`,
          itemStyle: { borderColor: isOutlined ? "#d75e00" : theme.colour("paper"), borderWidth: isOutlined ? 2.5 : 1 },
        };
      }),
    );
    const axis = (names, more) => ({
      type: "category",
      data: names,
      axisTick: { show: false },
      axisLine: { show: false },
      axisLabel: { show: cell >= 13, interval: 0, color: theme.colour("ink") },
      ...more,
    });
    const dot = Math.max(3, Math.min(7, cell / 5));
    return {
      height: cell * grid.rows.length + 28,
      option: {
        grid: { left: 28, top: 22, width: cell * grid.columns.length, height: cell * grid.rows.length },
        xAxis: axis(grid.columns, { position: "top" }),
        yAxis: axis(grid.rows, { inverse: true }),
        visualMap: {
          show: false,
          min: 0,
          max: 1,
          dimension: 2,
          seriesIndex: 0,
          inRange: { color: [theme.colour("raised"), theme.colour("accent")] },
        },
        tooltip: tooltip(theme, ({ data: item }) => item.text),
        series: [
          { type: "heatmap", data: [...cells].sort((a, b) => a.itemStyle.borderWidth - b.itemStyle.borderWidth) },
          {
            type: "scatter",
            silent: true,
            symbolSize: dot,
            symbolOffset: [cell / 4, -cell / 4],
            itemStyle: { color: theme.colour("ink"), borderColor: theme.colour("paper"), borderWidth: 1 },
            data: grid.best.flatMap((pair) => grid.cells[pair].map(([row, column]) => [column, row])),
          },
        ],
      },
    };
  });

/** Draw all panels; returns what draws them again for another frame. */
function mountPanels() {
  const charts = [timeChart("story", (panel) => (panel.rows.length ? rowsHeight(panel.rows.length) + 16 : 280))];
  if (data.decisions) charts.push(decisionsChart());
  charts.push(rowsChart("estimates"), playsChart());
  if (data.evidence) charts.push(rowsChart("evidence"));
  charts.push(timeChart("regret", () => 170));
  return () => charts.forEach((chart) => chart.redraw());
}
