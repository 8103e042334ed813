const specs = JSON.parse(document.getElementById("chart-specs").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const places = [...document.querySelectorAll("[data-chart]")];

const runs = [...new Map(specs.flatMap((spec) => spec.usermeta?.runs ?? []).map((run) => [run.name, run])).values()];
const shown = new Set(runs.map((run) => run.name));
const views = new Map();

// An opened chart is this many times as high.
const OPENED = 1.7;

function swatch(run) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 28 8");
  svg.setAttribute("class", "swatch");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", "M0 4H28");
  line.setAttribute("stroke", run.colour);
  line.setAttribute("stroke-width", "3");
  line.setAttribute("stroke-dasharray", run.dash.join(" "));
  svg.append(line);
  return svg;
}

function toggles() {
  const box = document.createElement("fieldset");
  box.className = "runs";
  // Where an axis of every chart names the runs, none has lines to tell apart.
  const lines = specs.some((spec) => spec.usermeta?.legend);
  for (const run of runs) {
    const label = document.createElement("label");
    const check = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    check.style.accentColor = run.colour;
    check.addEventListener("change", () => {
      if (check.checked) shown.add(run.name); else shown.delete(run.name);
      for (const view of views.values()) view.signal("shown", [...shown]).runAsync();
    });
    label.append(check, ...(lines ? [swatch(run)] : [" "]), run.name);
    box.append(label);
  }
  const hints = [];
  if (document.querySelector(".opener")) hints.push("A chart opens at a click on its title.");
  if (specs.some((spec) => spec.params?.some((one) => one.name === "zoom")))
    hints.push("Drag moves lines and distributions, Ctrl and the mouse wheel zoom them, a double click resets them.");
  const hint = Object.assign(document.createElement("p"), { className: "note", textContent: hints.join(" ") });
  // Above the first chart in which runs are told apart; charts before it show none.
  const first = places.find((place) => specs[Number(place.dataset.chart)].usermeta?.runs?.length) ?? places[0];
  const charts = first.closest(".charts");
  (charts.closest("details") ?? charts).before(box, hint);
}

function config() {
  const ink = dark.matches ? "#d7dae0" : "#22262e";
  const line = dark.matches ? "#3a404b" : "#e3e6eb";
  return {
    background: "transparent",
    // Room for labels is measured on a canvas, which knows no "inherit": titles were drawn over them.
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    tick: { color: ink },
    rule: { color: ink },
    text: { color: ink },
    legend: { labelColor: ink, titleColor: ink, titleFontWeight: 500 },
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: 500, labelFontSize: 11, titleFontSize: 12 },
  };
}

async function draw(place) {
  views.get(place)?.finalize();
  const spec = structuredClone(specs[Number(place.dataset.chart)]);
  const parameter = spec.params?.find((one) => one.name === "shown");
  if (parameter) parameter.value = [...shown];
  if (spec.width === "container" && !place.checkVisibility()) spec.width = widths.get(place);
  if (place.parentElement.matches(".small.open") && typeof spec.height === "number") spec.height *= OPENED;
  const made = await window.vegaEmbed(place, spec, { actions: false, renderer: "svg", config: config(), tooltip: { theme: dark.matches ? "dark" : "light" } });
  views.set(place, made.view);
}

for (const opener of document.querySelectorAll(".opener")) {
  opener.addEventListener("click", () => {
    const figure = opener.closest("figure");
    opener.setAttribute("aria-expanded", String(figure.classList.toggle("open")));
    draw(figure.querySelector(".chart")).then(() => {
      if (figure.classList.contains("open")) figure.scrollIntoView({ block: "nearest" });
    });
  });
}

// How wide charts are that are folded: what is closed has no width.
const widths = new Map();
function measure() {
  const folds = [...document.querySelectorAll("details:not([open]):has(.chart)")];
  for (const fold of folds) fold.open = true;
  for (const place of places) widths.set(place, place.clientWidth);
  for (const fold of folds) fold.open = false;
}

for (const fold of document.querySelectorAll("details:has(.chart)")) {
  fold.addEventListener("toggle", () => {
    if (fold.open && !matchMedia("print").matches) for (const place of fold.querySelectorAll(".chart")) draw(place);
  });
}

toggles();
measure();
places.forEach(draw);
dark.addEventListener("change", () => places.forEach(draw));
