// Captions as they are written: the rules are told while somebody types, calmly, and the sentence goes on as the answer.
// The rules and every word come with the page; the server looks at the same rules again.

const TYPES = matchMedia("(hover: hover)");  // elsewhere a keyboard on the screen would cover the picture
const MOST = 1000000;  // the server takes no greater count
const PAUSE = 600;  // ms without a key before anything is said
const BLANKS = /[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

export function tidied(text) {
  return text.replace(BLANKS, " ").replace(/^ | $/gu, "");
}

export function countWords(text) {
  return text.split(" ").filter((run) => LETTER_OR_DIGIT.test(run)).length;
}

function finds(rule, text) {
  if (rule.counts) {
    const count = rule.counts === "words" ? countWords(text) : [...text].length;
    return count < rule.least || (rule.most > 0 && count > rule.most);
  }
  return new RegExp(rule.pattern, rule.flags).test(text);
}

// the rules that a text breaks, in their order
export function broken(text, rules) {
  const tidy = tidied(text);
  return rules.filter((rule) => finds(rule, tidy));
}

function item(words, rule) {
  const line = document.createElement("p");
  const mark = document.createElement("strong");
  mark.textContent = rule.hard ? words.refused : words.advice;
  line.className = rule.hard ? "must" : "may";
  line.append(mark, ` ${rule.says}`);
  return line;
}

function setUp(step, rules) {
  const field = step.querySelector("[data-caption]");
  const advice = step.querySelector("[data-advice]");
  const count = step.querySelector("[data-count-words]");
  const words = { refused: advice.dataset.refused, advice: advice.dataset.may };
  const position = Number(field.name.slice(1));
  let pasted = 0;
  let timer = 0;
  let told = "";
  let spelling = "";  // advice of the server, which has the dictionary

  function number() { count.textContent = String(countWords(tidied(field.value))); }

  // Whoever is still typing is not told that it is short. One thing at a time, and advice only once nothing is refused.
  function advise(finished) {
    clearTimeout(timer);
    const found = field.value.trim() ? broken(field.value, rules).filter((rule) => finished || !rule.least) : [];
    const must = found.filter((rule) => rule.hard).slice(0, 1);
    const misspelt = spelling ? [{ id: spelling, says: spelling }] : [];
    const lines = must.length ? must : [...found.slice(0, 2 - misspelt.length), ...misspelt];
    if (finished && must.length) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
    const now = lines.map((rule) => rule.id).join(" ");
    if (now === told) return;  // said before: a screen reader is not made to say it again
    told = now;
    advice.replaceChildren(...lines.map((rule) => item(words, rule)));
  }

  function announceAnswer() {
    const text = tidied(field.value);
    const hard = broken(text, rules).find((rule) => rule.hard);
    if (!text) pasted = 0;
    step.dispatchEvent(new CustomEvent("quorum:answer", {
      bubbles: true,
      detail: {
        position,
        answer: hard ? null : text,
        draft: hard && text ? field.value : null,
        problem: hard && text ? hard.says : "",
        signals: pasted ? { pasted } : null,
      },
    }));
  }

  function restoreAnswer(text) {
    if (typeof text !== "string") return;
    field.value = text;
    number();
    advise(true);
  }

  field.addEventListener("paste", (event) => {
    pasted = Math.min(pasted + (event.clipboardData?.getData("text").length ?? 0), MOST);
  });
  field.addEventListener("input", () => {
    spelling = "";
    number();
    announceAnswer();
    clearTimeout(timer);
    timer = setTimeout(advise, PAUSE, false);
  });
  field.addEventListener("blur", () => advise(true));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (spelling) step.dataset.advised = "read";
    advise(true);
  });
  if (!TYPES.matches) field.removeAttribute("data-focus");
  step.addEventListener("quorum:advice", ({ detail }) => {
    if (detail !== spelling) step.dataset.advised = detail ? "unread" : "";
    spelling = detail;
    advise(true);
    setTimeout(() => { if (spelling && step.offsetParent) step.dataset.advised = "read"; }, PAUSE);
  });
  step.addEventListener("quorum:show", () => {
    if (spelling) {
      step.dataset.advised = "read";
      advise(true);
    }
    if (TYPES.matches && document.activeElement === document.body) field.focus({ preventScroll: true });
  });
  step.addEventListener("quorum:restore", ({ detail }) => restoreAnswer(detail.answer ?? detail.draft));
  number();
  if (field.value !== field.dataset.caption) {  // refused when it came, or put back by the browser
    advise(true);
    if (field.value) announceAnswer();
  }
}

document.addEventListener("quorum:page", ({ detail }) => {
  const data = detail.form.querySelector("[data-rules]");
  if (!data) return;
  const rules = JSON.parse(data.textContent);
  detail.form.querySelectorAll("[data-step]").forEach((step) => setUp(step, rules));
});
