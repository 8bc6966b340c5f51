/* One chart: its elements, what is hidden and what is enlarged, and the drawing of it all with Apache ECharts. */

const WIDE = 640; // from this width on, many lines are named at their ends
const FEW = 3; // so many lines have a legend on any screen

class ChartView {
  constructor(host, chart) {
    this.chart = chart;
    this.hidden = new Set();
    this.selecting = false;
    const shownOrAll = () => (this.shownLines().length ? this.shownLines() : this.lines);
    this.axes = new Axes(chart, shownOrAll);
    this.values = new Values(chart, this.axes, () => this.shownLines());
    this.lines = chart.lines.map((line, place) => ({ ...line, place, points: this.axes.scaled(line) }));
    this.build(host);
    this.plot = echarts.init(this.canvas, null, { renderer: "svg" });
    listenTo(this);
    this.draw();
    new ResizeObserver(() => this.resized()).observe(this.canvas);
  }

  // ---- elements

  build(host) {
    const { chart, axes, values } = this;
    host.replaceChildren();
    host.classList.remove("waiting");
    this.canvas = element("div", { class: "canvas", role: "img", tabindex: "0", "aria-label": chart.description });
    this.over = drawn("svg", { class: "over", "aria-hidden": "true" });
    this.labels = drawn("g", {});
    this.over.append(this.labels, values.cursor);
    this.area = element("div", { class: "area" }, this.canvas, this.over, values.tip);
    this.legend = element("ul", { class: "legend", "aria-label": "Lines; press one to hide or show it" });
    const [beside, along] = axes.lying ? [chart.xLabel, chart.yLabel] : [chart.yLabel, chart.xLabel];
    host.append(
      element("div", { class: "above" }, element("p", { class: "axis" }, beside), this.tools()),
      this.area,
      element("p", { class: "axis along" }, along),
      this.legend,
    );
  }

  tools() {
    const hint = "Then drag over the part to enlarge";
    this.selectButton = element("button", { type: "button", "aria-pressed": "false", title: hint }, "Select");
    const closer = element("button", { type: "button", "aria-label": "Zoom in" }, "+");
    const wider = element("button", { type: "button", "aria-label": "Zoom out" }, "−");
    this.resetButton = element("button", { type: "button", disabled: "" }, "Reset");
    this.selectButton.addEventListener("click", () => this.setSelecting(!this.selecting));
    closer.addEventListener("click", () => this.zoomBy(0.6));
    wider.addEventListener("click", () => this.zoomBy(1 / 0.6));
    this.resetButton.addEventListener("click", () => this.zoomTo(null));
    return element(
      "div",
      { class: "tools", role: "group", "aria-label": "Zoom" },
      element("span", {}, "Zoom"),
      this.selectButton,
      closer,
      wider,
      this.resetButton,
    );
  }

  // ---- what is shown

  /** Lines that have a name at their end, or in the legend beside points. */
  namedLines() {
    return this.lines.filter((line) => line.label && (line.kind === "line" || line.kind === "reference"));
  }

  shownLines() {
    return this.lines.filter((line) => !this.hidden.has(line.place));
  }

  showValues(at) {
    this.values.showNear(at, this.theme);
  }

  hideValues() {
    this.values.hide();
  }

  setSelecting(on) {
    this.selecting = on;
    this.selectButton.setAttribute("aria-pressed", String(on));
    this.area.classList.toggle("selecting", on);
    this.hideValues();
  }

  showSelection(from, to) {
    const { left, top, width, height } = this.axes.frame;
    const inside = (value, low, size) => Math.min(Math.max(value, low), low + size);
    const [x1, x2] = [inside(from.x, left, width), inside(to.x, left, width)].sort((a, b) => a - b);
    const [y1, y2] = [inside(from.y, top, height), inside(to.y, top, height)].sort((a, b) => a - b);
    const look = { fill: this.theme.accent, "fill-opacity": 0.15, stroke: this.theme.accent };
    this.values.cursor.replaceChildren(drawn("rect", { x: x1, y: y1, width: x2 - x1, height: y2 - y1, ...look }));
  }

  zoomTo(view) {
    this.axes.view = view;
    this.resetButton.disabled = view === null;
    this.hideValues();
    this.draw();
  }

  /** Smaller than 1 enlarges, around a place in pixels or the middle. */
  zoomBy(factor, around) {
    this.zoomTo(this.axes.scaledBy(factor, around));
  }

  // ---- drawing

  resized() {
    if (this.canvas.clientWidth === this.drawnWidth) return;
    this.hideValues();
    this.draw();
  }

  draw() {
    const { chart, axes, plot } = this;
    this.theme = themeNow();
    const width = this.canvas.clientWidth || 320;
    const height = axes.lying ? 60 + 30 * chart.rows.length : Math.round(Math.min(Math.max(width * 0.55, 260), 440));
    this.drawnWidth = width;
    this.canvas.style.height = `${height}px`;
    const named = this.namedLines();
    const atEnds = named.length > FEW && width >= WIDE && !axes.lying ? named : [];
    const shown = atEnds.filter((line) => !this.hidden.has(line.place));
    const names = shown.map((line) => widthOf(line.label, weightOf(line)));
    const room = names.length ? Math.min(Math.ceil(Math.max(...names)) + 34, Math.round(width * 0.34)) : 14;
    const placed = axes.layOut(width, height, room, this.theme);
    const series = this.shownLines().flatMap((line) => seriesOf(line, axes, this.theme, this.lines.length > 6));
    if (plot.getWidth() !== width || plot.getHeight() !== height) plot.resize({ width, height });
    plot.setOption(
      { animation: false, textStyle: { fontFamily: FONT }, ...placed, series },
      { notMerge: true, silent: true },
    );
    this.over.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.over.style.height = `${height}px`;
    this.labels.replaceChildren();
    drawMarks(this.labels, axes, this.theme, width);
    drawEndNames(this.labels, shown, axes, this.theme, width);
    this.drawLegend(atEnds);
  }

  /** A button for each line that is not named at its end; one line alone needs no name. */
  drawLegend(atEnds) {
    const lines = this.lines.filter((line) => line.label && !atEnds.includes(line));
    const focused = [...this.legend.querySelectorAll("button")].indexOf(document.activeElement);
    this.legend.replaceChildren(
      ...(lines.length > 1 || atEnds.length ? lines : []).map((line) => {
        const button = element(
          "button",
          { type: "button", "aria-pressed": String(!this.hidden.has(line.place)) },
          swatchOf(line, this.theme),
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
}
