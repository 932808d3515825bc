// The preview follows the form. The server draws it, so that it shows what a buyer will see, and not a guess of ours.
const WAIT_MS = 250;
const WATCHED = ["accent", "display_name", "return_label"];
const COLOUR = /^#[0-9a-f]{6}$/i;
const STYLES = "link[data-preview-style]";

const form = document.querySelector("form[data-previews]");
const preview = document.getElementById("preview");
let asking = new AbortController();
let waiting;

function typed() {
  return new URLSearchParams(WATCHED.map((name) => [name, form.elements[name].value]));
}

// Colours and words change together, once both are there; a policy without inline styles leaves the colours a file.
function loadStyle(query) {
  return new Promise((resolve, reject) => {
    const style = document.querySelector(STYLES);
    const next = style.cloneNode();
    next.href = `${form.dataset.styles}?${query}`;
    next.addEventListener("load", () => resolve(next));
    next.addEventListener("error", reject);
    style.before(next);
  });
}

async function draw() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const query = typed();
  const [answer, next] = await Promise.all([
    fetch(`${form.dataset.previews}?${query}`, { signal }),
    loadStyle(query),
  ]);
  const words = await answer.text();
  if (signal.aborted || !answer.ok) return next.remove();
  preview.innerHTML = words;
  for (const old of document.querySelectorAll(STYLES)) if (old !== next) old.remove();
}

function drawSoon() {
  clearTimeout(waiting);
  // A preview that could not be drawn stays as it was: saving says what is wrong.
  waiting = setTimeout(() => draw().catch(() => {}), WAIT_MS);
}

function enablePicker(picker) {
  const field = document.getElementById(picker.dataset.picks);
  const follow = () => {
    if (COLOUR.test(field.value)) picker.value = field.value;
  };
  picker.hidden = field.matches(":disabled");
  picker.addEventListener("input", () => {
    field.value = picker.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("input", follow);
  follow();
}

form.addEventListener("input", drawSoon);
enablePicker(form.querySelector("[data-picks]"));
