// One step of a page of work at a time: bar, Back and Next, number keys, Enter. The form holds the answers;
// this script only shows, moves and measures, and dispatches "quorum:state" for words to the worker.

const form = document.querySelector("[data-work]");

// a kind with controls of its own says on the step whether it is answered; elsewhere a checked box or button does
function answered(step) {
  return "answered" in step.dataset ? step.dataset.answered === "yes" : Boolean(step.querySelector("input:checked"));
}

function start() {
  const steps = [...form.querySelectorAll("[data-step]")];
  const bar = [...document.querySelectorAll("[data-bar] li")];
  const count = document.querySelector("[data-count]");
  const back = form.querySelector("[data-back]");
  const next = form.querySelector("[data-next]");
  const submit = form.querySelector("[data-submit]");
  const state = form.querySelector("[data-state]");
  const preview = "preview" in form.dataset;
  let here = -1;
  let ready = false;  // every script of the page ran
  let since = performance.now();
  let looking = document.visibilityState === "visible";  // time with the page in the background does not count

  function measure() {
    const now = performance.now();
    if (here >= 0 && looking) {
      const clocks = [...steps[here].querySelectorAll("[data-seconds]")];
      const share = (now - since) / 1000 / clocks.length;
      clocks.forEach((clock) => { clock.value = ((Number(clock.value) || 0) + share).toFixed(2); });
    }
    since = now;
  }

  function show(index, { focus = true } = {}) {
    measure();
    here = Math.max(0, Math.min(index, steps.length - 1));
    steps.forEach((step, place) => step.classList.toggle("now", place === here));
    bar.forEach((mark, place) => {
      mark.classList.toggle("here", place === here);
      mark.classList.toggle("done", place !== here && answered(steps[place]));
    });
    const last = here === steps.length - 1;
    count.textContent = `${form.dataset.noun}${here + 1} of ${steps.length}`;
    back.hidden = here === 0;
    next.hidden = last;
    submit.hidden = !last;
    if (document.readyState === "complete") fetchAhead();
    if (focus) {
      (steps[here].querySelector("[data-focus]") || steps[here].querySelector("h2")).focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    if (ready) steps[here].dispatchEvent(new CustomEvent("quorum:show"));
  }

  // the following picture is fetched while this one is looked at
  function fetchAhead() {
    const ahead = steps[here + 1] && steps[here + 1].querySelector("img[loading]");
    if (ahead) ahead.loading = "eager";
  }

  function say(words) {
    state.dataset.tone = "bad";
    state.textContent = words;
  }

  function settled() {
    const step = steps[here];
    if (answered(step)) return true;
    say(step.dataset.problem || step.querySelector("[data-hint]").dataset.hint);
    return false;
  }

  function forward() {
    if (!settled()) return;
    form.dispatchEvent(new CustomEvent("quorum:settled", { detail: { step: steps[here] } }));
    if (here < steps.length - 1) show(here + 1);
    else if (!preview) form.requestSubmit(submit);
  }

  form.addEventListener("quorum:answer", (event) => {
    const step = event.target.closest("[data-step]");
    const { answer = null, value = null, problem = "", go = false } = event.detail;
    step.dataset.answered = answer === null && value === null ? "no" : "yes";
    if (problem) step.dataset.problem = problem; else delete step.dataset.problem;
    if (state.dataset.tone === "bad") { state.textContent = ""; delete state.dataset.tone; }
    measure();
    // after the others have heard of the answer
    if (go && answered(step)) queueMicrotask(forward);
  });
  form.addEventListener("change", (event) => {
    const group = event.target.closest("[data-group]");
    if (group && event.target.checked) {
      const none = group.querySelector("[data-none]");
      if (event.target === none) {
        group.querySelectorAll("input:checked").forEach((box) => { box.checked = box === none; });
      } else {
        none.checked = false;
      }
    }
    if (state.dataset.tone === "bad") { state.textContent = ""; delete state.dataset.tone; }
    measure();
  });
  form.addEventListener("submit", (event) => {
    measure();
    const report = event.submitter && event.submitter.hasAttribute("formaction");
    if (!report) {
      if (preview) { event.preventDefault(); return; }
      const open = steps.findIndex((step) => !answered(step));
      if (open >= 0) { event.preventDefault(); show(open); settled(); return; }
    }
    if (form.dataset.sent || !navigator.onLine) {
      event.preventDefault();
      if (!form.dataset.sent) say("No connection: your answers stay here. Try again once it is back.");
      return;
    }
    form.dataset.sent = "yes";  // a double click sends once; the server takes a repeat calmly anyway
    setTimeout(() => { delete form.dataset.sent; }, 10000);  // whoever stopped a slow reply tries again
    if (!report) { state.dataset.tone = ""; state.textContent = "Submitting"; }
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  document.addEventListener("visibilitychange", () => {
    measure();
    looking = document.visibilityState === "visible";
  });
  back.addEventListener("click", () => show(here - 1));
  next.addEventListener("click", forward);
  const reportNow = form.querySelector("[data-report-now]");
  if (reportNow) reportNow.addEventListener("click", () => form.requestSubmit(steps[here].querySelector("[data-report]")));

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open], :popover-open")) return;
    const writing = event.target.closest("textarea, select, [contenteditable], input:is([type=text], [type=search], [type=number])");
    if (writing) {
      const on = event.key === "Enter" && !event.shiftKey && (event.ctrlKey || event.metaKey || writing.dataset.enter === "next");
      if (on) { event.preventDefault(); if (!event.repeat) forward(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const asked = new CustomEvent("quorum:key", { cancelable: true, detail: { key: event.key, repeat: event.repeat } });
    if (!steps[here].dispatchEvent(asked)) { event.preventDefault(); return; }
    if (event.key === "Enter") {
      if (event.target.closest("a, button, summary")) return;
      event.preventDefault();
      if (!event.repeat) forward();
    } else if (event.key === "Backspace") {
      event.preventDefault();
      if (here > 0) show(here - 1);
    } else if (event.key.toLowerCase() === "z") {
      const zoom = steps[here].querySelector("[data-zoom]");
      if (zoom) zoom.click();
    } else {
      const input = steps[here].querySelector(`input[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
      if (input && !event.repeat) {
        event.preventDefault();
        input.focus({ preventScroll: true });
        input.click();
      }
    }
  });

  window.addEventListener("load", () => setTimeout(fetchAhead, 500));
  const wanted = steps.findIndex((step) => `#${step.id}` === location.hash);
  const missing = steps.findIndex((step) => step.classList.contains("missing"));
  document.documentElement.classList.add("js");
  show(wanted >= 0 ? wanted : missing >= 0 ? missing : Number(form.dataset.now) - 1, { focus: false });
  document.addEventListener("DOMContentLoaded", () => {
    document.dispatchEvent(new CustomEvent("quorum:page", { detail: { form } }));
    ready = true;
    steps[here].dispatchEvent(new CustomEvent("quorum:show"));
  });
  window.addEventListener("hashchange", () => {
    const target = steps.findIndex((step) => `#${step.id}` === location.hash);
    if (target >= 0) show(target);
  });
}

if (form) start();
