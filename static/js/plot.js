/* Draws [data-plot] from the figures in [data-plots]; the tables beside say the same. Needs uPlot. */
(() => {
  "use strict";
  const drawn = new Map();
  const HEIGHT = 180, PADDING = 24;
  const colour = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
  // light-dark() stays unresolved in a variable; an element that uses it gives the colour itself
  function ink(name) {
    const probe = document.createElement("i");
    probe.hidden = true;
    probe.className = "plot-ink";
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }
  const soft = (rgb, share) => rgb.replace("rgb(", "rgba(").replace(")", `, ${share})`);
  const locale = document.documentElement.lang || undefined;
  const number = (value) => (value == null ? "–" : value.toLocaleString(locale, { maximumFractionDigits: 1 }));

  // a label at the right edge is left out rather than cut off; a letter of 12 px is about 7 px wide
  function fitting(plot, at, label) {
    const end = plot.bbox.width / devicePixelRatio + PADDING;
    return at > plot.data[0].at(-1) || plot.valToPos(at, "x") + label.length * 3.5 > end ? "" : label;
  }
  function options(kind, width, words, lone) {
    const text = ink("text-3"), line = ink("line"), accent = ink("accent-ink"), green = ink("green");
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: `12px ${colour("--sans")}` };
    const bars = kind === "month" ? { paths: uPlot.paths.bars({ size: [0.7, 24], align: 1 }) } : { paths: uPlot.paths.stepped({ align: 1 }) };
    const tick = new Intl.DateTimeFormat(locale, kind === "month" ? { day: "numeric", month: "short", timeZone: "UTC" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const when = new Intl.DateTimeFormat(locale, kind === "month" ? { dateStyle: "medium", timeZone: "UTC" } : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    return {
      width, height: HEIGHT,
      padding: [8, PADDING, 0, 0],
      legend: { live: true },
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      tzDate: kind === "month" ? (ts) => uPlot.tzDate(new Date(ts * 1000), "UTC") : undefined,
      scales: { x: { range: (_, first, last) => [first, last + (kind === "month" ? 86400 : 600)] }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
      axes: [
        { ...axis, grid: { show: false }, size: 28, space: 64, values: (plot, at) => at.map((one) => fitting(plot, one, tick.format(one * 1000))) },
        { ...axis, size: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
      ],
      series: [
        { label: words.at, value: (_, at) => (at == null ? "" : when.format(at * 1000)) },
        { label: words.used, stroke: accent, fill: soft(accent, 0.25), width: 1.5, points: { show: lone }, value: (_, v) => number(v), ...bars },
        { label: words.gpus, stroke: text, width: 1, dash: [4, 3], points: { show: false }, value: (_, v) => number(v), paths: uPlot.paths.stepped({ align: 1 }) },
        ...(kind === "day" ? [{ label: words.nodes, stroke: green, width: 1.5, points: { show: false }, value: (_, v) => number(v), paths: uPlot.paths.stepped({ align: 1 }) }] : []),
      ],
    };
  }
  function draw() {
    for (const [element, plot] of drawn) {
      if (!element.isConnected) { plot.destroy(); drawn.delete(element); }
    }
    for (const holder of document.querySelectorAll("[data-plots]")) {
      const data = JSON.parse(holder.dataset.plots), words = JSON.parse(holder.dataset.words);
      for (const element of holder.querySelectorAll("[data-plot]")) {
        const kind = element.dataset.plot, { at, used, gpus, nodes } = data[kind];
        drawn.get(element)?.destroy();
        drawn.delete(element);
        const seen = used.filter((value) => value != null).length;
        if (!seen) {
          element.replaceChildren(Object.assign(document.createElement("p"), { className: "muted", textContent: words.nothing }));
          continue;
        }
        element.replaceChildren();
        // of a single value a line shows nothing, a point does
        drawn.set(element, new uPlot(options(kind, element.clientWidth, words, kind === "day" && seen === 1), [at, used, gpus, ...(kind === "day" ? [nodes] : [])], element));
      }
    }
  }
  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(draw, 100); };
  addEventListener("resize", () => { for (const [element, plot] of drawn) plot.setSize({ width: element.clientWidth, height: HEIGHT }); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  new MutationObserver(later).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  document.addEventListener("htmx:afterSettle", ({ target }) => target.querySelector?.("[data-plots]") && draw());
  draw();
})();
