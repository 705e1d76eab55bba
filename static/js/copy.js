// A button that copies what stands beside it.

document.documentElement.classList.add("js");

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = button.dataset.copied;
    } catch {
      // without leave to write to the clipboard: mark it, so that the keys for copying work
      source.closest("details")?.setAttribute("open", "");
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = button.dataset.marked;
    }
  });
}

for (const button of document.querySelectorAll("[data-copy-picture]")) {
  button.hidden = !window.ClipboardItem;
  button.addEventListener("click", async () => {
    const picture = fetch(button.dataset.copyPicture).then((answer) => answer.blob());
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
      button.textContent = button.dataset.copied;
    } catch {
      location.href = button.dataset.copyPicture; // without leave to write to the clipboard: as a file
    }
  });
}
