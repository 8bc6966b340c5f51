/* Words in a drawing: the names of marks, and the names of lines at their ends. */

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

/** Writes into an SVG group that lies over a drawing. */
function writer(group, theme) {
  return (words, x, y, attributes) => {
    const halo = { stroke: theme.paper, "stroke-width": 3, "paint-order": "stroke" };
    const made = drawn("text", { x, y, "font-size": 12, fill: theme.muted, ...halo, ...attributes });
    made.textContent = words;
    group.append(made);
  };
}

/** The lines of marks; names stand above the frame, in two rows, as far as there is room. */
function drawMarks(group, axes, theme, width) {
  const { left, top, width: wide, height: high } = axes.frame;
  const write = writer(group, theme);
  const rows = [-Infinity, -Infinity];
  for (const mark of axes.marks()) {
    const upright = axes.isUpright(mark);
    const [x, y] = mark.axis === "x" ? axes.toPixel(mark.on, 0) : axes.toPixel(0, mark.on);
    if (upright ? x < left - 1 || x > left + wide + 1 : y < top - 1 || y > top + high + 1) continue;
    const ends = upright ? { x1: x, x2: x, y1: top, y2: top + high } : { x1: left, x2: left + wide, y1: y, y2: y };
    group.append(drawn("line", { ...ends, stroke: theme.muted, "stroke-width": 1, "stroke-dasharray": "3 3" }));
    if (!mark.label) continue;
    if (!upright) {
      write(mark.label, left + wide - 4, y - 5, { "text-anchor": "end" });
      continue;
    }
    const long = widthOf(mark.label),
      from = Math.min(Math.max(x - long / 2, left), width - long - 2);
    const row = rows.findIndex((end) => end + 8 <= from);
    if (row < 0) continue;
    rows[row] = from + long;
    write(mark.label, from, top - 6 - 14 * row, {});
  }
}

/** The names of these lines at the right, each beside its last point in view, moved apart. */
function drawEndNames(group, lines, axes, theme, width) {
  const { left, top, width: wide, height: high } = axes.frame,
    now = axes.now();
  const write = writer(group, theme);
  const lastInView = (line) =>
    line.points.findLast(
      ({ x, y }) => y !== null && x >= now.x[0] && x <= now.x[1] && y >= now.y[0] && y <= now.y[1],
    );
  const ends = lines
    .map((line) => ({ line, last: lastInView(line) }))
    .filter(({ last }) => last)
    .map(({ line, last }) => ({ line, at: axes.toPixel(last.x, last.y) }))
    .sort((a, b) => a.at[1] - b.at[1]);
  const wanted = ends.map(({ at }) => at[1]);
  const heights = spreadApart(wanted, 15, top + 4, top + high);
  ends.forEach(({ line, at }, k) => {
    const colours = coloursOf(line, theme),
      weight = weightOf(line),
      from = left + wide + 24;
    group.append(
      drawn("path", {
        d: `M${at[0] + 5} ${at[1]}L${left + wide + 8} ${heights[k]}H${from - 3}`,
        fill: "none",
        stroke: colours.stroke,
        "stroke-width": 0.8,
        opacity: 0.7,
      }),
    );
    const words = cut(line.label, width - from - 2, weight);
    write(words, from, heights[k] + 4, { fill: colours.text, "font-weight": weight });
  });
}
