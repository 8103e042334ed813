"use strict";
// The search of tables; the chart of a metric, whose data files call slotmark().
const loaded = { runs: new Map(), metric: null };
function slotmark(data) {
  if (data.kind === "runs") loaded.runs.set(data.name, unpacked(data)); else loaded.metric = data;
}

function unpacked(data) {
  const digests = column(data.runs, 1, (view, at) => view.getUint8(at).toString(16).padStart(2, "0")).join("");
  return {
    runs: digests, versions: data.versions, pruned: new Set(data.pruned),
    at: column(data.at, 8, (view, at) => 1000 * view.getFloat64(at, true)), version: column(data.version, 4, (view, at) => view.getUint32(at, true)),
  };
}

const search = document.getElementById("search");
if (search) {
  const rows = [...document.querySelectorAll("#searched tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !words.every((word) => texts[place].includes(word));
      if (!row.hidden) shown += 1;
    });
    document.getElementById("found").textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
}

function bytes(text) {
  const found = atob(text), view = new Uint8Array(found.length);
  for (let place = 0; place < found.length; place += 1) view[place] = found.charCodeAt(place);
  return new DataView(view.buffer);
}
function column(text, size, read) {
  const view = bytes(text), found = [];
  for (let at = 0; at < view.byteLength; at += size) found.push(read(view, at));
  return found;
}
function half(view, at) {
  const bits = view.getUint16(at, true), sign = bits & 0x8000 ? -1 : 1, power = (bits >> 10) & 31, part = bits & 1023;
  if (power === 0) return sign * part * 2 ** -24;
  return power === 31 ? NaN : sign * (1 + part / 1024) * 2 ** (power - 15);
}

const LETTERS = 32, OF_PAGE = 16;
function points(metric) {
  const found = [];
  for (const series of metric.series) {
    const runs = loaded.runs.get(series.of);
    const places = series.places === "" ? Array.from({ length: series.count }, (_, place) => place)
      : column(series.places, series.wide ? 4 : 2, (view, at) => (series.wide ? view.getUint32(at, true) : view.getUint16(at, true)));
    const estimates = column(series.estimates, 4, (view, at) => view.getFloat32(at, true));
    const reach = column(series.reach, 2, half);
    // An interval about counts or times doesn't reach below what there is of them.
    const least = estimates.every((one) => one >= 0) ? 0 : -Infinity;
    places.forEach((place, number) => {
      const digest = runs.runs.slice(place * LETTERS, (place + 1) * LETTERS);
      const value = estimates[number] * series.unit, share = Math.exp(reach[number]), far = reach[number] * series.unit;
      found.push({
        digest, run: digest.slice(0, OF_PAGE), pruned: runs.pruned.has(place), at: runs.at[place], version: runs.versions[runs.version[place]],
        machine: series.machine, log: series.log, pair: series.pair, value, low: series.log ? value / share : Math.max(least, value - far), high: series.log ? value * share : value + far,
      });
    });
  }
  return apart(found);
}
// Runs of one moment, as simulated ones, stand beside each other in their order: before the next moment, and within a day.
const DAY = 86400000;
function apart(found) {
  const together = new Map();
  for (const one of found) {
    if (!together.has(one.at)) together.set(one.at, []);
    together.get(one.at).push(one);
  }
  const moments = [...together.keys()].sort((one, other) => one - other);
  moments.forEach((at, place) => {
    const here = together.get(at), room = Math.min(DAY, (moments[place + 1] ?? Infinity) - at);
    here.forEach((one, number) => { one.x = at + (room * number) / here.length; });
  });
  return found;
}

