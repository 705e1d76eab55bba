// Who is done goes back at once; the link stays for whom the browser keeps here.

const link = document.querySelector("[data-way-back]");
// not after Back: somebody who returns here wants to read
if (link && performance.getEntriesByType("navigation")[0]?.type !== "back_forward") location.replace(link.href);
