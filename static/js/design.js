// The editor of a design: the server checks each change of the form, and the panes beside it follow.
// Without this script the button "Update" posts the form instead.

const CHECK_AFTER = 500; // milliseconds without a change before the form is checked
const RETRY_AFTER = 5000; // milliseconds until the next check if the server did not answer
const MAX_TRIES = 5;
const TALLEST = 1600; // pixels of the preview
const desk = document.querySelector("[data-desk]");
const find = (name) => desk.querySelector(`[data-${name}]`);
const state = find("desk-state");
const file = find("toml");
const fileState = find("toml-state");
const frame = find("preview");

const generate = document.querySelector('form[action$="/do/generate/"] button');

let timer = 0;
let tries = 0; // without an answer since the last change
let asking = null; // the check under way
let counting = null; // the count under way
let typed = false; // whether the study file was changed by hand since it last followed the form
let touched = new Set(); // fields whose problems are shown; not those that the designer has not reached

function showState(words) {
  if (state.textContent !== words) state.textContent = words;
}

async function checkDesign() {
  asking?.abort();
  asking = new AbortController();
  const body = new FormData(desk);
  body.set("_look", "1");
  showState(desk.dataset.sayLooking);
  try {
    const answer = await fetch(location.pathname + location.search, {
      method: "POST", body, headers: { Accept: "application/json" }, signal: asking.signal,
    });
    if (!answer.ok || !answer.headers.get("Content-Type").startsWith("application/json")) throw new Error();
    showResult(await answer.json());
  } catch (error) {
    if (error.name === "AbortError") return;
    showState(desk.dataset.saySilent);
    retryCheck();
  }
}

function showResult(seen) {
  clearNotes(".q-error:not([data-counted])");
  const told = seen.problems.filter((problem) => !problem.field || touched.has(problem.field));
  for (const problem of told) for (const words of problem.words) addNote(problem.field, words);
  listProblems(told);
  updateMarks();
  if (!typed && document.activeElement !== file) file.value = seen.toml;  // or what is selected there would be lost
  for (const unit of desk.querySelectorAll("[data-currency]")) unit.textContent = seen.currency;
  const waiting = seen.problems.length - told.length;
  if (!seen.preview) showState(told.length || !waiting ? desk.dataset.sayWaits : "");
  else showState("");
  if (seen.preview) showPreview(seen.preview);
  if (seen.numbers) fetchNumbers(seen.numbers);
}

function addNote(field, words, counted = false) {
  const place = field && desk.querySelector(`[data-field="${CSS.escape(field)}"]`);
  if (!place) return;
  const line = document.createElement("p");
  line.className = "q-error";
  line.textContent = words;
  if (counted) line.dataset.counted = "";
  const help = place.querySelector(".q-help");
  if (help) help.before(line);
  else place.append(line);
  for (const input of place.querySelectorAll("input, select, textarea")) input.setAttribute("aria-invalid", "true");
  const folded = place.closest("details");
  if (folded) folded.open = true;
}

function clearNotes(which) {
  for (const line of desk.querySelectorAll(`[data-field] ${which}`)) line.remove();
  for (const place of desk.querySelectorAll("[data-field]")) {
    if (!place.querySelector(".q-error")) {
      for (const input of place.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    }
  }
}

function listProblems(problems) {
  const box = find("problems");
  box.hidden = problems.length === 0;
  find("problems-title").textContent = desk.dataset.sayUnsaved;
  // the message stands beside its field, once; the list leads there
  find("problems-list").replaceChildren(...problems.map((problem) => {
    const row = document.createElement("li");
    if (problem.field) {
      const way = document.createElement("a");
      way.href = `#${problem.id || `id_${problem.field}`}`;
      way.textContent = problem.label;
      row.append(way);
    } else row.append(problem.words.join(" "));
    return row;
  }));
}

function updateMarks() {
  // the saved design is drawn, so that nothing may be wrong or unsaved
  const wrong = desk.querySelector(".q-error") !== null || !find("problems").hidden || find("numbers").querySelector(".q-error") !== null;
  if (generate) {
    generate.disabled = wrong || touched.size > 0;
    generate.title = wrong ? desk.dataset.sayWrong : touched.size ? desk.dataset.sayFirst : "";
  }
  for (const way of desk.querySelectorAll("[data-index]")) {
    const section = document.getElementById(way.dataset.index);
    way.classList.toggle("q-wrong", section.querySelector(".q-error") !== null);
  }
}

function showPreview(address) {
  if (frame.getAttribute("src") === address) return;
  find("preview-room").hidden = false;
  find("preview-none").hidden = true;
  const way = find("preview-link");
  way.hidden = false;
  way.href = address;
  // replaced, not followed: the browser's way back stays the designer's own
  if (frame.src) frame.contentWindow.location.replace(address);
  frame.setAttribute("src", address);
}

// as tall as the page in it, so that it has no scroll bar of its own; what is measured by the window may grow with it, so not for ever
function fitFrame() {
  const inside = frame.contentDocument?.documentElement;
  if (!inside) return;
  const tall = Math.min(TALLEST, inside.scrollHeight);
  if (tall > frame.clientHeight) frame.style.setProperty("--tall", tall);
}
frame.addEventListener("load", () => {
  frame.style.removeProperty("--tall");
  fitFrame();
  const inside = frame.contentDocument?.body;
  if (inside) new frame.contentWindow.ResizeObserver(fitFrame).observe(inside);
});
for (const choice of desk.querySelectorAll('[name="_width"]')) {
  choice.addEventListener("change", () => {
    frame.style.removeProperty("--tall");
    fitFrame();
  });
}
if (frame.contentDocument?.readyState === "complete") fitFrame();
new ResizeObserver(([room]) => frame.style.setProperty("--room", Math.floor(room.contentRect.height))).observe(find("preview-room"));

async function fetchNumbers(address) {
  const room = find("numbers");
  counting?.abort();
  if (room.dataset.shown === address) {
    room.removeAttribute("aria-busy");
    return;
  }
  counting = new AbortController();
  room.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { signal: counting.signal });
    if (!answer.ok) throw new Error();
    room.innerHTML = await answer.text();
    room.dataset.shown = address;
    const settings = room.querySelector("[data-settings]");
    if (settings) find("summary").replaceChildren(...settings.children);
    clearNotes("[data-counted]");
    for (const one of room.querySelectorAll("[data-note-for]")) addNote(one.dataset.noteFor, one.dataset.words, true);
    find("fit").hidden = room.querySelector("[data-misfit]") === null;
    // the preview would say the same once more
    const nothing = room.querySelector("[data-nothing]") !== null;
    find("preview-room").hidden = nothing;
    find("preview-none").hidden = !nothing;
    updateMarks();
  } catch (error) {
    if (error.name === "AbortError") return;
    room.textContent = desk.dataset.sayUncounted;
    delete room.dataset.shown;
    retryCheck();
  }
  room.removeAttribute("aria-busy");
}

