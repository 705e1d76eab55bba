// A slider from one end of a scale to the other that says nothing until it is touched. Digits set it to tenths of the
// line, arrows and page keys move it, Home and End go to its ends; a field beside it takes a number.

const ONWARD = document.documentElement.dir === "rtl" ? -1 : 1;
const STEPS = { ArrowLeft: -ONWARD, ArrowRight: ONWARD, ArrowDown: -1, ArrowUp: 1, "-": -1, "+": 1 };
const TENTHS = { PageDown: -1, PageUp: 1 };

function setUp(step) {
  const position = Number(step.id.slice(1));
  const slide = step.querySelector("[data-slide]");
  const number = step.querySelector("[data-number]");
  const [low, high, size] = [slide.min, slide.max, slide.step].map(Number);
  const steps = Math.round((high - low) / size);
  const decimals = Math.max(...[slide.min, slide.step].map((text) => (text.split(".")[1] || "").length));
  const points = (place) => Number((low + place * size).toFixed(decimals));
  const placeOf = (given) => Math.max(0, Math.min(steps, Math.round((given - low) / size)));
  const isPoint = (given) => points(placeOf(given)) === given;
  const middle = points(Math.round(steps / 2));
  let value = null;

  function show() {
    slide.value = value === null ? middle : value;
    slide.classList.toggle("open", value === null);
    slide.setAttribute("aria-valuetext", value === null ? slide.dataset.open : String(value));
  }

  function restoreAnswer(given) {
    value = typeof given === "number" && isPoint(given) ? given : null;
    number.value = value === null ? "" : value;
    show();
  }

  function announceAnswer() {
    step.dispatchEvent(new CustomEvent("quorum:answer", { bubbles: true, detail: { position, value } }));
  }

  function answerAt(place) {
    restoreAnswer(points(Math.max(0, Math.min(steps, place))));
    announceAnswer();
  }

  slide.addEventListener("input", () => answerAt(placeOf(Number(slide.value))));
  slide.addEventListener("pointerup", () => { if (value === null) answerAt(placeOf(Number(slide.value))); });
  number.addEventListener("input", () => {
    const typed = number.value === "" ? NaN : Number(number.value);
    value = isPoint(typed) ? typed : null;
    show();
    announceAnswer();
  });
  step.addEventListener("quorum:key", (event) => {
    const { key, number: percent } = event.detail;
    const here = placeOf(value === null ? middle : value);
    if (percent !== undefined) answerAt(Math.round(percent / 100 * steps));
    else if (key === "Home") answerAt(0);
    else if (key === "End") answerAt(steps);
    else if (key in STEPS) answerAt(here + STEPS[key]);
    else if (key in TENTHS) answerAt(here + TENTHS[key] * Math.max(1, Math.round(steps / 10)));
    else return;
    event.preventDefault();
  });
  step.addEventListener("quorum:restore", ({ detail }) => restoreAnswer(detail.value));
  restoreAnswer(number.value === "" ? null : Number(number.value));
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-step]").forEach(setUp));
