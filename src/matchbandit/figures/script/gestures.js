/* What fingers, mouse and keys do on a chart: values on hover, tap and arrows; zoom by rectangle, wheel, pinch, keys. */

function listenTo(view) {
  const { area, canvas } = view;
  const place = (event) => {
    const box = area.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const selection = listenForRectangle(view, place);
  area.addEventListener("pointermove", (event) => {
    if (!selection.isDrawn() && (event.pointerType !== "touch" || view.selecting)) view.showValues(place(event));
  });
  area.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch" && !selection.isDrawn()) view.hideValues();
  });
  area.addEventListener("click", (event) => view.showValues(place(event))); // a tap, too
  area.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return; // without it the page scrolls
      event.preventDefault();
      view.zoomBy(event.deltaY < 0 ? 0.8 : 1.25, place(event));
    },
    { passive: false },
  );
  listenForPinch(view, place);
  canvas.addEventListener("keydown", (event) => pressed(view, event));
  canvas.addEventListener("blur", () => view.hideValues());
  document.addEventListener("pointerdown", (event) => {
    if (!area.contains(event.target)) view.hideValues(); // a tap elsewhere
  });
}

/** A rectangle over the part to enlarge, while the button "Select" is pressed. */
function listenForRectangle(view, place) {
  const { area } = view;
  let start = null;
  area.addEventListener("pointerdown", (event) => {
    if (!view.selecting || !event.isPrimary || event.button !== 0) return;
    start = place(event);
    area.setPointerCapture(event.pointerId);
    view.hideValues();
    event.preventDefault();
  });
  area.addEventListener("pointermove", (event) => {
    if (start) view.showSelection(start, place(event));
  });
  area.addEventListener("pointerup", (event) => {
    if (!start) return;
    const from = start,
      to = place(event);
    start = null;
    view.hideValues();
    if (Math.abs(to.x - from.x) > 8 && Math.abs(to.y - from.y) > 8) {
      view.setSelecting(false);
      view.zoomTo(view.axes.between(from, to));
    }
  });
  area.addEventListener("pointercancel", () => {
    start = null;
    view.hideValues();
  });
  return { isDrawn: () => start !== null };
}

/** Two fingers zoom; one scrolls the page. */
function listenForPinch(view, place) {
  const { area } = view;
  let pinch = null;
  const fingers = (event) => {
    const [one, two] = [place(event.touches[0]), place(event.touches[1])];
    return {
      apart: Math.hypot(one.x - two.x, one.y - two.y),
      at: { x: (one.x + two.x) / 2, y: (one.y + two.y) / 2 },
    };
  };
  area.addEventListener(
    "touchstart",
    (event) => {
      pinch = event.touches.length === 2 ? fingers(event) : null;
      if (pinch) event.preventDefault();
    },
    { passive: false },
  );
  area.addEventListener(
    "touchmove",
    (event) => {
      if (!pinch || event.touches.length !== 2) return;
      event.preventDefault();
      const now = fingers(event);
      if (Math.abs(now.apart / pinch.apart - 1) > 0.02) {
        view.zoomBy(pinch.apart / now.apart, now.at);
        pinch = now;
      }
    },
    { passive: false },
  );
  area.addEventListener("touchend", () => {
    pinch = null;
  });
}

function pressed(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "+") view.zoomBy(0.6);
  else if (event.key === "-") view.zoomBy(1 / 0.6);
  else if (event.key === "0") view.zoomTo(null);
  else if (event.key === "Escape") {
    view.hideValues();
    view.setSelecting(false);
  } else if (!view.values.showByKey(event.key, view.theme)) return;
  event.preventDefault();
}
