// Says what Redoc's markup leaves out for screen readers: its menu, the levels of headings, and what a drop-down list shows.
const redoc = document.querySelector("redoc");

const mend = () => {
  const menu = redoc.querySelector(".menu-content");
  menu?.setAttribute("role", "navigation");
  menu?.setAttribute("aria-label", "API");
  let above = 0;
  for (const heading of redoc.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    above = Math.min(Number(heading.tagName[1]), above + 1);
    heading.setAttribute("aria-level", above);
  }
  for (const button of redoc.querySelectorAll("button[aria-haspopup][aria-label]")) {
    const [label] = button.ariaLabel.split(": ");
    const shown = button.textContent.trim();
    button.ariaLabel = shown ? `${label}: ${shown}` : label;
  }
};

// Redoc draws a part when the reader comes near it. It leaves attributes that it does not know alone.
new MutationObserver(mend).observe(redoc, {
  characterData: true,
  childList: true,
  subtree: true,
});
