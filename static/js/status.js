// Learns how the payment is doing: from a stream that says when to look, and by asking every so often where there is none.
// An answer of 304 means that the page is up to date. The event `florin:asked` tells how many questions in a row had no answer.
const VISIBLE_MS = 2000;
const HIDDEN_MS = 15000;
const LONGEST_MS = 30000;
const TIMEOUT_MS = 10000;
// The server says something every 15 s; a stream that is silent for longer is dead, or stuck in a proxy.
const SILENCE_MS = 40000;
// The page of an ended checkout is asked about seldom, and not at all while nobody looks at it: late money and reversals are
// rare.
const SETTLED_MS = 15000;
// A server that refuses streams is busy, or is not there at all.
const REOPEN_MS = 60000;
const LATEST_REOPEN_MS = 600000;

// Only a stream that has brought news counts as live: a proxy that buffers brings none.
export function followStream({ address, onNews, onLost }) {
  let source = null;
  let isLive = false;
  let refusals = 0;
  let silence = null;
  let reopening = null;

  function open() {
    close();
    const from = address();
    if (!from || !("EventSource" in window)) return;
    source = new EventSource(from);
    source.addEventListener("status", () => {
      isLive = true;
      refusals = 0;
      hear();
      onNews();
    });
    source.addEventListener("beat", hear);
    source.addEventListener("error", lose);
    hear();
  }

  function hear() {
    clearTimeout(silence);
    silence = setTimeout(giveUp, SILENCE_MS);
  }

  // The browser reconnects by itself, unless the answer was no stream.
  function lose() {
    const wasLive = isLive;
    isLive = false;
    if (source.readyState === EventSource.CLOSED) giveUp();
    if (wasLive) onLost();
  }

  function giveUp() {
    const wasLive = isLive;
    close();
    reopening = setTimeout(open, Math.min(REOPEN_MS * 2 ** refusals, LATEST_REOPEN_MS));
    refusals += 1;
    if (wasLive) onLost();
  }

  function close() {
    clearTimeout(silence);
    clearTimeout(reopening);
    source?.close();
    source = null;
    isLive = false;
  }

  return { open, close, isLive: () => isLive };
}

export function watchStatus({ address, streamAddress, version, isSettled, onChange }) {
  let failures = 0;
  let timer = null;
  let isAsking = false;
  let isAskedAgain = false;
  let notBefore = 0;
  const ending = new AbortController();
  const { signal } = ending;

  function pause() {
    const usual = document.hidden ? HIDDEN_MS : isSettled() ? SETTLED_MS : VISIBLE_MS;
    return Math.min(usual * 2 ** failures, LONGEST_MS);
  }

  function askIn(milliseconds) {
    clearTimeout(timer);
    if (isResting()) return stream.close();
    timer = setTimeout(ask, Math.max(milliseconds, notBefore - performance.now()));
  }

  const isResting = () => signal.aborted || (document.hidden && isSettled());
  const askNow = () => askIn(0);
  const stream = followStream({ address: streamAddress, onNews: askNow, onLost: askNow });

  async function ask() {
    isAskedAgain = isAsking;
    if (isAsking) return;
    isAsking = true;
    try {
      await askOnce();
      failures = 0;
    } catch {
      failures += 1;
    }
    isAsking = false;
    // What shows something else by now has no part in it.
    if (!signal.aborted) dispatchEvent(new CustomEvent("florin:asked", { detail: failures }));
    if (isAskedAgain || notBefore > performance.now()) askNow();
    else if (failures || !stream.isLive()) askIn(pause());
  }

  // Throws when there is no usable answer.
  async function askOnce() {
    const asked = address();
    const answer = await fetch(asked, {
      headers: { "If-None-Match": `"${version()}"` },
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // Read to its end, for a browser reports an answer that is left unread as one that was broken off.
    const text = await answer.text();
    if (answer.status === 304) return;
    if (answer.status === 429) {
      notBefore = performance.now() + 1000 * Number(answer.headers.get("Retry-After") ?? 10);
      return;
    }
    if (!answer.ok) throw new Error(answer.status);
    const body = JSON.parse(text);
    if (signal.aborted) return;
    // The buyer chose another network while this was on its way: showing it would undo the choice.
    if (asked === address()) onChange(body);
    else isAskedAgain = true;
  }

  function start() {
    stream.open();
    askIn(pause());
  }

  // For a page that shows something else from now on.
  function stop() {
    ending.abort();
    rest();
  }

  function lookAgain() {
    if (!document.hidden) askNow();
  }

  function goOn() {
    start();
    askNow();
  }

  // A phone that comes back from a wallet has lost its stream, at times without a word.
  function changeVisibility() {
    if (!document.hidden) goOn();
    else if (isSettled()) rest();
  }

  function comeOnline() {
    if (!stream.isLive()) start();
    askNow();
  }

  function rest() {
    clearTimeout(timer);
    stream.close();
  }

  document.addEventListener("visibilitychange", changeVisibility, { signal });
  window.addEventListener("focus", lookAgain, { signal });
  window.addEventListener("online", comeOnline, { signal });
  // An open stream would keep the page from being kept for "back".
  window.addEventListener("pagehide", rest, { signal });
  window.addEventListener("pageshow", ({ persisted }) => persisted && goOn(), { signal });

  return { start, stop, checkNow: askNow };
}
