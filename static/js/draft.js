// Keep answers in this browser until the server has them; send them as they are given, share them with other tabs of
// the same page of work, and submit them without loading a page. Show the state and the time left, in the page's words.
// The events that kinds send are in docs/adding-a-kind.md.

const RETRY_AFTER = [1000, 3000, 10000, 30000];  // milliseconds
const SEND_EVERY = 4000;           // milliseconds between requests of a worker: quick answers travel together
const WARN_BEFORE = 5 * 60;        // seconds before the end of the lease
const FORGET_AFTER = 60 * 86400;   // seconds after which answers that never reached the server are deleted
const KEEPALIVE_BYTES = 30000;     // of a call that may outlive its page: browsers refuse 64 kB of them at a time
const STAYED_AFTER = 10000;        // milliseconds after which a page that was to be left is still there
const FETCH_AHEAD = 2;             // steps before the end at which the next page of work is fetched

let leave = null;  // aborts the listeners of the page of work before

function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function deleteOldDrafts() {
  try {
    for (const key of Object.keys(localStorage).filter((one) => /^quorum:[0-9a-f]{16}/.test(one))) {
      const { at = 0 } = JSON.parse(localStorage.getItem(key)) || {};
      if (Date.now() / 1000 - at > FORGET_AFTER) localStorage.removeItem(key);
    }
  } catch { /* storage is switched off, or holds what we did not write */ }
}

