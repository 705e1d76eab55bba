// The keys of the work page on the page of an adjudicator: a key chooses, Enter decides.

const form = document.querySelector("[data-decide]");

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("textarea, input:not([type=radio], [type=checkbox])");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target.matches("input, body")) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  const key = CSS.escape(event.key.toLowerCase());
  const choice = form.querySelector(`:is([data-key="${key}"], [data-also="${key}"])`);
  if (choice) choice.click();
});
