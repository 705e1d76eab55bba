// Keeps the board up to date without loading the page again. It asks for the moving part with the tag of what is shown,
// gets nothing back while nothing happened, and puts in only the parts that differ, so that focus and scroll stay.

const board = document.querySelector("[data-board]");
const said = document.querySelector("[data-board-said]");
const QUIET = 30000; // milliseconds between two announcements

let tag = board?.dataset.tag;
let timer = 0;
let spoken = 0;
let failures = 0;

function put(fresh) {
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = board.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!old || old.isEqualNode(part)) continue;
    if (old.contains(document.activeElement) || old.contains(getSelection().anchorNode)) {
      later.set(part.dataset.part, part); // somebody reads or works in it
      continue;
    }
    later.delete(part.dataset.part);
    keepScroll(old, part);
  }
}

const later = new Map();

function keepScroll(old, part) {
  const places = [...old.querySelectorAll(".q-scroll, .q-figure")].map((one) => one.scrollLeft);
  old.replaceWith(part);
  [...part.querySelectorAll(".q-scroll, .q-figure")].forEach((one, at) => {
    one.scrollLeft = places[at] ?? 0;
  });
}

function announce(before) {
  const now = Number(board.querySelector("[data-judgments]")?.dataset.judgments);
  if (now === before || Date.now() - spoken < QUIET) return;
  spoken = Date.now();
  said.textContent = board.querySelector("[data-part=facts] > div")?.innerText.replace(/\s+/g, " ") ?? "";
}

async function ask() {
  const before = Number(board.querySelector("[data-judgments]")?.dataset.judgments);
  try {
    const answer = await fetch(board.dataset.board, {
      headers: { "If-None-Match": tag },
      cache: "no-store",
      redirect: "error", // signed out: the page as it stands is kept
    });
    failures = 0;
    if (answer.status === 200) {
      tag = answer.headers.get("ETag");
      put(new DOMParser().parseFromString(await answer.text(), "text/html"));
      announce(before);
    }
  } catch {
    failures += 1;
  }
  wait();
}

function wait() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(ask, Number(board.dataset.every) * 1000 * 2 ** Math.min(failures, 5));
}

if (board) {
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
  document.addEventListener("focusout", () =>
    setTimeout(() => {
      for (const [name, part] of later) {
        const old = board.querySelector(`[data-part="${name}"]`);
        if (old.contains(document.activeElement)) continue;
        later.delete(name);
        keepScroll(old, part);
      }
    }),
  );
  wait();
}
