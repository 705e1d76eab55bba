// Keeps the answers of a page of work as they are given: sent to the server, and until it has them in this
// browser. Says in words how things stand, and how much time is left.

const form = document.querySelector("[data-work][data-save]");
const RETRY = [1000, 3000, 10000, 30000];
const APART = 4000;  // quick answers travel together: a worker costs the server a request in so many milliseconds

function start() {
  const state = form.querySelector("[data-state]");
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const shelf = `quorum:${form.dataset.assignment}`;
  let waiting = new Map();  // position -> answer that the server does not have yet
  let unfinished = new Map();  // position -> what a kind wants kept of an answer that is not one yet
  let known = new Map();    // ticks that the server may hold: taking one back has to be told
  let timer = 0;
  let failures = 0;
  let sending = false;
  let sent = -APART;
  let over = false;

  function say(words, tone) {
    if (form.dataset.sent) return;
    state.textContent = words;
    if (tone) state.dataset.tone = tone; else delete state.dataset.tone;
  }

  function keep() {
    try {
      const kept = [...waiting.values(), ...[...unfinished].map(([position, draft]) => ({ position, draft }))];
      if (kept.length) localStorage.setItem(shelf, JSON.stringify(kept));
      else localStorage.removeItem(shelf);
      return true;
    } catch {
      return false;  // storage is switched off or full
    }
  }

  function positionOf(input) { return Number(input.name.slice(1)); }

  function secondsOf(position) {
    const clock = form.elements[`t${position}`];
    return clock && clock.value !== "" ? { seconds: Number(clock.value) } : {};
  }

  function note(position, value) {
    waiting.set(position, { position, value, ...secondsOf(position) });
    known.set(position, value);
  }

  // what a kind with controls of its own says
  function hear({ position, answer = null, value = null, draft = null, signals = null }) {
    if (draft === null) unfinished.delete(position); else unfinished.set(position, draft);
    if (answer === null && value === null) waiting.delete(position);
    else {
      const given = value === null ? { answer } : { value };
      waiting.set(position, { position, ...given, ...secondsOf(position), ...(signals ? { signals } : {}) });
    }
  }

  function notice(step, settled) {
    if ("answered" in step.dataset) {
      const last = waiting.get(Number(step.id.slice(1)));
      if (last) Object.assign(last, secondsOf(last.position));
      return;
    }
    const group = step.querySelector("[data-group]");
    if (!group) {
      const chosen = step.querySelector("input[type=radio]:checked");
      if (chosen) note(positionOf(chosen), Number(chosen.value));
      return;
    }
    const boxes = [...group.querySelectorAll("input:not([data-none])")];
    const decided = group.querySelector("[data-none]").checked || (settled && boxes.some((box) => box.checked));
    boxes.forEach((box) => {
      // an unticked box says nothing before its picture is done with, unless a tick is taken back
      const value = Number(box.checked);
      if ((box.checked || decided || known.get(positionOf(box)) === 1) && (known.get(positionOf(box)) !== value || settled)) {
        note(positionOf(box), value);
      }
    });
  }

  function soon(delay = Math.max(300, sent + APART - performance.now())) {
    clearTimeout(timer);
    if (!over) timer = setTimeout(send, delay);
  }

  function changed() {
    keep();
    if (!waiting.size || over) return;
    say("Saving", "");
    soon();
  }

  async function send() {
    if (sending || over || !waiting.size) return;
    sending = true;
    sent = performance.now();
    const batch = [...waiting.values()];
    let reply = null;
    try {
      reply = await fetch(form.dataset.save, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": token },
        body: JSON.stringify({ answers: batch }),
        signal: AbortSignal.timeout(15000),
        keepalive: true,
      });
    } catch {
      reply = null;  // no connection, or too slow: told below, and tried again
    }
    sending = false;
    if (reply && reply.ok) {
      failures = 0;
      batch.forEach((answer) => { if (waiting.get(answer.position) === answer) waiting.delete(answer.position); });
      keep();
      if (waiting.size) soon(); else say("Saved", "good");
    } else if (reply && reply.status < 500 && reply.status !== 429) {
      over = true;
      const problem = await reply.json().catch(() => ({}));
      say(`Not saved: ${problem.detail || "this browser is not known here any more; load the page again."}`, "bad");
    } else {
      const kept = keep();
      const cause = reply ? "the server does not answer as it should" : "no connection";
      say(`Not saved: ${cause}; your answers are kept ${kept ? "in this browser" : "on this page: leave it open"}`, "bad");
      soon(RETRY[Math.min(failures, RETRY.length - 1)]);
      failures += 1;
    }
  }

  function recall() {
    let stored = [];
    try {
      for (const key of Object.keys(localStorage)) {
        if (key.startsWith("quorum:") && key !== shelf) localStorage.removeItem(key);
      }
      stored = JSON.parse(localStorage.getItem(shelf) || "[]");
    } catch {
      stored = [];  // storage is switched off, or holds what we did not write
    }
    stored.forEach((answer) => {
      const step = document.getElementById(`u${answer.position}`);
      if (step && "answered" in step.dataset) {
        if ("draft" in answer) unfinished.set(answer.position, answer.draft);
        else waiting.set(answer.position, answer);
        step.dispatchEvent(new CustomEvent("quorum:restore", { detail: answer }));
        if (!("draft" in answer)) step.dataset.answered = "yes";
        return;
      }
      const inputs = form.elements[`u${answer.position}`];
      if (!inputs) return;
      if (inputs instanceof RadioNodeList) inputs.value = String(answer.value);
      else inputs.checked = answer.value === 1;
      waiting.set(answer.position, answer);
    });
    form.querySelectorAll("[data-group]").forEach((group) => {
      const boxes = [...group.querySelectorAll("input:not([data-none])")];
      if (boxes.every((box) => waiting.get(positionOf(box))?.value === 0)) group.querySelector("[data-none]").checked = true;
    });
    if (waiting.size) soon(0);
  }

  form.querySelectorAll("[data-group] input:checked:not([data-none])").forEach((box) => known.set(positionOf(box), 1));
  // answered before this script ran, or put back by the browser
  const early = [...form.querySelectorAll("[data-step]")].filter((step) =>
    [...step.querySelectorAll("input[type=radio], input[type=checkbox]")].some((one) => one.checked !== one.defaultChecked));
  document.addEventListener("quorum:page", recall);
  form.addEventListener("quorum:answer", (event) => {
    hear(event.detail);
    changed();
  });
  form.addEventListener("change", (event) => {
    const step = event.target.closest("[data-step]");
    if (!step) return;
    notice(step, false);
    changed();
  });
  form.addEventListener("quorum:settled", (event) => {
    notice(event.detail.step, true);
    changed();
  });
  early.forEach((step) => notice(step, false));
  if (early.length) changed();
  window.addEventListener("online", () => soon(0));
  // on the way out nothing waits for its turn, and a timer would not go off any more
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden" && !form.dataset.sent) send(); });

  const words = document.querySelector("[data-left-words]");
  const end = performance.now() + Number(form.dataset.left) * 1000;
  function tell() {
    const minutes = Math.floor((end - performance.now()) / 60000);
    const hours = Math.floor(minutes / 60);
    words.toggleAttribute("data-soon", minutes < 5);  // small screens show the time only then
    if (end <= performance.now()) words.textContent = "The time is over";
    else if (minutes < 1) words.textContent = "less than a minute left";
    else if (minutes >= 2880) words.textContent = `${Math.floor(minutes / 1440)} days left`;
    else words.textContent = `${hours ? `${hours} h ` : ""}${hours && !(minutes % 60) ? "" : `${minutes % 60} min `}left`;
  }
  tell();
  setInterval(tell, 15000);
}

if (form) start();
