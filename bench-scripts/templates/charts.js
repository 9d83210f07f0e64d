"use strict";
// The charts: plotly.js draws what the page holds as JSON. The reader chooses what is shown, and the page's address keeps
// the choice, so that a link shows the same.
{
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const buttons = [...document.querySelectorAll(".legend button")];
  const choices = [...document.querySelectorAll("input[name=view]")];
  const main = document.querySelector(".plot.main");
  const firstView = main?.dataset.chart;
  const hidden = new Set();
  let view = firstView;

  // Of colours as plotly.js and the style sheet write them, #rrggbb.
  const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  function mix(colour, other, share) {
    const others = channels(other);
    return `rgb(${channels(colour).map((c, at) => Math.round(c * (1 - share) + others[at] * share))})`;
  }

  // Points in another colour than their line's are pale: towards white in the data, towards the page's colour here.
  function inLight(trace, card) {
    const colours = trace.marker?.color;
    if (!Array.isArray(colours)) return trace;
    const own = trace.line.color;
    const painted = colours.map((colour) => (colour === own ? own : mix(own, card, 0.6)));
    return { ...trace, marker: { ...trace.marker, color: painted } };
  }

  const shownTraces = (plot) => charts[plot.dataset.chart].data.filter((trace) => !hidden.has(trace.legendgroup));

  function draw(plot) {
    const page = getComputedStyle(document.documentElement);
    const [ink, rule, card] = ["--ink", "--rule", "--card"].map((name) => page.getPropertyValue(name).trim());
    const { layout } = charts[plot.dataset.chart];
    const inPage = {
      ...layout,
      font: { ...layout.font, color: ink },
      xaxis: { ...layout.xaxis, linecolor: rule, showline: true },
      yaxis: { ...layout.yaxis, gridcolor: rule },
      hoverlabel: { bgcolor: card, bordercolor: rule, font: { color: ink } },
      // A finger that drags wants to scroll.
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    };
    const traces = shownTraces(plot).map((trace) => inLight(trace, card));
    Plotly.react(plot, traces, inPage, { responsive: true, displayModeBar: false });
    read(plot, 0);
  }

  // Arrow keys move over the connection counts: the hover box shows what a screen reader is told.
  const stops = (plot) => {
    const lines = shownTraces(plot).filter((trace) => trace.customdata);
    return [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  };
  function read(plot, stop) {
    const places = stops(plot);
    const x = places[stop];
    const said = shownTraces(plot).flatMap((trace) => {
      const value = trace.customdata?.find((text, at) => text !== "" && trace.x[at] === x);
      return value === undefined ? [] : [`${trace.name} ${value}`];
    });
    const { tickvals, ticktext, title } = charts[plot.dataset.chart].layout.xaxis;
    const place = ticktext[tickvals.indexOf(x)] ?? x;
    plot.setAttribute("aria-valuemin", 0);
    plot.setAttribute("aria-valuemax", Math.max(0, places.length - 1));
    plot.setAttribute("aria-valuenow", stop);
    plot.setAttribute("aria-valuetext", x === undefined ? "no line is shown" : `at ${place} ${title.text}: ${said.join("; ")}`);
    return x;
  }
  for (const plot of plots) {
    plot.addEventListener("keydown", (event) => {
      const last = stops(plot).length - 1;
      const now = Number(plot.getAttribute("aria-valuenow"));
      const wanted = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: last }[event.key];
      if (wanted === undefined) return;
      event.preventDefault();
      const x = read(plot, Math.min(Math.max(wanted, 0), Math.max(last, 0)));
      if (x !== undefined) Plotly.Fx.hover(plot, { xval: x }, "xy");
    });
    plot.addEventListener("blur", () => Plotly.Fx.unhover(plot));
  }

  function apply() {
    for (const button of buttons) button.setAttribute("aria-pressed", !hidden.has(button.dataset.entrant));
    for (const choice of choices) choice.checked = choice.value === view;
    for (const part of document.querySelectorAll("[data-view]")) part.hidden = part.dataset.view !== view;
    if (main) main.dataset.chart = view;
    plots.forEach(draw);
  }

  // Addresses without a choice, such as those of the sections, leave the choice as it is.
  function follow() {
    const chosen = new URLSearchParams(location.hash.slice(1));
    if (!chosen.has("view") && !chosen.has("hide")) return;
    view = choices.find((choice) => choice.value === chosen.get("view"))?.value ?? firstView;
    hidden.clear();
    for (const entrant of chosen.getAll("hide")) hidden.add(entrant);
  }
  function keep() {
    const chosen = new URLSearchParams(view ? { view } : {});
    for (const entrant of hidden) chosen.append("hide", entrant);
    history.replaceState(null, "", `#${chosen}`);
    apply();
  }

  for (const choice of choices) {
    choice.addEventListener("change", () => {
      view = choice.value;
      keep();
    });
  }
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const { entrant } = button.dataset;
      if (!hidden.delete(entrant)) hidden.add(entrant);
      keep();
    });
  }
  addEventListener("hashchange", () => {
    follow();
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  follow();
  apply();
}
