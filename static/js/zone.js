// Names the reader's time zone in a cookie, so that staff pages show times in it.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.split("; ").includes(`zone=${zone}`)) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}
