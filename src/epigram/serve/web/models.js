// Models: what is loaded, what each was made of, and every weight of it.

import { download, get, tried } from "./api.js";
import { chart, charts } from "./chart.js";
import { bytes, h, later, number, save, show } from "./dom.js";

const PAGE = 25;

export async function mount(root, list) {
  const detail = h("div", {});
  const rows = list.map((one) => h("tr", { class: "pick", "aria-selected": "false" },
    h("td", { class: "text" }, h("button", { type: "button", class: "link", onclick: () => open(one.name) }, one.name)),
    h("td", { class: "wide-only" }, one.kind), h("td", { class: "note" }, one.note === one.family ? one.origin : one.note), h("td", { class: "number" }, bytes(one.bytes))));
  rows.forEach((row, k) => row.addEventListener("click", (event) => event.target.closest("button") || open(list[k].name)));

  let latest;
  const open = tried(async (name) => {
    latest = name;
    rows.forEach((row, k) => row.setAttribute("aria-selected", String(list[k].name === name)));
    const one = await get(`models/${encodeURIComponent(name)}`);
    if (name !== latest) return;
    show(detail,
      h("h1", {}, one.name), h("p", { class: "lead" }, `${one.kind}, ${bytes(one.bytes)}, written by epigram ${one.epigram}. `,
        h("button", { type: "button", class: "link", onclick: tried(async () => save(`${one.name}.epigram`, await download(`models/${encodeURIComponent(one.name)}/file`))) }, "download")),
      h("div", { class: "two" }, h("div", {}, h("h2", {}, "Fit"), listed(one.fit)), h("div", {}, h("h2", {}, "Settings"), listed(one.settings))),
      curves(one),
      h("h2", {}, "All weights"), weights(one));
  });
  show(root,
    h("h1", {}, "Models"),
    h("p", { class: "lead" }, "Programs ask them under ", h("a", { href: "/v1/openapi.json" }, "/v1"), "."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "models" },
      h("table", {}, h("thead", {}, h("tr", {}, ["name", "kind", "what for"].map((name) => h("th", { scope: "col", class: name === "kind" && "wide-only" }, name)), h("th", { scope: "col", class: "number" }, "size"))), h("tbody", {}, rows))),
    h("div", { id: "detail" }, detail));
  if (list.length) await open(list[0].name);
}

function listed(record) {
  const plain = Object.entries(record).filter(([, value]) => value !== null && typeof value !== "object");
  return h("table", {}, h("tbody", {}, plain.map(([name, value]) => h("tr", {}, h("td", { class: "note" }, name.replaceAll("_", " ")), h("td", { class: "number" }, number(value))))));
}

function curves(one) {
  const path = one.sections.path;
  if (one.history.length > 1) {
    const steps = one.history.map((entry) => entry.iteration);
    return [h("h2", {}, "How it was trained"), charts(
      chart("objective", steps, one.history.map((entry) => entry.objective)),
      chart("weights that are not zero", steps, one.history.map((entry) => entry.nonzero), { rank: "third" }),
      "dev_score" in one.history[0] && chart("held-out score", steps, one.history.map((entry) => entry.dev_score), { rank: "second" }))];
  }
  if (!path) return null;
  const steps = path.map((row) => row.step);
  return [h("h2", {}, "Its path"), charts(chart("loss", steps, path.map((row) => row.loss)), chart("weights that are not zero", steps, path.map((row) => row.nonzero), { rank: "third" }),
    chart("held-out errors", steps, path.map((row) => row.dev_errors), { rank: "second" }))];
}

function weights(one) {
  const state = { q: "", order: "size", first: 0 };
  const place = h("div", { id: "weights" }, h("p", { class: "note", role: "status" }, "loading the weights …"));
  let latest = 0;
  const load = tried(async () => {
    const mine = ++latest;
    place.setAttribute("aria-busy", "true");
    const page = await get(`models/${encodeURIComponent(one.name)}/weights`, { ...state, count: PAGE }).finally(
      () => mine === latest && place.removeAttribute("aria-busy"));
    if (mine !== latest) return;
    const last = Math.min(page.total, state.first + PAGE);
    const turn = (step) => { state.first += step; load(); };
    show(place,
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "weights" }, h("table", {},
        h("thead", {}, h("tr", {}, page.columns.map((name, k) => h("th", { scope: "col", class: k === page.columns.length - 1 && "number" }, name)))),
        h("tbody", {}, page.rows.map((row) => h("tr", {}, row.map((cell, k) => h("td", { class: k === row.length - 1 ? "number" : "code" }, k === row.length - 1 ? cell.toFixed(4) : cell === "" ? "·" : cell))))))),
      h("div", { class: "row" },
        h("button", { type: "button", disabled: state.first === 0, onclick: () => turn(-PAGE) }, "before"),
        h("button", { type: "button", disabled: last >= page.total, onclick: () => turn(PAGE) }, "after"),
        h("span", { class: "note" }, page.total ? `${number(state.first + 1)} to ${number(last)} of ${number(page.total)}` : "none")));
  });
  const search = later(() => { state.first = 0; load(); }, 200);
  load();
  return h("div", {},
    h("div", { class: "row" },
      h("input", { type: "search", placeholder: "search", "aria-label": "search weights", oninput: (event) => { state.q = event.target.value; search(); } }),
      h("select", { "aria-label": "order of weights", onchange: (event) => { state.order = event.target.value; search(); } },
        [["size", "strongest first"], ["largest", "largest first"], ["smallest", "smallest first"]].map(([value, label]) => h("option", { value, selected: value === state.order }, label)))),
    place);
}