function scheduleCheck(wait = CHECK_AFTER) {
  clearTimeout(timer);
  timer = setTimeout(checkDesign, wait);
}

function retryCheck() {
  tries += 1;
  if (tries < MAX_TRIES) scheduleCheck(RETRY_AFTER);
}

// the field of the form that an input belongs to: a row has several inputs
const fieldOf = (input) => input.closest("[data-field]")?.dataset.field ?? input.name;

function fieldChanged(input) {
  if (input === file || !input.name || input.name === "_width") return;
  touched.add(fieldOf(input));
  tries = 0;
  scheduleCheck();
}

desk.addEventListener("input", (event) => {
  if (event.target === file) {
    typed = true;
    fileState.textContent = desk.dataset.sayTyped;
  } else fieldChanged(event.target);
});
desk.addEventListener("change", (event) => {
  fieldChanged(event.target);
  if (event.target.name !== "crowd-backend") return;
  const own = desk.querySelector(`[data-crowd="${CSS.escape(event.target.value)}"]`);
  if (own) own.closest("details").open = true;
});
desk.addEventListener("submit", (event) => {
  if (event.submitter?.name !== "_look") return;
  event.preventDefault();
  for (const input of desk.elements) if (input.name) touched.add(fieldOf(input));
  clearTimeout(timer);
  delete find("numbers").dataset.shown;
  checkDesign();
});

for (const place of desk.querySelectorAll("[data-field]")) {
  if (place.querySelector(".q-error")) touched.add(place.dataset.field);
}

// rows: a button adds one, and each can be removed
for (const room of desk.querySelectorAll("[data-rows]")) {
  const blank = room.querySelector("[data-rows-blank]");
  if (!blank) continue;
  const list = room.querySelector("[data-rows-list]");
  const add = room.querySelector("[data-rows-add]");
  let next = Number(room.dataset.next);
  const offer = (row) => { row.querySelector("[data-rows-remove]").hidden = false; };
  for (const row of list.children) offer(row);
  add.hidden = false;
  add.addEventListener("click", () => {
    list.insertAdjacentHTML("beforeend", blank.innerHTML.replaceAll("__row__", next));
    next += 1;
    offer(list.lastElementChild);
    list.lastElementChild.querySelector("input, select, textarea").focus();
  });
  list.addEventListener("click", (event) => {
    if (!event.target.closest("[data-rows-remove]")) return;
    event.target.closest("[data-row]").remove();
    touched.add(fieldOf(room));
    scheduleCheck();
    add.focus();
  });
}

// what was unfolded stays so when the page is shown again
for (const group of desk.querySelectorAll("[data-advanced]")) {
  const name = `unfolded ${location.pathname} ${group.closest("section").id}`;
  if (sessionStorage.getItem(name)) group.open = true;
  group.addEventListener("toggle", () => {
    if (group.open) sessionStorage.setItem(name, "1");
    else sessionStorage.removeItem(name);
  });
}

// a link into a folded group opens it
function openLinkedGroup() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target || null; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", openLinkedGroup);
openLinkedGroup();

const first = find("numbers").dataset.numbersFrom;
if (first) fetchNumbers(first);

// whether an input was changed before this script ran, or filled in again by the browser
function differsFromPage(input) {
  if (input.type === "checkbox" || input.type === "radio") return input.checked !== input.defaultChecked;
  if (input.tagName !== "SELECT") return input.value !== input.defaultValue;
  const options = [...input.options];
  return options.some((one) => one.defaultSelected) && options.some((one) => one.selected !== one.defaultSelected);
}

for (const input of desk.elements) if (differsFromPage(input)) fieldChanged(input);
