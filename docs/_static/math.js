// Typeset every formula that the Markdown pages hold as TeX; `typeset` in conf.py wrote the elements.

function wrap(className, nodes) {
  const span = document.createElement("span");
  span.className = className;
  nodes[0].before(span);
  span.append(...nodes);
}

for (const formula of document.querySelectorAll(".math")) {
  katex.render(formula.textContent, formula, {
    displayMode: formula.classList.contains("display"),
    throwOnError: false, // a formula that cannot be read is shown in red, with the reason as its title
  });
}

// A browser may break a line beside every part of a formula. Not between "(" or "," and the formula that they belong to.
for (const formula of document.querySelectorAll(".math.inline")) {
  const { previousSibling: before, nextSibling: after } = formula;
  const length = (node, pattern) => (node?.nodeType === Node.TEXT_NODE && node.data.match(pattern)?.[0].length) || 0;
  const opening = length(before, /\S+$/);
  const closing = length(after, /^\S+/);
  if (!opening && !closing) continue;
  const nodes = [formula];
  if (opening) nodes.unshift(before.splitText(before.length - opening));
  if (closing) {
    after.splitText(closing);
    nodes.push(after);
  }
  wrap("unbroken", nodes);
  const parts = [...formula.querySelectorAll(".katex-html > .katex-base")];
  if (parts.length > 1) wrap("breakable", parts.slice(0, -1));
}
