"use strict";
// Gives the curves the colours of the page, which follow the reader's choice of light or dark.
const darkness = matchMedia("(prefers-color-scheme: dark)");
function paint() {
  const page = getComputedStyle(document.documentElement);
  const colour = (name) => page.getPropertyValue(name).trim();
  const grid = colour("--rule");
  for (const plot of document.querySelectorAll(".plotly-graph-div")) {
    Plotly.relayout(plot, {
      "font.color": colour("--ink"),
      "xaxis.linecolor": grid,
      "xaxis.showline": true,
      "yaxis.gridcolor": grid,
      "hoverlabel.bgcolor": colour("--card"),
      "hoverlabel.bordercolor": grid,
      "hoverlabel.font.color": colour("--ink"),
    });
  }
}
darkness.addEventListener("change", paint);
paint();
