/* Helpers of every page with drawings: numbers as text, colours, elements, and an ECharts instance that stays current. */

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

// ---- numbers as text, as `matchbandit.formatting` writes them

/** A number with commas between groups of three digits: 1,234,567 or 1,234.5. */
function grouped(value) {
  const text = value.toLocaleString("en-US", { maximumFractionDigits: 6 });
  return text === "-0" ? "0" : text.replace("-", "−");
}

/** A multiple of a power of ten, such as 2.5·10⁶. */
function powerOfTen(value, exponent) {
  if (value === 0) return "0";
  const power = `10${String(exponent).replace(/[-\d]/g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] || "⁻")}`;
  const factor = String(Number((value / 10 ** exponent).toPrecision(4))).replace("-", "−");
  return factor === "1" ? power : factor === "−1" ? `−${power}` : `${factor}·${power}`;
}

const exponentOf = (value) => Math.floor(Math.log10(Math.abs(value)) + 1e-12);

/** Four significant digits; a power of ten for huge and tiny numbers, a dash where there is none. */
function short(value) {
  if (!Number.isFinite(value)) return "–";
  const rounded = Number(value.toPrecision(4));
  const isPlain = rounded === 0 || (Math.abs(rounded) < 1e6 && Math.abs(rounded) >= 1e-3);
  return isPlain ? grouped(rounded) : powerOfTen(rounded, exponentOf(rounded));
}

/** A position on the x axis: integers in full, such as 250,000. */
const position = (value) => (Number.isInteger(value) && Math.abs(value) < 1e7 ? grouped(value) : short(value));

/** A share between 0 and 1 in percent. */
const percent = (share) => `${short(100 * share)} %`;

/** A number at a tick of an axis that reaches from `smallest` to `largest`, both positive on a logarithmic axis. */
function tickText(value, smallest, largest, isLog) {
  if (isLog && (largest >= 1e6 || smallest < 1e-3))
    return value >= 1e-3 && value < 1e4 ? short(value) : powerOfTen(value, exponentOf(value));
  return largest >= 1e6 || largest < 1e-3 ? powerOfTen(value, exponentOf(largest)) : grouped(value);
}

// ---- elements and text. Text is only ever set as text.

function element(name, attributes, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text, { size = 12, weight = "normal" } = {}) {
  ruler.font = `${weight} ${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

/** The text, shortened to `width` pixels. */
function truncate(text, width, font) {
  let words = text;
  while (textWidth(words, font) > width && words.length > 3) words = `${words.slice(0, -2).trimEnd()}…`;
  return words;
}

// ---- colours of the page: light, dark, and light again on paper

let isPrinting = false;

/** The colours that `page.css` defines: `theme.colour("muted")`. */
function currentTheme() {
  const style = getComputedStyle(document.documentElement);
  return {
    isDark: !isPrinting && matchMedia("screen and (prefers-color-scheme: dark)").matches,
    colour: (name) => style.getPropertyValue(`--${name}`).trim(),
  };
}

const themeListeners = [];

/** Call `listener` whenever colours change: in the dark, before printing and after it. */
function onThemeChange(listener) {
  themeListeners.push(listener);
}

function themeChanged() {
  for (const listener of themeListeners) listener();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
for (const [event, on] of [
  ["beforeprint", true],
  ["afterprint", false],
])
  addEventListener(event, () => {
    isPrinting = on;
    document.documentElement.classList.toggle("printing", on);
    themeChanged();
  });

// ---- ECharts

/**
 * An ECharts instance in `host` that is drawn again when its width or the page's colours change.
 *
 * `build(theme, width)` gives `{ height, option }`. Zoom and hidden lines outlast a new drawing. Returns
 * `{ plot, redraw }`; `redraw()` applies what `build` gives now.
 */
function mountPlot(host, build, { renderer = "svg" } = {}) {
  const plot = echarts.init(host, null, { renderer, width: host.clientWidth || 320, height: 200 });
  let drawnWidth = 0;
  const redraw = () => {
    const theme = currentTheme();
    drawnWidth = host.clientWidth || 320;
    const { height, option } = build(theme, drawnWidth);
    host.style.height = `${height}px`;
    plot.resize({ width: drawnWidth, height });
    const base = { animation: false, textStyle: { fontFamily: FONT, fontSize: 12, color: theme.colour("ink") } };
    plot.setOption({ ...base, ...option }, { replaceMerge: ["series"] });
  };
  redraw();
  onThemeChange(redraw);
  const hideTip = () => plot.dispatchAction({ type: "hideTip" });
  host.addEventListener("blur", hideTip);
  document.addEventListener("pointerdown", (event) => {
    if (!host.contains(event.target)) hideTip(); // a tap elsewhere
  });
  new ResizeObserver(() => {
    if (host.clientWidth && host.clientWidth !== drawnWidth) redraw();
  }).observe(host);
  return { plot, redraw };
}

/** Settings of an ECharts tooltip whose content is an element, so that no inline style is needed. */
function tooltipBase(theme) {
  return {
    className: "tip",
    confine: true,
    hideDelay: 0,
    transitionDuration: 0,
    backgroundColor: theme.colour("paper"),
    borderColor: theme.colour("rule"),
    textStyle: { color: theme.colour("ink"), fontSize: 12.5 },
    extraCssText: "max-width: 100%; white-space: normal;",
  };
}
