const list = document.getElementById("received");
const everyMs = 1000;

async function refresh() {
  try {
    const answer = await fetch("/received");
    const text = await answer.text();
    // Unchanged lists are left alone, so that an opened body stays open.
    if (answer.ok && text !== list.dataset.shown) {
      list.dataset.shown = text;
      list.innerHTML = text;
    }
  } catch {
    // The shop was stopped; the list stays as it was.
  }
  setTimeout(refresh, everyMs);
}

refresh();
