// Draws each chart out of the table below it: the table is what is read, the chart is what is seen at a glance.
"use strict";
(() => {
  const HEIGHT = 220;
  const drawn = new Map();

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function read(figure) {
    const isTime = figure.dataset.time === "day";
    const rows = [...document.querySelectorAll(`#${figure.dataset.table} tbody tr[data-values]`)];
    if (isTime) rows.reverse(); // the table begins with the newest
    const labels = rows.map((row) => row.dataset.label);
    const names = figure.dataset.series.split("|");
    const series = names.map((_, at) =>
      rows.map((row) => {
        const text = row.dataset.values.split(" ")[at];
        return text === "" || text === undefined ? null : Number(text);
      }),
    );
    const xs = labels.map((label, at) => (isTime ? Date.parse(`${label}T00:00:00Z`) / 1000 : at));
    return { labels, names, series, xs, isTime };
  }

  // As much of each label as its share of the width holds.
  function fitted(labels, width) {
    const most = Math.max(2, Math.floor((width - 80) / labels.length / 9.5));
    return labels.map((label) => (label.length > most ? `${label.slice(0, most - 1)}…` : label));
  }

  function draw(figure) {
    drawn.get(figure)?.destroy();
    figure.replaceChildren();
    const { labels, names, series, xs, isTime } = read(figure);
    if (!xs.length) return;
    const ink = color("--ink-quiet");
    const grid = { stroke: color("--line"), width: 1 };
    const hues = [color("--chart-1"), color("--chart-2")];
    const day = 86400;
    const span = isTime
      ? [xs[0] - day, xs[xs.length - 1] + day]
      : [-0.75, xs.length - 0.25];
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const options = {
      width: Math.max(figure.clientWidth, 200),
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      cursor: { drag: { x: false, y: false } },
      scales: {
        x: { time: isTime, range: span },
        y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] },
      },
      axes: [
        {
          stroke: ink,
          font,
          grid,
          ticks: grid,
          ...(isTime
            ? { values: (_, marks) => marks.map((one) => new Date(one * 1000).toISOString().slice(5, 10)), incrs: [1, 2, 7, 14, 30, 91, 365].map((n) => n * day) }
            : { splits: () => xs, values: () => fitted(labels, figure.clientWidth), gap: 6 }),
        },
        { stroke: ink, font, grid, ticks: grid, size: 72, values: (_, marks) => marks.map(number) },
      ],
      series: [
        { label: isTime ? "day" : "group", value: (_, x, __, at) => (at === null ? "–" : labels[at]) },
        ...names.map((name, at) => ({
          label: name,
          stroke: hues[at],
          fill: at === 0 ? `${hues[at]}` : undefined,
          width: 1,
          points: { show: at > 0, size: 7, fill: hues[at] },
          paths: at === 0 ? uPlot.paths.bars({ size: [0.6, 64], align: 0 }) : () => null,
          value: (_, one) => (one === null ? "–" : number(one)),
        })),
      ],
    };
    drawn.set(figure, new uPlot(options, [xs, ...series], figure));
  }

  function number(value) {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value);
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
    return size > 0 && size < 1 ? `${+value.toPrecision(3)}` : `${+value.toFixed(2)}`;
  }

  function all() {
    for (const figure of document.querySelectorAll("figure.chart")) draw(figure);
  }

  let waiting = 0;
  new ResizeObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(all, 100);
  }).observe(document.getElementById("main"));
  document.addEventListener("theme", all);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  all();
})();
