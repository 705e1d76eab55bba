// A picture that cannot be loaded says so, and comes by itself once a lost connection is back. One that can be loaded
// can be enlarged, by buttons, keys, wheel or two fingers.

const STEP = 1.5;
const MOST = 8;

// whether it is the connection that is missing, and not the picture; other servers cannot be asked
async function isOffline(image) {
  if (!navigator.onLine) return true;
  if (new URL(image.src).origin !== location.origin) return false;
  try {
    await fetch(image.currentSrc || image.src, { method: "HEAD", cache: "no-store" });
    return false;
  } catch {
    return true;
  }
}

function show(figure, wrong) {
  const link = figure.querySelector("[data-zoom]");
  if (link) link.hidden = Boolean(wrong);
  for (const name of ["broken", "offline"]) figure.querySelector(`[data-${name}]`).hidden = name !== wrong;
}

function loadAgain(figure) {
  if (figure.querySelector("[data-offline]").hidden) return;
  const image = figure.querySelector("img");
  image.loading = "eager";  // while it is hidden, it would not be loaded otherwise
  image.src = image.getAttribute("src");
}

function enlarge(image) {
  const dialog = document.querySelector("[data-zoom-over]").content.firstElementChild.cloneNode(true);
  const room = dialog.querySelector("[data-room]");
  const copy = dialog.querySelector("img");
  const fingers = new Map();
  let factor = 1;
  let apart = 0;
  let dragged = false;
  copy.src = image.currentSrc || image.src;  // until the original is there
  copy.alt = image.alt;
  if (copy.src !== image.src) {
    const original = new Image();
    original.addEventListener("load", () => { copy.src = original.src; });
    original.src = image.src;
  }
  document.body.append(dialog);
  dialog.showModal();

  // the place under (x, y) stays where it is
  function scale(wanted, x = room.clientWidth / 2, y = room.clientHeight / 2) {
    const next = Math.min(MOST, Math.max(1, wanted));
    const [across, down] = [(room.scrollLeft + x) / factor, (room.scrollTop + y) / factor];
    factor = next;
    copy.style.width = `${100 * factor}%`;
    copy.style.height = `${100 * factor}%`;
    room.scrollTo(across * factor - x, down * factor - y);
    dialog.querySelector("[data-smaller]").disabled = factor === 1;
    dialog.querySelector("[data-larger]").disabled = factor === MOST;
  }

  function spread() {
    const [one, other] = [...fingers.values()];
    return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
  }

  function release(event) { fingers.delete(event.pointerId); apart = 0; }

  room.addEventListener("pointerdown", (event) => { dragged = false; fingers.set(event.pointerId, event); });
  room.addEventListener("click", () => { if (factor === 1 && !dragged) dialog.close(); });
  room.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    dragged ||= Math.hypot(before.clientX - event.clientX, before.clientY - event.clientY) > 2 || fingers.size > 1;
    if (fingers.size === 1) {
      room.scrollBy(before.clientX - event.clientX, before.clientY - event.clientY);
    } else {
      const edge = room.getBoundingClientRect();
      const now = spread();
      if (apart) scale(factor * now / apart, event.clientX - edge.left, event.clientY - edge.top);
      apart = now;
    }
    fingers.set(event.pointerId, event);
  });
  for (const sign of ["pointerup", "pointercancel", "pointerleave"]) room.addEventListener(sign, release);
  room.addEventListener("wheel", (event) => {
    event.preventDefault();
    const edge = room.getBoundingClientRect();
    scale(factor * (event.deltaY < 0 ? STEP : 1 / STEP), event.clientX - edge.left, event.clientY - edge.top);
  }, { passive: false });
  dialog.querySelector("[data-larger]").addEventListener("click", () => scale(factor * STEP));
  dialog.querySelector("[data-smaller]").addEventListener("click", () => scale(factor / STEP));
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const acts = {
      z: () => dialog.close(), "+": () => scale(factor * STEP), "=": () => scale(factor * STEP), "-": () => scale(factor / STEP),
      ArrowLeft: () => room.scrollBy(-80, 0), ArrowRight: () => room.scrollBy(80, 0),
      ArrowUp: () => room.scrollBy(0, -80), ArrowDown: () => room.scrollBy(0, 80),
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) { event.preventDefault(); act(); }
  });
  dialog.addEventListener("close", () => dialog.remove());  // the focus goes back to where it was
  scale(1);
}

function watch(figure) {
  const image = figure.querySelector("img");
  if (!image) return;
  const failed = async () => show(figure, await isOffline(image) ? "offline" : "broken");
  image.addEventListener("error", failed);
  image.addEventListener("load", () => show(figure, ""));
  if (image.complete && image.currentSrc && image.naturalWidth === 0) failed();
  window.addEventListener("online", () => loadAgain(figure));
  figure.closest("[data-step]")?.addEventListener("quorum:show", () => loadAgain(figure));
  figure.querySelector("[data-load-again]").addEventListener("click", () => loadAgain(figure));
  figure.querySelector("[data-zoom]").addEventListener("click", (event) => {
    event.preventDefault();
    enlarge(image);
  });
}

document.addEventListener("quorum:page", ({ detail }) => detail.form.querySelectorAll("[data-picture]").forEach(watch));
