// Train: a file, a few options, curves that grow, a model to keep.

import { choose, download, get, notice, post, tried } from "./api.js";
import { chart, charts } from "./chart.js";
import { bytes, dropzone, facts, filePicker, h, save, show, table } from "./dom.js";

const pick = (name, label, values) => ({ name, label, values });
const figure = (name, label, value, min, max, step = 1) => ({ name, label, value, min, max, step });
const FAMILIES = {
  tagger: { title: "a tagger", panel: "tag", file: "columns: a token a line, its label last, a blank line between sentences", score: "held-out score",
    options: [pick("template", "features", ["auto", "chunking", "ner", "pos"]), figure("l1", "l1 penalty", 1, 0.001, 100, "any"), figure("passes", "passes", 30, 1, 200)] },
  classifier: { title: "a text classifier", panel: "classify", file: "documents: __label__NAME before each text, TSV, CSV or JSON lines", score: "", options: [] },
  lm: { title: "a language model", panel: "first", file: "text: a sentence a line, words between blanks", score: "held-out perplexity",
    options: [pick("kind", "kind", ["log-linear", "kneser-ney"]), figure("order", "longest n-gram", 4, 1, 8)] },
  reranker: { title: "a reranker", panel: "rerank", file: "n-best lists with references: JSON lines, blocks, Moses or SRILM", score: "held-out errors, %",
    options: [pick("learner", "learner", ["blasso", "boosting", "fslr"]), figure("steps", "steps", 2000, 1, 100000), pick("measure", "errors of", ["cer", "wer"])] },
  converter: { title: "a converter", panel: "type", file: "sentences of surface/reading tokens, one a line", score: "", options: [] },
};
const LINKS = { tagger: "tag", classifier: "classify", lm: "predict", reranker: "rerank", converter: "type", adapt: "type" };

export async function mount(root) {
  let family = "tagger";
  let content = null;
  let watching = false;
  let left = false;
  const chosen = h("span", { class: "note", id: "chosen" });
  const options = h("div", { class: "options" });
  const hint = h("p", { class: "note" });
  const curves = h("div", { id: "curves" });
  const status = h("p", { role: "status", id: "status" });
  const result = h("div", { id: "result" });
  const name = h("input", { type: "text", maxlength: 40, placeholder: "a name" });

  const fields = {};
  function setFamily(key) {
    family = key;
    const about = FAMILIES[key];
    hint.textContent = `The file holds ${about.file}. A tenth of it is kept aside to score.`;
    for (const old of Object.keys(fields)) delete fields[old];
    show(options,
      h("label", {}, "name", name),
      about.options.map((one) => h("label", {}, one.label, (fields[one.name] = one.values
        ? h("select", {}, one.values.map((value) => h("option", {}, value)))
        : h("input", { type: "number", value: String(one.value), min: one.min, max: one.max, step: one.step })))));
  }
  function take(text, file) {
    content = text;
    chosen.textContent = `${file}, ${bytes(new Blob([text]).size)}`;
    start.disabled = false;
  }

  const start = h("button", {
    type: "button", class: "main", disabled: true,
    onclick: tried(async () => {
      const values = Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.type === "number" ? Number(field.value) : field.value]));
      draw(await post("train", { family, text: content, name: name.value, ...values }));
      watch();
    }),
  }, "train");
  const stop = h("button", { type: "button", onclick: tried(async () => { await post("train/stop"); notice("stopping; the best so far is kept"); }) }, "stop and keep the best");
  const cancel = h("button", { type: "button", onclick: tried(async () => draw(await post("train/cancel"))) }, "cancel");

  function draw(state) {
    const running = state.state === "running";
    start.disabled = running || content === null;
    stop.hidden = cancel.hidden = !running;
    const column = (k) => state.points.map((point) => point[k]);
    const steps = column(0);
    const about = FAMILIES[state.family];
    if (state.state === "idle") return;
    status.textContent = { running: `training ${state.name}, ${state.seconds.toFixed(0)} s`, done: `${state.name} is ready, after ${state.seconds.toFixed(1)} s`, failed: state.message, cancelled: state.message || "cancelled" }[state.state];
    if (state.points.length && state.points.some((point) => point[1] !== null)) {
      show(curves, charts(chart("objective", steps, column(1)), chart("weights that are not zero", steps, column(2), { rank: "third" }),
        column(3).some((score) => score !== null) && chart(about?.score || "score", steps, column(3), { rank: "second" })));
    } else show(curves, running && h("progress", { "aria-label": "training" }));
    if (state.state !== "done") return show(result);
    show(result,
      facts({ ...state.result.facts, file: bytes(state.result.bytes) }),
      state.result.table && table(state.result.table.columns, state.result.table.rows),
      h("div", { class: "row" },
        h("button", { type: "button", class: "main", onclick: tried(async () => save(`${state.model}.epigram`, await download(`models/${encodeURIComponent(state.model)}/file`))) }, "download the model"),
        h("a", { href: `#${LINKS[state.family]}`, onclick: () => choose(about?.panel ?? "type", state.model) }, "try it")));
  }

  async function watch() {
    if (watching) return;
    watching = true;
    await tried(async () => {
      for (let state = { state: "running" }; state.state === "running" && !left;) {
        await new Promise((done) => setTimeout(done, 200));
        state = await get("train");
        draw(state);
      }
    })();
    watching = false;
  }

  const families = h("fieldset", {}, h("legend", {}, "What to train"), h("div", { class: "choices" }, Object.entries(FAMILIES).map(([key, one]) =>
    h("label", {}, h("input", { type: "radio", name: "family", value: key, checked: key === family, onchange: () => setFamily(key) }), one.title))));
  show(root, dropzone(h("div", {},
    h("h1", {}, "Train on a file of your own"),
    h("p", { class: "lead" }, "Drop a file here. It stays on this machine, in a private folder that goes when the training ends."),
    families, hint,
    h("div", { class: "row" }, filePicker("open a file", take),
      h("button", { type: "button", onclick: tried(async () => take((await get("train/sample", { family })).text, "sample file")) }, "use the sample file"), chosen),
    options,
    h("div", { class: "row" }, start, stop, cancel), status, curves, result), take));
  setFamily(family);
  const state = await get("train");
  draw(state);
  if (state.state === "running") watch();
  return () => (left = true);
}
