// The countdown. It counts what the server said is left, so a wrong clock on the buyer's side does no harm.
const SHORT_SECONDS = 300;

let ticking = null;

function textOf(seconds) {
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return hours ? `${hours}:${rest}` : rest;
}

function paint(timer, seconds) {
  timer.querySelector("[data-countdown-text]").textContent = textOf(seconds);
  const gone = 100 - (100 * seconds) / timer.dataset.secondsTotal;
  timer.querySelector(".countdown__left").setAttribute("stroke-dashoffset", gone.toFixed(1));
  timer.classList.toggle("is-short", seconds < SHORT_SECONDS);
}

export function startCountdown(panel, { announce, onOver }) {
  clearInterval(ticking);
  const timer = panel.querySelector("#countdown");
  if (!timer) return;
  const endsAt = performance.now() + 1000 * timer.dataset.secondsLeft;
  let painted = Number(timer.dataset.secondsLeft);

  const tick = () => {
    const seconds = Math.max(0, Math.ceil((endsAt - performance.now()) / 1000));
    if (seconds === painted) return;
    painted = seconds;
    paint(timer, seconds);
    const words = timer.getAttribute(`data-announce-${seconds}`);
    if (words) announce(words);
    if (seconds > 0) return;
    clearInterval(ticking);
    // No address is shown once the time is over, whatever the network between us is doing.
    for (const part of panel.querySelectorAll("[data-until-expiry]")) part.hidden = true;
    onOver();
  };
  ticking = setInterval(tick, 250);
}
