// Plots, drawn by Chart.js. Each has a text for those who do not see it, and is drawn again for another colour scheme
// or paper.

const plots = new Set();
const COLOURS = ["--text", "--quiet", "--line", "--ground", "--accent", "--good", "--bad", "--doubt"];

/** The colours of the style sheet as the present scheme has them. */
function schemeColours() {
  const probe = element("span");
  document.body.append(probe);
  const colours = {};
  for (const name of COLOURS) {
    probe.style.color = `var(${name})`;
    colours[name.slice(2)] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

/** Draws the intervals of points that have `low` and `high`, as lines with ends. */
const intervals = {
  id: "intervals",
  afterDatasetsDraw(chart) {
    const {ctx, scales} = chart;
    for (const [index, set] of chart.data.datasets.entries()) {
      if (!chart.isDatasetVisible(index)) continue;
      for (const point of set.data) {
        if (point?.low === undefined || point.low === null) continue;
        const x = scales.x.getPixelForValue(point.x);
        const low = scales.y.getPixelForValue(point.low), high = scales.y.getPixelForValue(point.high);
        ctx.save();
        ctx.strokeStyle = set.borderColor;
        ctx.lineWidth = 1.5;
        ctx.beginPath();
        for (const y of [low, high]) {
          ctx.moveTo(x - 3, y);
          ctx.lineTo(x + 3, y);
        }
        ctx.moveTo(x, low);
        ctx.lineTo(x, high);
        ctx.stroke();
        ctx.restore();
      }
    }
  },
};

/**
 * A plot. `makeSettings(colours)` gives type, data and scales for Chart.js; `says` is what the plot shows, in words.
 * drawPlots() draws it once it is in the page.
 */
function makePlot(says, makeSettings) {
  const canvas = element("canvas", {role: "img", "aria-label": visible(says)});
  const frame = element("div", {class: "plot"}, canvas);
  const plot = {frame, chart: null};
  plot.draw = () => {
    plot.chart?.destroy();
    const colours = schemeColours();
    const {scales, legend = true, ...settings} = makeSettings(colours);
    const axis = {grid: {color: colours.line}, ticks: {color: colours.quiet}, border: {color: colours.line}};
    for (const name of Object.keys(scales)) {
      const title = scales[name].text ? {display: true, text: scales[name].text, color: colours.quiet} : {};
      scales[name] = {...axis, ...scales[name], ticks: {...axis.ticks, ...scales[name].ticks}, title};
    }
    settings.options = {animation: false, responsive: true, maintainAspectRatio: false, ...settings.options, scales};
    settings.options.plugins = {
      legend: {display: legend, labels: {color: colours.text, usePointStyle: true, boxHeight: 6}},
      ...settings.options.plugins
    };
    settings.plugins = [intervals];
    plot.chart = new Chart(canvas, settings);
  };
  plots.add(plot);
  return frame;
}

/** Draws the plots of the page again. Those of the overview are kept for when it comes back, others are forgotten. */
function drawPlots() {
  for (const plot of plots) {
    if (plot.frame.isConnected) {
      plot.draw();
      continue;
    }
    plot.chart?.destroy();
    plot.chart = null;
    if (!overview?.contains(plot.frame)) plots.delete(plot);
  }
}

/** Paper is light, and has a width of its own. */
function preparePaper() {
  document.documentElement.style.colorScheme = "light";
  drawPlots();
  for (const plot of plots) plot.chart?.resize(Math.min(plot.frame.clientWidth, 640), 220);
}
function leavePaper() {
  document.documentElement.style.colorScheme = chosenScheme;
  drawPlots();
}
window.addEventListener("beforeprint", preparePaper);
window.addEventListener("afterprint", leavePaper);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPlots);

/** The scheme that was chosen with the button: "" is that of the system. */
let chosenScheme = "";
function makeSchemeButton() {
  const names = {"": "Scheme: system", light: "Scheme: light", dark: "Scheme: dark"};
  const button = element("button", {type: "button", id: "scheme"}, names[chosenScheme]);
  button.addEventListener("click", () => {
    const order = Object.keys(names);
    chosenScheme = order[(order.indexOf(chosenScheme) + 1) % order.length];
    document.documentElement.style.colorScheme = chosenScheme;
    button.textContent = names[chosenScheme];
    drawPlots();
  });
  return button;
}

/** One point for each number of a list of pairs, as a line. */
function linePlot(says, points, label, x, y) {
  return makePlot(says, (colours) => ({
                          type: "line",
                          data: {
                            datasets: [{
                              label,
                              data: points.map(([px, py]) => ({x: px, y: py})),
                              borderColor: colours.accent,
                              backgroundColor: colours.accent,
                              pointRadius: 0,
                              pointHitRadius: 8,
                              borderWidth: 2
                            }]
                          },
                          legend: false,
                          options: {interaction: {mode: "nearest", axis: "x", intersect: false}},
                          scales: {x: {type: "linear", ...x}, y: {type: "linear", ...y}},
                        }));
}

/** Horizontal or vertical bars with their names. */
function barPlot(says, names, values, label, {horizontal = false, text = "", colour = "accent", max = undefined} = {}) {
  return makePlot(says, (colours) => ({
                          type: "bar",
                          data: {
                            labels: names.map(visible),
                            datasets: [{label, data: values, backgroundColor: colours[colour], maxBarThickness: 36}]
                          },
                          legend: false,
                          options: {indexAxis: horizontal ? "y" : "x"},
                          scales: {
                            [horizontal ? "y" : "x"]: {grid: {display: false}, ticks: {autoSkip: false}},
                            [horizontal ? "x" : "y"]: {beginAtZero: true, text, max},
                          },
                        }));
}
