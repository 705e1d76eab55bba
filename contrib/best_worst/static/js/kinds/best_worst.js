// The best and the worst of a few captions: the first number key is the best, the second the worst; Shift with a
// number is the worst at once. No caption is both. Where the page asks for the best alone, it has no inputs of the worst.

const ENDS = ["best", "worst"];

function setUp(step) {
  const position = Number(step.id.slice(1));
  const inputs = Object.fromEntries(ENDS.map((end) => [end, [...step.querySelectorAll(`input[name="u${position}-${end}"]`)]]));
  const asked = ENDS.filter((end) => inputs[end].length);

  function chosen(end) {
    const input = inputs[end].find((one) => one.checked);
    return input ? Number(input.value) : null;
  }

  function select(end, place) {
    inputs[end].forEach((input) => { input.checked = Number(input.value) === place; });
  }

  function announceAnswer(go) {
    const answer = Object.fromEntries(asked.map((end) => [end, chosen(end)]));
    const whole = asked.every((end) => answer[end] !== null);
    step.dispatchEvent(new CustomEvent("quorum:answer", {
      bubbles: true,
      detail: { position, answer: whole ? answer : null, draft: answer, go: whole && go },
    }));
  }

  function choose(end, place, go) {
    const other = end === "best" ? "worst" : "best";
    if (chosen(other) === place) select(other, null);
    select(end, place);
    announceAnswer(go);
  }

  // whoever walks through the buttons with arrow keys chooses one after the other, and is not done yet
  let pointed = false;
  step.addEventListener("pointerdown", () => { pointed = true; });
  step.addEventListener("keydown", () => { pointed = false; });
  ENDS.forEach((end) => inputs[end].forEach((input) => {
    input.addEventListener("change", () => choose(end, Number(input.value), pointed));
  }));
  step.addEventListener("quorum:key", (event) => {
    const { key, repeat, shift, code } = event.detail;
    const digit = /^[1-9]$/.test(key) ? Number(key) : Number((/^Digit([1-9])$/.exec(code || "") || [])[1]);
    if (!digit || digit > inputs.best.length) return;
    event.preventDefault();
    if (repeat) return;
    const best = chosen("best");
    if (asked.length === 1) choose("best", digit, true);
    else if (shift) choose("worst", digit, true);
    else if (best === digit) { select("best", null); announceAnswer(false); }
    else choose(best === null || chosen("worst") !== null ? "best" : "worst", digit, true);
  });
  step.addEventListener("quorum:restore", ({ detail }) => {
    const given = detail.answer || detail.draft || {};
    ENDS.forEach((end) => select(end, given[end] ?? null));
  });
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-step]").forEach(setUp));
