// A field of files takes what is dropped on the area around it, folders included, lists it, and says how far the upload
// is. Without this script it is an ordinary field of an ordinary form.

const LISTED = 8;
const HIDDEN = /^\.|^(Thumbs\.db|desktop\.ini)$/i;

const sized = (bytes) => {
  const step = bytes < 1e6 ? 1e3 : 1e6;
  return `${(bytes / step).toLocaleString(document.documentElement.lang, { maximumFractionDigits: 1 })} ${step === 1e3 ? "kB" : "MB"}`;
};

// the files of an entry that was dropped, and of the folders in it
async function filesOf(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const inside = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    inside.push(...some);
  }
  return (await Promise.all(inside.map(filesOf))).flat();
}

function begin(form) {
  const area = form.querySelector("[data-drop]");
  const input = area?.querySelector("input[type=file]");
  if (!input) return;
  const say = form.dataset;
  const list = form.querySelector("[data-files]");
  const progress = form.querySelector("progress");
  const state = form.querySelector("[data-upload-state]");
  let underWay = false;

  function show() {
    const files = [...input.files];
    const rows = files.slice(0, LISTED).map((file) => {
      const row = document.createElement("li");
      row.textContent = `${file.name} · ${sized(file.size)}`;
      return row;
    });
    list.replaceChildren(...rows, ...(files.length > LISTED ? ["…"] : []));
    const whole = sized(files.reduce((sum, file) => sum + file.size, 0));
    state.textContent = files.length ? say.sayChosen.replace("%n", files.length.toLocaleString()).replace("%size", whole) : "";
  }

  // Further files are added to those that are there. The same file twice is one; the server refuses two of one name.
  function add(files) {
    const keyOf = ({ name, size, lastModified }) => `${name}/${size}/${lastModified}`;
    const chosen = new Map([...(input.multiple ? input.files : []), ...files].map((file) => [keyOf(file), file]));
    const all = new DataTransfer();
    for (const file of chosen.values()) if (!HIDDEN.test(file.name)) all.items.add(file);
    input.files = all.files;
    show();
  }

  area.classList.add("q-drop");
  area.querySelector("[data-drop-words]").hidden = false;
  for (const name of ["dragenter", "dragover"]) {
    area.addEventListener(name, (event) => {
      event.preventDefault();
      area.classList.add("q-over");
    });
  }
  for (const name of ["dragleave", "drop"]) area.addEventListener(name, () => area.classList.remove("q-over"));
  area.addEventListener("drop", async (event) => {
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const plain = [...event.dataTransfer.files];
    try {
      add(entries.some((entry) => entry.isDirectory) ? (await Promise.all(entries.map(filesOf))).flat() : plain);
    } catch {
      state.textContent = say.sayUnread;
    }
  });
  input.addEventListener("change", show);

  form.addEventListener("submit", (event) => {
    if (!input.files.length) return; // the server says what is missing
    event.preventDefault();
    if (underWay) return;
    underWay = true;
    const request = new XMLHttpRequest();
    progress.hidden = false;
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      progress.value = loaded / total;
      const tens = 10 * Math.floor((10 * loaded) / total);  // not each percent is read out
      const words = loaded < total ? `${tens} % · ${sized(total)}` : say.sayReading;
      if (state.textContent !== words) state.textContent = words;
    });
    const fail = () => {
      underWay = false;
      progress.hidden = true;
      state.textContent = say.sayLost;
    };
    request.addEventListener("error", fail);
    request.addEventListener("load", () => {
      const page = new DOMParser().parseFromString(request.responseText, "text/html");
      const again = page.querySelector("form[data-upload]");
      if (request.status >= 400) fail();
      else if (!again) location.assign(request.responseURL);
      else {
        form.replaceWith(document.adoptNode(again));
        begin(again);
        again.querySelector("[role=alert], .q-error")?.scrollIntoView({ block: "center" });
        again.querySelector("input[type=file]").focus();
      }
    });
    request.open("POST", location.href);
    request.setRequestHeader("X-Requested-With", "XMLHttpRequest");
    request.send(new FormData(form, event.submitter));
  });
}

for (const form of document.querySelectorAll("form[data-upload]")) begin(form);
