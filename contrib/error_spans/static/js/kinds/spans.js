// Errors marked in a text by mouse, finger or keys, and a score on a slider that stands nowhere before it is touched.
// Where two texts stand side by side, keys go to the active one. Offsets count code points, as the server does.

const KEYS = { m: "minor", j: "major", k: "critical" };
const LEVELS = ["minor", "major", "critical"];
const fill = (words, parts) => words.replace(/\{(\w+)\}/g, (_, name) => parts[name]);

// one text and its controls; what it returns is for the step
function setUpSide(step, place) {
  const position = Number(place.dataset.place);
  const shown = JSON.parse(place.querySelector("[data-shown]").textContent);
  const signs = [...shown.caption.text];
  const text = place.querySelector("[data-text]");
  const advice = place.querySelector("[data-say]");
  const list = place.querySelector("[data-chosen]");
  const none = place.querySelector("[data-none]");
  const slide = place.querySelector("[data-slide]");
  const number = place.querySelector("[data-number]");
  const buttons = new Map([...place.querySelectorAll("[data-severity]")].map((one) => [one.dataset.severity, one]));
  const say = place.closest("[data-say-chosen]").dataset;
  let spans = [];
  let score = null;
  let pending = null;  // [start, end) that is chosen and not marked yet
  let chosen = null;   // the span that keys change
  let here = -1;       // the word where keys are, and the one where they began
  let from = -1;
  let finger = false;  // whether the pending words were tapped

  const quoted = (start, end) => signs.slice(start, end).join("");
  const named = (span) => span.start === null ? say.sayMissing : quoted(span.start, span.end);
  const wordOf = (severity) => buttons.get(severity).firstChild.textContent;
  const advise = (words, parts) => { advice.textContent = fill(words, parts); };

  // a word, or what lies between two, in runs of signs that look the same
  function appendMarked(parent, start, end) {
    const lookOf = (at) => {
      const over = spans.filter((span) => span.start !== null && span.start <= at && at < span.end);
      const level = Math.max(-1, ...over.map((span) => LEVELS.indexOf(span.severity)));
      const names = level < 0 ? [] : [LEVELS[level]];
      if (over.includes(chosen)) names.push("chosen");
      if (pending && pending[0] <= at && at < pending[1]) names.push("pending");
      return names.join(" ");
    };
    for (let at = start; at < end;) {
      let to = at + 1;
      const names = lookOf(at);
      while (to < end && lookOf(to) === names) to += 1;
      if (names) {
        const mark = document.createElement("mark");
        mark.className = names;
        mark.textContent = quoted(at, to);
        parent.append(mark);
      } else parent.append(quoted(at, to));
      at = to;
    }
  }

  function drawText() {
    const parts = document.createDocumentFragment();
    let at = 0;
    shown.words.forEach(([start, end], index) => {
      appendMarked(parts, at, start);
      const word = document.createElement("span");
      word.id = `w${position}-${index}`;
      word.dataset.word = index;
      word.setAttribute("role", "option");
      word.setAttribute("aria-selected", String(Boolean(pending && pending[0] < end && start < pending[1])));
      const own = spans.find((span) => span.start !== null && span.start < end && start < span.end);
      if (own) word.setAttribute("aria-label", `${quoted(start, end)}, ${wordOf(own.severity)}`);
      if (index === here) word.className = "here";
      appendMarked(word, start, end);
      parts.append(word);
      at = end;
    });
    appendMarked(parts, at, signs.length);
    if (!quoted(0, signs.length).trim()) {
      const nothing = document.createElement("span");
      nothing.className = "said blank";
      nothing.setAttribute("role", "option"); // a list of options has one
      nothing.setAttribute("aria-disabled", "true");
      nothing.textContent = text.dataset.empty;
      parts.append(nothing);
    }
    text.replaceChildren(parts);
    if (here >= 0) text.setAttribute("aria-activedescendant", `w${position}-${here}`);
    else text.removeAttribute("aria-activedescendant");
  }

  function drawList() {
    list.replaceChildren(...spans.map((span) => {
      const row = document.createElement("li");
      row.className = span === chosen ? `${span.severity} chosen` : span.severity;
      const name = document.createElement("button");
      name.type = "button";
      name.className = "name";
      name.setAttribute("aria-pressed", String(span === chosen));
      const what = document.createElement("bdi");
      what.textContent = named(span);
      name.append(what, ` · ${wordOf(span.severity)}`);
      name.addEventListener("click", () => { chosen = chosen === span ? null : span; pending = null; draw(); });
      row.append(name);
      if (shown.categories.length) {
        const select = document.createElement("select");
        select.setAttribute("aria-label", fill(say.sayKind, { words: named(span) }));
        select.append(new Option(say.sayChoose, ""), ...shown.categories.map((one) => new Option(one.label, one.name)));
        select.value = span.category || "";
        select.addEventListener("change", () => { span.category = select.value; announceAnswer(); });
        row.append(select);
      }
      const away = document.createElement("button");
      away.type = "button";
      away.textContent = "✕";
      away.setAttribute("aria-label", fill(say.sayRemove, { words: named(span) }));
      away.addEventListener("click", () => remove(span));
      row.append(away);
      return row;
    }));
  }

  function draw() {
    drawText();
    drawList();
    buttons.forEach((button, severity) => button.setAttribute("aria-pressed", String(chosen?.severity === severity && !pending)));
    if (!slide) return;
    slide.value = score === null ? 50 : score;
    slide.classList.toggle("open", score === null);
    slide.setAttribute("aria-valuetext", score === null ? slide.dataset.open : String(score));
  }

  function announceAnswer() {
    const categorised = !shown.categories.length || spans.every((span) => span.category);
    const enough = shown.scored ? score !== null : spans.length > 0 || none.checked;
    const answer = { spans: spans.map((span) => ({ ...span })) };
    if (shown.scored) answer.score = score;
    const detail = categorised && enough
      ? { position, answer }
      : { position, answer: null, draft: spans.length || score !== null ? answer : undefined,
        ...(categorised ? {} : { problem: say.sayCategory }) };
    step.dispatchEvent(new CustomEvent("quorum:answer", { bubbles: true, detail }));
  }

  function choose(start, end) {
    pending = start < end ? [start, end] : null;
    chosen = null;
    if (pending) advise(say.sayChosen, { words: quoted(...pending) });
    draw();
  }

  function add(span) {
    if (shown.categories.length) span.category = "";
    spans.push(span);
    // what is missing has no place, and comes last
    spans.sort((one, other) => (one.start === null) - (other.start === null) || one.start - other.start || one.end - other.end);
    if (none) none.checked = false;
    chosen = span;
  }

  function mark(severity) {
    if (pending) {
      const [start, end] = pending;
      pending = null;
      from = here;
      add({ start, end, severity });
      getSelection().removeAllRanges();
    } else if (chosen) chosen.severity = severity;
    else { advise(say.sayFirst, {}); return; }
    advise(say.sayMarked, { words: named(chosen), severity: wordOf(severity) });
    draw();
    announceAnswer();
    text.focus({ preventScroll: true });  // so that keys go on from here
  }

  function addMissing() {
    pending = null;
    add({ start: null, end: null, severity: shown.severities[0] });
    advise(say.sayMarked, { words: named(chosen), severity: wordOf(chosen.severity) });
    draw();
    announceAnswer();
    text.focus({ preventScroll: true });
  }

  function remove(span) {
    spans = spans.filter((one) => one !== span);
    if (chosen === span) chosen = null;
    advise(say.sayRemoved, { words: named(span) });
    draw();
    announceAnswer();
    text.focus({ preventScroll: true });
  }

  function go(to, more) {
    if (!shown.words.length) return;
    here = Math.max(0, Math.min(to, shown.words.length - 1));
    if (!more || from < 0) from = here;
    finger = false;
    choose(shown.words[Math.min(from, here)][0], shown.words[Math.max(from, here)][1]);
    text.querySelector(".here").scrollIntoView({ block: "nearest" });
  }

  function rate(given) {
    score = given === null ? null : Math.max(0, Math.min(100, given));
    number.value = score === null ? "" : score;
    draw();
    announceAnswer();
  }

  // the offsets of what is selected in the text, or null
  function selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!text.contains(range.startContainer) || !text.contains(range.endContainer)) return null;
    const before = document.createRange();
    before.setStart(text, 0);
    before.setEnd(range.startContainer, range.startOffset);
    let start = [...before.toString()].length;
    let end = start + [...range.toString()].length;
    while (start < end && /\s/.test(signs[start])) start += 1;
    while (end > start && /\s/.test(signs[end - 1])) end -= 1;
    return start < end ? [start, end] : null;
  }

  function tap(event) {
    const word = event.target.closest("[data-word]");
    if (!word) { choose(0, 0); return; }
    const index = Number(word.dataset.word);
    const [start, end] = shown.words[index];
    const over = spans.filter((span) => span.start !== null && span.start < end && start < span.end);
    here = index;
    if (over.length && !pending) {
      chosen = over[(over.indexOf(chosen) + 1) % over.length];
      advise(say.sayMarked, { words: named(chosen), severity: wordOf(chosen.severity) });
      draw();
    } else if (pending && pending[0] <= start && end <= pending[1]) choose(0, 0);
    else if (pending && (finger || event.shiftKey)) choose(Math.min(pending[0], start), Math.max(pending[1], end));
    else { finger = true; from = index; choose(start, end); }
  }

  text.addEventListener("click", (event) => {
    const given = selected();
    if (given) { finger = false; choose(...given); getSelection().removeAllRanges(); } else tap(event);
  });
  // a finger selects by handles, of which no click tells
  let waiting = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(waiting);
    if (!matchMedia("(pointer: coarse)").matches) return;
    waiting = setTimeout(() => {
      const given = selected();
      if (!given || (pending && given[0] === pending[0] && given[1] === pending[1])) return;
      pending = given;
      finger = false;
      advise(say.sayChosen, { words: quoted(...given) });
    }, 250);
  });
  buttons.forEach((button, severity) => button.addEventListener("click", () => mark(severity)));
  place.querySelector("[data-missing]")?.addEventListener("click", addMissing);
  none?.addEventListener("change", () => { if (none.checked) { spans = []; chosen = pending = null; } draw(); announceAnswer(); });
  slide?.addEventListener("input", () => rate(Number(slide.value)));
  slide?.addEventListener("pointerup", () => { if (score === null) rate(Number(slide.value)); });
  number?.addEventListener("input", () => {
    const typed = number.value === "" ? NaN : Number(number.value);
    score = Number.isInteger(typed) && typed >= 0 && typed <= 100 ? typed : null;
    draw();
    announceAnswer();
  });
  // whether the key was for this text
  function press({ key, shift, repeat, number: typed }) {
    const low = key.toLowerCase();
    const active = document.activeElement;
    if (active?.closest("select") || (active === slide && (key.startsWith("Arrow") || key.startsWith("Page") || key === "Home" || key === "End"))) return false;
    const rtl = getComputedStyle(text).direction === "rtl";
    const moves = { [rtl ? "ArrowLeft" : "ArrowRight"]: here + 1, [rtl ? "ArrowRight" : "ArrowLeft"]: here < 0 ? 0 : here - 1 };
    if (key in moves) go(moves[key], shift);
    else if (key === "Home") go(0, shift);
    else if (key === "End") go(shown.words.length - 1, shift);
    else if (repeat) return false;
    else if (low in KEYS && buttons.has(KEYS[low])) mark(KEYS[low]);
    else if (key === "Enter" && pending && !active?.closest("a, button, summary")) mark(shown.severities[0]);
    else if (low === "x" && shown.missing) addMissing();
    else if (key === "Delete" && chosen) remove(chosen);
    else if (key === "Escape" && (pending || chosen)) choose(0, 0);
    else if (slide && typed !== undefined) rate(typed);
    else if (slide && (key === "+" || key === "-")) rate((score === null ? 50 : score) + (key === "+" ? 1 : -1));
    else if (low === "n" && none && !none.dataset.key) none.click();
    else return false;
    return true;
  }

  function restoreAnswer(given) {
    spans = (given?.spans || []).map((span) => ({ ...span }));
    score = Number.isInteger(given?.score) ? given.score : null;
    chosen = pending = null;
    if (number) number.value = score === null ? "" : score;
    if (none) none.checked = Boolean(given) && !spans.length;
    draw();
  }

  // what the form posts by itself, such as with a report, must not replace the marks that are saved
  place.querySelectorAll(".nojs :is(select, input), [data-number], [data-none]").forEach((field) => field.removeAttribute("name"));

  const saved = step.querySelector(`[data-saved="${position}"]`);
  restoreAnswer(saved ? JSON.parse(saved.textContent) : null);
  return { place, position, press, restoreAnswer, focus: () => text.focus() };
}

