/* How a line looks: its curve or points, its band or bars, and its sample beside a name. */

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

const weightOf = (line) => (line.strong ? "bold" : "normal");
const widthOfLine = (line) => (line.kind === "reference" ? 1.2 : line.strong ? 3 : 2);
const coloursOf = (line, theme) => (theme.dark ? line.dark : line.light);

/** All that ECharts draws of a line; bands are paler where there are many. */
function seriesOf(line, axes, theme, pale) {
  const { stroke } = coloursOf(line, theme);
  const scattered = line.kind === "points" || line.kind === "cloud";
  const z = { cloud: 2, reference: 3, line: 4, points: 5 }[line.kind];
  const drawing = { silent: true, animation: false, emphasis: { disabled: true }, z };
  const points = line.points.filter((point) => point.y !== null);
  const many = Math.max(Math.ceil(points.length / 9), 1);
  const size = { cloud: 4, points: 9 }[line.kind] || (line.strong ? 9 : 7);
  const empty = scattered ? "transparent" : theme.paper; // points let what is below be seen
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
  const data = points.map((point) => axes.pair(point.x, point.y));
  const made = [];
  if (line.low && !scattered) {
    const opacity = (theme.dark ? 0.2 : 0.14) * (pale ? 0.7 : 1);
    made.push({ ...drawing, ...bandOf(line, axes, { fill: stroke, opacity }), z: 1 });
  }
  if (line.low && scattered) made.push({ ...drawing, ...barsOf(line, axes, stroke) });
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

/** The points that have a range, with its low and high end; what lies below a logarithmic axis ends at its foot. */
function ranged(line, axes) {
  const foot = axes.now().y[0] - 1;
  const on = (end) => (end === null ? foot : end);
  return line.points
    .filter((point) => point.value.low !== null && point.value.high !== null)
    .map((point) => ({ x: point.x, low: on(point.low), high: on(point.high) }));
}

function bandOf(line, axes, style) {
  const points = ranged(line, axes);
  return {
    type: "custom",
    clip: true,
    data: points.length ? [axes.pair(points[0].x, points[0].low)] : [],
    renderItem: (_, api) => ({
      type: "polygon",
      silent: true,
      shape: {
        points: [
          ...points.map((point) => api.coord(axes.pair(point.x, point.high))),
          ...points.map((point) => api.coord(axes.pair(point.x, point.low))).reverse(),
        ],
      },
      style,
    }),
  };
}

function barsOf(line, axes, stroke) {
  const points = ranged(line, axes);
  return {
    type: "custom",
    clip: true,
    data: points.map((point) => axes.pair(point.x, point.low)),
    renderItem: (params, api) => {
      const { x, low, high } = points[params.dataIndex];
      const [x1, y1] = api.coord(axes.pair(x, low)),
        [x2, y2] = api.coord(axes.pair(x, high));
      const path = axes.lying
        ? `M${x1} ${y1}H${x2}M${x1} ${y1 - 3}v6M${x2} ${y2 - 3}v6`
        : `M${x1} ${y1}V${y2}M${x1 - 3} ${y1}h6M${x2 - 3} ${y2}h6`;
      return { type: "path", silent: true, shape: { pathData: path }, style: { fill: "none", stroke, lineWidth: 1.2 } };
    },
  };
}

/** A piece of the line with its marker, beside its name. */
function swatchOf(line, theme) {
  const { stroke } = coloursOf(line, theme);
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
        fill: line.hollow ? theme.paper : stroke,
        stroke,
        "stroke-width": line.hollow ? 2.4 : 0,
      }),
    );
  return made;
}
