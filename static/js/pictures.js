// A picture that cannot be loaded says so; one that can be loaded can be enlarged.

function broken(figure) {
  const link = figure.querySelector("[data-zoom]");
  if (link) link.hidden = true;
  figure.querySelector("[data-broken]").hidden = false;
}

function enlarge(image) {
  const dialog = document.createElement("dialog");
  dialog.className = "zoom";
  dialog.setAttribute("aria-label", image.alt);
  const copy = document.createElement("img");
  copy.src = image.src;
  copy.alt = image.alt;
  dialog.append(copy);
  document.body.append(dialog);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "z" || event.key === "Enter") dialog.close();
    event.stopPropagation();
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

for (const figure of document.querySelectorAll("[data-picture]")) {
  const image = figure.querySelector("img");
  if (!image) continue;
  image.addEventListener("error", () => broken(figure));
  if (image.complete && image.currentSrc && image.naturalWidth === 0) broken(figure);
  figure.querySelector("[data-zoom]").addEventListener("click", (event) => {
    event.preventDefault();
    enlarge(image);
  });
}
