// Words of a caption linked to boxes of its picture: choose a word, then a box, by mouse, touch or keys. The selects of
// the plain form hold the links; this script shows them otherwise and tells the page (docs/adding-a-kind.md).

function fill(words, parts) {
  return words.replace(/\{(\w+)\}/g, (_, name) => parts[name]);
}

function setUp(step) {
  const ground = step.querySelector("[data-ground]");
  if (!ground) return;
  const position = Number(step.id.slice(1));
  const list = ground.querySelector("[data-tokens]");
  const words = [...list.querySelectorAll("[data-word]")];
  const buttons = [...ground.querySelectorAll("button[data-box]")];
  const none = ground.querySelector("[data-none]");
  const advice = ground.querySelector("[data-say]");
  const over = ground.querySelector("[data-over]");
  const links = new Map();  // word -> box id
  let here = -1;            // the chosen word, as a place in words

  const fieldOf = (word) => step.closest("form").elements[`u${position}-w${word.dataset.word}`];
  const textOf = (word) => word.firstElementChild.textContent;
  const nameOf = (button) => `${button.dataset.with} ${button.querySelector("bdi").textContent}`;
  const buttonOf = (box) => buttons.find((button) => button.dataset.box === box);

  function draw() {
    const chosen = here >= 0 ? links.get(words[here].dataset.word) : undefined;
    const used = new Set(links.values());
    words.forEach((word, place) => {
      const button = buttonOf(links.get(word.dataset.word));
      word.setAttribute("aria-selected", String(place === here));
      word.querySelector("b").textContent = button ? button.dataset.with : "";
      word.classList.toggle("linked", Boolean(button));
      if (button) word.setAttribute("aria-label", fill(ground.dataset.sayOption, { word: textOf(word), box: nameOf(button) }));
      else word.removeAttribute("aria-label");
      fieldOf(word).value = links.get(word.dataset.word) || "";
    });
    buttons.forEach((button) => {
      button.setAttribute("aria-pressed", String(button.dataset.box === chosen));
      button.classList.toggle("used", used.has(button.dataset.box));
    });
    ground.querySelectorAll("svg [data-box]").forEach((mark) => {
      mark.classList.toggle("used", used.has(mark.dataset.box));
      mark.classList.toggle("chosen", mark.dataset.box === chosen);
    });
    if (here >= 0) list.setAttribute("aria-activedescendant", words[here].id);
    else list.removeAttribute("aria-activedescendant");
  }

  function announceAnswer() {
    const answer = [...links].map(([word, box]) => ({ word: Number(word), box })).sort((one, other) => one.word - other.word);
    const given = answer.length || none.checked ? answer : null;
    step.dispatchEvent(new CustomEvent("quorum:answer", { bubbles: true, detail: { position, answer: given } }));
  }

  function choose(place) {
    if (!words.length) return;
    here = Math.max(0, Math.min(place, words.length - 1));
    draw();
    words[here].scrollIntoView({ block: "nearest" });
  }

  // the chosen word gets this box; the same box once more, or none, takes the link away
  function link(box) {
    if (here < 0) { advice.textContent = ground.dataset.sayFirst; return; }
    const word = words[here];
    if (box === null || links.get(word.dataset.word) === box) links.delete(word.dataset.word);
    else links.set(word.dataset.word, box);
    if (links.size) none.checked = false;
    const now = buttonOf(links.get(word.dataset.word));
    const said = now ? ground.dataset.sayLinked : ground.dataset.sayFree;
    advice.textContent = fill(said, { word: textOf(word), box: now ? nameOf(now) : "" });
    draw();
    announceAnswer();
  }

  function restoreAnswer(answer) {
    links.clear();
    (answer || []).forEach(({ word, box }) => links.set(String(word), box));
    none.checked = Array.isArray(answer) && !answer.length;
    draw();
  }

  words.forEach((word, place) => word.addEventListener("click", () => choose(place)));
  list.addEventListener("focus", () => { if (here < 0) choose(0); });
  ground.addEventListener("click", (event) => {
    const mark = event.target.closest("button[data-box], svg [data-box]");
    if (mark) link(mark.dataset.box);
  });
  none.addEventListener("change", () => {
    if (none.checked) links.clear();
    draw();
    announceAnswer();
  });
  step.addEventListener("quorum:key", (event) => {
    const key = event.detail.key.toLowerCase();
    const forward = getComputedStyle(list).direction === "rtl" ? "arrowleft" : "arrowright";
    const moves = { [forward]: here + 1, [forward === "arrowright" ? "arrowleft" : "arrowright"]: here - 1, home: 0, end: words.length };
    const button = buttons.find((one) => one.dataset.with === key);
    if (key in moves) choose(moves[key]);
    else if (event.detail.repeat) return;
    else if (button && words.length) {
      if (here < 0) choose(0);
      link(button.dataset.box);
      // a practised hand goes from word to word
      if (links.has(words[here].dataset.word) && here < words.length - 1) choose(here + 1);
    } else if (key === "0" || key === "delete") link(null);
    else return;
    event.preventDefault();
  });
  if (over) {
    const image = over.querySelector("img");
    image.addEventListener("error", () => { over.hidden = true; });
    image.addEventListener("load", () => { over.hidden = false; });
  }
  step.addEventListener("quorum:restore", ({ detail }) => restoreAnswer(detail.answer));
  const saved = step.querySelector("[data-saved]");
  restoreAnswer(saved ? JSON.parse(saved.textContent) : null);
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-step]").forEach(setUp));
