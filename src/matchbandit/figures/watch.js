/* Play a recorded run back: buttons, keys, the slider, the sentence of each frame, and the list of events. */

const events = frames.flatMap((frame, k) => (frame.event ? [k] : []));
const EVENT_MS = 1800;
const FRAME_MS = 180;
let timer = null;

/** Text in which no line ends within a pair, or a number with its interval. */
const unbroken = (text) => text.replace(/ ± /g, "\u00a0±\u00a0").replace(/(\d,) (?=\d+\))/g, "$1\u00a0");

function showTexts() {
  const frame = frames[view.frame];
  const sentence = byId("sentence");
  sentence.setAttribute("aria-live", timer && !frame.event ? "off" : "polite");
  sentence.textContent = unbroken(frame.sentence);
  sentence.classList.toggle("event", frame.event);
  byId("round").textContent = grouped(frame.round);
  byId("regret-now").textContent = frame.regret;
  byId("window").textContent = frame.window === null ? "" : `window ${frame.window}`;
  const slider = byId("time");
  slider.value = view.frame;
  slider.setAttribute("aria-valuetext", `frame ${view.frame + 1} of ${frames.length}, round ${grouped(frame.round)}`);
  const passed = [...byId("events").querySelectorAll("button")].filter((b) => Number(b.dataset.frame) <= view.frame);
  for (const button of byId("events").querySelectorAll("[aria-current]")) button.removeAttribute("aria-current");
  if (passed.length) passed[passed.length - 1].setAttribute("aria-current", "step");
  if (data.decisions) showDecisionTexts();
}

function showDecisionTexts() {
  const decisions = latestDecisions();
  byId("decisions").hidden = decisions.length === 0;
  const round = decisions.length ? frames[decisions[0].frame].round : 0;
  byId("decided-at").textContent = decisions.length ? `, after ${grouped(round)} rounds` : "";
  const texts = decisions.length ? decisions.map((decision) => decision.text) : ["no decision yet"];
  byId("decision-texts").replaceChildren(...texts.map((text) => element("li", {}, unbroken(text))));
}

function show(frame) {
  view.frame = clamp(frame, [0, lastFrame]);
  showTexts();
  redrawPanels();
}

function pause() {
  clearTimeout(timer);
  timer = null;
  byId("play").textContent = "Play";
}

function scheduleNext() {
  const pauseMs = frames[view.frame].event ? EVENT_MS : FRAME_MS;
  timer = setTimeout(
    () => {
      show(view.frame + 1);
      if (view.frame >= lastFrame) pause();
      else scheduleNext();
    },
    pauseMs / Number(byId("speed").value),
  );
}

function togglePlay() {
  if (timer) return pause();
  if (view.frame >= lastFrame) show(0);
  byId("play").textContent = "Pause";
  return scheduleNext();
}

function goTo(frame) {
  pause();
  show(frame);
}

const nextEvent = () => goTo(events.find((k) => k > view.frame) ?? lastFrame);
const previousEvent = () => goTo([...events].reverse().find((k) => k < view.frame) ?? 0);

function listEvents() {
  for (const k of events) {
    const details = frames[k].details.map((text) => element("small", {}, unbroken(text)));
    const button = element("button", { type: "button", "data-frame": k }, unbroken(frames[k].sentence), ...details);
    button.addEventListener("click", () => goTo(k));
    byId("events").append(element("li", {}, button));
  }
  byId("events-section").hidden = events.length === 0;
  for (const id of ["previous-event", "next-event"]) byId(id).disabled = events.length === 0;
}

const CLICKS = {
  play: togglePlay,
  first: () => goTo(0),
  "previous-event": previousEvent,
  back: () => goTo(view.frame - 1),
  forward: () => goTo(view.frame + 1),
  "next-event": nextEvent,
  last: () => goTo(lastFrame),
};

function onKey(event) {
  const { key, shiftKey, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.tagName === "SELECT") return;
  if (target.tagName === "INPUT" && !shiftKey && key !== " ") return; // arrow keys move the slider
  if (key === "ArrowLeft") (shiftKey ? previousEvent : CLICKS.back)();
  else if (key === "ArrowRight") (shiftKey ? nextEvent : CLICKS.forward)();
  else if (key === " " && target.tagName !== "BUTTON") togglePlay();
  else return;
  event.preventDefault();
}

/** Let drawings shrink to the width of the paper. */
function fitToPaper() {
  for (const svg of document.querySelectorAll(".drawing svg"))
    svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
}

listEvents();
showTexts();
const redrawPanels = mountPanels();
for (const [id, action] of Object.entries(CLICKS)) byId(id).addEventListener("click", action);
byId("time").addEventListener("input", (event) => goTo(Number(event.target.value)));
document.addEventListener("keydown", onKey);
addEventListener("beforeprint", fitToPaper);
