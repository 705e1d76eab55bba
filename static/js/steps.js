// Show one step of a page of work at a time: keys, Next, Later, Undo, the clock. The form holds the answers. The events
// that this script sends are in docs/adding-a-kind.md. All words come from the page.

const IDLE_AFTER = 30000;     // milliseconds without input after which a person counts as away
const AHEAD = 2;             // steps whose pictures are fetched before they are shown
const DIGITS_WITHIN = 1000;  // milliseconds between the digits of one number
const BY_ITSELF = "quorum:go-on";
const KEYS = "quorum:keys";
// a text that scrolls gets these keys first
const SCROLLING = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End", " "]);
// controls without an answer: a slider that was not moved, a category that is not chosen
const FIELD = "[data-slide].open, .chips select:has([value='']:checked)";
const WRITING = "textarea, select, [contenteditable], input:is([type=text], [type=search], [type=number])";

let page = null;     // the page of work in the document
let leave = null;    // ends the listeners of the page before
let pointed = null;  // the label that the pointer was lifted on: an answer by pointer goes on, one by arrow key does not

function readPreference(name) {
  try { return localStorage.getItem(name) !== "no"; } catch { return true; }
}

function storePreference(name, wanted) {
  try { localStorage.setItem(name, wanted ? "yes" : "no"); } catch { /* storage is switched off: it lasts for the page */ }
}

// return the parts that are answered separately: units side by side, or the whole step
function sidesOf(step) {
  const sides = step.querySelectorAll("[data-place]");
  return sides.length ? [...sides] : [step];
}

// a kind with controls of its own says on the step, or on its sides, whether it is answered; elsewhere a checked box or
// button does, in each part of an answer that has parts
function isAnswered(step) {
  if ("answered" in step.dataset) return sidesOf(step).every((side) => side.dataset.answered === "yes");
  const parts = step.querySelectorAll("[data-part]");
  return (parts.length ? [...parts] : [step]).every((part) => part.querySelector("input:checked"));
}

// return the key in small letters; on a keyboard without Latin letters or digits, the one at the same place of a usual
// keyboard
function keyOf({ key, code, shiftKey }) {
  if (key.length !== 1) return key;
  const printed = /^(Key|Digit)(.)$/.exec(code || "");
  const other = printed && (key > "~" || (printed[1] === "Digit" && !shiftKey));
  return (other ? printed[2] : key).toLowerCase();
}

function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// active time: the page is visible and the person did something within the last half minute; wall time runs on
function makeClock() {
  let step = null;
  let mark = performance.now();
  let touched = mark;
  let seen = document.visibilityState === "visible";
  function count() {
    const now = performance.now();
    if (step) {
      const active = seen ? Math.max(0, Math.min(now, touched + IDLE_AFTER) - mark) : 0;
      step.dataset.seconds = ((Number(step.dataset.seconds) || 0) + active / 1000).toFixed(2);
      step.dataset.wall = ((Number(step.dataset.wall) || 0) + Math.max(0, now - mark) / 1000).toFixed(2);
    }
    mark = now;
  }
  return {
    count,
    turn(next) { count(); step = next; },
    touch() {
      const now = performance.now();
      if (now - touched < 200) return;
      count();
      touched = now;
    },
    look() { count(); seen = document.visibilityState === "visible"; if (seen) touched = performance.now(); },
  };
}

