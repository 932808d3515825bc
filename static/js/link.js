// A link's page about a payment is loaded again once that payment is in doubt, reversed or restored.
const LOOK_MS = 15000;
const { version } = document.getElementById("live").dataset;

async function look() {
  if (document.hidden) return;
  const headers = { "If-None-Match": `"${version}"` };
  const answer = await fetch(location.href, { method: "HEAD", headers, cache: "no-store" });
  // Not a reload, which would send a form again.
  if (answer.ok) location.replace(location.href);
}

const lookQuietly = () => look().catch(() => {});
setInterval(lookQuietly, LOOK_MS);
document.addEventListener("visibilitychange", lookQuietly);
