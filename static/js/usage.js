/* Draws [data-usage], a bar for each day; the table beside says the same. Needs uPlot. */
(() => {
  "use strict";
  const HEIGHT = 200, drawn = new Map();
  const locale = document.documentElement.lang || undefined;
  const number = (value, digits = 1) => (value == null ? "–" : value.toLocaleString(locale, { maximumFractionDigits: digits }));
  const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" });
  const whole = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
  const FONT = getComputedStyle(document.body).getPropertyValue("--sans").trim();
  // light-dark() stays unresolved in a variable; an element that uses it gives the colour itself
  function ink(name) {
    const probe = document.createElement("i");
    probe.hidden = true;
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }
  function options(width, words, kind) {
    const text = ink("text-3"), line = ink("line"), colour = ink(kind === "cost" ? "green" : "accent-ink");
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: `12px ${FONT}` };
    return {
      width, height: HEIGHT, padding: [8, 24, 0, 0],
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "UTC"),
      scales: { x: { range: (_, first, last) => [first, last + 86400] }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
      axes: [
        { ...axis, grid: { show: false }, size: 28, space: 64, values: (plot, at) => at.map((one) => (one > plot.data[0].at(-1) ? "" : day.format(one * 1000))) },
        { ...axis, size: 56, values: (_, at) => at.map((one) => number(one, 2)) },
      ],
      series: [
        { label: words.at, value: (_, at) => (at == null ? "" : whole.format(at * 1000)) },
        { label: words[kind], stroke: colour, fill: colour.replace("rgb(", "rgba(").replace(")", ", 0.25)"), width: 1.5, points: { show: false }, paths: uPlot.paths.bars({ size: [0.7, 24], align: 1 }), value: (_, v) => number(v) },
      ],
    };
  }
  function draw() {
    for (const element of document.querySelectorAll("[data-usage]")) {
      const holder = element.closest("[data-figures]");
      const data = JSON.parse(holder.dataset.figures), words = JSON.parse(holder.dataset.words), kind = element.dataset.usage;
      drawn.get(element)?.destroy();
      element.replaceChildren();
      drawn.set(element, new uPlot(options(element.clientWidth, words, kind), [data.at, data[kind]], element));
    }
  }
  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(draw, 100); };
  addEventListener("resize", () => { for (const [element, plot] of drawn) plot.setSize({ width: element.clientWidth, height: HEIGHT }); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  new MutationObserver(later).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  draw();
})();
