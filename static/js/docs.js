// The documentation: search without a server, tabs and copy buttons for code.
for (const code of navigator.clipboard ? document.querySelectorAll(".code") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "code__copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  code.append(button);
}

// A language chosen once is chosen in every group that has it.
const groups = [];
const choose = (label) => {
  for (const { panels, buttons } of groups) {
    const at = panels.findIndex((panel) => panel.dataset.label === label);
    if (at < 0) continue;
    panels.forEach((panel, index) => {
      panel.hidden = index !== at;
    });
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === at));
      button.tabIndex = index === at ? 0 : -1;
    });
  }
};
document.querySelectorAll(".tabs").forEach((group, number) => {
  const panels = [...group.querySelectorAll(".tabs__panel")];
  const list = document.createElement("div");
  list.className = "tabs__list";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const buttons = panels.map((panel, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `tab-${number}-${index}`;
    button.textContent = panel.dataset.label;
    button.setAttribute("role", "tab");
    panel.id = `panel-${number}-${index}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    panel.querySelector(".tabs__label").remove();
    button.setAttribute("aria-controls", panel.id);
    button.addEventListener("click", () => choose(panel.dataset.label));
    list.append(button);
    return button;
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = buttons.indexOf(document.activeElement) + step;
    const button = buttons[(next + buttons.length) % buttons.length];
    button.click();
    button.focus();
  });
  group.prepend(list);
  groups.push({ panels, buttons });
  choose(panels[0].dataset.label);
});

const search = document.querySelector(".docs-search");
const input = search.querySelector("input");
const found = search.querySelector("ol");
const status = search.querySelector("[role=status]");
let index;
const load = async () => {
  index ??= (await fetch(search.dataset.index)).json();
  return index;
};
const score = (row, words) => {
  const [, page, heading, text] = row.map((part) => part.toLowerCase());
  let sum = 0;
  for (const word of words) {
    const points =
      (heading.includes(word) ? 8 : 0) + (page.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0);
    if (!points) return 0;
    sum += points;
  }
  return sum;
};
const excerpt = (text, word) => {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return `${at ? "…" : ""}${text.slice(at, at + 120)}`;
};
const show = (rows, word) => {
  found.replaceChildren(
    ...rows.map(([url, page, heading, text]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const small = document.createElement("small");
      link.href = url;
      link.textContent = heading === page ? page : `${page}: ${heading}`;
      small.textContent = excerpt(text, word);
      link.append(small);
      item.append(link);
      return item;
    }),
  );
};
input.addEventListener("focus", load, { once: true });
input.addEventListener("input", async () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = words.length
    ? (await load())
        .map((row) => [score(row, words), row])
        .filter(([points]) => points)
        .sort((one, other) => other[0] - one[0])
        .slice(0, 12)
        .map(([, row]) => row)
    : [];
  show(rows, words[0]);
  found.hidden = !rows.length;
  status.textContent = words.length ? `${rows.length || "No"} results` : "";
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    found.hidden = true;
    input.focus();
  }
});
search.hidden = false;
