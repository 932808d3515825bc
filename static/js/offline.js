// Says that there is no connection, in words that were fetched while there was one, and keeps the page then: a form would put the
// browser's own error in its place.

// A phone that comes back from a wallet often misses one answer.
const MISSED = 2;
const WORDS_MS = 10000;
let notice = null;
let missed = 0;
let isSaid = false;

async function fetchNotice() {
  const address = `/c/offline?lang=${document.documentElement.lang}`;
  const answer = await fetch(address, { signal: AbortSignal.timeout(WORDS_MS) });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.getElementById("offline");
  if (!found || notice) return;
  notice = found;
  document.getElementById("announcer").after(notice);
}

// Whoever has paid may close the page, and waits for nothing; what comes late is not sure to count.
const isOver = () => /completed|expired/.test(document.getElementById("panel").dataset.stage);

// `announce` says words to who cannot see them; `goOn` does again what may have been lost meanwhile.
export function watchConnection(announce, goOn) {
  function say() {
    isSaid = true;
    notice.hidden = false;
    announce(notice.textContent.trim());
  }

  // Without its words it is silent; they are asked for again with the next look.
  async function look() {
    if (!notice && navigator.onLine) await fetchNotice().catch(() => {});
    const isGone = (!navigator.onLine || missed >= MISSED) && !isOver();
    if (!notice || isGone === isSaid) return;
    if (isGone) return say();
    isSaid = false;
    notice.hidden = true;
    goOn();
  }

  addEventListener("florin:asked", ({ detail }) => {
    missed = detail;
    look();
  });
  addEventListener("online", look);
  addEventListener("offline", look);
  document.addEventListener("submit", (event) => {
    // Without the notice nothing would say why a form does nothing.
    if (!notice || (navigator.onLine && !isSaid)) return;
    event.preventDefault();
    say();
  });
  look();
}
