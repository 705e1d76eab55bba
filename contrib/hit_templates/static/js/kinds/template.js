// A form of the researcher's own: whatever is chosen, typed or ticked becomes one answer, name by name. The browser
// checks the fields as they are filled in; the server decides (contrib/hit_templates/answers.py).

const spelled = new Intl.NumberFormat(`${document.documentElement.lang || "en"}-u-nu-latn`, {
  useGrouping: false,
  maximumFractionDigits: 20,
});

function grouped(controls) {
  const found = new Map();
  for (const one of controls) {
    const own = found.get(one.dataset.question);
    if (own) own.push(one); else found.set(one.dataset.question, [one]);
  }
  return found;
}

// what the controls of one name say; null where they say nothing
function valueOf(own) {
  const [one] = own;
  if (one.type === "checkbox") return own.filter((box) => box.checked).map((box) => box.value);
  if (one.type === "radio") return own.find((button) => button.checked)?.value ?? null;
  if ("open" in one.dataset) return null;
  const text = one.value.trim();
  if (!text) return null;
  return one.dataset.shape === "number" ? Number(text) : text;
}

const inOrder = (values) => JSON.stringify(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));

function setUp(step) {
  const page = step.querySelector("[data-filled]");
  if (!page) return;
  const position = Number(step.id.slice(1));
  const controls = [...page.querySelectorAll("[data-question]:not([type=hidden], option)")];
  const questions = grouped(controls);
  const none = step.querySelector("[data-none]");
  const first = JSON.parse(step.querySelector("[data-first]").textContent);

  function read() {
    const values = [...questions].map(([name, own]) => [name, valueOf(own)]);
    return Object.fromEntries(values.filter(([, value]) => value !== null));
  }

  // where a slider stands: nowhere until it is moved, if it has no value of its own
  function say() {
    for (const one of controls.filter((control) => control.type === "range")) {
      const open = "open" in one.dataset;
      one.classList.toggle("open", open);
      one.nextElementSibling.textContent = open ? "" : spelled.format(one.value);
      one.setCustomValidity(open ? page.dataset.hint : "");
      if (open) one.setAttribute("aria-valuetext", page.dataset.openWords); else one.removeAttribute("aria-valuetext");
    }
  }

  function restoreAnswer(values) {
    questions.forEach((own, name) => own.forEach((one) => {
      const value = values[name];
      if (one.type === "checkbox") one.checked = Boolean(value?.includes(one.value));
      else if (one.type === "radio") one.checked = value === one.value;
      else one.value = value ?? first[name] ?? "";
      if (one.type === "range") one.toggleAttribute("data-open", (value ?? first[name]) === undefined);
    }));
    say();
  }

  function wrongWith(one) {
    const label = one.type === "radio" ? null : one.labels[0];
    const name = label?.textContent.trim().replace(/\s+/g, " ").slice(0, 80) || one.getAttribute("aria-label") || one.dataset.question;
    return `${one.type === "radio" ? one.dataset.question : name}: ${one.validationMessage}`;
  }

  function announceAnswer() {
    const held = read();
    const untouched = inOrder(held) === inOrder(first);
    const wrong = controls.find((one) => !one.checkValidity());
    const answer = wrong || (untouched && !none?.checked) ? null : held;
    const draft = answer === null && !untouched ? { draft: held } : {};
    step.dispatchEvent(new CustomEvent("quorum:answer", {
      bubbles: true, detail: { position, answer, problem: wrong && !untouched ? wrongWith(wrong) : "", ...draft },
    }));
  }

  function touched({ target, type }) {
    if (!controls.includes(target) || (type === "pointerup" && !("open" in target.dataset))) return;
    delete target.dataset.open;
    if (none) none.checked = false;
    say();
    announceAnswer();
  }

  step.addEventListener("input", touched);
  step.addEventListener("pointerup", touched);  // a press where the slider would stand anyway
  none?.addEventListener("change", () => {
    if (none.checked) restoreAnswer(first);
    announceAnswer();
  });
  step.addEventListener("quorum:restore", ({ detail }) => {
    const values = detail.answer ?? detail.draft ?? first;
    restoreAnswer(values);
    if (none) none.checked = Boolean(detail.answer) && inOrder(read()) === inOrder(first);
  });
  say();
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-step]").forEach(setUp));
