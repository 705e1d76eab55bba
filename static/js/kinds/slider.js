// A slider from 0 to 100 that says nothing until it is touched. Digits set it, arrows and page keys move it, Home and
// End go to its ends; a field beside it takes a number.

const ONWARD = document.documentElement.dir === "rtl" ? -1 : 1;
const STEPS = {
  ArrowLeft: -ONWARD, ArrowRight: ONWARD, ArrowDown: -1, ArrowUp: 1, "-": -1, "+": 1, PageDown: -10, PageUp: 10,
};

function setUp(step) {
  const position = Number(step.id.slice(1));
  const slide = step.querySelector("[data-slide]");
  const number = step.querySelector("[data-number]");
  let value = null;

  function show() {
    slide.value = value === null ? 50 : value;
    slide.classList.toggle("open", value === null);
    slide.setAttribute("aria-valuetext", value === null ? slide.dataset.open : String(value));
  }

  function restoreAnswer(given) {
    value = Number.isInteger(given) && given >= 0 && given <= 100 ? given : null;
    number.value = value === null ? "" : value;
    show();
  }

  function announceAnswer() {
    step.dispatchEvent(new CustomEvent("quorum:answer", { bubbles: true, detail: { position, value } }));
  }

  function answer(given) {
    restoreAnswer(Math.max(0, Math.min(100, given)));
    announceAnswer();
  }

  slide.addEventListener("input", () => answer(Number(slide.value)));
  slide.addEventListener("pointerup", () => { if (value === null) answer(Number(slide.value)); });
  number.addEventListener("input", () => {
    const typed = number.value === "" ? NaN : Number(number.value);
    value = Number.isInteger(typed) && typed >= 0 && typed <= 100 ? typed : null;
    show();
    announceAnswer();
  });
  step.addEventListener("quorum:key", (event) => {
    const { key, number: typed } = event.detail;
    if (typed !== undefined) answer(typed);
    else if (key === "Home") answer(0);
    else if (key === "End") answer(100);
    else if (key in STEPS) answer((value === null ? 50 : value) + STEPS[key]);
    else return;
    event.preventDefault();
  });
  step.addEventListener("quorum:restore", ({ detail }) => restoreAnswer(detail.value));
  restoreAnswer(number.value === "" ? null : Number(number.value));
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-step]").forEach(setUp));
