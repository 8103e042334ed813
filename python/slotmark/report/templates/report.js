const specs = JSON.parse(document.getElementById("chart-specs").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function draw() {
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
    window.vegaEmbed(place, spec, { actions: false, renderer: "svg", config, tooltip: { theme: dark.matches ? "dark" : "light" } });
  }
}

draw();
dark.addEventListener("change", draw);
