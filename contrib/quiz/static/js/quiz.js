// Keys of the quiz: a number chooses, N says "none of them", Enter goes on. The form holds the answer.

const form = document.querySelector("[data-quiz]");
const onward = document.querySelector("[data-on]");

// a kind with controls of its own shows its plain ones here: its script belongs to the page of work
if (!form || !("plain" in form.dataset)) document.documentElement.classList.add("js");
// once the scripts after this one listen
document.addEventListener("DOMContentLoaded", () => {
  if (form) document.dispatchEvent(new CustomEvent("quorum:page", { detail: { form } }));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (document.querySelector("dialog[open]") || event.target.closest("textarea, select, input[type=text]")) return;
  if (event.key === "Enter") {
    if (event.target.closest("a, button, summary")) return;
    event.preventDefault();
    if (form) form.requestSubmit(); else if (onward) onward.click();
    return;
  }
  const key = CSS.escape(event.key.toLowerCase());
  const input = form && form.querySelector(`input:is([data-key="${key}"], [data-also="${key}"])`);
  if (!input) return;
  event.preventDefault();
  input.focus({ preventScroll: true });
  input.click();
});

if (form) {
  form.addEventListener("change", (event) => {
    const group = event.target.closest("[data-group]");
    if (!group || !event.target.checked) return;
    const none = group.querySelector("[data-none]");
    if (event.target === none) group.querySelectorAll("input:checked").forEach((box) => { box.checked = box === none; });
    else none.checked = false;
  });
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();  // a double click; the server takes a repeat calmly anyway
    form.dataset.sent = "yes";
    setTimeout(() => { delete form.dataset.sent; }, 4000);
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
