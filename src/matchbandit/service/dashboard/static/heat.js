/* The map of meetings: a square for every two items in the order of the ranking, drawn with Apache ECharts. */

const MAX_SQUARE = 52; // pixels
const MIN_NAMED = 15; // pixels of a square that has room for a name beside it
const MIN_NUMBERED = 28; // and for a number inside
const MAX_NAME = 130; // pixels

/** What the squares show: the value of a cell, its share of the colour scale, and its text. */
const MEASURES = {
  meetings: {
    name: "Meetings",
    value: (cell) => cell.meetings,
    range: (data) => [1, Math.max(data.most, 2)],
    share: (share) => Math.sqrt(share), // many pairs meet rarely
    text: (value) => grouped(value),
    end: (value) => `${grouped(value)} ${value === 1 ? "meeting" : "meetings"}`,
  },
  mean: {
    name: "Average reward",
    value: (cell) => cell.mean,
    range: (data) => data.means,
    share: (share) => share,
    text: (value) =>
      value
        .toFixed(2)
        .replace(/^-0\.00$/, "0.00")
        .replace(/^(-?)0\./, "$1."),
    end: (value) => short(value),
  },
};

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
const linear = (channel) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue); // WCAG 2

class HeatMap {
  constructor(host, data) {
    this.data = data;
    this.measure = MEASURES.meetings;
    this.highlighted = -1; // a row, or a column after all rows
    this.at = null; // the square whose values are shown: [row, column]
    this.cells = new Map();
    for (const [row, column, meetings, mean] of data.cells) {
      this.cells.set(`${row} ${column}`, { row, column, meetings, mean });
      if (data.same) this.cells.set(`${column} ${row}`, { row: column, column: row, meetings, mean });
    }
    const label = `Map of meetings, in the order of the ranking. ${data.words} Arrow keys show one pair after the other.`;
    this.canvas = element("div", { class: "canvas", tabindex: "0", role: "img", "aria-label": label });
    host.replaceChildren(this.controls(), this.canvas);
    Object.assign(
      this,
      mountPlot(this.canvas, (theme, width) => this.build(theme, width), { renderer: "canvas" }),
    );
    const pointed = ({ offsetX, offsetY }) => this.show(this.squareAt(offsetX, offsetY));
    this.plot.getZr().on("mousemove", pointed);
    this.plot.getZr().on("click", pointed); // a tap, too
    this.plot.getZr().on("globalout", () => this.show(null));
    this.canvas.addEventListener("keydown", (event) => this.pressKey(event));
  }

  controls() {
    const { data } = this;
    const radios = Object.values(MEASURES).map((measure) => {
      const input = element("input", { type: "radio", name: "measure" });
      input.checked = measure === this.measure;
      input.addEventListener("change", () => {
        this.measure = measure;
        this.redraw();
      });
      return element("label", {}, input, measure.name);
    });
    const select = element("select", { id: "find" }, element("option", { value: "-1" }, "nobody"));
    [...data.rows, ...(data.same ? [] : data.columns)]
      .map((name, place) => ({ name, place }))
      .sort((a, b) => a.name.localeCompare(b.name))
      .forEach(({ name, place }) => select.append(element("option", { value: String(place) }, name)));
    select.addEventListener("change", () => {
      this.highlighted = Number(select.value);
      this.redraw();
    });
    const legend = element("legend", { class: "unseen" }, "What the squares show");
    return element(
      "div",
      { class: "above" },
      element("fieldset", { class: "switch" }, legend, ...radios),
      element("div", { class: "find" }, element("label", { for: "find" }, "Highlight"), select),
    );
  }

  // ---- drawing

