// Pages through HITs by keys: the arrows, or j and k, follow the links to the next and the previous one.

const RELATIONS = { ArrowLeft: "prev", k: "prev", ArrowRight: "next", j: "next" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !(event.key in RELATIONS)) return;
  if (event.target.closest("input, select, textarea, [contenteditable], .q-scroll, dialog")) return;
  const link = document.querySelector(`a[rel="${RELATIONS[event.key]}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
