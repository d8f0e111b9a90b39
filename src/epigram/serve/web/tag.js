// Tag: spans in colour, doubt as a shade, reasons on a click, corrections to keep or to learn.

import { choice, choose, fetchFile, modelChoice, notice, post, tried } from "./api.js";
import { terms } from "./chart.js";
import { dropzone, filePicker, h, hue, later, percent, save, show } from "./dom.js";

const EXAMPLE = "The cook tasted the soup before the guests waited.\nShe did not paint the old boat, but the sailors washed it.";

const COLUMNS = "The DT\ncook NN\ntasted VBD\nthe DT\nsoup NN\n. .";
const EXAMPLES = ["", EXAMPLE, COLUMNS];

// Sentences of models that read several columns: a token a line, a blank line between sentences.
const readColumns = (text) => text.trim().split(/\n\s*\n/).map((block) => block.split("\n").filter((line) => line.trim()).map((line) => line.trim().split(/\s+/)));

export async function mount(root, list) {
  let found = [];
  let picked = null; // [sentence, token]
  const corrected = new Map();
  const results = h("div", { id: "results" });
  const why = h("div", { "aria-live": "polite", id: "why" });
  const others = h("div", {});
  const kept = h("div", { id: "corrected" });
  const model = () => list.find((one) => one.name === choice("tag"));
  const labels = () => model()?.labels ?? [];
  const text = h("textarea", { rows: 3, "aria-label": "text to tag, a sentence a line", autofocus: true, oninput: () => tagLater() });

  const tag = tried(async () => {
    const columns = model()?.columns ?? 1;
    if (text.value && EXAMPLES.includes(text.value)) text.value = EXAMPLES[columns] ?? "";
    const input = columns === 1 ? { text: text.value } : { sentences: readColumns(text.value) };
    const answer = await post("tag", { model: choice("tag"), ...input, marginals: true, nbest: 4 });
    found = answer.sentences.map((one, k) => ({ ...one, rows: input.sentences?.[k] ?? one.tokens })).filter((one) => one.tokens.length);
    picked = null;
    corrected.clear();
    draw();
  });
  const tagLater = later(tag, 200);

  function draw() {
    show(results, found.map((one, k) => sentence(one, k)));
    show(why, picked ? [] : h("p", { class: "note" }, "Click a word to see what speaks for its label, and to change it."));
    if (picked) explain(...picked);
    else show(others);
    drawKept();
  }

  function sentence(one, k) {
    const now = corrected.get(k) ?? one.labels;
    const same = !corrected.has(k);
    const spans = same ? one.spans : [];
    const parts = [];
    for (let t = 0; t < one.tokens.length;) {
      const span = spans.find((each) => each.start === t) ?? { start: t, end: t + 1, label: same ? "" : now[t], probability: null };
      parts.push(h("span", { class: span.label && span.label !== "O" ? "span tinted" : "span", "--hue": hue(span.label.replace(/^[A-Z]-/, "")) },
        h("span", { class: "tokens" }, one.tokens.slice(span.start, span.end).map((word, j) => token(one, k, span.start + j, word, now))),
        h("span", { class: "label" }, span.label || "\u00a0", span.probability !== null && span.label && ` ${percent(span.probability)}`)));
      t = span.end;
    }
    return h("div", { class: "sentence", role: "group", "aria-label": `sentence ${k + 1}` }, parts);
  }

  function token(one, k, t, word, now) {
    const p = one.marginals[t][one.labels[t]] ?? 0;
    return h("button", {
      type: "button", class: "token", "--doubt": Math.min(1, 1.3 * (1 - p)).toFixed(3),
      "aria-pressed": String(picked?.[0] === k && picked?.[1] === t), title: `${now[t]} ${percent(p)}`, "aria-label": `${word}, ${now[t]}`,
      onclick: () => { picked = [k, t]; draw(); results.querySelector('[aria-pressed="true"]')?.focus(); },
    }, word);
  }

  async function explain(k, t) {
    const one = found[k];
    const now = corrected.get(k) ?? one.labels;
    const change = h("select", {
      "aria-label": `label of ${one.tokens[t]}`,
      onchange: () => {
        const next = [...(corrected.get(k) ?? one.labels)];
        next[t] = change.value;
        if (next.every((label, j) => label === one.labels[j])) corrected.delete(k);
        else corrected.set(k, next);
        draw();
      },
    }, labels().map((label) => h("option", { value: label, selected: label === now[t] }, label)));
    const marginals = Object.entries(one.marginals[t]).sort((a, b) => b[1] - a[1]).slice(0, 5).filter(([, p]) => p > 0.001);
    const reasons = h("div", {});
    show(why,
      h("h2", {}, `“${one.tokens[t]}”`),
      h("div", { class: "row" }, h("label", {}, "should be ", change)),
      h("p", { class: "note" }, marginals.map(([label, p]) => `${label} ${percent(p)}`).join(" · ")),
      reasons);
    show(others,
      h("h2", {}, "Other readings of the sentence"),
      h("ul", { class: "terms" }, one.nbest.map((way) => h("li", {},
        h("span", { class: "code" }, way.labels.map((label, j) => (label === one.nbest[0].labels[j] && way !== one.nbest[0] ? "·" : label)).join(" ")),
        h("span", { class: "bar", "--size": way.probability }), h("span", { class: "value" }, percent(way.probability))))),
      h("h2", {}, "Probabilities of the labels, word by word"),
      heat(one));
    await tried(async () => {
      const told = await post("explain", { model: choice("tag"), sentence: one.rows, token: t });
      if (told.other === null) return show(reasons, h("p", { class: "note" }, "No other label is possible here."));
      show(reasons,
        h("h2", {}, `${told.label} rather than ${told.other}: ahead by ${told.lead.toFixed(2)}`),
        terms(told.terms.slice(0, 12).map((term) => ({ name: term.meaning, note: `${term.label}${term.token === t ? "" : ` at “${one.tokens[term.token]}”`}`, value: term.lift }))));
    })();
  }

  function heat(one) {
    const used = labels().filter((label) => one.marginals.some((token) => (token[label] ?? 0) > 0.01));
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "probabilities" }, h("table", { class: "heat" },
      h("thead", {}, h("tr", {}, h("td", {}), used.map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, one.tokens.map((word, j) => h("tr", {}, h("th", { scope: "row", class: "text" }, word),
        used.map((label) => { const p = one.marginals[j][label] ?? 0; return h("td", { "--p": (0.5 * p).toFixed(3) }, p > 0.005 ? p.toFixed(2) : ""); }))))));
  }

  function drawKept() {
    if (!corrected.size) return show(kept);
    const conll = () => [...corrected].map(([k, now]) => found[k].rows.map((row, j) => `${[row, now[j]].flat().join("\t")}\n`).join("")).join("\n");
    show(kept,
      h("h2", {}, `${corrected.size} corrected sentence${corrected.size > 1 ? "s" : ""}`),
      h("div", { class: "row" },
        h("button", { type: "button", onclick: () => save("corrected.conll", conll()) }, "download as CoNLL"),
        h("button", {
          type: "button", class: "main",
          onclick: tried(async () => {
            let n = 0;
            for (const [k, now] of corrected) n = (await post("tag/learn", { model: choice("tag"), sentence: found[k].rows, labels: now })).learnt;
            notice(`learnt; ${n} sentence${n > 1 ? "s" : ""} in this session`);
            await tag();
          }),
        }, "learn at once")));
  }

  const learnt = h("div", { class: "row" },
    h("button", { type: "button", onclick: tried(async () => save(`${choice("tag")}.epigram`, await fetchFile("tag/model", { model: choice("tag") }))) }, "download the model"),
    h("button", { type: "button", onclick: tried(async () => { await post("tag/forget", { model: choice("tag") }); notice("forgotten"); await tag(); }) }, "forget what it learnt here"));
  text.value = EXAMPLE;
  choose("tag", choice("tag") ?? list[0].name);
  show(root,
    h("h1", {}, "Tag text"),
    h("p", { class: "lead" }, "A sentence a line. A word's red underline is the model's doubt."),
    dropzone(text, (content) => { text.value = content; tag(); }),
    h("div", { class: "row" }, modelChoice(list, "tag", tag, "tagger"), filePicker("open a file", (content) => { text.value = content; tag(); })),
    h("div", { class: "side" }, h("div", {}, results, kept, others), why),
    h("details", {}, h("summary", {}, "What it learnt here"), h("p", { class: "note" }, "Corrections are learnt for this tab alone; the model that others see stays as it is."), learnt));
  await tag();
}
