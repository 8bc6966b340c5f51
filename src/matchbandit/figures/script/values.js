/* The values of all lines at one place: a cursor, and a small table beside it. */

class Values {
  /** `shownLines` gives the lines that are not hidden. */
  constructor(chart, axes, shownLines) {
    this.chart = chart;
    this.axes = axes;
    this.shownLines = shownLines;
    this.shown = null; // the place that is told, on the axis' scale
    this.cursor = drawn("g", {});
    this.tip = element("div", { class: "tip", role: "status", hidden: "" });
  }

  told() {
    return this.shownLines().filter((line) => line.label && line.kind !== "cloud");
  }

  /** The places of points along the axis that are in view. */
  places() {
    const [low, high] = this.axes.now().x,
      reach = (high - low) * 1e-9;
    const all = this.told().flatMap((line) =>
      line.points.filter((point) => point.y !== null).map((point) => point.x),
    );
    return [...new Set(all)].filter((at) => at >= low - reach && at <= high + reach).sort((a, b) => a - b);
  }

  /** Tell the place that is nearest to this pixel. */
  showNear(at, theme) {
    const places = this.places(),
      { left, top, width, height } = this.axes.frame;
    const beside = at.x < left - 12 || at.x > left + width + 12;
    if (!places.length || beside || at.y < top - 12 || at.y > top + height + 26) return this.hide();
    const { x } = this.axes.atPixel(at);
    return this.showAt(
      places.reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best)),
      theme,
    );
  }

  /** Tell the place that a key leads to from the present one. */
  showByKey(key, theme) {
    const places = this.places();
    const now = places.indexOf(this.shown);
    const moves = {
      ArrowRight: Math.min(now + 1, places.length - 1),
      ArrowLeft: now < 0 ? places.length - 1 : Math.max(now - 1, 0),
      Home: 0,
      End: places.length - 1,
    };
    if (!(key in moves) || !places.length) return false;
    this.showAt(places[moves[key]], theme);
    return true;
  }

  /** The line's value there: its own point, or between two of its points, which is told by "≈". */
  valueAt(line, x) {
    const points = line.points.filter((point) => point.y !== null);
    const reach = (this.axes.now().x[1] - this.axes.now().x[0]) * 1e-9;
    const own = points.find((point) => Math.abs(point.x - x) <= reach);
    if (own) return { ...own.value, at: own.y, about: "" };
    if (this.axes.lying) return null;
    const after = points.findIndex((point) => point.x > x);
    if (line.kind === "points" || after < 1) return null;
    const a = points[after - 1],
      b = points[after],
      share = (x - a.x) / (b.x - a.x);
    const at = a.y + share * (b.y - a.y);
    return { y: offAxis(this.chart.yLog)(at), low: null, high: null, at, about: "≈ " };
  }

  showAt(x, theme) {
    const found = this.told()
      .map((line) => ({ line, value: this.valueAt(line, x) }))
      .filter(({ value }) => value)
      .sort((a, b) => b.value.at - a.value.at);
    if (!found.length) return this.hide();
    this.shown = x;
    this.drawCursor(x, found, theme);
    this.tip.replaceChildren(this.heading(x), this.table(found, theme));
    this.tip.hidden = false;
    this.placeTip(x);
    return undefined;
  }

  drawCursor(x, found, theme) {
    const { axes } = this,
      { left, top, width, height } = axes.frame;
    const [across, down] = axes.toPixel(x, axes.now().y[0]);
    const ends = axes.lying
      ? { x1: left, x2: left + width, y1: down, y2: down }
      : { x1: across, x2: across, y1: top, y2: top + height };
    this.cursor.replaceChildren(drawn("line", { ...ends, stroke: theme.muted, "stroke-width": 1 }));
    for (const { line, value } of found) {
      const [cx, cy] = axes.toPixel(x, value.at);
      const { stroke } = coloursOf(line, theme);
      if (axes.isInside(cx, cy))
        this.cursor.append(drawn("circle", { cx, cy, r: 4, fill: theme.paper, stroke, "stroke-width": 2 }));
    }
  }

  heading(x) {
    const { chart } = this;
    const place = this.axes.lying
      ? chart.rows[Math.round(x)]
      : `${chart.xLabel}: ${spelled(offAxis(chart.xLog)(x))}`;
    return element("p", {}, element("b", {}, place), element("br"), chart.yLabel);
  }

  table(found, theme) {
    const rows = found.map(({ line, value }) =>
      element(
        "tr",
        {},
        element("td", {}, swatchOf(line, theme)),
        element("th", { scope: "row" }, line.label),
        element("td", {}, value.about + spelled(value.y)),
        element("td", {}, value.low === null ? "" : `${spelled(value.low)} to ${spelled(value.high)}`),
      ),
    );
    if (!found.some(({ value }) => value.low !== null)) return element("table", {}, ...rows);
    const heads = ["", this.chart.middle, this.chart.range].map((words) => element("th", { scope: "col" }, words));
    return element("table", {}, element("tr", {}, element("td", {}), ...heads), ...rows);
  }

  /** Beside the cursor where there is room, below the lines on a phone; never outside the screen. */
  placeTip(x) {
    const { axes, tip } = this,
      { left, top, width, height } = axes.frame;
    const [across, down] = axes.toPixel(x, axes.now().y[0]);
    const box = tip.parentElement.getBoundingClientRect();
    const beside = across + 14 + tip.offsetWidth <= left + width ? across + 14 : across - 14 - tip.offsetWidth;
    const least = 4 - box.left,
      most = document.documentElement.clientWidth - 4 - box.left - tip.offsetWidth;
    tip.style.left = `${Math.max(Math.min(beside, most), least)}px`;
    const below = axes.lying ? down + 12 : top + height + 30;
    tip.style.top = `${axes.lying || tip.offsetWidth > 0.6 * width ? below : top + 4}px`;
  }

  hide() {
    this.shown = null;
    this.tip.hidden = true;
    this.cursor.replaceChildren();
  }
}
