// SPDX-License-Identifier: GPL-2.0-only
"use strict";
// Sorting: a click on a column's head sorts by it, a second click turns the order.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => {
    const cell = row.cells[i];
    const text = (cell.dataset.sort ?? cell.textContent).trim();
    const number = Number(text.replace("\u2212", "-").replace(/\u202f/g, "").replace(/\s*%.*$/, ""));
    return text === "" || text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [value(row, i), row]);
      rows.sort(([a], [b]) =>
        a === null ? (b === null ? 0 : 1) : b === null ? -1 : down ? compare(b, a) : compare(a, b));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
// A wide screen has the page's sections at its side.
const contents = document.createElement("nav");
const places = document.createElement("ul");
contents.className = "contents";
contents.setAttribute("aria-label", "Contents");
for (const head of document.querySelectorAll("main > section[id] > h2")) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = "#" + head.parentElement.id;
  link.textContent = head.textContent;
  item.append(link);
  places.append(item);
}
contents.append(places);
if (places.childElementCount > 1) document.body.prepend(contents);
// A figure whose values are a decade apart has a logarithmic form.
for (const log of document.querySelectorAll(".chart > .log")) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  label.className = "switch";
  box.type = "checkbox";
  label.append(box, " logarithmic axis");
  log.parentElement.before(label);
}
// A table that is wider than the page is scrolled by the keyboard too.
for (const wide of document.querySelectorAll(".scroll")) wide.tabIndex = 0;
// A pointer at a point of a figure is told what it is; a click leads to its observations, which may be on a run's own page.
const lead = (tip) => {
  const names = tip.dataset.more.split(" ");
  for (const row of document.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
  for (const name of names) document.getElementById(name)?.classList.add("chosen");
  location.href = (tip.closest("[data-run]")?.dataset.run ?? "") + "#" + names[0];
};
const bubble = document.createElement("div");
bubble.className = "bubble";
bubble.hidden = true;
bubble.setAttribute("aria-hidden", "true");
document.body.append(bubble);
for (const tip of document.querySelectorAll(".tip")) {
  const title = tip.querySelector("title");
  const text = title.textContent;
  tip.addEventListener("pointerenter", () => {
    title.textContent = ""; // else the browser shows it too, later
    bubble.textContent = text;
    bubble.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(box.right + 4, document.documentElement.clientWidth - bubble.offsetWidth - 4);
    bubble.style.left = Math.max(0, left) + scrollX + "px";
    bubble.style.top = box.bottom + 4 + scrollY + "px";
  });
  tip.addEventListener("pointerleave", () => {
    title.textContent = text;
    bubble.hidden = true;
  });
  if (tip.dataset.more) tip.addEventListener("click", () => lead(tip));
}
// Where a link leads is unfolded.
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  const folded = target?.closest("details");
  if (folded && !folded.open) {
    folded.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", unfold);
unfold();
// Filters: a table's rows by the levels of its factors.
for (const table of document.querySelectorAll("table.filterable")) {
  const rows = [...table.tBodies[0].rows];
  const bar = document.createElement("div");
  bar.className = "filters";
  const chosen = new Map();
  const show = () => {
    for (const row of rows) row.hidden = [...chosen].some(([i, level]) => level && row.cells[i].textContent !== level);
  };
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    const levels = [...new Set(rows.map((row) => row.cells[i]?.textContent))];
    if (head.dataset.filter === undefined || levels.length < 2) return;
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.append(new Option("all", ""), ...levels.map((level) => new Option(level, level)));
    select.addEventListener("change", () => { chosen.set(i, select.value); show(); });
    label.append(head.textContent + " ", select);
    bar.append(label);
  });
  if (bar.childElementCount) table.parentElement.before(bar);
}
// On paper nothing is folded away.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
