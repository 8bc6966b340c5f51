/* The page around the charts: each is drawn when it comes near the screen, all in other colours when the hour or the
 * paper asks for it. */

const mounted = [];

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
  for (const select of document.querySelectorAll("select[data-choice]")) {
    const show = () => {
      for (const { value } of select.options)
        document.getElementById(value).classList.toggle("chosen", value === select.value);
    };
    select.addEventListener("change", show);
    show(); // a browser may restore the selection of an earlier visit
  }
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
