// What a page does without charts: titles stay below the bar, rows are sorted and filtered, what is folded opens where a link leads to it and on paper.

const bar = document.querySelector("nav");
const measured = () => document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`);
new ResizeObserver(measured).observe(bar);
measured();

const tables = [...document.querySelectorAll("main table")];

// Rows whose first cell is empty belong to the one above them.
function groupsOf(table) {
  const groups = [];
  for (const row of table.tBodies[0].rows) {
    if (groups.length && row.cells[0].textContent.trim() === "") groups.at(-1).push(row);
    else groups.push([row]);
  }
  return groups;
}

const NUMBER = /[-+−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?/;

function keyOf(row, place) {
  const text = row.cells[place]?.textContent.trim() ?? "";
  const found = text.replace(/^[±≥<>¹=?▲▼\s]+/, "").match(NUMBER);
  const numeric = row.cells[place]?.classList.contains("right");
  return numeric ? (found ? Number(found[0].replaceAll(",", "").replace("−", "-")) : NaN) : text.toLowerCase();
}

function inOrder(one, other) {
  if (typeof one === "string") return one.localeCompare(other);
  if (Number.isNaN(one) || Number.isNaN(other)) return Number(Number.isNaN(one)) - Number(Number.isNaN(other));
  return one - other;
}

function sort(table, head) {
  const place = head.cellIndex;
  const next = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] ?? "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  if (next !== "none") head.setAttribute("aria-sort", next);
  const groups = table.ownOrder.slice();
  if (next !== "none") {
    // Where a group's first row has nothing there, its next one has.
    const key = (group) => group.map((row) => keyOf(row, place)).find((one) => one !== "" && !Number.isNaN(one)) ?? keyOf(group[0], place);
    groups.sort((one, other) => inOrder(key(one), key(other)) * (next === "descending" ? -1 : 1));
  }
  table.tBodies[0].append(...groups.flat());
}

for (const table of tables) {
  table.ownOrder = groupsOf(table);
  if (table.ownOrder.length < 2) continue;
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, head));
  }
}

const filter = document.getElementById("filter");
const openedByFilter = new Set();
filter?.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  for (const table of tables) {
    let shown = 0;
    for (const group of table.ownOrder) {
      const hit = group.some((row) => row.textContent.toLowerCase().includes(wanted));
      for (const row of group) row.hidden = !hit;
      shown += Number(hit);
    }
    const fold = table.closest("details");
    table.closest(".scroll").hidden = wanted !== "" && shown === 0;
    if (!fold) continue;
    fold.classList.toggle("without", wanted !== "" && shown === 0);
    if (wanted && shown && !fold.open) {
      fold.open = true;
      openedByFilter.add(fold);
    } else if ((!wanted || !shown) && openedByFilter.delete(fold)) fold.open = false;
  }
});

// Opens what an element is folded in.
function unfold(element) {
  for (let fold = element?.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
}

function follow() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("details")) {
    unfold(target);
    target.scrollIntoView();
  }
}
addEventListener("hashchange", follow);
document.addEventListener("click", (event) => {
  if (event.target.closest?.("a[href^='#']")) setTimeout(follow);
});
follow();

// On paper everything is open; afterwards it is as it was.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
});