function openPage(form) {
  if (leave) leave.abort();
  leave = new AbortController();
  const listening = { signal: leave.signal };
  const words = JSON.parse(document.querySelector("[data-words]").textContent);
  const steps = [...form.querySelectorAll("[data-step]")];
  const bar = [...document.querySelectorAll("[data-bar] li")];
  const [count, back, later, next, submit, state] = ["count", "back", "later", "next", "submit", "state"]
    .map((name) => document.querySelector(`[data-${name}]`));
  const preview = "preview" in form.dataset;
  const clock = makeClock();
  const given = [];       // the steps in the order they were answered: what Undo goes back through
  const put = new Set();  // left for later
  let here = -1;

  const unanswered = () => steps.filter((step, place) => place !== here && !isAnswered(step));

  function refresh() {
    bar.forEach((mark, place) => {
      mark.classList.toggle("here", place === here);
      mark.classList.toggle("done", place !== here && isAnswered(steps[place]));
      mark.classList.toggle("later", put.has(steps[place]) && !isAnswered(steps[place]));
    });
    const waiting = [...put].filter((step) => step !== steps[here] && !isAnswered(step)).length;
    count.textContent = fill(words.here, { here: here + 1, all: steps.length }) + (waiting ? ` · ${fill(words.later, { n: waiting })}` : "");
    const last = !unanswered().length;
    back.disabled = here === 0;
    later.disabled = last || isAnswered(steps[here]);
    next.hidden = last && (here === steps.length - 1 || !isAnswered(steps[here]));
    next.classList.toggle("primary", !last);
    next.classList.toggle("second", last);
    submit.hidden = !last;
  }

  function show(index, { focus = true } = {}) {
    here = Math.max(0, Math.min(index, steps.length - 1));
    clock.turn(steps[here]);
    steps.forEach((step, place) => step.classList.toggle("now", place === here));
    refresh();
    if (page?.loaded) loadNextPicture();
    if (focus) focusStep();
    if (page) announceStep();
  }

  function focusStep() {
    (steps[here].querySelector("[data-focus]") || steps[here].querySelector("h2")).focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  function announceStep() {
    steps[here].dispatchEvent(new CustomEvent("quorum:show"));
    const open = unanswered().length + (isAnswered(steps[here]) ? 0 : 1);
    form.dispatchEvent(new CustomEvent("quorum:left", { detail: { open } }));
  }

  // fetch the pictures of the next steps one by one, in case the connection is lost
  function loadNextPicture() {
    const images = steps.slice(here, here + 1 + AHEAD).flatMap((step) => [...step.querySelectorAll("img")]);
    if (images.some((image) => image.loading === "eager" && !image.complete)) return;
    const next = images.find((image) => image.loading === "lazy");
    if (!next) return;
    for (const sign of ["load", "error"]) next.addEventListener(sign, loadNextPicture, { once: true, ...listening });
    next.loading = "eager";
    if (next.complete) loadNextPicture();
  }

  function showMessage(text, tone = "bad") {
    if (tone) state.dataset.tone = tone; else delete state.dataset.tone;
    state.toggleAttribute("data-request", tone === "bad");
    state.textContent = text;
  }

  function clearProblem() {
    if (state.dataset.tone === "bad") showMessage("", "");
  }

  function requireAnswer() {
    const step = steps[here];
    if (isAnswered(step)) return true;
    const open = sidesOf(step).find((side) => side.dataset.answered !== "yes") || step;
    const why = open.dataset.problem || open.querySelector("[data-hint]").dataset.hint;
    showMessage(open.dataset.named ? `${open.dataset.named}: ${why}` : why);
    if (open.dataset.named && !open.contains(document.activeElement)) open.querySelector("[data-focus]").focus();
    const field = partWithoutAnswer(open) || open.querySelector(FIELD) || open.querySelector("[data-hint]");
    if (!inView(field)) field.scrollIntoView({ block: field.matches(FIELD) ? "center" : "nearest" });
    return false;
  }

  function partWithoutAnswer(side) {
    return [...side.querySelectorAll("[data-part]")].find((part) => !part.querySelector("input:checked"));
  }

  // above the bar, and below the upper edge
  function inView(field) {
    const box = field.getBoundingClientRect();
    return box.top >= 0 && box.bottom <= Math.min(innerHeight, next.parentElement.getBoundingClientRect().top);
  }

  function leaveStep() {
    clock.count();
    if (isAnswered(steps[here])) form.dispatchEvent(new CustomEvent("quorum:settled", { detail: { step: steps[here] } }));
  }

  // return the next step without an answer, those left for later last
  function findNextStep() {
    const open = steps.findIndex((step, place) => place > here && !isAnswered(step) && !put.has(step));
    if (open >= 0) return open;
    const rest = unanswered();
    const after = rest.find((step) => steps.indexOf(step) > here) || rest[0];
    return after ? steps.indexOf(after) : -1;
  }

  function forward({ submitting = true } = {}) {
    if (!requireAnswer()) return;
    leaveStep();
    const to = findNextStep();
    if (to >= 0) show(to);
    else if (preview) show(here + 1);
    else if (submitting) form.requestSubmit(submit);
    else { refresh(); showMessage(words.complete, ""); announceStep(); }
  }

  function undo() {
    clearProblem();
    while (given.length && given.at(-1) === steps[here]) given.pop();
    leaveStep();
    if (given.length) show(steps.indexOf(given.at(-1)));
    else if (here > 0) show(here - 1);
    else document.querySelector("[data-change]:not([hidden])")?.click();
  }

  function leaveForLater() {
    if (later.disabled) return;
    put.add(steps[here]);
    clearProblem();
    leaveStep();
    const to = findNextStep();
    if (to >= 0) show(to);
  }

  function afterChange(step) {
    if (given.at(-1) !== step) given.push(step);
    clearProblem();
    clock.touch();
    clock.count();
    refresh();
  }

  const goesOnByItself = () => "single" in form.dataset && document.querySelector("[data-by-itself]")?.checked;

  form.addEventListener("quorum:answer", (event) => {
    const step = event.target.closest("[data-step]");
    const { position, answer = null, value = null, problem = "", go = false } = event.detail;
    const side = step.querySelector(`[data-place="${position}"]`) || step;
    side.dataset.answered = answer === null && value === null ? "no" : "yes";
    if (problem) side.dataset.problem = problem; else delete side.dataset.problem;
    afterChange(step);
    // after the others have heard of the answer
    if (go && isAnswered(step) && document.querySelector("[data-by-itself]")?.checked !== false) {
      queueMicrotask(() => forward({ submitting: false }));
    }
  }, listening);
  form.addEventListener("quorum:refresh", refresh, listening);
  form.addEventListener("change", (event) => {
    const step = event.target.closest("[data-step]");
    if (!step || event.target.closest("[data-remark]")) return;
    const group = event.target.closest("[data-group]");
    if (group && event.target.checked) {
      const none = group.querySelector("[data-none]");
      if (event.target === none) {
        group.querySelectorAll("input:checked").forEach((box) => { box.checked = box === none; });
      } else {
        none.checked = false;
      }
    }
    afterChange(step);
    // what is asked besides may lie below the bar; nothing moves where it is in view
    const open = event.target.closest("[data-part]") && partWithoutAnswer(step);
    if (open && !inView(open)) open.scrollIntoView({ block: "nearest" });
  }, listening);
  form.addEventListener("click", (event) => {
    const remark = event.target.closest(".remark > summary")?.parentElement;
    if (remark) {
      event.preventDefault();  // the browser opens it after the click: too late for keys that follow, and for a phone's keyboard
      remark.open = !remark.open;
      if (remark.open) remark.querySelector("textarea").focus();
    }
    if (!event.target.matches("[data-step] input[type=radio]")) return;  // its label's click brings another one
    const label = pointed;
    pointed = null;
    if (label?.contains(event.target) && goesOnByItself()) {
      // the change is told after the click
      setTimeout(() => { if (isAnswered(steps[here])) forward({ submitting: false }); });
    }
  }, listening);
  form.addEventListener("submit", (event) => {
    leaveStep();
    if (event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    if (preview) return;
    const open = steps.findIndex((step) => !isAnswered(step));
    if (open >= 0) { show(open); requireAnswer(); return; }
    form.dispatchEvent(new CustomEvent("quorum:submit", { detail: { steps } }));
  }, listening);
  back.addEventListener("click", () => { clearProblem(); leaveStep(); show(here - 1); }, listening);
  later.addEventListener("click", leaveForLater, listening);
  next.addEventListener("click", () => {
    if (unanswered().length || here === steps.length - 1) forward();
    else if (requireAnswer()) { leaveStep(); show(here + 1); }
  }, listening);
  form.querySelector("[data-report-now]")?.addEventListener("click", () => form.requestSubmit(steps[here].querySelector("[data-report]")), listening);
  for (const [name, box] of [[BY_ITSELF, document.querySelector("[data-by-itself]")], [KEYS, document.querySelector("[data-keys-on]")]]) {
    if (!box) continue;
    box.checked = readPreference(name);
    box.addEventListener("change", () => storePreference(name, box.checked), listening);
  }

  let digits = "", digitAt = 0;

  // One digit counts tens; typed at once, 7 and 5 are 75, and 1, 0 and 0 are 100.
  function percentTyped(key) {
    const now = Date.now();
    const more = digits + key;
    digits = now - digitAt < DIGITS_WITHIN && Number(more) <= 100 ? more : key;
    digitAt = now;
    return digits.length > 1 ? Number(digits) : 10 * Number(digits);
  }

  function press(event) {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open], :popover-open")) return;
    const key = keyOf(event);
    const writing = event.target.closest(WRITING);
    if (writing) {
      const on = key === "Enter" && !event.shiftKey && (event.ctrlKey || event.metaKey || writing.dataset.enter === "next");
      if (on) { event.preventDefault(); if (!event.repeat) forward(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (SCROLLING.has(key) && event.target.closest("[data-scroll]")) return;
    if (key.length === 1 && document.querySelector("[data-keys-on]")?.checked === false) return;
    const detail = { key, code: event.code, shift: event.shiftKey, repeat: event.repeat };
    if (!/^[0-9]$/.test(key)) digits = "";
    else if (!event.repeat) detail.number = percentTyped(key);
    const asked = new CustomEvent("quorum:key", { cancelable: true, detail });
    if (!steps[here].dispatchEvent(asked)) { event.preventDefault(); return; }
    if (key === "Enter" && event.target.closest("a, button, summary")) return;
    const acts = {
      Enter: forward,
      Backspace: undo,
      u: undo,
      s: leaveForLater,
      z: () => steps[here].querySelector("[data-zoom]")?.click(),
      "?": () => document.getElementById("keys").showPopover(),
    };
    const name = CSS.escape(key);
    const input = steps[here].querySelector(`input:is([data-key="${name}"], [data-also="${name}"])`);
    if (!input && !acts[key]) return;
    event.preventDefault();
    if (event.repeat) return;
    if (!input) { acts[key](); return; }
    input.focus({ preventScroll: true });
    input.click();
    if (input.type === "radio" && goesOnByItself() && isAnswered(steps[here])) forward({ submitting: false });
  }

  const wanted = steps.findIndex((step) => `#${step.id}` === location.hash);
  const missing = steps.findIndex((step) => step.classList.contains("missing"));
  const opened = { form, clock, press, loadNextPicture, announceStep, focusStep, loaded: false,
    jump() {
      const target = steps.findIndex((step) => `#${step.id}` === location.hash);
      if (target >= 0) show(target);
    } };
  page = null;
  show(wanted >= 0 ? wanted : missing >= 0 ? missing : Number(form.dataset.now) - 1, { focus: false });
  page = opened;
}

function announcePage() {
  document.dispatchEvent(new CustomEvent("quorum:page", { detail: { form: page.form } }));
  page.form.dispatchEvent(new CustomEvent("quorum:refresh"));
  page.announceStep();
}

function afterLoading() {
  page.loaded = true;
  page.loadNextPicture();
}

const first = document.querySelector("[data-work]");
if (first) {
  document.documentElement.classList.add("js");
  openPage(first);
  document.addEventListener("DOMContentLoaded", announcePage);  // when the other scripts listen
  window.addEventListener("load", () => setTimeout(afterLoading, 300));
  // the next page of work was put in the place of this one
  document.addEventListener("quorum:swapped", () => {
    const form = document.querySelector("[data-work]");
    history.replaceState(null, "", location.pathname);
    openPage(form);
    announcePage();
    afterLoading();
    page.focusStep();  // at a field as at each other step: letters that are typed must not be taken for single keys
  });
  document.addEventListener("keydown", (event) => { pointed = null; page.clock.touch(); page.press(event); });
  document.addEventListener("pointerup", (event) => { pointed = event.target.closest?.("label"); });
  for (const sign of ["pointerdown", "pointermove", "wheel", "input", "touchmove"]) {
    document.addEventListener(sign, () => page.clock.touch(), { passive: true });
  }
  document.addEventListener("scroll", () => page.clock.touch(), { passive: true, capture: true });
  document.addEventListener("visibilitychange", () => page.clock.look());
  window.addEventListener("hashchange", () => page.jump());
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
