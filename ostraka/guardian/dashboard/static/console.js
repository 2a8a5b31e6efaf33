// Sorts tables and reads live parts of a page again. Every page works without it.
"use strict";

const EVERY_MS = 5000;

const key = (row, column) => {
  const cell = row.cells[column];
  const text = cell.dataset.sort ?? cell.textContent.trim();
  return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
};

const compare = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));

const sort = (table, column, direction) => {
  const sign = direction === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].filter((row) => row.cells.length > column);
  rows.sort((a, b) => sign * compare(key(a, column), key(b, column)));
  table.tBodies[0].append(...rows);
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", direction);
};

const makeSortable = (table) => {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () =>
      sort(table, column, head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending"));
  });
};

const chosen = (part) => {
  const head = part.querySelector("th[aria-sort]");
  return head && [head.cellIndex, head.getAttribute("aria-sort")];
};

const refresh = async (part) => {
  if (document.hidden || part.contains(document.activeElement)) return;
  const answer = await fetch(location.href, { headers: { "ostraka-refresh": "1" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector(`[data-live="${part.dataset.live}"]`);
  const order = chosen(part);
  fresh.querySelectorAll("table.sortable").forEach(makeSortable);
  part.replaceChildren(...fresh.childNodes);
  if (order) sort(part.querySelector("table.sortable"), ...order);
};

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("[data-live]").forEach((part) =>
  setInterval(() => refresh(part).catch(() => {}), EVERY_MS));
document.querySelectorAll("[data-live-note]").forEach((note) => { note.hidden = false; });
