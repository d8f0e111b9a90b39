// Rerank: lists from a file, a slider along the path of a lasso, which candidate wins at each step, and why.

import { choice, choose, get, modelChoice, post, tried } from "./api.js";
import { chart, charts, terms } from "./chart.js";
import { dropzone, filePicker, h, later, number, show } from "./dom.js";

const COLOURS = [8, 210, 140, 45, 285, 175, 325, 95];

export async function mount(root, list) {
  let text = (await get("rerank/example")).text;
  let path = null;
  let step = 0;
  let index = 0;
  let source = "example lists";
  const curves = h("div", {});
  const figures = h("div", { id: "figures" });
  const slider = h("input", { type: "range", min: 0, max: 1, step: 1, "aria-label": "step of the path", id: "slider", oninput: () => { step = Number(slider.value); drawCurves(); askLater(); } });
  const which = h("select", { "aria-label": "list", onchange: () => { index = Number(which.value); along(); ask(); } });
  const runs = h("div", { class: "runs", role: "img", id: "runs" });
  const ranking = h("div", { id: "ranking" });
  const why = h("div", { "aria-live": "polite" });
  const name = h("span", { class: "note" });

  const openModel = tried(async () => {
    path = await post("rerank/path", { model: choice("rerank") });
    slider.max = path.last;
    slider.value = step = path.chosen;
    drawCurves();
    await openLists();
  });
  const openLists = tried(async () => {
    index = 0;
    name.textContent = source;
    const first = await post("rerank", { model: choice("rerank"), text, step });
    index = Math.max(0, first.lists.findIndex((one) => one.winner !== one.base && one.texts[one.winner] === one.reference));
    await ask();
    await along();
  });

  function drawCurves() {
    const at = { at: step };
    slider.setAttribute("aria-valuetext", `step ${step} of ${path.last}`);
    show(curves, charts(
      chart("loss on the training lists", path.steps, path.loss, at),
      chart("L1 norm", path.steps, path.norm, at),
      chart("weights that are not zero", path.steps, path.weights, at),
      chart("held-out errors, %", path.steps, path.dev_error, { ...at, rank: "second" })));
  }

  const ask = tried(async () => {
    const body = { model: choice("rerank"), text, step };
    const answer = await post("rerank", body);
    if (which.options.length !== answer.lists.length || which.dataset.source !== source) {
      which.dataset.source = source;
      show(which, answer.lists.map((one, k) => h("option", { value: String(k) }, `list ${one.id}`)));
    }
    which.value = String(index);
    const right = answer.lists.filter((one) => one.reference !== null && one.texts[one.winner] === one.reference).length;
    show(figures, h("dl", { class: "facts" }, Object.entries({
      step: `${number(step)} of ${number(path.last)}`, lists: answer.lists.length, ...(answer.error_rate !== null && { "errors, %": Number(answer.error_rate.toFixed(2)), "before, %": Number(answer.base_error_rate.toFixed(2)), "all right": right }),
    }).map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, number(value))))));
    const one = answer.lists[index];
    const order = one.texts.map((_, k) => k).sort((a, b) => one.scores[b] - one.scores[a]);
    show(ranking, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "candidate"), h("th", { scope: "col", class: "number" }, "score"))),
      h("tbody", {}, order.map((k) => h("tr", { class: k === one.winner ? "wins" : "" },
        h("td", { class: "text" }, h("span", { class: "dot", "--hue": COLOURS[k % 8] }), " ", one.texts[k], one.texts[k] === one.reference && h("span", { class: "note" }, " ✓ right")),
        h("td", { class: "number" }, one.scores[k].toFixed(2)))))));
    const told = await post("explain", { ...body, index });
    show(why, told.winner === told.base
      ? h("p", { class: "note" }, "The first guess of the base model still wins.")
      : [h("h2", {}, `Ahead of the base model's choice by ${told.lead.toFixed(2)}`), terms(told.terms.slice(0, 10).map((term) => ({ name: term.feature, value: term.lift })))]);
  });
  const askLater = later(ask, 40);

  const along = tried(async () => {
    const answer = await post("rerank/along", { model: choice("rerank"), text, index });
    runs.setAttribute("aria-label", answer.runs.map((run) => `from step ${run.from}: ${answer.texts[run.winner]}`).join("; "));
    show(runs, answer.runs.map((run, k) => h("i", {
      "--share": Math.max((answer.runs[k + 1]?.from ?? path.last + 1) - run.from, path.last / 200), "--hue": COLOURS[run.winner % 8], title: `from step ${run.from}: ${answer.texts[run.winner]}`,
    })));
  });

  const take = (content, file) => { text = content; source = file; openLists(); };
  choose("rerank", choice("rerank") ?? list[0].name);
  show(root, dropzone(h("div", {},
    h("h1", {}, "Rerank lists along a path"),
    h("p", { class: "lead" }, "A lasso adds weights step by step. Drag along its path and see which candidate wins, and when that changes."),
    h("div", { class: "row" }, list.length > 1 && modelChoice(list, "rerank", openModel, "reranker"), filePicker("open an n-best file", take), name),
    curves, slider,
    h("div", { class: "side" },
      h("div", {}, figures, h("div", { class: "row" }, h("label", {}, "show ", which)), h("p", { class: "note" }, "Who wins along the path:"), runs, ranking), why)), take));
  await openModel();
}
