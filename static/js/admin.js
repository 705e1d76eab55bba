// What every page of the admin needs beside Unfold's own scripts.

// Names the reader's time zone in a cookie, so that the pages show times in it.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.split("; ").includes(`zone=${zone}`)) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

// A page that follows a job loads itself again at its end. That would call back a reader who has followed a link and
// waits for the next page, so such an answer is left alone. A download leaves the page standing.
let leaving = 0;
addEventListener("beforeunload", () => { leaving = Date.now(); });
addEventListener("pageshow", () => { leaving = 0; });
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (Date.now() - leaving < 10000 && event.detail.xhr.getResponseHeader("HX-Refresh")) event.preventDefault();
});

// Icons are words of a font, which would be read aloud. One that acts by itself is a button, which has a name.
function nameIcons() {
  const {sayMenu: menu = "Menu", sayHome = "", saySearch = ""} = document.querySelector("[data-say-menu]")?.dataset ?? {};
  for (const icon of document.querySelectorAll(".material-symbols-outlined")) {
    if (!icon.hasAttribute("x-on:click")) {
      icon.ariaHidden = "true";
      const control = icon.closest("a, button");
      if (control && !control.ariaLabel && !control.title && control.textContent.trim() === icon.textContent.trim()) {
        control.ariaLabel = control.localName === "a" ? sayHome : saySearch;
      }
    } else if (icon.role !== "button") {
      Object.assign(icon, {role: "button", tabIndex: 0, ariaLabel: menu});
      icon.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) icon.click(); });
    }
  }
}
document.addEventListener("DOMContentLoaded", nameIcons);
document.addEventListener("htmx:afterSettle", nameIcons);

// What Unfold's own scripts do wrong on these pages.
document.addEventListener("DOMContentLoaded", () => {
  // Unfold writes a chosen file's name into the first text field of the page: this keeps it from listening.
  for (const input of document.querySelectorAll("input[type=file]")) input.hasChangeListener = true;
  // Boxes that scroll are all named "scrollable content"; the option is read when a box is made, which may be over.
  const say = document.querySelector("[data-say-table]")?.dataset ?? {};
  for (const box of document.querySelectorAll("[data-simplebar]")) {
    const name = box.closest("main") ? say.sayTable : box.id === "nav-sidebar-apps" ? say.sayMenu : say.sayList;
    if (!name) continue;
    box.dataset.simplebarAriaLabel = name;
    box.querySelector(".simplebar-content-wrapper")?.setAttribute("aria-label", name);
  }
  // The sidebar's folded group opens by a click on its heading. A button does so by the keyboard, and says its state.
  for (const heading of document.querySelectorAll("#nav-sidebar-apps h2.cursor-pointer")) {
    const list = heading.nextElementSibling;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "flex flex-row grow items-center font-semibold cursor-pointer";
    button.append(...heading.childNodes);
    heading.append(button);
    new ResizeObserver(() => button.setAttribute("aria-expanded", String(list.checkVisibility()))).observe(list);
  }
});