function setUp(step) {
  const sides = [...step.querySelectorAll("[data-spans]")].map((place) => setUpSide(step, place));
  if (!sides.length) return;
  let [active] = sides;

  function turn(to) {
    active = to;
    if (sides.length > 1) sides.forEach((side) => side.place.classList.toggle("active", side === active));
  }

  for (const side of sides) {
    side.place.addEventListener("focusin", () => turn(side));
    side.place.addEventListener("pointerdown", () => turn(side));
  }
  step.addEventListener("quorum:restore", ({ detail }) => {
    sides.find((side) => side.position === detail.position)?.restoreAnswer(detail.answer ?? detail.draft);
  });
  step.addEventListener("quorum:key", (event) => {
    const { key, repeat } = event.detail;
    if (!active.press(event.detail)) {
      if (repeat) return;
      // by its letter; by Enter from a text that is done to the one that is not
      const done = active.place.dataset.answered === "yes" && !document.activeElement?.closest("a, button, summary");
      const to = sides.length < 2 ? null
        : key === "Enter" ? done && sides.find((side) => side.place.dataset.answered !== "yes")
          : sides.find((side) => side.place.dataset.side === key);
      if (!to) return;
      to.focus();
    }
    event.preventDefault();
  });
  turn(active);
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-step]").forEach(setUp));
