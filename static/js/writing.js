// How a text is written, in sums: keys, pauses, corrections, what was pasted, leaving the tab. Which keys were pressed is
// never kept. draft.js sends the sums with the answer; what they mean is in contrib/honest_answers/README.md. Without this
// script nothing is counted, and nothing is held against anybody. It also hides the line for programs.

const TOGETHER = 2000;  // ms; a longer gap between two keys is a pause
const COARSE = 20;      // ms; a clock of such steps, as some browsers have for privacy, shows no rhythm
const MOST_KEYS = 5000;
const MOST = 1000000;   // the server takes no greater count
const FIELDS = "textarea:not([data-remark]), input[type=text], input[type=search]";

// where each character of a text came from: a key, a paste or drop, a composition (input methods, most phones), anything
// else (dictation, suggestions, corrections, extensions), or before this page
const [KEY, PASTE, COMPOSED, ELSE, BEFORE] = ["k", "p", "c", "e", "b"];
const SOURCES = {
  insertText: KEY, insertLineBreak: KEY, insertParagraph: KEY,
  insertFromPaste: PASTE, insertFromPasteAsQuotation: PASTE, insertFromYank: PASTE, insertFromDrop: PASTE,
  insertCompositionText: COMPOSED, insertFromComposition: COMPOSED,
};

function quantile(sorted, share) {
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

// the gaps between keys that belong together
export function rhythmOf(times) {
  const gaps = times.slice(1).map((time, place) => time - times[place]);
  const near = gaps.filter((gap) => gap <= TOGETHER).sort((one, other) => one - other);
  const found = { bursts: times.length - near.length, typing_ms: Math.min(Math.round(near.reduce((sum, gap) => sum + gap, 0)), MOST) };
  if (near.length < 2 || times.every((time) => Math.round(time) % COARSE === 0)) return found;
  return { ...found, gap_ms: Math.round(quantile(near, 0.5)), gap_spread_ms: Math.round(quantile(near, 0.75) - quantile(near, 0.25)) };
}

// ``sources`` after ``before`` became ``after``; what is new came from ``source``
export function sourcesAfter(sources, before, after, source) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return sources.slice(0, start) + source.repeat(after.length - start - end) + sources.slice(before.length - end);
}

function watch(field, shelf) {
  const mine = { sources: BEFORE.repeat(field.value.length), times: [], deletions: 0, pastes: 0, away: 0, away_ms: 0 };
  let value = field.value;
  let start = 0;       // of this page, on the clock of ``times``
  let pressed = null;  // the key that the next input belongs to
  let copied = "";     // copied or cut here: to put it elsewhere in the text is no paste
  let pasting = "";
  let dragged = false;

  // a page that is loaded again goes on counting: sums are kept, and letters for sources, but no text
  function recall() {
    value = field.value;
    if (mine.sources.length === value.length) return;
    mine.sources = BEFORE.repeat(value.length);
    try {
      const kept = JSON.parse(sessionStorage.getItem(shelf));
      if (kept?.sources.length !== value.length) return;
      Object.assign(mine, kept);
      if (mine.times.length) start = Math.ceil(mine.times.at(-1) / COARSE) * COARSE + 10 * TOGETHER;
    } catch { /* storage is switched off: counting begins anew */ }
  }

  function keep() {
    try { sessionStorage.setItem(shelf, JSON.stringify(mine)); } catch { /* as above */ }
  }

  function sourceOf({ inputType }, grown) {
    const source = SOURCES[inputType] ?? ELSE;
    if (source === KEY && (!pressed || grown > 1)) return ELSE;  // no key, or more than a key gives
    if (source !== PASTE) return source;
    if (dragged || (copied && pasting === copied)) return ELSE;
    mine.pastes += 1;
    return PASTE;
  }

  function count(event) {
    const text = field.value;
    const source = sourceOf(event, text.length - value.length);
    const deletes = /^delete/.test(event.inputType || "");
    if (deletes) mine.deletions += 1;
    // a key that is held down has the rhythm of the machine
    if (pressed && !pressed.repeat && (source === KEY || deletes) && mine.times.length < MOST_KEYS) mine.times.push(start + pressed.at);
    mine.sources = sourcesAfter(mine.sources, value, text, source);
    value = text;
    dragged = event.inputType === "deleteByDrag";
    pressed = null;
    pasting = "";
    keep();
  }

  field.addEventListener("keydown", ({ key, isComposing, repeat, timeStamp }) => {
    const writes = key.length === 1 || key === "Backspace" || key === "Delete" || key === "Enter";
    pressed = writes && !isComposing ? { at: timeStamp, repeat } : null;
  });
  for (const name of ["copy", "cut"]) {
    field.addEventListener(name, () => { copied = field.value.slice(field.selectionStart, field.selectionEnd); });
  }
  // a clipboard may end lines in another way than the field
  field.addEventListener("paste", (event) => { pasting = (event.clipboardData?.getData("text") ?? "").replace(/\r\n?/g, "\n"); });
  mine.sources = field.value ? "" : mine.sources;
  recall();
  return {
    count,
    recall,
    leave(away) {
      if (!value && !mine.times.length) return;
      mine.away += 1;
      mine.away_ms += Math.round(away);
      keep();
    },
    sums() {
      const of = (source) => mine.sources.split(source).length - 1;
      return {
        text: mine.sources.length, from_keys: of(KEY), from_paste: of(PASTE), from_composition: of(COMPOSED), from_elsewhere: of(ELSE),
        pastes: mine.pastes, keys: mine.times.length, deletions: mine.deletions, ...rhythmOf(mine.times),
        away: mine.away, away_ms: Math.min(mine.away_ms, MOST),
      };
    },
  };
}

let leave = null;  // ends the listeners of the page before

function begin(form) {
  if (leave) leave.abort();
  leave = new AbortController();
  const line = document.querySelector("[data-hidden-line]");
  if (line) {
    for (const step of form.querySelectorAll("[data-step]")) {
      const hidden = document.createElement("p");
      hidden.className = "for-programs";
      hidden.setAttribute("aria-hidden", "true");
      hidden.textContent = JSON.parse(line.textContent);
      (step.querySelector(".question") || step.querySelector("h2")).after(hidden);
    }
  }
  if (!("writing" in form.dataset)) return;
  const watched = new Map();  // step -> its field's watch; a step of these kinds has one field
  for (const step of form.querySelectorAll("[data-step]")) {
    const field = step.querySelector(FIELDS);
    if (!field) continue;
    const watching = watch(field, `quorum:writing:${form.dataset.shelf}:${step.id}`);
    watched.set(step, watching);
    const say = () => { step.dataset.writing = JSON.stringify(watching.sums()); };
    // before the kind hears of it, which tells the answer
    field.addEventListener("input", (event) => { watching.count(event); say(); }, { capture: true });
    step.addEventListener("quorum:restore", () => { watching.recall(); say(); });
    if (field.value) say();
  }
  let hidden = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") { hidden = performance.now(); return; }
    const step = form.querySelector("[data-step].now");
    if (!hidden || !watched.has(step)) return;
    watched.get(step).leave(performance.now() - hidden);
    step.dataset.writing = JSON.stringify(watched.get(step).sums());
    hidden = 0;
  }, { signal: leave.signal });
}

document.addEventListener("quorum:page", ({ detail }) => begin(detail.form));
