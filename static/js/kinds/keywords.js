// Words of a text as keywords: typed with completion, clicked in the text, or ticked as phrases. A word that is not in
// the text is told beside the field. The rules for words are those of quorum/phrases.py, which decides in the end.

const EDGES = /^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu;
const BLANKS = /[\s\x1c-\x1f\x85]+/u;
const MOST_OFFERS = 6;
const TYPES = matchMedia("(hover: hover)");  // elsewhere a keyboard on the screen would cover the text

function plain(text) {
  return text.normalize("NFC").replace(/[’‘ʼ]/g, "'").replace(/[‐‑]/g, "-").toLowerCase();
}

const trimmed = (word) => word.replace(EDGES, "");

export function wordsOf(text) {
  return plain(text).split(BLANKS).map(trimmed).filter(Boolean);
}

function partsOf(word) {
  const parts = word.replaceAll("/", "-").split("-").map(trimmed).filter(Boolean);
  const owners = [word, ...parts].filter((part) => part.endsWith("'s") && part.length > 2).map((part) => part.slice(0, -2));
  return [...new Set([...parts, ...owners])].filter((part) => part !== word);
}

export function vocabularyOf(text) {
  return new Set(wordsOf(text).flatMap((word) => [word, ...partsOf(word)]));
}

export const phraseOf = (text) => wordsOf(text).join(" ");

const fill = (words, word) => words.replace("{word}", word);

