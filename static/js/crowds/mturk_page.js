// The page of an HTMLQuestion, inlined into it. The answers themselves are plain form fields; this finds out whether
// the HIT was accepted and where the answers go, picks one of the two layouts, and times the answers.
(() => {
  const form = document.querySelector("form");
  const all = form.querySelector("fieldset");
  const button = form.querySelector("[data-submit]");
  const steps = [...form.querySelectorAll("[data-step]")];
  const asked = new URLSearchParams(location.search);
  const assignment = asked.get("assignmentId") || "";
  const note = (why) => document.querySelector(`[data-say="${why}"]`);
  const close = (why) => {
    note(why).hidden = false;
    all.disabled = true;
  };
  note("scripts").hidden = true;

  if (!assignment || assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    for (const step of steps.slice(1)) step.hidden = true;
    return close("preview");
  }
  let host = "";
  try {
    host = new URL(asked.get("turkSubmitTo")).origin;
  } catch {
    // no address: it is in no list
  }
  if (!form.dataset.hosts.split(" ").includes(host)) return close("host");
  form.action = host + "/mturk/externalSubmit";
  form.elements.assignmentId.value = assignment;
  button.hidden = button.disabled = false;

  // FNV-1a, its upper half folded into the lower one
  let hash = 2166136261;
  for (const sign of assignment) hash = Math.imul(hash ^ sign.charCodeAt(0), 16777619);
  if ("mirror" in form.dataset && (hash ^ (hash >>> 16)) & 1) {
    form.elements.layout.value = "1";
    for (const set of form.querySelectorAll("[data-step] fieldset")) {
      const said = [...set.querySelectorAll(".said")];
      const places = said.map((one) => one.parentNode);
      said.reverse().forEach((one, place) => places[place].append(one));
    }
  }

  // of typed keywords, the first that the text does not hold, in the words of the page
  const unknown = (step, text) => {
    const source = step.querySelector("[data-text]").textContent.toLowerCase();
    const typed = text.value.split(/[,;\n]/).map((one) => one.trim());
    const word = typed.find((one) => !source.includes(one.toLowerCase()));
    return word ? step.querySelector("[data-say-missing]").dataset.sayMissing.replace("{word}", word) : "";
  };

  // of a form of the researcher's own, whether anything stands otherwise than at first
  const touched = (one) => {
    if (one.type === "radio" || one.type === "checkbox") return one.checked !== one.defaultChecked;
    if ("open" in one.dataset) return false;
    if (one.tagName !== "SELECT") return one.value !== one.defaultValue;
    return one.selectedIndex !== Math.max(0, [...one.options].findIndex((option) => option.defaultSelected));
  };
  const checkFilled = (page, none) => {
    for (const one of page.querySelectorAll("input[type=range]")) {
      const open = "open" in one.dataset;
      one.classList.toggle("open", open);
      one.nextElementSibling.textContent = open ? "" : one.value;
      one.setCustomValidity(open ? page.dataset.hint : "");
    }
    if (!none) return;
    const changed = [...page.querySelectorAll("[data-question]:not([type=hidden], option)")].some(touched);
    if (changed) none.checked = false;
    none.setCustomValidity(changed || none.checked ? "" : page.dataset.hint);
  };

  // what a form cannot say of itself: something or "none", never one caption as both ends, and what would be refused
  const check = () => {
    for (const step of steps) {
      const none = step.querySelector("[data-none]");
      const filled = step.querySelector("[data-filled]");
      if (filled) {
        checkFilled(filled, none);
        continue;
      }
      const given = [...step.querySelectorAll("input:checked, textarea[data-plain]")].some(
        (one) => one !== none && one.value.trim(),
      );
      if (none) {
        const hint = none.closest("[data-hint]").dataset.hint;
        none.setCustomValidity(given === none.checked ? (given ? form.dataset.both : hint) : "");
      }
      for (const text of step.querySelectorAll("textarea[data-caption]")) {
        const words = text.value.trim().split(/\s+/).length;
        text.setCustomValidity(text.value.trim() && words < 3 ? form.dataset.short : "");
      }
      for (const text of step.querySelectorAll("textarea[data-plain]")) text.setCustomValidity(unknown(step, text));
      const ends = step.querySelectorAll(".pick input:checked");
      for (const one of step.querySelectorAll(".worst input")) {
        const twice = ends.length === 2 && ends[0].value === ends[1].value;
        one.setCustomValidity(one.checked && twice ? form.dataset.twice : "");
      }
    }
  };
  check();

  let since = performance.now();
  let spent = 0;
  const pause = () => {
    const now = performance.now();
    spent += now - since;
    since = now;
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) pause();
    else since = performance.now();
  });
  // a slider stands nowhere until it is moved, or pressed where it would stand anyway
  const moved = ({ target }) => {
    if (target.type === "range") delete target.dataset.open;
    check();
  };
  form.addEventListener("input", moved);
  form.addEventListener("pointerup", moved);
  form.addEventListener("change", (event) => {
    check();
    const at = /^(?:u|none)(\d+)/.exec(event.target.name);
    if (!at) return;
    pause();
    let field = form.elements[`t${at[1]}`];
    if (!field) {
      field = Object.assign(document.createElement("input"), { type: "hidden", name: `t${at[1]}`, value: "0" });
      form.append(field);
    }
    field.value = (Number(field.value) + spent / 1000).toFixed(2);
    spent = 0;
  });
  form.addEventListener("submit", () => setTimeout(() => (button.disabled = true)));
  addEventListener("pageshow", () => (button.disabled = false));
})();
