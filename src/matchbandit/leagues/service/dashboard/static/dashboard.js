/* Conveniences; all pages work without: times in the reader's own zone, and a question before typed values are lost. */
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time[datetime]")) {
  time.title = time.textContent;
  time.textContent = clock.format(new Date(time.dateTime));
}

const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.closest(".tabs").scrollLeft = tab.offsetLeft - 40; // on a phone not all of them fit

let unsaved = false;
for (const form of document.querySelectorAll("form[data-keep]")) {
  form.addEventListener("input", () => (unsaved = true));
  form.addEventListener("submit", () => (unsaved = false));
}
addEventListener("beforeunload", (event) => {
  if (unsaved) event.preventDefault();
});
