/* Conveniences: local times, counted results, no double submission, and the map of meetings. Pages work without. */
(function () {
  "use strict";

  // ---- times in the reader's own zone

  const dated = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = time.textContent;
    time.textContent = dated.format(moment);
  }

  for (const numbers of document.querySelectorAll("details.numbers")) numbers.open = false; // drawn above

  const tab = document.querySelector(".tabs [aria-current]");
  if (tab) tab.closest(".tabs").scrollLeft = tab.offsetLeft - 40; // on a phone not all fit

  // ---- what takes long is fetched when the rest is there

  for (const waiting of document.querySelectorAll("[data-later]")) {
    waiting.setAttribute("aria-busy", "true");
    fetch(waiting.dataset.later)
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(String(answer.status)))))
      .then((text) => {
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById(waiting.id);
        if (fresh) waiting.replaceWith(document.adoptNode(fresh));
      })
      .catch(() => waiting.removeAttribute("aria-busy")); // its link remains
  }

  // ---- forms

  for (const form of document.querySelectorAll("form[data-results]")) {
    const button = form.querySelector("button[type=submit]");
    const words = button ? button.textContent : "";
    const changed = () =>
      [...form.elements].filter(
        (field) =>
          (field.type === "radio" && field.checked && !field.defaultChecked) ||
          (field.type === "number" && field.value !== field.defaultValue) ||
          (field.type === "checkbox" && field.checked !== field.defaultChecked),
      ).length;
    const count = () => {
      const many = changed();
      if (button) button.textContent = many ? `${words} (${many})` : words;
      form.dataset.changed = many ? "yes" : "";
    };
    form.addEventListener("input", count);
    form.addEventListener("submit", () => {
      form.dataset.changed = "";
    });
    count();
  }
  addEventListener("beforeunload", (event) => {
    if (document.querySelector("form[data-changed=yes]")) event.preventDefault(); // results that are not saved yet
  });
  for (const form of document.querySelectorAll("form[method=post]"))
    form.addEventListener("submit", () => {
      for (const button of form.querySelectorAll("button[type=submit]")) setTimeout(() => (button.disabled = true));
    });
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("button[type=submit]:disabled")) button.disabled = false; // back again
  });

  for (const checks of document.querySelectorAll("[data-checks]")) {
    const boxes = [...checks.querySelectorAll("input[type=checkbox]")];
    const row = document.createElement("div");
    row.className = "row";
    const button = (words, on) => {
      const element = document.createElement("button");
      element.type = "button";
      element.className = "quiet";
      element.textContent = words;
      element.addEventListener("click", () => {
        for (const box of boxes) if (!box.closest("label").hidden) box.checked = on;
        countTicks();
      });
      return element;
    };
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "Find a name";
    filter.setAttribute("aria-label", "Find a name");
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLocaleLowerCase();
      for (const box of boxes) {
        const label = box.closest("label");
        label.hidden = !label.textContent.toLocaleLowerCase().includes(wanted);
      }
    });
    filter.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault(); // it looks for a name, and sends nothing
    });
    const status = document.createElement("span");
    status.className = "small muted";
    status.setAttribute("role", "status");
    const countTicks = () => {
      status.textContent = `${boxes.filter((box) => box.checked).length} of ${boxes.length} are here`;
    };
    row.append(button("All", true), button("None", false), status);
    const list = checks.querySelector(".checks");
    if (boxes.length > 12) list.before(filter);
    list.before(row);
    list.addEventListener("input", countTicks);
    countTicks();
  }
})();
