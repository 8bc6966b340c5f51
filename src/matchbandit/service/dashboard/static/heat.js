/* The map of meetings: a square for every two, in the order of the ranking; numbers in the squares where there is room,
 * names or ranks beside them, values on hover, tap and arrow keys. Text is only ever set as text.
 */
(function () {
  "use strict";

  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
  const LARGEST = 52; // of a square, in pixels
  const NAMED = 15; // from this size on there is room for names
  const NUMBERED = 28; // and for numbers inside
  const LONGEST = 130; // pixels of a name

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const linear = (channel) => (channel <= 10 ? channel / 3294 : ((channel / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b); // WCAG 2
  const told = (mean) => String(Number(mean.toPrecision(3)));

  /** What the squares say: how often, or how well. */
  const MEASURES = {
    meetings: {
      words: "Meetings",
      of: (cell) => cell.meetings,
      span: (data) => [1, Math.max(data.most, 2)],
      share: ([low, high], value) => Math.sqrt((value - low) / (high - low)), // many pairs meet rarely
      text: String,
    },
    mean: {
      words: "Average reward",
      of: (cell) => cell.mean,
      span: (data) => data.means,
      share: ([low, high], value) => (high > low ? (value - low) / (high - low) : 1),
      text: (value) => value.toFixed(2).replace(/^(-?)0\./, "$1."),
    },
  };

  class HeatMap {
    constructor(host, data) {
      this.host = host;
      this.data = data;
      this.measure = MEASURES.meetings;
      this.at = null; // the square that is told: {row, column}
      this.found = -1; // the item that is looked for
      this.cells = new Map();
      for (const [row, column, meetings, mean] of data.cells) {
        this.cells.set(row * data.columns.length + column, { meetings, mean });
        if (data.same) this.cells.set(column * data.columns.length + row, { meetings, mean });
      }
      this.build();
      this.listen();
      this.draw();
    }

    // ---- elements

    build() {
      const { data } = this;
      const radios = Object.entries(MEASURES).map(([key, measure]) => {
        const input = element("input", { type: "radio", name: "measure", value: key });
        input.checked = measure === this.measure;
        input.addEventListener("change", () => {
          this.measure = measure;
          this.draw();
        });
        return element("label", {}, input, measure.words);
      });
      const legend = element("legend", { class: "unseen" }, "What the squares show");
      const find = element("select", { id: "find" }, element("option", { value: "-1" }, "nobody"));
      const items = data.same ? data.rows : [...data.rows, ...data.columns];
      items
        .map((name, place) => ({ name, place }))
        .sort((a, b) => a.name.localeCompare(b.name))
        .forEach(({ name, place }) => find.append(element("option", { value: String(place) }, name)));
      find.addEventListener("change", () => {
        this.found = Number(find.value);
        this.drawOver();
      });
      this.canvas = element("canvas", { class: "canvas", tabindex: "0", role: "img" });
      this.canvas.setAttribute(
        "aria-label",
        `Map of meetings, in the order of the ranking. ${data.words} Arrow keys tell one pair after the other.`,
      );
      this.over = element("canvas", { class: "over", "aria-hidden": "true" });
      this.tip = element("div", { class: "tip", role: "status", hidden: "" });
      this.area = element("div", { class: "area" }, this.canvas, this.over, this.tip);
      this.ramp = element("canvas", { "aria-hidden": "true", width: "160", height: "1" });
      this.ends = [element("span", {}), element("span", {})];
      this.host.replaceChildren(
        element(
          "div",
          { class: "above" },
          element("fieldset", { class: "switch" }, legend, ...radios),
          element("div", { class: "find" }, element("label", { for: "find" }, "Highlight"), find),
        ),
        this.area,
        element("p", { class: "scale" }, this.ends[0], this.ramp, this.ends[1]),
      );
    }

    listen() {
      const { canvas, area } = this;
      const square = (event) => {
        const box = canvas.getBoundingClientRect();
        const column = this.place(event.clientX - box.left - this.left, this.data.columns.length);
        const row = this.place(event.clientY - box.top - this.top, this.data.rows.length);
        return row === null || column === null ? null : { row, column };
      };
      canvas.addEventListener("pointermove", (event) => {
        if (event.pointerType !== "touch") this.tell(square(event));
      });
      canvas.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "touch") this.tell(null);
      });
      canvas.addEventListener("click", (event) => this.tell(square(event))); // a tap, too
      canvas.addEventListener("blur", () => this.tell(null));
      document.addEventListener("pointerdown", (event) => {
        if (!area.contains(event.target)) this.tell(null);
      });
      canvas.addEventListener("keydown", (event) => {
        const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
        if (event.key === "Escape") this.tell(null);
        else if (event.key in moves) this.move(...moves[event.key]);
        else return;
        event.preventDefault();
      });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
      new ResizeObserver(() => {
        if (this.host.clientWidth !== this.drawnWidth) this.draw();
      }).observe(this.host);
    }

    move(down, right) {
      const { rows, columns, same } = this.data;
      const last = { row: rows.length - 1, column: columns.length - 1 };
      const inside = (value, high) => Math.min(Math.max(value, 0), high);
      const from = this.at;
      if (!from) return this.tell({ row: 0, column: same && last.column ? 1 : 0 });
      const to = { row: inside(from.row + down, last.row), column: inside(from.column + right, last.column) };
      if (same && to.row === to.column) {
        const beyond = { row: to.row + down, column: to.column + right }; // nobody meets themselves
        if (beyond.row < 0 || beyond.row > last.row || beyond.column < 0 || beyond.column > last.column) return undefined;
        return this.tell(beyond);
      }
      return this.tell(to);
    }

    // ---- where squares are

    /** Which square of `count` is at this distance; null beside them. */
    place(distance, count) {
      if (distance < 0 || distance >= this.size * count) return null;
      return Math.min(Math.floor(distance / this.size), count - 1);
    }

    measureOut(pen) {
      const { data } = this;
      const width = this.host.clientWidth || 320;
      this.drawnWidth = width;
      this.ratio = window.devicePixelRatio || 1;
      pen.font = `12px ${FONT}`;
      const longest = (names) => Math.min(Math.max(...names.map((name) => pen.measureText(name).width)) + 10, LONGEST);
      const left = Math.min(longest(data.rows), width * 0.3);
      const many = data.columns.length;
      const wide = (width - left) / many;
      this.named = wide >= NAMED;
      this.left = this.named ? left : 34;
      const room = ((width - this.left) * this.ratio) / many;
      this.size = Math.min(room >= 3 ? Math.floor(room) / this.ratio : room / this.ratio, LARGEST);
      const across = longest(data.columns);
      this.turned = this.named && across > this.size;
      this.top = this.named ? (this.turned ? across : 22) : 20;
      this.width = this.left + this.size * many;
      this.height = this.top + this.size * data.rows.length + 1;
    }

    // ---- drawing

    draw() {
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue(name).trim();
      this.colours = Object.fromEntries(
        ["ink", "paper", "muted", "accent", "heat-none", "heat-low", "heat-high"].map((name) => [name, colour(`--${name}`)]),
      );
      const pen = this.canvas.getContext("2d");
      this.measureOut(pen);
      for (const canvas of [this.canvas, this.over]) {
        canvas.width = Math.ceil(this.width * this.ratio);
        canvas.height = Math.ceil(this.height * this.ratio);
        canvas.style.width = `${canvas.width / this.ratio}px`;
        canvas.style.height = `${canvas.height / this.ratio}px`;
      }
      pen.scale(this.ratio, this.ratio);
      this.drawNames(pen);
      this.drawSquares(pen);
      this.drawScale();
      this.tell(null);
    }

    shade(share) {
      const low = channels(this.colours["heat-low"]),
        high = channels(this.colours["heat-high"]);
      return low.map((from, k) => Math.round(from + (high[k] - from) * Math.min(Math.max(share, 0), 1)));
    }

    drawSquares(pen) {
      const { data, size, measure } = this;
      const span = measure.span(data);
      const gap = size >= 8 ? 1 : 0;
      const edge = (from, k) => Math.round((from + k * size) * this.ratio) / this.ratio; // no blur, no seam
      const square = (row, column) => {
        const x = edge(this.left, column),
          y = edge(this.top, row);
        pen.fillRect(x, y, edge(this.left, column + 1) - x - gap, edge(this.top, row + 1) - y - gap);
      };
      pen.fillStyle = this.colours["heat-none"];
      if (!gap) pen.fillRect(this.left, this.top, size * data.columns.length, size * data.rows.length);
      else
        for (let row = 0; row < data.rows.length; row += 1)
          for (let column = 0; column < data.columns.length; column += 1)
            if (!data.same || row !== column) square(row, column);
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.font = `12px ${FONT}`;
      for (const [key, cell] of this.cells) {
        const row = Math.floor(key / data.columns.length),
          column = key % data.columns.length;
        const rgb = this.shade(measure.share(span, measure.of(cell)));
        pen.fillStyle = `rgb(${rgb.join(" ")})`;
        square(row, column);
        if (size < NUMBERED) continue;
        pen.fillStyle = luminance(rgb) > 0.179 ? "#000000" : "#ffffff";
        pen.fillText(measure.text(measure.of(cell)), this.left + (column + 0.5) * size, this.top + (row + 0.5) * size);
      }
    }

    cut(pen, text, room) {
      let words = text;
      while (pen.measureText(words).width > room && words.length > 2) words = `${words.slice(0, -2).trimEnd()}…`;
      return words;
    }

    drawNames(pen) {
      const { data, size } = this;
      pen.font = `12px ${FONT}`;
      pen.fillStyle = this.colours.muted;
      pen.textBaseline = "middle";
      const ticks = (count) => {
        if (this.named) return Array.from({ length: count }, (_, k) => k);
        const every = [10, 20, 25, 50, 100, 200, 500].find((step) => step * size >= 40) || 1000;
        return Array.from({ length: count }, (_, k) => k).filter((k) => k === 0 || (k + 1) % every === 0);
      };
      const name = (names, k) => (this.named ? names[k] : String(k + 1)); // its rank where there is no room
      for (const k of ticks(data.rows.length)) {
        pen.textAlign = "right";
        const words = this.cut(pen, name(data.rows, k), this.left - 8);
        pen.fillText(words, this.left - 6, this.top + (k + 0.5) * size);
      }
      for (const k of ticks(data.columns.length)) {
        pen.save();
        pen.translate(this.left + (k + 0.5) * size, this.top - 5);
        if (this.turned) {
          pen.rotate(-Math.PI / 2);
          pen.textAlign = "left";
          pen.fillText(this.cut(pen, name(data.columns, k), this.top - 8), 0, 0);
        } else {
          const words = name(data.columns, k);
          const over = pen.measureText(words).width / 2 - (data.columns.length - k - 0.5) * size; // beyond the edge
          pen.textAlign = "center";
          pen.textBaseline = "bottom";
          pen.fillText(words, -Math.max(over, 0), 0);
        }
        pen.restore();
      }
    }

    drawScale() {
      const pen = this.ramp.getContext("2d");
      const [low, high] = this.measure.span(this.data);
      for (let x = 0; x < 160; x += 1) {
        const value = low + ((high - low) * x) / 159;
        pen.fillStyle = `rgb(${this.shade(this.measure.share([low, high], value)).join(" ")})`;
        pen.fillRect(x, 0, 1, 1);
      }
      const meetings = this.measure === MEASURES.meetings;
      this.ends[0].textContent = meetings ? `${low} meeting` : told(low);
      this.ends[1].textContent = meetings ? `${high} ${high === 1 ? "meeting" : "meetings"}` : told(high);
    }

    /** The frame around what is told and what is looked for. */
    drawOver() {
      const pen = this.over.getContext("2d");
      const { size, data } = this;
      pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      pen.clearRect(0, 0, this.width + 1, this.height + 1);
      pen.strokeStyle = this.colours.accent;
      pen.lineWidth = 2;
      const across = data.columns.length * size,
        down = data.rows.length * size;
      const isRow = this.found >= 0 && this.found < data.rows.length;
      if (isRow) pen.strokeRect(this.left - 1, this.top + this.found * size - 1, across + 1, Math.max(size, 2) + 1);
      if (this.found >= 0 && (data.same || !isRow)) {
        const column = data.same ? this.found : this.found - data.rows.length;
        pen.strokeRect(this.left + column * size - 1, this.top - 1, Math.max(size, 2) + 1, down + 1);
      }
      if (!this.at) return;
      const x = this.left + this.at.column * size,
        y = this.top + this.at.row * size;
      pen.strokeStyle = this.colours.ink;
      pen.lineWidth = size >= 8 ? 2 : 1;
      pen.strokeRect(x - 1, y - 1, size + 1, size + 1);
      if (size >= 8) return;
      pen.globalAlpha = 0.6; // small squares are found by a cross
      pen.beginPath();
      pen.moveTo(this.left, y + size / 2);
      pen.lineTo(this.left + across, y + size / 2);
      pen.moveTo(x + size / 2, this.top);
      pen.lineTo(x + size / 2, this.top + down);
      pen.stroke();
      pen.globalAlpha = 1;
    }

    tell(at) {
      const { data, tip } = this;
      this.at = at && data.same && at.row === at.column ? null : at;
      this.drawOver();
      tip.hidden = !this.at;
      if (!this.at) return;
      const { row, column } = this.at;
      const cell = this.cells.get(row * data.columns.length + column);
      const heading = element("b", {}, `${data.rows[row]} + ${data.columns[column]}`);
      const often = cell ? (cell.meetings === 1 ? "met once" : `met ${cell.meetings} times`) : "have not met";
      const lines = [element("p", {}, heading), element("p", {}, often)];
      if (cell) lines.push(element("p", {}, `average reward ${told(cell.mean)}`));
      tip.replaceChildren(...lines);
      const box = this.area.getBoundingClientRect();
      const wanted = this.left + (column + 1) * this.size + 10;
      const most = document.documentElement.clientWidth - 8 - box.left - tip.offsetWidth;
      const beside = wanted <= most ? wanted : this.left + column * this.size - 10 - tip.offsetWidth;
      tip.style.left = `${Math.max(Math.min(beside, most), 8 - box.left)}px`;
      tip.style.top = `${this.top + (row + 1) * this.size + 8}px`;
    }
  }

  const host = document.querySelector("[data-heat]"),
    data = document.getElementById("data");
  if (host && data) new HeatMap(host, JSON.parse(data.textContent).heat);
})();
