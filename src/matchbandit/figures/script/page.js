/* The page around the charts: each is drawn when it comes near the screen, and all of them before printing. */

function mount(host, chart) {
  return new ChartView(host, chart);
}

function drawLazily(charts) {
  const waiting = new Map();
  const draw = (host) => {
    const chart = waiting.get(host);
    waiting.delete(host);
    near.unobserve(host);
    if (chart) mount(host, chart);
  };
  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "400px" },
  );
  for (const host of document.querySelectorAll("[data-chart]")) {
    const chart = charts[Number(host.dataset.chart)];
    if (!chart) continue;
    host.classList.add("waiting");
    waiting.set(host, chart);
    near.observe(host);
  }
  addEventListener("beforeprint", () => [...waiting.keys()].filter((host) => host.offsetParent).forEach(draw));
}

/** A select element shows the option that it names, and hides the others. */
function connectChoices() {
  for (const select of document.querySelectorAll("select[data-choice]")) {
    const show = () => {
      for (const { value } of select.options)
        document.getElementById(value).classList.toggle("chosen", value === select.value);
    };
    select.addEventListener("change", show);
    show(); // a browser may restore the selection of an earlier visit
  }
}

/** On a phone the contents cover the page: a link or Escape closes them. */
function connectContents() {
  const contents = document.querySelector(".contents details");
  if (!contents) return;
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a")) contents.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && matchMedia("(max-width: 40rem)").matches) contents.open = false;
  });
}

function start() {
  const data = document.getElementById("data");
  for (const numbers of document.querySelectorAll("details.numbers")) numbers.open = false;
  connectChoices();
  connectContents();
  drawLazily((data && JSON.parse(data.textContent).charts) || []);
}

window.matchbanditCharts = { mount, grouped, short, position, tickText };
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
