const specs = JSON.parse(document.getElementById("chart-specs").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

const runs = specs[0].usermeta.runs;
const shown = new Set(runs.map((run) => run.name));
const views = [];

function toggles() {
  const box = document.createElement("fieldset");
  box.className = "runs";
  for (const run of runs) {
    const label = document.createElement("label");
    const check = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    check.style.accentColor = run.colour;
    check.addEventListener("change", () => {
      if (check.checked) shown.add(run.name); else shown.delete(run.name);
      for (const view of views) view.signal("shown", [...shown]).runAsync();
    });
    label.append(check, " " + run.name);
    box.append(label);
  }
  document.querySelector("figure").before(box);
}

function draw() {
  views.length = 0;
  const ink = dark.matches ? "#d7dae0" : "#22262e";
  const line = dark.matches ? "#3a404b" : "#e3e6eb";
  const config = {
    background: "transparent",
    font: "inherit",
    view: { stroke: null },
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: 500, labelFontSize: 11, titleFontSize: 12 },
    legend: { labelColor: ink, titleColor: ink, orient: "top", labelFontSize: 12, symbolStrokeWidth: 2.5, symbolSize: 160, labelLimit: 260 },
  };
  for (const place of document.querySelectorAll("[data-chart]")) {
    const spec = structuredClone(specs[Number(place.dataset.chart)]);
    for (const layer of spec.layer) if (layer.mark.type === "tick") layer.mark.color = ink;
    spec.params[0].value = [...shown];
    window.vegaEmbed(place, spec, { actions: false, renderer: "svg", config, tooltip: { theme: dark.matches ? "dark" : "light" } }).then((made) => views.push(made.view));
  }
}

toggles();
draw();
dark.addEventListener("change", draw);
