// Small line charts: one quantity over steps, its last value beside its name.

import { h, number, s } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 110;
const LEFT = 6;
const TOP = 20;

export function chart(name, xs, ys, { at = null, rank = "" } = {}) {
  const points = xs.map((x, k) => [x, ys[k]]).filter(([, y]) => y !== null && y !== undefined && Number.isFinite(y));
  const last = points.length ? (at ?? points.at(-1)[0]) : null;
  const [low, high] = points.reduce(([a, b], [, y]) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
  const [first, end] = points.length ? [points[0][0], points.at(-1)[0]] : [0, 1];
  const place = ([x, y]) => [
    LEFT + ((WIDTH - 2 * LEFT) * (x - first)) / (end - first || 1),
    TOP + (HEIGHT - TOP - 16) * (1 - (y - low) / (high - low || 1)),
  ];
  const nearest = points.reduce((best, point) => (best === null || Math.abs(point[0] - last) < Math.abs(best[0] - last) ? point : best), null);
  const line = points.map((point, k) => `${k ? "L" : "M"}${place(point).map((v) => v.toFixed(1)).join(" ")}`).join("");
  const told = nearest ? `${name}: ${number(nearest[1])} at step ${number(nearest[0])}` : `${name}: nothing yet`;
  const drawn = s("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": told },
    s("line", { class: "axis", x1: LEFT, x2: WIDTH - LEFT, y1: HEIGHT - 14, y2: HEIGHT - 14 }),
    s("text", { x: LEFT, y: 12 }, name),
    nearest && s("text", { x: WIDTH - LEFT, y: 12, "text-anchor": "end", class: "now" }, number(nearest[1])),
    points.length > 1 && s("g", { class: rank }, s("path", { d: line })),
    nearest && s("circle", { class: "dot", r: 2.6, cx: place(nearest)[0], cy: place(nearest)[1] }),
    points.length > 0 && s("text", { x: LEFT, y: HEIGHT - 2 }, number(first)),
    points.length > 1 && s("text", { x: WIDTH - LEFT, y: HEIGHT - 2, "text-anchor": "end" }, number(end)));
  return drawn;
}

export const charts = (...all) => h("div", { class: "charts" }, all);

export function terms(rows) {
  const most = Math.max(...rows.map((row) => Math.abs(row.value)), 1e-9);
  return h("ul", { class: "terms" }, rows.map((row) =>
    h("li", { class: row.value < 0 && "minus" },
      h("span", { class: "code" }, row.name, row.note && h("span", { class: "note" }, ` ${row.note}`)),
      h("span", { class: "bar", "--size": Math.abs(row.value) / most }),
      h("span", { class: "value" }, `${row.value < 0 ? "−" : "+"}${Math.abs(row.value).toFixed(2)}`))));
}
