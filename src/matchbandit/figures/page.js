/* Charts on a page: draws what interactive.py describes, with Apache ECharts; values on hover, tap and keys; zoom.
 *
 * Needs the global `echarts` and the classes of page.css, and nothing of the document it is in:
 * matchbanditCharts.mount(element, chart) draws a chart anywhere. On a page with an element #data that holds
 * {"charts": [...]} every element [data-chart] is drawn when it comes near the screen. Text is only ever set as text.
 */
(function () {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
  const WIDE = 640; // from this width on, many lines are named at their ends
  const FEW = 3; // so many lines have a legend on any screen
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
  const DASHES = { solid: [], dashed: [7, 4], dotted: [2, 3] };
  const mounted = [];
  let printing = false;

  // ---- numbers as text

  const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const THIN = "\u202f"; // a thin space that does not break

  function powerOfTen(mantissa, exponent) {
    const power = "10" + String(exponent).replace(/./g, (sign) => SUPERSCRIPTS[sign]);
    return mantissa === 1 ? power : trimmed(mantissa, 3) + "·" + power;
  }

  function trimmed(value, digits) {
    return String(Number(value.toPrecision(digits))).replace("-", "−");
  }

  /** A value in a tooltip: groups of three digits, four digits that count. */
  function spelled(value) {
    if (value === null || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e13)) {
      const exponent = Math.floor(Math.log10(size));
      return powerOfTen(Number((value / 10 ** exponent).toPrecision(4)), exponent);
    }
    if (size < 1000) return trimmed(value, 4);
    return String(Math.round(value))
      .replace("-", "−")
      .replace(/\B(?=(\d{3})+$)/g, THIN);
  }

  /** The numbers at the ticks of an axis, short and in one manner. */
  function shortly(values, log) {
    const largest = Math.max(...values.map(Math.abs)),
      smallest = Math.min(...values.map(Math.abs).filter(Boolean));
    const asPower = (value) => {
      const exponent = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
      return value === 0 ? "0" : powerOfTen(Number((value / 10 ** exponent).toPrecision(3)), exponent);
    };
    if (log) {
      const plain = largest < 1e5 && smallest >= 1e-3;
      return values.map((value) => (plain || (value >= 0.01 && value < 1e4) ? spelled(value) : asPower(value)));
    }
    if (largest >= 1e9 || largest < 1e-3) return values.map(asPower);
    const [size, unit] = largest >= 1e6 ? [1e6, "M"] : largest >= 1e4 ? [1e3, "k"] : [1, ""];
    if (!unit) return values.map(spelled);
    return values.map((value) => (value === 0 ? "0" : trimmed(value / size, 4) + THIN + unit));
  }

  /** Round places between low and high, at most `most` of them. */
  function roundPlaces(low, high, most) {
    const least = (high - low) / Math.max(most, 1);
    const base = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].find((times) => times * base >= least * 0.999) * base;
    const places = [];
    for (let k = Math.ceil(low / step - 1e-6); k * step <= high + step * 1e-6; k += 1)
      places.push(Number((k * step).toPrecision(12)));
    return places;
  }

  /** Places on a logarithmic axis between low and high, both logarithms; given as values. */
  function logPlaces(low, high, most) {
    const first = Math.ceil(low - 1e-9),
      last = Math.floor(high + 1e-9);
    if (last - first >= 2) {
      const places = [];
      const every = Math.ceil((last - first + 1) / Math.max(most, 2));
      for (let power = first; power <= last; power += every) places.push(10 ** power);
      return places;
    }
    for (const mantissas of [
      [1, 2, 5],
      [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9],
    ]) {
      const places = [];
      for (let power = Math.floor(low); power <= last; power += 1) {
        for (const times of mantissas) {
          const at = Math.log10(times) + power;
          if (at >= low - 1e-9 && at <= high + 1e-9) places.push(Number((times * 10 ** power).toPrecision(6)));
        }
      }
      if (places.length >= 3 && places.length <= most) return places;
      if (places.length > most) return places.filter((_, k) => k % Math.ceil(places.length / most) === 0);
    }
    return roundPlaces(10 ** low, 10 ** high, Math.min(most, 4)).filter((value) => value > 0);
  }

  /** Heights in rising order, moved as little as needed to be `between` apart and inside [top, bottom]. */
  function spreadApart(heights, between, top, bottom) {
    const groups = [];
    for (const height of heights) {
      groups.push([height, 1]);
      while (groups.length > 1) {
        const [start, size] = groups[groups.length - 1],
          [before, many] = groups[groups.length - 2];
        if (start - before >= between * many) break;
        groups.splice(-2, 2, [(before * many + (start - between * many) * size) / (many + size), many + size]);
      }
    }
    const apart = groups.flatMap(([start, size]) => Array.from({ length: size }, (_, k) => start + between * k));
    for (let k = apart.length - 1, room = bottom; k >= 0; k -= 1, room = apart[k + 1] - between)
      apart[k] = Math.min(apart[k], room);
    for (let k = 0, room = top; k < apart.length; k += 1, room = apart[k - 1] + between)
      apart[k] = Math.max(apart[k], room);
    return apart;
  }

  // ---- elements

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function drawn(name, attributes) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
    return made;
  }

  /** The text, or as much of it as there is room for. */
  function cut(text, room, weight) {
    let words = text;
    while (widthOf(words, weight) > room && words.length > 4) words = `${words.slice(0, -2).trimEnd()}…`;
    return words;
  }

  const ruler = document.createElement("canvas").getContext("2d");
  function widthOf(text, weight = "normal") {
    ruler.font = `${weight} 12px ${FONT}`;
    return ruler.measureText(text).width;
  }

  const weightOf = (line) => (line.strong ? "bold" : "normal");
  const widthOfLine = (line) => (line.kind === "reference" ? 1.2 : line.strong ? 3 : 2);

  function themeNow() {
    const computed = getComputedStyle(document.documentElement);
    const of = (name) => computed.getPropertyValue(name).trim();
    const dark = !printing && matchMedia("screen and (prefers-color-scheme: dark)").matches;
    return {
      dark,
      paper: of("--paper"),
      ink: of("--ink"),
      muted: of("--muted"),
      rule: of("--rule"),
      grid: of("--grid"),
      accent: of("--accent"),
    };
  }

  // ---- one chart

  class ChartView {
    constructor(host, chart) {
      this.chart = chart;
      this.hidden = new Set();
      this.view = null; // what is zoomed in on, on the axes' own scales: {x: [from, to], y: [from, to]}
      this.selecting = false;
      this.lying = chart.rows.length > 0; // a row for each place: x runs down, y to the right
      this.lines = chart.lines.map((line, place) => ({ ...line, place, points: this.scaled(line) }));
      this.build(host);
      this.plot = echarts.init(this.canvas, null, { renderer: "svg" });
      this.listen();
      this.draw();
      new ResizeObserver(() => this.resized()).observe(this.canvas);
    }

    /** The line's points on the axes' scales; what has no place on a logarithmic axis is left out. */
    scaled(line) {
      const onX = this.onAxis(this.chart.xLog),
        onY = this.onAxis(this.chart.yLog);
      return line.x
        .map((x, k) => ({
          x: onX(x),
          y: onY(line.y[k]),
          low: line.low ? onY(line.low[k]) : null,
          high: line.high ? onY(line.high[k]) : null,
          value: { x, y: line.y[k], low: line.low ? line.low[k] : null, high: line.high ? line.high[k] : null },
        }))
        .filter((point) => point.x !== null);
    }

    onAxis(log) {
      return log ? (value) => (value !== null && value > 0 ? Math.log10(value) : null) : (value) => value;
    }

    offAxis(log) {
      return log ? (at) => 10 ** at : (at) => at;
    }

    build(host) {
      const { chart } = this;
      host.replaceChildren();
      host.classList.remove("waiting");
      this.host = host;
      this.selectButton = element(
        "button",
        { type: "button", "aria-pressed": "false", title: "Then drag over the part to enlarge" },
        "Select",
      );
      const closer = element("button", { type: "button", "aria-label": "Zoom in" }, "+");
      const wider = element("button", { type: "button", "aria-label": "Zoom out" }, "−");
      this.resetButton = element("button", { type: "button", disabled: "" }, "Reset");
      const tools = element(
        "div",
        { class: "tools", role: "group", "aria-label": "Zoom" },
        element("span", {}, "Zoom"),
        this.selectButton,
        closer,
        wider,
        this.resetButton,
      );
      this.selectButton.addEventListener("click", () => this.setSelecting(!this.selecting));
      closer.addEventListener("click", () => this.zoomBy(0.6));
      wider.addEventListener("click", () => this.zoomBy(1 / 0.6));
      this.resetButton.addEventListener("click", () => this.zoomTo(null));
      this.canvas = element("div", { class: "canvas", role: "img", tabindex: "0", "aria-label": chart.description });
      this.over = drawn("svg", { class: "over", "aria-hidden": "true" });
      this.labels = drawn("g", {});
      this.cursor = drawn("g", {});
      this.over.append(this.labels, this.cursor);
      this.tip = element("div", { class: "tip", role: "status", hidden: "" });
      this.area = element("div", { class: "area" }, this.canvas, this.over, this.tip);
      this.legend = element("ul", { class: "legend", "aria-label": "Lines; press one to hide or show it" });
      host.append(
        element(
          "div",
          { class: "above" },
          element("p", { class: "axis" }, this.lying ? chart.xLabel : chart.yLabel),
          tools,
        ),
        this.area,
        element("p", { class: "axis along" }, this.lying ? chart.yLabel : chart.xLabel),
        this.legend,
      );
    }

    listen() {
      const { area } = this;
      let start = null; // of a rectangle that is being drawn
      let pinch = null;
      const place = (event) => {
        const box = area.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
      };
      area.addEventListener("pointermove", (event) => {
        const at = place(event);
        if (start) this.showSelection(start, at);
        else if (event.pointerType !== "touch" || this.selecting) this.showValues(at);
      });
      area.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "touch" && !start) this.hideValues();
      });
      area.addEventListener("pointerdown", (event) => {
        if (!this.selecting || !event.isPrimary || event.button !== 0) return;
        start = place(event);
        area.setPointerCapture(event.pointerId);
        this.hideValues();
        event.preventDefault();
      });
      area.addEventListener("pointerup", (event) => {
        if (!start) return;
        const from = start,
          to = place(event);
        start = null;
        this.cursor.replaceChildren();
        if (Math.abs(to.x - from.x) > 8 && Math.abs(to.y - from.y) > 8) {
          this.setSelecting(false);
          this.zoomTo(this.between(from, to));
        }
      });
      area.addEventListener("pointercancel", () => {
        start = null;
        this.cursor.replaceChildren();
      });
      area.addEventListener("click", (event) => this.showValues(place(event))); // a tap, too
      area.addEventListener(
        "wheel",
        (event) => {
          if (!event.ctrlKey) return; // without it the page scrolls
          event.preventDefault();
          this.zoomBy(event.deltaY < 0 ? 0.8 : 1.25, place(event));
        },
        { passive: false },
      );
      const fingers = (event) => {
        const [one, two] = [place(event.touches[0]), place(event.touches[1])];
        return {
          apart: Math.hypot(one.x - two.x, one.y - two.y),
          at: { x: (one.x + two.x) / 2, y: (one.y + two.y) / 2 },
        };
      };
      area.addEventListener(
        "touchstart",
        (event) => {
          pinch = event.touches.length === 2 ? fingers(event) : null;
          if (pinch) event.preventDefault();
        },
        { passive: false },
      );
      area.addEventListener(
        "touchmove",
        (event) => {
          if (!pinch || event.touches.length !== 2) return; // one finger scrolls the page
          event.preventDefault();
          const now = fingers(event);
          if (Math.abs(now.apart / pinch.apart - 1) > 0.02) {
            this.zoomBy(pinch.apart / now.apart, now.at);
            pinch = now;
          }
        },
        { passive: false },
      );
      area.addEventListener("touchend", () => {
        pinch = null;
      });
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      document.addEventListener("pointerdown", (event) => {
        if (!area.contains(event.target)) this.hideValues(); // a tap elsewhere
      });
      this.canvas.addEventListener("blur", () => this.hideValues());
    }

    key(event) {
      const places = this.places();
      const now = places.findIndex((at) => at === this.shown);
      const moves = {
        ArrowRight: Math.min(now + 1, places.length - 1),
        ArrowLeft: now < 0 ? places.length - 1 : Math.max(now - 1, 0),
        Home: 0,
        End: places.length - 1,
      };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in moves && places.length) this.showAt(places[moves[event.key]]);
      else if (event.key === "+") this.zoomBy(0.6);
      else if (event.key === "-") this.zoomBy(1 / 0.6);
      else if (event.key === "0") this.zoomTo(null);
      else if (event.key === "Escape") {
        this.hideValues();
        this.setSelecting(false);
      } else return;
      event.preventDefault();
    }

    setSelecting(on) {
      this.selecting = on;
      this.selectButton.setAttribute("aria-pressed", String(on));
      this.area.classList.toggle("selecting", on);
      this.hideValues();
    }

    // ---- zoom

    /** Lines that have a name at their end, or in the legend beside points. */
    namedLines() {
      return this.lines.filter((line) => line.label && (line.kind === "line" || line.kind === "reference"));
    }

    shownLines() {
      return this.lines.filter((line) => !this.hidden.has(line.place));
    }

    /** What the axes span when nothing is enlarged. */
    whole() {
      const lines = this.shownLines().length ? this.shownLines() : this.lines;
      const points = lines.flatMap((line) => line.points);
      const xs = points.map((point) => point.x);
      const ys = points
        .flatMap((point) => [point.y, point.low, point.high])
        .filter((y) => y !== null && Number.isFinite(y));
      for (const mark of this.chart.marks) {
        const at = this.onAxis(mark.axis === "x" ? this.chart.xLog : this.chart.yLog)(mark.at);
        if (at !== null) (mark.axis === "x" ? xs : ys).push(at);
      }
      const { rows, yRange, xLog, yLog } = this.chart;
      return {
        x: this.lying ? [-0.5, rows.length - 0.5] : this.span(xs, xLog, false),
        y: yRange ? yRange.map(this.onAxis(yLog)) : this.span(ys, yLog, true),
      };
    }

    span(values, log, upright) {
      if (!values.length) return [0, 1];
      let low = values.reduce((a, b) => Math.min(a, b)),
        high = values.reduce((a, b) => Math.max(a, b));
      if (low === high)
        [low, high] = log
          ? [low - 0.3, high + 0.3]
          : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
      const wide = high - low;
      if (!upright) {
        const fromZero = !log && low >= 0 && low < 0.05 * high;
        return [fromZero ? Math.min(low, 0) : low - 0.03 * wide, high + 0.03 * wide];
      }
      if (log) return [low - 0.05 * wide, high + 0.05 * wide];
      return [
        low >= 0 && low < 0.7 * high ? 0 : low - 0.08 * wide,
        high <= 0 && high > 0.7 * low ? 0 : high + 0.05 * wide,
      ];
    }

    now() {
      return this.view || this.whole();
    }

    zoomTo(view) {
      this.view = view;
      this.resetButton.disabled = view === null;
      this.hideValues();
      this.draw();
    }

    /** Smaller than 1 enlarges, around a place in pixels or the middle. */
    zoomBy(factor, around) {
      const whole = this.whole(),
        now = this.now();
      const at = around ? this.atPixel(around) : { x: (now.x[0] + now.x[1]) / 2, y: (now.y[0] + now.y[1]) / 2 };
      const next = {};
      for (const axis of ["x", "y"]) {
        const reach = now[axis].map((end) => at[axis] + (end - at[axis]) * factor);
        const least = (whole[axis][1] - whole[axis][0]) * 1e-4;
        if (reach[1] - reach[0] < least) return;
        next[axis] = [Math.max(reach[0], whole[axis][0]), Math.min(reach[1], whole[axis][1])];
      }
      const all = ["x", "y"].every(
        (axis) => next[axis][1] - next[axis][0] >= (whole[axis][1] - whole[axis][0]) * 0.999,
      );
      this.zoomTo(all ? null : next);
    }

    between(from, to) {
      const a = this.atPixel(from),
        b = this.atPixel(to),
        now = this.now();
      const inside = (axis) =>
        [a[axis], b[axis]].sort((p, q) => p - q).map((at) => Math.min(Math.max(at, now[axis][0]), now[axis][1]));
      const next = { x: inside("x"), y: inside("y") };
      return next.x[1] > next.x[0] && next.y[1] > next.y[0] ? next : this.view;
    }

    atPixel({ x, y }) {
      const { left, top, width, height } = this.frame,
        now = this.now();
      const right = (x - left) / width,
        down = (y - top) / height;
      const [along, up] = this.lying ? [down, right] : [right, 1 - down];
      return { x: now.x[0] + along * (now.x[1] - now.x[0]), y: now.y[0] + up * (now.y[1] - now.y[0]) };
    }

    toPixel(x, y) {
      const { left, top, width, height } = this.frame,
        now = this.now();
      const along = (x - now.x[0]) / (now.x[1] - now.x[0]),
        up = (y - now.y[0]) / (now.y[1] - now.y[0]);
      return this.lying ? [left + up * width, top + along * height] : [left + along * width, top + (1 - up) * height];
    }

    /** A point in the order in which ECharts takes it. */
    pair(x, y) {
      return this.lying ? [y, x] : [x, y];
    }

    // ---- drawing

    resized() {
      if (this.canvas.clientWidth === this.drawnWidth) return;
      this.hideValues();
      this.draw();
    }

    draw() {
      const { chart } = this;
      this.theme = themeNow();
      const width = this.canvas.clientWidth || 320;
      const height = this.lying ? 60 + 30 * chart.rows.length : Math.round(Math.min(Math.max(width * 0.55, 260), 440));
      this.drawnWidth = width;
      this.canvas.style.height = `${height}px`;
      const now = this.now();
      const named = this.namedLines();
      this.atEnds = named.length > FEW && width >= WIDE && !this.lying;
      const top =
        10 + 16 * Math.min(chart.marks.filter((mark) => mark.label && (mark.axis === "x") !== this.lying).length, 2);
      const upright = this.lying
        ? this.rowTicks(now.x, width * 0.4)
        : this.ticks(now.y, chart.yLog, Math.floor(height / 48), null);
      const left = Math.ceil(Math.max(...upright.map((tick) => widthOf(tick.text)), 14)) + 12;
      const ends = named
        .filter((line) => !this.hidden.has(line.place))
        .map((line) => widthOf(line.label, weightOf(line)));
      const right =
        this.atEnds && ends.length ? Math.min(Math.ceil(Math.max(...ends)) + 34, Math.round(width * 0.34)) : 14;
      this.frame = { left, top, width: Math.max(width - left - right, 60), height: height - top - 26 };
      const [span, log, wanted] = this.lying ? [now.y, chart.yLog, null] : [now.x, chart.xLog, chart.xTicks];
      const longest = Math.max(...this.ticks(span, log, 6, null).map((tick) => widthOf(tick.text)), 20) + 16;
      const most = Math.min(Math.max(Math.floor(this.frame.width / longest), 2), 10);
      const flat = this.ticks(span, log, most, wanted);
      const [xTicks, yTicks] = this.lying ? [upright, flat] : [flat, upright];
      if (this.plot.getWidth() !== width || this.plot.getHeight() !== height) this.plot.resize({ width, height });
      this.plot.setOption(
        {
          animation: false,
          textStyle: { fontFamily: FONT },
          grid: { left, right: width - left - this.frame.width, top, bottom: 26, outerBoundsMode: "none" },
          xAxis: this.lying ? this.axis(now.y, yTicks) : this.axis(now.x, xTicks),
          yAxis: this.lying ? { ...this.axis(now.x, xTicks, true), inverse: true } : this.axis(now.y, yTicks, true),
          series: this.shownLines().flatMap((line) => this.series(line)),
        },
        { notMerge: true, silent: true },
      );
      this.drawLabels(width, height);
      this.drawLegend();
    }

    /** The names of the rows in view, cut where they are wider than this. */
    rowTicks([low, high], room) {
      return this.chart.rows
        .map((name, at) => ({ at, text: cut(name, room) }))
        .filter(({ at }) => at >= low && at <= high);
    }

    /** Where ticks stand and what they say: where they are wanted as far as there is room, else at round numbers. */
    ticks([low, high], log, most, wanted) {
      const onAxis = this.onAxis(log),
        reach = (high - low) * 1e-9;
      const inView = (value) => onAxis(value) !== null && onAxis(value) >= low - reach && onAxis(value) <= high + reach;
      let values = (wanted || []).filter(inView);
      if (values.length >= 2) {
        const apart = (Math.max(...shortly(values, log).map((text) => widthOf(text))) + 10) / this.frame.width;
        const kept = [];
        for (const value of values) {
          if (!kept.length || (onAxis(value) - onAxis(kept[kept.length - 1])) / (high - low) >= apart) kept.push(value);
        }
        values = kept;
      } else values = (log ? logPlaces(low, high, most) : roundPlaces(low, high, most)).filter(inView);
      const texts = shortly(values, log);
      return values.map((value, k) => ({ at: onAxis(value), text: texts[k] }));
    }

    axis([min, max], ticks, upright = false) {
      const customValues = ticks.map((tick) => tick.at);
      const textAt = (value) => {
        const tick = ticks.find(({ at }) => Math.abs(at - value) <= 1e-9 * (Math.abs(at) + max - min));
        return tick ? tick.text : "";
      };
      return {
        type: "value",
        min,
        max,
        animation: false,
        axisLabel: { customValues, formatter: textAt, color: this.theme.muted, fontSize: 12, hideOverlap: false },
        axisTick: { customValues, show: !upright, lineStyle: { color: this.theme.muted } },
        axisLine: { show: !upright, onZero: false, lineStyle: { color: this.theme.muted } },
        splitLine: { show: true, lineStyle: { color: this.theme.grid } }, // at the places of the ticks
        minorTick: { show: false },
      };
    }

    colours(line) {
      return this.theme.dark ? line.dark : line.light;
    }

    series(line) {
      const { stroke } = this.colours(line);
      const scattered = line.kind === "points" || line.kind === "cloud";
      const z = { cloud: 2, reference: 3, line: 4, points: 5 }[line.kind];
      const drawing = { silent: true, animation: false, emphasis: { disabled: true }, z };
      const points = line.points.filter((point) => point.y !== null);
      const many = Math.max(Math.ceil(points.length / 9), 1);
      const size = { cloud: 4, points: 9 }[line.kind] || (line.strong ? 9 : 7);
      const empty = scattered ? "transparent" : this.theme.paper; // points let what is below be seen
      const marker = {
        symbol: line.marker ? `path://${MARKERS[line.marker]}` : "none",
        symbolSize: (_, { dataIndex }) =>
          points.length <= 14 || scattered || dataIndex % many === (line.place * 2) % many ? size : 0,
        itemStyle: {
          color: line.hollow ? empty : stroke,
          borderColor: stroke,
          borderWidth: line.hollow ? 1.6 : 0,
          opacity: line.kind === "cloud" ? 0.35 : 1,
        },
      };
      const data = points.map((point) => this.pair(point.x, point.y));
      const made = [];
      if (line.low && !scattered) made.push({ ...drawing, ...this.band(line, stroke), z: 1 });
      if (line.low && scattered) made.push({ ...drawing, ...this.bars(line, stroke) });
      if (scattered) made.push({ ...drawing, type: "scatter", data, ...marker });
      else {
        const lineStyle = {
          color: stroke,
          width: widthOfLine(line),
          type: DASHES[line.dash].length ? DASHES[line.dash] : "solid",
          cap: "butt",
        };
        made.push({
          ...drawing,
          type: "line",
          data,
          lineStyle,
          showSymbol: true,
          showAllSymbol: true,
          clip: true,
          ...marker,
        });
      }
      return made;
    }

    /** Low and high on the axis; what lies below a logarithmic one ends at its foot. */
    reach(point) {
      const foot = this.now().y[0] - 1;
      return [point.low === null ? foot : point.low, point.high === null ? foot : point.high];
    }

    band(line, stroke) {
      const points = line.points.filter((point) => point.value.low !== null && point.value.high !== null);
      const ends = points.map((point) => this.reach(point));
      return {
        type: "custom",
        clip: true,
        data: points.length ? [this.pair(points[0].x, ends[0][0])] : [],
        renderItem: (_, api) => ({
          type: "polygon",
          silent: true,
          shape: {
            points: [
              ...points.map((point, k) => api.coord(this.pair(point.x, ends[k][1]))),
              ...points.map((point, k) => api.coord(this.pair(point.x, ends[k][0]))).reverse(),
            ],
          },
          style: { fill: stroke, opacity: (this.theme.dark ? 0.2 : 0.14) * (this.lines.length > 6 ? 0.7 : 1) },
        }),
      };
    }

    bars(line, stroke) {
      const points = line.points.filter((point) => point.value.low !== null && point.value.high !== null);
      return {
        type: "custom",
        clip: true,
        data: points.map((point) => this.pair(point.x, this.reach(point)[0])),
        renderItem: (params, api) => {
          const point = points[params.dataIndex],
            [low, high] = this.reach(point);
          const [x1, y1] = api.coord(this.pair(point.x, low)),
            [x2, y2] = api.coord(this.pair(point.x, high));
          const path = this.lying
            ? `M${x1} ${y1}H${x2}M${x1} ${y1 - 3}v6M${x2} ${y2 - 3}v6`
            : `M${x1} ${y1}V${y2}M${x1 - 3} ${y1}h6M${x2 - 3} ${y2}h6`;
          return {
            type: "path",
            silent: true,
            shape: { pathData: path },
            style: { fill: "none", stroke, lineWidth: 1.2 },
          };
        },
      };
    }

    /** Marks with their names, and the lines' names at their ends. */
    drawLabels(width, height) {
      const { left, top, width: wide, height: high } = this.frame,
        { labels, theme } = this;
      this.over.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.over.style.height = `${height}px`;
      labels.replaceChildren();
      const text = (words, x, y, attributes) => {
        const halo = { stroke: theme.paper, "stroke-width": 3, "paint-order": "stroke" };
        const made = drawn("text", { x, y, "font-size": 12, fill: theme.muted, ...halo, ...attributes });
        made.textContent = words;
        labels.append(made);
      };
      const rows = [-Infinity, -Infinity];
      const marks = this.chart.marks.map((mark) => ({
        ...mark,
        on: this.onAxis(mark.axis === "x" ? this.chart.xLog : this.chart.yLog)(mark.at),
      }));
      for (const mark of marks.filter(({ on }) => on !== null).sort((a, b) => a.on - b.on)) {
        const upright = (mark.axis === "x") !== this.lying;
        const [x, y] = mark.axis === "x" ? this.toPixel(mark.on, 0) : this.toPixel(0, mark.on);
        if (upright ? x < left - 1 || x > left + wide + 1 : y < top - 1 || y > top + high + 1) continue;
        const ends = upright ? { x1: x, x2: x, y1: top, y2: top + high } : { x1: left, x2: left + wide, y1: y, y2: y };
        labels.append(drawn("line", { ...ends, stroke: theme.muted, "stroke-width": 1, "stroke-dasharray": "3 3" }));
        if (!mark.label) continue;
        if (!upright) {
          text(mark.label, left + wide - 4, y - 5, { "text-anchor": "end" });
          continue;
        }
        const long = widthOf(mark.label),
          from = Math.min(Math.max(x - long / 2, left), width - long - 2);
        const row = rows.findIndex((end) => end + 8 <= from);
        if (row < 0) continue;
        rows[row] = from + long;
        text(mark.label, from, top - 6 - 14 * row, {});
      }
      if (!this.atEnds) return;
      const now = this.now();
      const ends = this.namedLines()
        .filter((line) => !this.hidden.has(line.place))
        .map((line) => {
          const inside = line.points.filter(
            ({ x, y }) => y !== null && x >= now.x[0] && x <= now.x[1] && y >= now.y[0] && y <= now.y[1],
          );
          return inside.length
            ? { line, at: this.toPixel(inside[inside.length - 1].x, inside[inside.length - 1].y) }
            : null;
        })
        .filter(Boolean)
        .sort((a, b) => a.at[1] - b.at[1]);
      const heights = spreadApart(
        ends.map(({ at }) => at[1]),
        15,
        top + 4,
        top + high,
      );
      ends.forEach(({ line, at }, k) => {
        const colours = this.colours(line),
          from = left + wide + 24;
        labels.append(
          drawn("path", {
            d: `M${at[0] + 5} ${at[1]}L${left + wide + 8} ${heights[k]}H${from - 3}`,
            fill: "none",
            stroke: colours.stroke,
            "stroke-width": 0.8,
            opacity: 0.7,
          }),
        );
        const weight = weightOf(line);
        const words = cut(line.label, width - from - 2, weight);
        text(words, from, heights[k] + 4, { fill: colours.text, "font-weight": weight });
      });
    }

    drawLegend() {
      const named = this.namedLines(),
        atEnds = this.atEnds ? named : [];
      const lines = this.lines.filter((line) => line.label && !atEnds.includes(line));
      const focused = [...this.legend.querySelectorAll("button")].indexOf(document.activeElement);
      this.legend.replaceChildren(
        ...(lines.length > 1 || atEnds.length ? lines : []).map((line) => {
          const button = element(
            "button",
            { type: "button", "aria-pressed": String(!this.hidden.has(line.place)) },
            this.swatch(line),
            line.label,
          );
          button.addEventListener("click", () => {
            if (!this.hidden.delete(line.place)) this.hidden.add(line.place);
            this.hideValues();
            this.draw();
          });
          return element("li", {}, button);
        }),
      );
      if (focused >= 0) this.legend.querySelectorAll("button")[focused].focus();
    }

    swatch(line) {
      const { stroke } = this.colours(line);
      const made = drawn("svg", { viewBox: "0 0 34 16", width: 34, height: 16, "aria-hidden": "true" });
      if (line.kind !== "points")
        made.append(
          drawn("path", {
            d: "M0 8H34",
            stroke,
            "stroke-width": widthOfLine(line),
            "stroke-dasharray": DASHES[line.dash].join(" ") || null,
          }),
        );
      if (line.marker)
        made.append(
          drawn("path", {
            d: MARKERS[line.marker],
            transform: "translate(12 3) scale(.63)",
            fill: line.hollow ? this.theme.paper : stroke,
            stroke,
            "stroke-width": line.hollow ? 2.4 : 0,
          }),
        );
      return made;
    }

    // ---- values

    /** The places of points along the axis that are in view. */
    places() {
      const [low, high] = this.now().x,
        reach = (high - low) * 1e-9;
      const all = this.shownLines()
        .filter((line) => line.label && line.kind !== "cloud")
        .flatMap((line) => line.points.filter((point) => point.y !== null).map((point) => point.x));
      return [...new Set(all)].filter((at) => at >= low - reach && at <= high + reach).sort((a, b) => a - b);
    }

    showValues(at) {
      const { left, top, width, height } = this.frame,
        places = this.places();
      if (!places.length || at.x < left - 12 || at.x > left + width + 12 || at.y < top - 12 || at.y > top + height + 26)
        return this.hideValues();
      const { x } = this.atPixel(at);
      return this.showAt(places.reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best)));
    }

    /** The line's value there: its own point, or between two of its points, which is told by "≈". */
    valueAt(line, x) {
      const points = line.points.filter((point) => point.y !== null);
      const reach = (this.now().x[1] - this.now().x[0]) * 1e-9;
      const own = points.find((point) => Math.abs(point.x - x) <= reach);
      if (own) return { ...own.value, at: own.y, about: "" };
      if (this.lying) return null;
      const after = points.findIndex((point) => point.x > x);
      if (line.kind === "points" || after < 1) return null;
      const a = points[after - 1],
        b = points[after],
        share = (x - a.x) / (b.x - a.x);
      const at = a.y + share * (b.y - a.y);
      return { y: this.offAxis(this.chart.yLog)(at), low: null, high: null, at, about: "≈ " };
    }

    showAt(x) {
      const { chart, tip, cursor, theme } = this;
      const found = this.shownLines()
        .filter((line) => line.label && line.kind !== "cloud")
        .map((line) => ({ line, value: this.valueAt(line, x) }))
        .filter(({ value }) => value)
        .sort((a, b) => b.value.at - a.value.at);
      if (!found.length) return this.hideValues();
      this.shown = x;
      const { left, top, width, height } = this.frame;
      const [across, down] = this.toPixel(x, this.now().y[0]);
      const ends = this.lying
        ? { x1: left, x2: left + width, y1: down, y2: down }
        : { x1: across, x2: across, y1: top, y2: top + height };
      cursor.replaceChildren(drawn("line", { ...ends, stroke: theme.muted, "stroke-width": 1 }));
      for (const { line, value } of found) {
        const [cx, cy] = this.toPixel(x, value.at);
        if (cx >= left - 1 && cx <= left + width + 1 && cy >= top - 1 && cy <= top + height + 1)
          cursor.append(
            drawn("circle", { cx, cy, r: 4, fill: theme.paper, stroke: this.colours(line).stroke, "stroke-width": 2 }),
          );
      }
      const rows = found.map(({ line, value }) =>
        element(
          "tr",
          {},
          element("td", {}, this.swatch(line)),
          element("th", { scope: "row" }, line.label),
          element("td", {}, value.about + spelled(value.y)),
          element("td", {}, value.low === null ? "" : `${spelled(value.low)} to ${spelled(value.high)}`),
        ),
      );
      const ranged = found.some(({ value }) => value.low !== null);
      const head = element(
        "tr",
        {},
        element("td", {}),
        element("th", { scope: "col" }, ""),
        element("th", { scope: "col" }, ranged ? chart.middle : ""),
        element("th", { scope: "col" }, ranged ? chart.range : ""),
      );
      const at = element(
        "p",
        {},
        element(
          "b",
          {},
          this.lying ? chart.rows[Math.round(x)] : `${chart.xLabel}: ${spelled(this.offAxis(chart.xLog)(x))}`,
        ),
        element("br"),
        chart.yLabel,
      );
      tip.replaceChildren(at, element("table", {}, ...(ranged ? [head] : []), ...rows));
      tip.hidden = false;
      const box = this.area.getBoundingClientRect();
      const beside = across + 14 + tip.offsetWidth <= left + width ? across + 14 : across - 14 - tip.offsetWidth;
      const least = 4 - box.left,
        most = document.documentElement.clientWidth - 4 - box.left - tip.offsetWidth;
      tip.style.left = `${Math.max(Math.min(beside, most), least)}px`;
      const below = this.lying ? down + 12 : top + height + 30; // on a phone beside the lines there is no room
      tip.style.top = `${this.lying || tip.offsetWidth > 0.6 * width ? below : top + 4}px`;
      return undefined;
    }

    hideValues() {
      this.shown = null;
      this.tip.hidden = true;
      this.cursor.replaceChildren();
    }

    showSelection(from, to) {
      const { left, top, width, height } = this.frame;
      const inside = (value, low, size) => Math.min(Math.max(value, low), low + size);
      const [x1, x2] = [inside(from.x, left, width), inside(to.x, left, width)].sort((a, b) => a - b);
      const [y1, y2] = [inside(from.y, top, height), inside(to.y, top, height)].sort((a, b) => a - b);
      this.cursor.replaceChildren(
        drawn("rect", {
          x: x1,
          y: y1,
          width: x2 - x1,
          height: y2 - y1,
          fill: this.theme.accent,
          "fill-opacity": 0.15,
          stroke: this.theme.accent,
        }),
      );
    }
  }

  // ---- the page

  function mount(host, chart) {
    const view = new ChartView(host, chart);
    mounted.push(view);
    return view;
  }

  function redrawAll() {
    for (const view of mounted) view.draw();
  }

  function start() {
    const waiting = new Map();
    const data = document.getElementById("data");
    const charts = data ? JSON.parse(data.textContent).charts || [] : [];
    const drawNow = (host) => {
      const chart = waiting.get(host);
      waiting.delete(host);
      if (chart) mount(host, chart);
    };
    const near = new IntersectionObserver(
      (entries) => {
        for (const entry of entries)
          if (entry.isIntersecting) {
            near.unobserve(entry.target);
            drawNow(entry.target);
          }
      },
      { rootMargin: "400px" },
    );
    for (const host of document.querySelectorAll("[data-chart]")) {
      const chart = charts[Number(host.dataset.chart)];
      if (!chart) continue;
      host.classList.add("waiting");
      waiting.set(host, chart);
      near.observe(host);
    }
    for (const numbers of document.querySelectorAll("details.numbers")) numbers.open = false;
    const contents = document.querySelector(".contents details");
    if (contents) {
      const phone = matchMedia("(max-width: 40rem)");
      contents.addEventListener("click", (event) => {
        if (event.target.closest("a")) contents.open = false;
      });
      document.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && phone.matches) contents.open = false;
      });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
    const forPaper = (on) => {
      if (on === printing) return;
      printing = on;
      document.documentElement.classList.toggle("printing", on);
      redrawAll();
      if (on) for (const host of [...waiting.keys()]) drawNow(host);
    };
    addEventListener("beforeprint", () => forPaper(true));
    addEventListener("afterprint", () => forPaper(false));
  }

  window.matchbanditCharts = { mount, redrawAll, spelled };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
