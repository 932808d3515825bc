// Asks the server how the payment is doing. An answer of 304 means that the page is up to date.
const VISIBLE_MS = 2000;
const HIDDEN_MS = 15000;
const LONGEST_MS = 30000;
const TIMEOUT_MS = 10000;

export function watchStatus({ address, version, isFinal, onChange }) {
  let failures = 0;
  let timer = null;
  let isAsking = false;

  function pause() {
    const usual = document.hidden ? HIDDEN_MS : VISIBLE_MS;
    return Math.min(usual * 2 ** failures, LONGEST_MS);
  }

  function askIn(milliseconds) {
    clearTimeout(timer);
    if (!isFinal()) timer = setTimeout(ask, milliseconds);
  }

  async function ask() {
    if (isAsking) return;
    isAsking = true;
    let wait = null;
    try {
      wait = await askOnce();
      failures = 0;
    } catch {
      failures += 1;
    }
    isAsking = false;
    askIn(wait ?? pause());
  }

  // Returns how long to wait if the server said so. Throws when there is no usable answer.
  async function askOnce() {
    const asked = address();
    const answer = await fetch(asked, {
      headers: { "If-None-Match": `"${version()}"` },
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (answer.status === 304) return null;
    if (answer.status === 429) return 1000 * Number(answer.headers.get("Retry-After") ?? 10);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const body = await answer.json();
    // The buyer chose another network while this was on its way: showing it would undo the choice.
    if (asked === address()) onChange(body);
    return null;
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) askIn(0);
  });

  return { start: () => askIn(VISIBLE_MS), checkNow: () => askIn(0) };
}
