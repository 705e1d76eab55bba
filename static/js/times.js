// Times in the reader's own zone and language; the page itself says them in UTC.

const page = document.documentElement;
const spelled = new Intl.DateTimeFormat(`${page.lang || "en"}-u-nu-latn`, { dateStyle: "long", timeStyle: "short" });
const day = new Intl.DateTimeFormat("sv"); // as 2026-01-31
for (const one of document.querySelectorAll("time[data-own-zone]")) {
  one.title = one.textContent.trim();
  one.textContent = (one.dataset.ownZone === "day" ? day : spelled).format(new Date(one.dateTime));
}