const chosen = [];
const digits = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
const signed = (value) => (value < 0 ? "-" : "+") + Math.abs(value).toLocaleString("en", { maximumSignificantDigits: 3 });
// The difference of two runs of one series, in words.
function difference(before, after, unit) {
  const known = before.pair !== null, log = before.log && before.value > 0;
  const size = log ? Math.log(after.value / before.value) : after.value - before.value;
  const shown = (value) => (log ? signed(100 * Math.expm1(value)) : signed(value));
  const percent = log ? " %" : "";
  const interval = known ? ` [${shown(size - before.pair)} to ${shown(size + before.pair)}${percent}]` : "";
  const chance = !known ? "What runs of one build differ by isn't known here."
    : Math.abs(size) > before.pair ? "That is more than two runs of one build differ by (95 %)." : "Two runs of one build may differ by as much (95 %).";
  return `${before.version || before.run} to ${after.version || after.run}: ${digits(before.value)} to ${digits(after.value)} ${unit}, ${shown(size)}${percent}${interval}. ${chance}`.replace(/ +,/, ",");
}
function choose(run, machine, data, unit) {
  const place = chosen.findIndex((one) => one.run === run);
  if (place >= 0) chosen.splice(place, 1); else chosen.push({ run, machine });
  if (chosen.length > 2) chosen.shift();
  for (const button of document.querySelectorAll(".choose")) {
    button.setAttribute("aria-pressed", String(chosen.some((one) => one.run === button.dataset.run)));
  }
  const box = document.getElementById("pair"), page = JSON.parse(document.getElementById("page").textContent);
  box.hidden = chosen.length < 2;
  if (chosen.length < 2) return;
  const pair = chosen.map((one) => data.find((point) => point.run === one.run)).sort((one, other) => one.at - other.at);
  const unlike = chosen[0].machine !== chosen[1].machine;
  const [text, command] = [box.querySelector("p"), box.querySelector("code")];
  const pruned = pair.some((one) => one.pruned);
  text.textContent = unlike
    ? "These were measured on different kinds of machines: a comparison of them says nothing about the versions. Choose two of one kind."
    : `${difference(...pair, unit)} ${pruned ? "Not all of their tables are in the store still." : "All metrics of the two:"}`;
  box.querySelector("pre").hidden = document.getElementById("copy").hidden = unlike || pruned;
  command.textContent = `slotmark compare ${pair.map((one) => `${page.runs}${one.digest}`).join(" ")} -o out`;
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
function config() {
  const ink = dark.matches ? "#d7dae0" : "#22262e", line = dark.matches ? "#3a404b" : "#e3e6eb";
  return {
    background: "transparent", font: "inherit", view: { stroke: null },
    legend: { labelColor: ink, titleColor: ink, labelLimit: 260 },
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line },
  };
}
const COLOURS = ["#1f77b4", "#c0570c", "#7a4ba8", "#1b7340"], COLOURS_DARK = ["#7fb7f0", "#f0a35e", "#c3a1e8", "#7fcf9a"];
function spec(metric, data) {
  const machines = metric.series.map((one) => one.machine), colours = dark.matches ? COLOURS_DARK : COLOURS;
  const scale = { zero: false, padding: 10 };
  const x = { field: "x", type: "temporal", scale: { type: "utc", padding: 14 }, axis: { title: null, format: "%Y-%m-%d", labelOverlap: true, tickCount: { expr: "max(2, width / 110)" } } };
  const told = [
    { field: "version", title: "version" }, { field: "run", title: "run" }, { field: "at", type: "temporal", title: "measured", format: "%Y-%m-%d" },
    { field: "value", title: metric.unit || "estimate", format: ",.5~g" }, { field: "low", title: "low", format: ",.5~g" }, { field: "high", title: "high", format: ",.5~g" }, { field: "machine", title: "machine" },
  ];
  const many = data.length > 800;
  // Without any, the scale would have nothing to begin with, which the browser's console says.
  const changes = metric.changes.length === 0 ? [] : [
    { data: { values: metric.changes }, mark: { type: "rule", strokeWidth: 1.5, strokeDash: [5, 3] },
      encoding: { x: { ...x, field: "at" }, color: { value: dark.matches ? "#aab2bf" : "#59616e" }, tooltip: [{ field: "version", title: "changed with" }, { field: "state", title: "how sure" }] } },
  ];
  const legend = machines.length > 1 ? { title: "machine", orient: "bottom", columns: 1 } : null;
  return {
    width: "container", height: 300, padding: 4,
    layer: [
      ...changes,
      { data: { values: data }, mark: { type: "rule", opacity: many ? 0.15 : 0.45 }, encoding: { x, y: { field: "low", type: "quantitative", scale }, y2: { field: "high" }, color: { field: "machine", scale: { domain: machines, range: colours }, legend } } },
      { data: { values: data }, params: [{ name: "zoom", select: "interval", bind: "scales" }], mark: { type: "point", filled: true, size: many ? 14 : 42, opacity: many ? 0.6 : 0.95, cursor: "pointer" },
        encoding: { x, y: { field: "value", type: "quantitative", scale, title: metric.unit || null },
          color: { field: "machine", scale: { domain: machines, range: colours }, legend },
          shape: { field: "machine", scale: { domain: machines, range: ["circle", "square", "triangle-up", "diamond"] }, legend }, tooltip: told } },
    ],
  };
}

async function draw(metric, data) {
  const place = document.getElementById("chart"), found = spec(metric, data);
  const made = await window.vegaEmbed(place, found, { mode: "vega-lite", actions: false, renderer: data.length > 800 ? "canvas" : "svg", config: config(), tooltip: { theme: dark.matches ? "dark" : "light" } });
  made.view.addEventListener("click", (_, item) => { if (item && item.datum && item.datum.run) choose(item.datum.run, item.datum.machine, data, metric.unit); });
}

document.addEventListener("DOMContentLoaded", () => {
  if (!loaded.metric) return;
  const data = points(loaded.metric);
  draw(loaded.metric, data);
  dark.addEventListener("change", () => draw(loaded.metric, data));
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".choose");
    if (button) choose(button.dataset.run, button.dataset.machine, data, loaded.metric.unit);
  });
  document.getElementById("copy").addEventListener("click", () => navigator.clipboard?.writeText(document.querySelector("#pair code").textContent));
  const page = JSON.parse(document.getElementById("page").textContent);
  if (data.length <= page.most) return;
  const all = Object.assign(document.createElement("button"), { type: "button", id: "all", textContent: `Show all ${data.length.toLocaleString("en")} runs` });
  document.getElementById("shown").append(" ", all);
  all.addEventListener("click", () => {
    const body = document.querySelector("#runs tbody"), several = loaded.metric.series.length > 1;
    data.sort((one, other) => other.at - one.at);
    body.replaceChildren(...data.map((one) => {
      const row = document.createElement("tr");
      const link = Object.assign(document.createElement("a"), { href: `../runs/${one.run}.html`, textContent: one.run });
      const button = Object.assign(document.createElement("button"), { type: "button", className: "choose", textContent: "choose" });
      button.dataset.run = one.run; button.dataset.machine = one.machine; button.setAttribute("aria-pressed", "false");
      const texts = [null, new Date(one.at).toISOString().slice(0, 10), one.version, digits(one.value), ...(several ? [one.machine] : []), null];
      texts.forEach((text, number) => {
        const cell = document.createElement("td");
        if (number === 0) cell.append(link); else if (number === texts.length - 1) cell.append(button); else cell.textContent = text;
        if (number === 3) cell.className = "right";
        row.append(cell);
      });
      return row;
    }));
    document.getElementById("shown").textContent = `All ${data.length.toLocaleString("en")} runs.`;
  });
});