function setUp(step) {
  const sheet = step.querySelector("[data-keywords]");
  if (!sheet) return;
  const position = Number(step.id.slice(1));
  const part = (name) => sheet.querySelector(`[data-${name}]`);
  const [type, offers, chips, advice, none, form] = ["type", "offers", "chosen", "say", "none", "plain"].map(part);
  const phrases = [...sheet.querySelectorAll("[data-phrase]")];
  const text = part("text").querySelector(".said");
  const known = vocabularyOf(text.textContent);
  const typed = new Map();  // form -> the word as it was given
  const spans = [];
  let marked = -1;          // the offer that the arrow keys chose

  // every word of the text can be clicked; whoever does not point types it
  function openWords() {
    const pieces = text.textContent.split(/([\s\x1c-\x1f\x85]+)/u);
    text.replaceChildren(...pieces.map((piece) => {
      const form = phraseOf(piece);
      if (!form) return piece;
      const span = document.createElement("span");
      span.className = "word";
      span.textContent = piece;
      span.dataset.form = form;
      spans.push(span);
      return span;
    }));
  }

  function say(words, wrong = false) {
    advice.textContent = words;
    advice.classList.toggle("wrong", wrong);
    type.setAttribute("aria-invalid", String(wrong));
  }

  function draw() {
    chips.replaceChildren(...[...typed].map(([form, word]) => {
      const chip = document.createElement("li");
      const name = document.createElement("bdi");
      const remove = document.createElement("button");
      name.textContent = word;
      remove.type = "button";
      remove.textContent = "×";
      remove.setAttribute("aria-label", fill(sheet.dataset.sayRemove, word));
      remove.addEventListener("click", () => { take(form); type.focus(); });
      chip.append(name, remove);
      return chip;
    }));
    const ticked = new Set(phrases.filter((box) => box.checked).flatMap((box) => wordsOf(box.dataset.phrase)));
    spans.forEach((span) => {
      span.classList.toggle("on", typed.has(span.dataset.form));
      span.classList.toggle("within", ticked.has(span.dataset.form));
    });
    form.value = [...typed.values()].join(", ");
  }

  function announceAnswer() {
    const answer = [...typed.values(), ...phrases.filter((box) => box.checked).map((box) => box.dataset.phrase)];
    if (answer.length) none.checked = false;
    const draft = type.value.trim() ? { draft: { keywords: answer, typed: type.value } } : {};
    const given = answer.length || none.checked ? answer : null;
    const problem = given === null && advice.classList.contains("wrong") ? advice.textContent : "";
    step.dispatchEvent(new CustomEvent("quorum:answer", {
      bubbles: true, detail: { position, answer: given, problem, ...(given === null ? draft : {}) },
    }));
  }

  function take(form) {
    say(fill(sheet.dataset.sayRemoved, typed.get(form)));
    typed.delete(form);
    draw();
    announceAnswer();
  }

  // true where the word is a keyword now
  function add(word) {
    const clean = word.trim().split(BLANKS).join(" ");
    const form = phraseOf(clean);
    const box = phrases.find((one) => phraseOf(one.dataset.phrase) === form);
    if (!box && !known.has(form)) {
      say(fill(form.includes(" ") ? sheet.dataset.sayPhrase : sheet.dataset.sayMissing, clean), true);
      announceAnswer();
      return false;
    }
    const there = box ? box.checked : typed.has(form);
    if (box) box.checked = true; else if (!there) typed.set(form, trimmed(clean));
    say(fill(there ? sheet.dataset.sayThere : sheet.dataset.sayAdded, clean));
    none.checked = false;
    draw();
    announceAnswer();
    return true;
  }

  function close() {
    offers.hidden = true;
    offers.replaceChildren();
    marked = -1;
    type.setAttribute("aria-expanded", "false");
    type.removeAttribute("aria-activedescendant");
  }

  function beginning(start) {
    return [...known, ...phrases.map((box) => box.dataset.phrase)].filter((one) => phraseOf(one).startsWith(start));
  }

  function offer() {
    close();
    const start = phraseOf(type.value);
    if (!start) { say(""); return; }
    const found = beginning(start);
    if (!found.length) { say(sheet.dataset.sayNothing, true); return; }
    say("");
    offers.replaceChildren(...found.slice(0, MOST_OFFERS).map((word, place) => {
      const entry = document.createElement("li");
      entry.setAttribute("role", "option");
      entry.setAttribute("aria-selected", "false");
      entry.id = `${offers.id}-${place}`;
      entry.dir = "auto";
      entry.textContent = word;
      entry.addEventListener("pointerdown", (event) => { event.preventDefault(); enter(word); });
      return entry;
    }));
    offers.hidden = false;
    type.setAttribute("aria-expanded", "true");
  }

  function mark(place) {
    const entries = [...offers.children];
    if (!entries.length) return;
    marked = (place + entries.length) % entries.length;
    entries.forEach((entry, index) => entry.setAttribute("aria-selected", String(index === marked)));
    type.setAttribute("aria-activedescendant", entries[marked].id);
  }

  function enter(word) {
    if (!add(word)) return;
    type.value = "";
    close();
    announceAnswer();
  }

  type.addEventListener("input", () => { offer(); announceAnswer(); });
  type.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark(marked < 0 && event.key === "ArrowUp" ? -1 : marked + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Escape" && !offers.hidden) {
      event.stopPropagation();
      close();
    } else if ((event.key === "Enter" || event.key === "," || event.key === ";") && type.value.trim()) {
      event.preventDefault();  // on an empty field Enter goes on
      const start = phraseOf(type.value);
      const found = known.has(start) ? [] : beginning(start);  // the only one that begins like this is meant
      enter(marked >= 0 ? offers.children[marked].textContent : found.length === 1 ? found[0] : type.value);
    } else if (event.key === "Backspace" && !type.value && typed.size) {
      event.preventDefault();
      take([...typed.keys()].pop());
    }
  });
  // what was typed in full counts, also where the field is left without Enter
  type.addEventListener("blur", () => { if (known.has(phraseOf(type.value))) enter(type.value); else close(); });
  text.addEventListener("click", (event) => {
    const span = event.target.closest("[data-form]");
    if (!span || String(getSelection())) return;
    if (typed.has(span.dataset.form)) take(span.dataset.form);
    else add(trimmed(span.textContent));
  });
  phrases.forEach((box) => box.addEventListener("change", () => { draw(); announceAnswer(); }));
  none.addEventListener("change", () => {
    if (none.checked) {
      typed.clear();
      phrases.forEach((box) => { box.checked = false; });
    }
    draw();
    announceAnswer();
  });

  function restoreAnswer(answer) {
    typed.clear();
    phrases.forEach((box) => { box.checked = false; });
    (answer || []).forEach((word) => {
      const box = phrases.find((one) => phraseOf(one.dataset.phrase) === phraseOf(word));
      if (box) box.checked = true; else typed.set(phraseOf(word), word);
    });
    none.checked = Array.isArray(answer) && !answer.length;
    draw();
  }

  step.addEventListener("quorum:restore", ({ detail }) => {
    restoreAnswer(detail.answer ?? detail.draft?.keywords ?? null);
    if (detail.draft) { none.checked = false; type.value = detail.draft.typed; }
  });
  if (!TYPES.matches) type.removeAttribute("data-focus");
  step.addEventListener("quorum:show", () => {
    if (TYPES.matches && document.activeElement === document.body) type.focus({ preventScroll: true });
  });
  const saved = step.querySelector("[data-saved]");
  openWords();
  restoreAnswer(saved ? JSON.parse(saved.textContent) : null);
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-step]").forEach(setUp));