  build(theme, width) {
    const { data, measure } = this;
    const longest = (names) => Math.min(Math.max(...names.map((name) => textWidth(name))) + 10, MAX_NAME);
    const named = Math.min(longest(data.rows), Math.round(width * 0.3));
    const isNamed = (width - named) / data.columns.length >= MIN_NAMED;
    const left = isNamed ? named : 34;
    const size = Math.min((width - left) / data.columns.length, MAX_SQUARE);
    this.size = size >= 3 ? Math.floor(size) : size;
    const isTurned = isNamed && longest(data.columns) > this.size;
    const top = isTurned ? longest(data.columns) + 6 : 24;
    const grid = { left, top, width: this.size * data.columns.length, height: this.size * data.rows.length };
    this.origin = [left, top];
    const [low, high] = measure.range(data);
    const colours = ["heat-low", "heat-high"].map(theme.colour);
    const ends = colours.map(channels);
    const items = [...this.cells.values()].map((cell) => {
      const share = high > low ? measure.share((measure.value(cell) - low) / (high - low)) : 1;
      const shade = ends[0].map((from, k) => from + (ends[1][k] - from) * share);
      const item = {
        value: [cell.column, cell.row, share],
        label: { color: luminance(shade) > 0.179 ? "#000" : "#fff" },
      };
      return this.size >= MIN_NUMBERED ? item : item.value;
    });
    const axis = (names, room, more) => ({
      type: "category",
      data: names,
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: {
        color: theme.colour("muted"),
        interval: isNamed ? 0 : "auto",
        formatter: (name, place) => (isNamed ? truncate(name, room - 8) : grouped(place + 1)), // else its rank
        ...more,
      },
      splitLine: { show: this.size >= 8, interval: 0, lineStyle: { color: theme.colour("paper"), width: 1 } },
    });
    return {
      height: top + grid.height + 44,
      option: {
        grid: {
          ...grid,
          show: true,
          borderWidth: 0,
          backgroundColor: theme.colour("heat-none"),
          outerBoundsMode: "none",
        },
        xAxis: { ...axis(data.columns, isTurned ? top : width, { rotate: isTurned ? 90 : 0 }), position: "top" },
        yAxis: { ...axis(data.rows, left, {}), inverse: true },
        tooltip: { ...tooltipBase(theme), triggerOn: "none" },
        visualMap: {
          min: 0,
          max: 1,
          seriesIndex: 0,
          inRange: { color: colours },
          text: [measure.end(high), measure.end(low)],
          textStyle: { color: theme.colour("muted") },
          orient: "horizontal",
          itemHeight: Math.min(160, width / 3),
          itemWidth: 12,
          left: 0,
          bottom: 4,
          padding: 0,
          hoverLink: false,
        },
        series: [
          {
            type: "heatmap",
            data: items,
            itemStyle: this.size >= 8 ? { borderColor: theme.colour("paper"), borderWidth: 1 } : {},
            emphasis: { disabled: true },
            label: {
              show: this.size >= MIN_NUMBERED,
              formatter: ({ value: [column, row] }) => measure.text(measure.value(this.cells.get(`${row} ${column}`))),
            },
          },
          { type: "custom", silent: true, z: 5, data: [[0, 0]], renderItem: () => this.frames(grid, theme) },
        ],
      },
    };
  }

  /** What is drawn over the squares: nobody meets themselves, and the row and column of the highlighted item. */
  frames({ left, top, width, height }, theme) {
    const { data, size, highlighted } = this;
    const rect = (x, y, wide, high, style) => ({ type: "rect", shape: { x, y, width: wide, height: high }, style });
    const diagonal = data.same && size >= 8 ? data.rows.map((_, k) => k) : [];
    const squares = diagonal.map((k) =>
      rect(left + k * size, top + k * size, size, size, { fill: theme.colour("paper") }),
    );
    const frame = { fill: "none", stroke: theme.colour("accent"), lineWidth: 2 };
    const isRow = highlighted >= 0 && highlighted < data.rows.length;
    const column = data.same ? highlighted : highlighted - data.rows.length;
    if (isRow) squares.push(rect(left, top + highlighted * size, width, size, frame));
    if (column >= 0) squares.push(rect(left + column * size, top, size, height, frame));
    return { type: "group", children: squares };
  }

  // ---- values

  squareAt(x, y) {
    const [column, row] = [x - this.origin[0], y - this.origin[1]].map((distance) => Math.floor(distance / this.size));
    return [row, column];
  }

  /** Show the values of a square, or hide them where there is none. */
  show(at) {
    const { data } = this;
    const [row, column] = at || [-1, -1];
    const isSquare = row in data.rows && column in data.columns && !(data.same && row === column);
    this.at = isSquare ? [row, column] : null;
    if (!isSquare) {
      this.plot.dispatchAction({ type: "hideTip" });
      return;
    }
    const [x, y] = [column, row].map((place, k) => this.origin[k] + (place + 0.5) * this.size);
    this.plot.dispatchAction({ type: "showTip", x, y, tooltip: { formatter: () => this.values(row, column) } });
  }

  values(row, column) {
    const cell = this.cells.get(`${row} ${column}`);
    const often = cell ? (cell.meetings === 1 ? "met once" : `met ${grouped(cell.meetings)} times`) : "have not met";
    const lines = [element("p", {}, element("b", {}, `${this.data.rows[row]} + ${this.data.columns[column]}`))];
    lines.push(element("p", {}, often));
    if (cell) lines.push(element("p", {}, `average reward ${short(cell.mean)}`));
    return element("div", { role: "status" }, ...lines);
  }

  pressKey(event) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key === "Escape") this.show(null);
    else if (event.key in moves) this.move(...moves[event.key]);
    else return;
    event.preventDefault();
  }

  /** Go one square on; over the diagonal, where nobody meets themselves. */
  move(down, right) {
    const { rows, columns, same } = this.data;
    if (!this.at) {
      this.show([0, same ? 1 : 0]);
      return;
    }
    let [row, column] = [this.at[0] + down, this.at[1] + right];
    if (same && row === column) [row, column] = [row + down, column + right];
    if (row in rows && column in columns) this.show([row, column]);
  }
}

const heatHost = document.querySelector("[data-heat]");
if (heatHost) new HeatMap(heatHost, JSON.parse(document.getElementById("data").textContent).heat);
