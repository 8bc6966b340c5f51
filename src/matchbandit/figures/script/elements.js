/* Elements of the page and of drawings, the width of words, and the colours of the hour. Text is only ever set as text. */

const SVG = "http://www.w3.org/2000/svg";
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
let printing = false; // paper is white whatever the screen is

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
