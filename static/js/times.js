// Times in the reader's own zone and language; the page itself says them in UTC.

const page = document.documentElement;
// English dates are written as on pages that scripts do not touch: the day, then the month.
const language = `${page.lang.replace(/^en$/, "en-GB") || "en-GB"}-u-nu-latn`;
const spelled = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short" });
const day = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
for (const one of document.querySelectorAll("time[data-own-zone]")) {
  one.title = one.textContent.trim();
  const text = (one.dataset.ownZone === "day" ? day : spelled).format(new Date(one.dateTime));
  one.textContent = text.replace(/\bSept\b/, "Sep"); // which browsers write with four letters, alone of all months
}
