/* Where things are: the scales of a chart, what of it is in view, its ticks, and the way to pixels and back. */

/** From values to an axis' own scale; what has no place on a logarithmic one is null. */
function onAxis(log) {
  return log ? (value) => (value !== null && value > 0 ? Math.log10(value) : null) : (value) => value;
}

function offAxis(log) {
  return log ? (at) => 10 ** at : (at) => at;
}

class Axes {
  /** `shownLines` gives the lines that are not hidden, or all if none is shown. */
  constructor(chart, shownLines) {
    this.chart = chart;
    this.shownLines = shownLines;
    this.lying = chart.rows.length > 0; // a row for each place: x runs down, y to the right
    this.view = null; // what is zoomed in on, on the axes' own scales: {x: [from, to], y: [from, to]}
    this.frame = null; // where the axes are in pixels: {left, top, width, height}
  }

  /** The line's points on the axes' scales; what has no place along x is left out. */
  scaled(line) {
    const onX = onAxis(this.chart.xLog),
      onY = onAxis(this.chart.yLog);
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

  // ---- what is in view

  /** What the axes span when nothing is enlarged. */
  whole() {
    const points = this.shownLines().flatMap((line) => line.points);
    const xs = points.map((point) => point.x);
    const ys = points
      .flatMap((point) => [point.y, point.low, point.high])
      .filter((y) => y !== null && Number.isFinite(y));
    for (const mark of this.marks()) (mark.axis === "x" ? xs : ys).push(mark.on);
    const { rows, yRange, xLog, yLog } = this.chart;
    return {
      x: this.lying ? [-0.5, rows.length - 0.5] : this.span(xs, xLog, false),
      y: yRange ? yRange.map(onAxis(yLog)) : this.span(ys, yLog, true),
    };
  }

  /** The chart's marks that have a place on their axis, from low to high. */
  marks() {
    const { marks, xLog, yLog } = this.chart;
    return marks
      .map((mark) => ({ ...mark, on: onAxis(mark.axis === "x" ? xLog : yLog)(mark.at) }))
      .filter((mark) => mark.on !== null)
      .sort((a, b) => a.on - b.on);
  }

  /** Is the line of this mark upright on the screen? */
  isUpright(mark) {
    return (mark.axis === "x") !== this.lying;
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

  /** The view that is larger or smaller by this factor, around a place in pixels or the middle; null is the whole. */
  scaledBy(factor, around) {
    const whole = this.whole(),
      now = this.now();
    const at = around ? this.atPixel(around) : { x: (now.x[0] + now.x[1]) / 2, y: (now.y[0] + now.y[1]) / 2 };
    const next = {};
    for (const axis of ["x", "y"]) {
      const reach = now[axis].map((end) => at[axis] + (end - at[axis]) * factor);
      const least = (whole[axis][1] - whole[axis][0]) * 1e-4;
      if (reach[1] - reach[0] < least) return this.view;
      next[axis] = [Math.max(reach[0], whole[axis][0]), Math.min(reach[1], whole[axis][1])];
    }
    const all = ["x", "y"].every((axis) => next[axis][1] - next[axis][0] >= (whole[axis][1] - whole[axis][0]) * 0.999);
    return all ? null : next;
  }

  /** The view between two places in pixels. */
  between(from, to) {
    const a = this.atPixel(from),
      b = this.atPixel(to),
      now = this.now();
    const inside = (axis) =>
      [a[axis], b[axis]].sort((p, q) => p - q).map((at) => Math.min(Math.max(at, now[axis][0]), now[axis][1]));
    const next = { x: inside("x"), y: inside("y") };
    return next.x[1] > next.x[0] && next.y[1] > next.y[0] ? next : this.view;
  }

  // ---- pixels

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

  /** Is this pixel within the frame, or on its border? */
  isInside(x, y) {
    const { left, top, width, height } = this.frame;
    return x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1;
  }

  /** A point in the order in which ECharts takes it. */
  pair(x, y) {
    return this.lying ? [y, x] : [x, y];
  }

  // ---- ticks

  /** Choose the frame for a drawing of this size, and give the two axes as ECharts takes them. */
  layOut(width, height, roomForNames, theme) {
    const { chart, lying } = this,
      now = this.now();
    const marked = chart.marks.filter((mark) => mark.label && this.isUpright(mark));
    const top = 10 + 16 * Math.min(marked.length, 2);
    const upright = lying
      ? this.rowTicks(now.x, width * 0.4)
      : this.ticks(now.y, chart.yLog, Math.floor(height / 48), null);
    const left = Math.ceil(Math.max(...upright.map((tick) => widthOf(tick.text)), 14)) + 12;
    this.frame = { left, top, width: Math.max(width - left - roomForNames, 60), height: height - top - 26 };
    const [span, log, wanted] = lying ? [now.y, chart.yLog, null] : [now.x, chart.xLog, chart.xTicks];
    const longest = Math.max(...this.ticks(span, log, 6, null).map((tick) => widthOf(tick.text)), 20) + 16;
    const most = Math.min(Math.max(Math.floor(this.frame.width / longest), 2), 10);
    const flat = this.ticks(span, log, most, wanted);
    return {
      grid: { left, right: width - left - this.frame.width, top, bottom: 26, outerBoundsMode: "none" },
      xAxis: this.option(span, flat, theme),
      yAxis: { ...this.option(lying ? now.x : now.y, upright, theme, true), inverse: lying },
    };
  }

  /** The names of the rows in view, cut where they are wider than this. */
  rowTicks([low, high], room) {
    return this.chart.rows
      .map((name, at) => ({ at, text: cut(name, room) }))
      .filter(({ at }) => at >= low && at <= high);
  }

  /** Where ticks stand and what they say: where they are wanted as far as there is room, else at round numbers. */
  ticks([low, high], log, most, wanted) {
    const on = onAxis(log),
      reach = (high - low) * 1e-9;
    const inView = (value) => on(value) !== null && on(value) >= low - reach && on(value) <= high + reach;
    let values = (wanted || []).filter(inView);
    if (values.length >= 2) {
      const apart = (Math.max(...shortly(values, log).map((text) => widthOf(text))) + 10) / this.frame.width;
      const kept = [];
      for (const value of values) {
        if (!kept.length || (on(value) - on(kept[kept.length - 1])) / (high - low) >= apart) kept.push(value);
      }
      values = kept;
    } else values = (log ? logPlaces(low, high, most) : roundPlaces(low, high, most)).filter(inView);
    const texts = shortly(values, log);
    return values.map((value, k) => ({ at: on(value), text: texts[k] }));
  }

  option([min, max], ticks, theme, upright = false) {
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
      axisLabel: { customValues, formatter: textAt, color: theme.muted, fontSize: 12, hideOverlap: false },
      axisTick: { customValues, show: !upright, lineStyle: { color: theme.muted } },
      axisLine: { show: !upright, onZero: false, lineStyle: { color: theme.muted } },
      splitLine: { show: true, lineStyle: { color: theme.grid } }, // at the places of the ticks
      minorTick: { show: false },
    };
  }
}