function startPage(form) {
  if (leave) leave.abort();
  leave = new AbortController();
  const listening = { signal: leave.signal };
  const words = JSON.parse(document.querySelector("[data-words]").textContent);
  const state = document.querySelector("[data-state]");
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const revising = "revising" in form.dataset;
  const shelf = `quorum:${form.dataset.shelf}${revising ? ":change" : ""}`;
  const waiting = new Map();   // position -> answer that the server lacks
  const noticed = new Map();   // position -> signals of how the answer was given
  const drafts = new Map();    // position -> unfinished answer, as its kind stores it
  const known = new Map();     // position -> the latest answer, from this tab or another
  const refusals = new Map();  // answer that the server refuses -> why; the others are sent without it
  let timer = 0;
  let failures = 0;
  let sending = false;
  let sendingNow = Promise.resolve();
  let alone = false;           // send answers one by one, as one of them is refused
  let sent = -SEND_EVERY;
  let over = revising;         // only a submission is sent, or nothing any more
  let leaving = false;         // the next page may not have the last answers yet
  let submitting = false;
  let ahead = null;            // the next page of work, or the promise of it

  function showState(text, tone = "") {
    if (tone) state.dataset.tone = tone; else delete state.dataset.tone;
    delete state.dataset.request;
    state.textContent = text;
  }

  function showProgress(text, tone) {
    if (!("request" in state.dataset)) showState(text, tone);  // what a person is asked to do stays until it is done
  }

  function showNote(name, shown = true) {
    const note = document.querySelector(`[data-note="${name}"]`);
    if (note && note.hidden === shown) note.hidden = !shown;
  }

  // --- storing answers ---------------------------------------------------------------------

  function storeLocally() {
    try {
      const remarks = [...form.querySelectorAll("[data-remark]")]
        .filter((one) => one.value !== one.defaultValue && !known.has(positionOf(one)))
        .map((one) => [positionOf(one), one.value]);
      if (waiting.size || drafts.size || remarks.length) {
        const kept = { at: Date.now() / 1000, answers: [...waiting.values()], drafts: [...drafts], remarks };
        localStorage.setItem(shelf, JSON.stringify(kept));
      } else {
        localStorage.removeItem(shelf);
      }
      return true;
    } catch {
      return false;  // storage is switched off or full
    }
  }

  const stepOf = (position) => form.querySelector(`[data-places~="${position}"]`);
  const placesOf = (step) => step.dataset.places.split(" ").map(Number);
  const hasOwnControls = (step) => "answered" in step.dataset;
  const sideAt = (step, position) => step.querySelector(`[data-place="${position}"]`) || step;
  const positionOf = (input) => Number(input.name.slice(1));
  const chosenIn = (step) => [...step.querySelectorAll("input[type=radio]:checked")];
  const isComplete = (step) => chosenIn(step).length === (step.querySelectorAll("[data-part]").length || 1);

  function timesAndRemark(position) {
    const step = stepOf(position);
    const places = placesOf(step);
    const share = (seconds) => Number((Number(seconds || 0) / places.length).toFixed(2));
    const remark = position === places[0] ? step.querySelector("[data-remark]") : null;
    return {
      seconds: share(step.dataset.seconds),
      wall_seconds: share(step.dataset.wall),
      ...(remark && (remark.value.trim() || remark.defaultValue) ? { comment: remark.value.trim() } : {}),
    };
  }

  function recordAnswer(position, given) {
    known.set(position, given);
    drafts.delete(position);
    const signals = { ...noticed.get(position), ...JSON.parse(stepOf(position).dataset.writing || "{}") };
    const told = Object.keys(signals).length ? { signals } : {};
    waiting.set(position, { position, ...given, ...timesAndRemark(position), ...told });
  }

  // read the answers of a step; ``settled``: the worker goes on from it
  function readStep(step, settled) {
    if (hasOwnControls(step)) {
      for (const position of placesOf(step)) {
        if (settled && sideAt(step, position).dataset.answered === "yes" && known.has(position)) recordAnswer(position, known.get(position));
      }
      return;
    }
    const group = step.querySelector("[data-group]");
    if (!group) {
      // the numbers of an answer's parts, such as a choice and how sure one is, are added
      const chosen = chosenIn(step);
      const value = chosen.reduce((sum, one) => sum + Number(one.value), 0);
      if (!chosen.length) return;
      if (isComplete(step)) recordAnswer(positionOf(chosen[0]), { value });
      else drafts.set(positionOf(chosen[0]), Object.fromEntries(chosen.map((one) => [one.name[0], one.value])));
      return;
    }
    const boxes = [...group.querySelectorAll("input:not([data-none])")];
    const decided = group.querySelector("[data-none]").checked || (settled && boxes.some((box) => box.checked));
    for (const box of boxes) {
      // an unticked box is no answer before its picture is done, unless a tick is taken back
      const value = Number(box.checked);
      const before = known.get(positionOf(box))?.value;
      if ((box.checked || decided || before === 1) && (before !== value || settled)) recordAnswer(positionOf(box), { value });
    }
  }

  // set the controls to an answer that was stored in this browser or given in another tab
  function setControls({ position, draft, ...answer }) {
    const step = stepOf(position);
    if (!step) return false;
    const given = "answer" in answer ? { answer: answer.answer } : { value: answer.value };
    if (draft === undefined) {
      known.set(position, given);
      drafts.delete(position);
    }
    if (hasOwnControls(step)) {
      step.dispatchEvent(new CustomEvent("quorum:restore", { detail: draft === undefined ? { position, ...given } : { position, draft } }));
      if (draft === undefined) sideAt(step, position).dataset.answered = "yes";
    } else if (draft !== undefined) {
      if (isComplete(step)) return false;  // answered elsewhere since then
      for (const [part, value] of Object.entries(draft)) {
        const inputs = form.elements[`${part}${position}`];
        if (inputs) inputs.value = value;
      }
    } else {
      const inputs = form.elements[`u${position}`];
      const second = form.elements[`v${position}`];
      if (second) {
        inputs.value = String(answer.value % 100);
        second.value = String(answer.value - (answer.value % 100));
      } else if (inputs instanceof RadioNodeList) inputs.value = String(answer.value);
      else inputs.checked = answer.value === 1;
      const none = step.querySelector("[data-none]");
      if (none) none.checked = placesOf(step).every((place) => known.get(place)?.value === 0);
    }
    const remark = step.querySelector("[data-remark]");
    if (remark && answer.comment !== undefined) remark.value = answer.comment;
    return true;
  }

  function afterChange(positions) {
    storeLocally();
    const answers = positions.map((position) => waiting.get(position)).filter(Boolean);
    if (answers.length) tabs.broadcast({ answers });
    if (!unsent().length || over) return;
    showProgress(words.saving, "saving");
    scheduleSend();
  }

  function restoreStored() {
    let kept = {};
    try {
      kept = JSON.parse(localStorage.getItem(shelf) || "{}");
    } catch { /* storage is switched off, or holds what we did not write */ }
    for (const answer of kept.answers || []) {
      if (setControls(answer)) waiting.set(answer.position, answer);
    }
    for (const [position, draft] of kept.drafts || []) {
      if (setControls({ position, draft })) drafts.set(position, draft);
    }
    for (const [position, remark] of kept.remarks || []) {
      const field = form.elements[`c${position}`];
      if (!field) continue;
      field.value = remark;
      field.closest("details").open = true;
    }
    form.dispatchEvent(new CustomEvent("quorum:refresh"));
    if (waiting.size) scheduleSend(0);
  }

  // --- sending answers --------------------------------------------------------------------------------

  function scheduleSend(delay = Math.max(300, sent + SEND_EVERY - performance.now())) {
    clearTimeout(timer);
    if (!over) timer = setTimeout(() => { sendingNow = send(); }, delay);
  }

  // return the reply, or null without a connection or in time
  async function post(address, body, patience = 15000) {
    const text = JSON.stringify(body);
    try {
      return await fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": token },
        body: text,
        signal: AbortSignal.timeout(patience),
        keepalive: new Blob([text]).size < KEEPALIVE_BYTES,
      });
    } catch {
      return null;
    }
  }

  const unsent = () => [...waiting.values()].filter((answer) => !refusals.has(answer));

  // return why a waiting answer was refused, unless another replaced it
  function latestRefusal() {
    for (const answer of refusals.keys()) if (waiting.get(answer.position) !== answer) refusals.delete(answer);
    return [...refusals.values()].at(-1);
  }

  const isTemporary = (reply) => !reply || reply.status >= 500 || reply.status === 429;

  async function send() {
    const batch = alone ? unsent().slice(0, 1) : unsent();
    if (sending || over || submitting || !batch.length) return;
    sending = true;
    sent = performance.now();
    const reply = await post(form.dataset.save, { answers: batch });
    sending = false;
    if (leave.signal !== listening.signal || submitting) return;
    if (reply?.ok && leaving) return;
    if (reply?.ok) {
      failures = 0;
      for (const answer of batch) if (waiting.get(answer.position) === answer) waiting.delete(answer.position);
      await passAdvice(reply, batch);
      storeLocally();
      alone &&= unsent().length > 0;
      if (unsent().length) scheduleSend(alone ? 0 : undefined); else if (latestRefusal()) showState(latestRefusal(), "bad"); else showProgress(words.saved, "saved");
    } else if (isTemporary(reply)) {
      showState(troubleMessage(reply), "bad");
      scheduleSend(RETRY_AFTER[Math.min(failures, RETRY_AFTER.length - 1)]);
      failures += 1;
    } else {
      await handleRefusal(reply, batch);
    }
  }

  // what may be mended in answers that are saved
  async function passAdvice(reply, batch) {
    const { advice = {} } = await reply.json().catch(() => ({}));
    for (const { position } of batch) {
      if (!waiting.has(position)) stepOf(position).dispatchEvent(new CustomEvent("quorum:advice", { detail: advice[position] ?? "" }));
    }
  }

  // Return the first step with advice that nobody could read yet; the last answer's comes with its saving.
  async function stepWithAdvice(steps) {
    if (!steps.some((step) => step.querySelector("[data-advice]"))) return null;
    await sendingNow;
    await send();
    return steps.find((step) => step.dataset.advised === "unread");
  }

  function troubleMessage(reply) {
    const kept = storeLocally();
    return reply ? (kept ? words.troubleKept : words.troubleOpen) : (kept ? words.offlineKept : words.offlineOpen);
  }

  // the server refuses for good: show what happened, and what can be done
  async function handleRefusal(reply, batch = []) {
    const problem = await reply.json().catch(() => ({ why: "unknown" }));
    storeLocally();
    if (problem.why === "over" && !document.querySelector('[data-note="elsewhere"]')?.hidden) return;  // told already
    if (problem.why) {
      over = true;
      showNote("soon", false);
      showNote(problem.why);
      showState(words.notSaved, "bad");
    } else if (problem.missing) {
      const step = stepOf(problem.missing[0]);
      location.hash = step.id;
      showState(problem.detail, "bad");
    } else {
      const wrong = batch.length === 1 ? batch[0] : batch.find((answer) => answer.position === problem.position);
      if (wrong) refusals.set(wrong, problem.detail);
      alone = !wrong && batch.length > 1 || alone && unsent().length > 0;
      if ((wrong || alone) && unsent().length) scheduleSend(0);
      if (!batch.length && problem.position) location.hash = stepOf(problem.position).id;  // of a submission
      showState(problem.detail, "bad");
    }
  }

  // --- the next page of work -----------------------------------------------------------------------

  async function fetchNext() {
    const reply = await post(form.dataset.ahead, {});
    if (reply?.status !== 200) return null;
    const next = new DOMParser().parseFromString(await reply.text(), "text/html");
    const picture = next.querySelector("[data-work] img");
    if (picture) Object.assign(new Image(), { sizes: picture.sizes, srcset: picture.srcset, src: picture.getAttribute("src") });
    return next;
  }

  async function submit(steps) {
    if (submitting) return;
    steps.forEach((step) => readStep(step, true));
    storeLocally();
    const advised = await stepWithAdvice(steps);
    if (submitting) return;
    if (advised) {
      location.hash = advised.id;
      showState(words.advised, "bad");
      return;
    }
    submitting = true;
    clearTimeout(timer);
    showState(words.submitting);
    const next = await Promise.race([ahead, new Promise((late) => { setTimeout(late, 300); })]);
    const reply = await post(form.action, { answers: [...waiting.values()], ahead: idOf(next) }, 30000);
    submitting = false;
    const result = reply?.ok ? await reply.json().catch(() => null) : null;
    if (result) {
      waiting.clear();
      drafts.clear();
      storeLocally();
      tabs.broadcast({ submitted: true });
      showNextPage(result, next);
    } else if (isTemporary(reply) || reply.ok) {
      showState(reply ? words.troubleSubmit : words.offlineSubmit, "bad");
    } else {
      await handleRefusal(reply);
    }
  }

  const idOf = (next) => next?.querySelector("[data-work]")?.dataset.assignment || null;

  function showNextPage(result, next) {
    if (!next || idOf(next) !== result.next) {
      location.assign(result.where);  // it is said there that the page was submitted
      return;
    }
    Object.assign(next.querySelector("[data-work]").dataset, { left: result.left });
    document.body.replaceChildren(...next.body.childNodes);
    const change = document.querySelector("[data-change]");
    if (change && result.change) { change.href = result.change; change.hidden = false; }
    document.dispatchEvent(new CustomEvent("quorum:swapped"));
    document.querySelector("[data-state]").textContent = result.said;
    document.querySelector("[data-state]").dataset.tone = "good";
  }

  // --- other tabs with the same page of work --------------------------------------------------------

  const tabs = joinTabs();

  function joinTabs() {
    if (!("BroadcastChannel" in window)) return { broadcast() {} };
    const channel = new BroadcastChannel(shelf);
    channel.addEventListener("message", ({ data }) => {
      if (data.hello) channel.postMessage({ here: true });
      if (data.hello || data.here) showNote("twin");
      if (data.bye) { showNote("twin", false); channel.postMessage({ hello: true }); }
      if (data.submitted) { over = true; clearTimeout(timer); waiting.clear(); showNote("twin", false); showNote("over", false); showNote("elsewhere"); }
      if (data.answers) {
        for (const answer of data.answers) if (setControls(answer)) waiting.set(answer.position, answer);
        form.dispatchEvent(new CustomEvent("quorum:refresh"));
        showState(words.otherTab);
        scheduleSend();
      }
    }, listening);
    channel.postMessage({ hello: true });
    leave.signal.addEventListener("abort", () => { channel.postMessage({ bye: true }); channel.close(); });
    window.addEventListener("pagehide", () => channel.postMessage({ bye: true }), listening);
    return { broadcast(message) { channel.postMessage(message); } };
  }

  // --- the time that is left --------------------------------------------------------------------------

  const left = document.querySelector("[data-left-words]");
  let end = performance.now() + Number(form.dataset.left) * 1000;
  let warned = false;

  function showTimeLeft() {
    const seconds = Math.floor((end - performance.now()) / 1000);
    const minutes = Math.floor(seconds / 60);
    const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60)];
    left.toggleAttribute("data-soon", seconds < WARN_BEFORE);  // small screens show the time only then
    const sign = seconds <= 0 ? "over" : minutes < 1 ? "leftMoment" : days >= 2 ? "leftDays"
      : !hours ? "leftMinutes" : minutes % 60 ? "leftBoth" : "leftHours";
    const text = fill(words[sign], { days, hours, minutes: hours && days < 2 ? minutes % 60 : minutes });
    if (left.textContent !== text) left.textContent = text;
    if (revising) return;
    if (seconds < WARN_BEFORE && seconds > 0 && !warned) { warned = true; showNote("soon"); }
    if (seconds <= 0 && !over) { showNote("soon", false); send(); if (!unsent().length) { over = true; showNote("late"); } }
  }

  async function extend() {
    await send();  // more time is for those who answer
    const reply = await post(form.dataset.extend, {});
    if (reply?.ok) {
      const result = await reply.json();
      end = performance.now() + result.left * 1000;
      warned = false;
      showNote("soon", false);
      showState(words.extended, "good");
      document.querySelectorAll("button[data-extend]").forEach((button) => { button.hidden = !result.more; });
      showTimeLeft();
      form.querySelector("[data-step].now h2").focus({ preventScroll: true });
    } else if (isTemporary(reply)) {
      showState(troubleMessage(reply), "bad");
    } else {
      await handleRefusal(reply);
    }
  }

  // with what this browser has and the server has not: it may be late for these, too
  async function retake() {
    const reply = await post(form.dataset.retake, {});
    if (reply?.ok) location.assign((await reply.json()).where);
    else if (isTemporary(reply)) showState(troubleMessage(reply), "bad");
    else { showNote("late", false); await handleRefusal(reply); }
  }

  // --- listening ----------------------------------------------------------------------------------------

  for (const step of form.querySelectorAll("[data-step]")) {
    for (const saved of step.querySelectorAll("[data-saved]")) {
      known.set(Number(saved.dataset.saved), { [form.dataset.key]: JSON.parse(saved.textContent) });
    }
    step.querySelectorAll("[data-group] input:checked:not([data-none])").forEach((box) => known.set(positionOf(box), { value: 1 }));
  }
  // answered before this script ran, or put back by the browser
  const early = [...form.querySelectorAll("[data-step]")].filter((step) => !hasOwnControls(step) &&
    [...step.querySelectorAll("input[type=radio], input[type=checkbox]")].some((one) => one.checked !== one.defaultChecked));
  restoreStored();
  form.addEventListener("change", (event) => {
    const step = event.target.closest("[data-step]");
    if (!step) return;
    if (event.target.matches("[data-remark]")) {  // it travels with an answer
      const [first] = placesOf(step);
      if (known.has(first)) recordAnswer(first, known.get(first));
      afterChange([first]);
      return;
    }
    readStep(step, false);
    afterChange(placesOf(step));
  }, listening);
  form.addEventListener("input", (event) => { if (event.target.matches("[data-remark]")) storeLocally(); }, listening);
  form.addEventListener("quorum:answer", ({ detail }) => {
    const { position, answer = null, value = null, draft = null, signals = null } = detail;
    if (answer === null && value === null) {
      waiting.delete(position);
      known.delete(position);
      if (draft === null) drafts.delete(position); else drafts.set(position, draft);
      if (state.dataset.tone === "saved") showState("");  // "Saved" was said of another answer
    } else {
      if (signals) noticed.set(position, signals); else noticed.delete(position);
      recordAnswer(position, value === null ? { answer } : { value });
    }
    afterChange([position]);
  }, listening);
  form.addEventListener("quorum:settled", ({ detail }) => {
    readStep(detail.step, true);
    afterChange(placesOf(detail.step));
  }, listening);
  form.addEventListener("quorum:submit", ({ detail }) => submit(detail.steps), listening);
  form.addEventListener("quorum:left", ({ detail }) => {
    if (form.dataset.ahead && !ahead && detail.open <= FETCH_AHEAD && !over) ahead = fetchNext();
  }, listening);
  early.forEach((step) => readStep(step, false));
  if (early.length) afterChange(early.flatMap(placesOf));
  for (const [name, act] of [["extend", extend], ["retake", retake]]) {
    document.querySelectorAll(`button[data-${name}]`).forEach((button) => {
      button.addEventListener("click", (event) => { event.preventDefault(); act(); }, listening);
    });
  }
  document.querySelectorAll("[data-note] [data-close]").forEach((button) => {
    button.addEventListener("click", () => { button.closest("[data-note]").hidden = true; }, listening);
  });
  window.addEventListener("online", () => scheduleSend(0), listening);
  window.addEventListener("beforeunload", () => {
    leaving = true;
    setTimeout(() => { leaving = false; scheduleSend(0); }, STAYED_AFTER);  // it was a download, or the reader stopped it
  }, listening);
  // on the way out nothing waits for its turn, and a timer would not go off any more
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") send(); }, listening);
  showTimeLeft();
  const ticking = setInterval(showTimeLeft, 1000);
  leave.signal.addEventListener("abort", () => { clearInterval(ticking); clearTimeout(timer); });
}

deleteOldDrafts();
document.addEventListener("quorum:page", ({ detail }) => startPage(detail.form));
