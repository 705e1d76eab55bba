// Times in the reader's own zone and language; the page itself says them in UTC.

const page = document.documentElement;
const spelled = new Intl.DateTimeFormat(`${page.lang || "en"}-u-nu-latn`, { dateStyle: "long", timeStyle: "short" });
for (const one of document.querySelectorAll("time[data-own-zone]")) {
  one.title = one.textContent.trim();
  one.textContent = spelled.format(new Date(one.dateTime));
}
