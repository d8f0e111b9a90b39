// The page of one model: loads it in a worker, and mounts the panel of its family.

import { load } from "./epigram.mjs";

const { model: FILE, name: NAME, family: FAMILY } = document.body.dataset;
const main = document.getElementById("main");
const WORDS = /[\p{L}\p{N}_]+(?:[-'’.,][\p{L}\p{N}_]+)*|\S/gu;

// The newest answer counts: an older one that comes late is dropped.
function newest(action, take) {
  let turn = 0;
  return tried(async (...values) => {
    const mine = ++turn, found = await action(...values);
    if (mine === turn) take(found, ...values);
  });
}

const copying = (text) => tried(async () => {
  await navigator.clipboard.writeText(await text());
  notice("copied");
});
const actions = (text, name) => h("div", { class: "row" },
  h("button", { type: "button", onclick: copying(text) }, "copy"),
  h("button", { type: "button", onclick: tried(async () => save(name, await text())) }, "download"));

// ---- Taggers

const isChunked = (labels) => labels.some((label) => label !== "O") && labels.every((label) => label === "O" || /^[BIES]-./.test(label));

// Label, start and end of the chunks of a sentence, or of each labelled token.
function spansOf(labels, chunked) {
  if (!chunked) return labels.map((label, k) => [label, k, k + 1]);
  const found = [];
  labels.forEach((label, k) => {
    const last = found.at(-1), [place, type] = [label[0], label.slice(2)];
    const goesOn = last && last[2] === k && last[0] === type && "IE".includes(place) && !/^[ES]-/.test(labels[k - 1]);
    if (label === "O") found.push(["", k, k + 1]);
    else if (goesOn) last[2] = k + 1;
    else found.push([type, k, k + 1]);
  });
  return found;
}

const COLUMNS = "The DT\ncook NN\ntasted VBD\nthe DT\nsoup NN\n. .";
const TEXT = "The cook tasted the soup before the guests waited.\nShe did not paint the old boat, but the sailors washed it.";

async function tagPanel(root, model) {
  const { nColumns, labels, probabilities } = await model.info();
  const results = h("div", { id: "results" }), why = h("div", { "aria-live": "polite", id: "why" }), others = h("div", {});
  let found = [], picked = null;
  const readText = (value) => (nColumns === 1
    ? value.split("\n").map((line) => line.match(WORDS) ?? []).filter((words) => words.length)
    : value.trim().split(/\n\s*\n/).map((block) => block.split("\n").filter((line) => line.trim()).map((line) => line.trim().split(/\s+/))).filter((rows) => rows.length));
  const tag = newest(async (value) => {
    const sentences = readText(value), all = await model.tagAll(sentences);
    const chances = probabilities ? (await model.marginalsAll(sentences)).probabilities : [];
    return sentences.map((rows, k) => ({ rows, tokens: rows.map((row) => [row].flat()[0]), labels: all[k], p: chances[k] ?? null }));
  }, (sentences) => {
    [found, picked] = [sentences, null];
    draw();
  });
  const chunked = isChunked(labels), chance = (one, t) => one.p?.[t][one.labels[t]] ?? 1;

  function draw() {
    show(results, found.map((one, k) => h("div", { class: "sentence", role: "group", "aria-label": `sentence ${k + 1}` },
      spansOf(one.labels, chunked).map(([label, start, end]) => h("span", { class: label && label !== "O" ? "span tinted" : "span", "--hue": hue(label) },
        h("span", { class: "tokens" }, one.tokens.slice(start, end).map((word, j) => token(one, k, start + j, word))),
        h("span", { class: "label" }, label || "\u00a0"))))));
    show(why, found.length && probabilities ? h("p", { class: "note" }, "Click a word to see what speaks for its label.") : []);
    show(others);
    if (picked) tried(reasons)(...picked);
  }

  const token = (one, k, t, word) => h("button", {
    type: "button", class: "token", "--doubt": Math.min(1, 1.3 * (1 - chance(one, t))).toFixed(3), "aria-label": `${word}, ${one.labels[t]}`,
    "aria-pressed": String(picked?.[0] === k && picked?.[1] === t), title: one.p ? `${one.labels[t]} ${percent(chance(one, t))}` : one.labels[t], disabled: !probabilities,
    onclick: () => { picked = [k, t]; draw(); results.querySelector('[aria-pressed="true"]')?.focus(); },
  }, word);

  async function reasons(k, t) {
    const one = found[k], [told, ways] = [await model.explain(one.rows, t), await model.nbest(one.rows, 4)];
    const marginals = Object.entries(one.p[t]).sort((a, b) => b[1] - a[1]).slice(0, 5).filter(([, p]) => p > 0.001);
    show(why,
      h("h2", {}, told.other === null ? `“${one.tokens[t]}”: no other label is possible here` : `“${one.tokens[t]}”: ${told.label} rather than ${told.other}, ahead by ${told.lead.toFixed(2)}`),
      h("p", { class: "note" }, marginals.map(([label, p]) => `${label} ${percent(p)}`).join(" · ")),
      terms(told.terms.slice(0, 12).map((term) => ({ name: term.feature, note: `${term.label}${term.token === t ? "" : ` at “${one.tokens[term.token]}”`}`, value: term.lift }))));
    show(others,
      h("h2", {}, "Other readings of the sentence"),
      h("ul", { class: "terms" }, ways.map((way) => h("li", {},
        h("span", { class: "code" }, way.labels.map((label, j) => (way !== ways[0] && label === ways[0].labels[j] ? "·" : label)).join(" ")),
        h("span", { class: "bar", "--size": Math.exp(way.logProbability) }), h("span", { class: "value" }, percent(Math.exp(way.logProbability)))))));
  }

  const text = h("textarea", { rows: 3, autofocus: true, "aria-label": "text to tag, a sentence a line", oninput: later(() => tag(text.value), 150) });
  text.value = nColumns === 1 ? TEXT : nColumns === 2 ? COLUMNS : "";
  const rows = () => found.map((one) => one.rows.map((row, j) => `${[row, one.labels[j]].flat().join("\t")}\n`).join("")).join("\n");
  show(root, h("h1", {}, "Tag text"),
    h("p", { class: "lead" }, nColumns === 1 ? "A sentence a line." : `A token a line with its ${nColumns} columns, a blank line between sentences.`, probabilities && " A word's red underline is the model's doubt."),
    text, h("div", { class: "side" }, h("div", {}, h("h2", {}, "Labels"), results, actions(rows, `${NAME}.conll`)), h("div", {}, why, others)));
  await tag(text.value);
}

// ---- Pipelines: the studio's panel, whose questions this page's model answers

let opened;
const choice = () => NAME, choose = () => {}, modelChoice = () => null;

async function post(path, { text, index, token }) {
  if (path === "analyse") return opened.analyse(text, { probabilities: true });
  const parts = await opened.explain(text, index, token + 1);
  for (const { terms: rows } of Object.values(parts)) for (const row of rows) row.meaning = row.feature;
  return { parts };
}

async function analysePanel(root, model) {
  opened = model;
  await mount(root, [{ name: NAME }]);
  root.append(actions(() => model.conllu(root.querySelector("textarea").value), `${NAME}.conllu`));
}

// ---- Language models

async function predictPanel(root, model) {
  const { open, characters } = await model.info(), bars = h("ul", { class: "bars" }), why = h("div", { "aria-live": "polite", id: "why" }), heat = h("div", { class: "surprise", id: "surprise" });
  const context = h("input", { type: "text", class: "wide", id: "context", autofocus: true, autocomplete: "off", spellcheck: "false", "aria-label": "words before the next one", oninput: () => ask(`<s> ${context.value}`) });
  const text = h("textarea", { rows: 3, spellcheck: "false", "aria-label": "text to score, a sentence a line", oninput: later(() => score(text.value), 200) });
  const take = (word) => { context.value = `${context.value.trimEnd()}${characters ? "" : " "}${word} `.trimStart(); context.focus(); ask(`<s> ${context.value}`); };
  const named = (word) => (word === "</s>" ? "the end" : `“${word}”`);
  const ask = newest((typed) => model.next(typed, 10), (next, typed) => {
    show(why);
    show(bars, next.map(({ word, probability }) => h("li", {}, h("button", { type: "button", "aria-label": `${word} ${percent(probability)}, why?`, onclick: () => explain(typed, word) },
      h("span", {}, word === "</s>" ? "⏎ end" : word), h("span", { class: "bar", "--size": probability / Math.max(next[0].probability, 0.2) }), h("span", { class: "value" }, percent(probability))))));
  });
  const explain = tried(async (typed, word) => {
    const told = await model.explain(typed, word);
    show(why, h("h2", {}, `Why ${named(word)}? ${percent(told.probability)}`), h("p", { class: "note" }, "Its probability after so much of the context:"),
      h("ul", { class: "terms" }, told.terms.map((term) => h("li", {}, h("span", { class: "code" }, `… ${term.context.join(" ")}`.trim()), h("span", { class: "bar", "--size": term.probability }), h("span", { class: "value" }, percent(term.probability))))),
      word !== "</s>" && h("button", { type: "button", class: "link", onclick: () => take(word) }, `go on with “${word}”`));
  });
  let scored = null;
  const score = newest((value) => model.scoreAll(value.split("\n").filter((line) => line.trim())), (found) => {
    scored = found;
    show(heat, found.sentences.map(({ words }) => h("div", {}, words.map(({ word, logProbability: p, known }) => h("span", { class: !known && "unknown", "--p": p === null ? 0 : Math.min(0.5, -p / 24 / Math.LN2).toFixed(3), title: known ? null : "not in the vocabulary" },
      word === "</s>" ? "⏎" : word, p !== null && h("small", {}, (-p / Math.LN2).toFixed(1)))))),
    found.perplexity !== null && h("p", { class: "note" }, `The numbers are bits of surprise. Perplexity ${found.perplexity.toFixed(1)}.`));
  });
  const rows = () => (scored?.sentences ?? []).map(({ words }) => words.map(({ word, logProbability: p }) => `${word}\t${p ?? ""}\n`).join("")).join("\n");
  context.value = "the";
  text.value = TEXT.toLowerCase().replaceAll(/[.,]/g, " $&");
  show(root, h("h1", {}, "What comes next?"), h("p", { class: "lead" }, "Type, and the bars move. Click a word to see where its probability comes from.", !open && " Words that the model has not seen have no probability."),
    h("div", { class: "row" }, context), bars, why, h("h2", {}, "How surprising is a text?"), text, heat, actions(rows, `${NAME}.tsv`));
  await Promise.all([ask(`<s> ${context.value}`), score(text.value)]);
}

// ---- Classifiers

async function classifyPanel(root, model) {
  const { labels, several } = await model.info(), bars = h("ul", { class: "bars" }), marked = h("div", { class: "surprise", id: "marked" }), why = h("div", { id: "why" });
  let found = null;
  const classify = newest((value) => model.classify(value), (answer, value) => {
    found = answer;
    const best = Object.entries(answer.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 12);
    show(bars, best.map(([label, p]) => h("li", {}, h("button", { type: "button", "aria-label": `${label} ${percent(p)}, why?`, onclick: () => explain(value, label) }, h("span", {}, label), h("span", { class: "bar", "--size": p }), h("span", { class: "value" }, percent(p))))));
    if (best.length) explain(value, best[0][0]);
  });
  const explain = newest((value, label) => model.explain(value, label), (told) => {
    const most = Math.max(...told.spans.map((span) => Math.abs(span.contribution)), 1e-9);
    show(marked, told.spans.map((span) => (span.text.trim() ? h("span", { class: span.contribution < 0 ? "minus" : "plus", "--p": (0.4 * Math.abs(span.contribution) / most).toFixed(3), title: span.contribution.toFixed(3) }, span.text) : " ")));
    show(why, h("h2", {}, `Why ${told.label}? ${percent(told.probability)}`), terms(told.ngrams.slice(0, 12).map((one) => ({ name: one.ngram, value: one.contribution }))));
  });
  const text = h("textarea", { rows: 5, autofocus: true, "aria-label": "text to classify", oninput: later(() => classify(text.value), 150) });
  const rows = () => Object.entries(found?.probabilities ?? {}).map(([label, p]) => `${label}\t${p}\n`).join("");
  text.value = TEXT;
  show(root, h("h1", {}, "Classify text"), h("p", { class: "lead" }, several ? `Any of ${labels.length} labels. ` : `One of ${labels.length} labels. `, "Click a label to see which words speak for it."),
    text, h("div", { class: "side" }, h("div", {}, h("h2", {}, "Labels"), bars, actions(rows, `${NAME}.tsv`)), h("div", {}, marked, why)));
  await classify(text.value);
}

// ---- Japanese

async function typePanel(root, model) {
  const ways = h("ol", { class: "lessons", lang: "ja", "aria-live": "polite", id: "ways" }), text = h("textarea", { class: "small", rows: 3, lang: "ja", spellcheck: "false", "aria-label": "readings to convert, one a line", oninput: later(() => convert(text.value), 150) }), results = h("div", { class: "lead", lang: "ja", id: "results" });
  const look = later(newest((reading, before) => model.nbest(reading, 5, { before }), (found) => show(ways, found.map((way) => h("li", {}, way.text, " ", h("small", { class: "note" }, way.score.toFixed(2)))))), 120);
  const changed = (answer) => {
    if (answer.message) notice(answer.message);
    if (answer.reading) look(answer.reading, editor.area.value.slice(0, editor.start)); // else those of the last reading stay
  };
  const editor = new Editor({ ask: tried((request) => model.type(request)), changed });
  const convert = newest((value) => model.convertAll(value.split("\n")), (found) => show(results, found.map((line) => h("div", {}, line))));
  const settings = Object.entries(SETTINGS).map(([name, values]) => {
    const select = h("select", { onchange: tried(() => model.type({ set: { [name]: select.value } })) }, values.map((value) => h("option", { value }, value)));
    return h("label", {}, name, select);
  });
  editor.area.autofocus = true;
  text.value = "きょうはいいてんきですね。\nさんじゅうななほんのえんぴつ";
  show(root, h("h1", {}, "Type Japanese"), h("p", { class: "lead" }, "Romaji or kana. Try ", h("em", {}, "hashiwowataru"), " and a space."),
    h("div", { class: "taps" }, TAPS.filter(([, key]) => key !== "tab").map(([label, key, name]) => h("button", { type: "button", "aria-label": name, onmousedown: (event) => event.preventDefault(), onclick: () => editor.press(key) }, label))),
    editor.element, h("ul", { class: "keys", id: "keys" }, KEYS.filter(([key]) => key !== "tab").map(([key, what]) => h("li", {}, h("kbd", {}, key), ` ${what}`))),
    actions(() => editor.area.value, `${NAME}.txt`),
    h("details", { class: "tight" }, h("summary", {}, "The best conversions, and their log-probabilities"), ways),
    h("details", { class: "tight" }, h("summary", {}, "Settings"), h("div", { class: "options" }, settings)),
    h("h2", {}, "Convert readings"), text, results, actions(() => [...results.children].map((line) => `${line.textContent}\n`).join(""), `${NAME}-converted.txt`));
  await convert(text.value);
}

const PANELS = { ime: typePanel, tagger: tagPanel, pipeline: analysePanel, lm: predictPanel, classifier: classifyPanel };

// ---- The page

function theme(value) {
  document.documentElement.dataset.theme = value;
  try {
    localStorage.setItem("theme", value);
  } catch {
    // a page that may store nothing is light or dark as the reader's system is
  }
}

async function start() {
  const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  theme(stored ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  const bar = h("progress", { max: 1, "aria-label": "loading the model" }), told = h("p", { class: "note" }, `loading ${NAME}`);
  show(main, h("div", { class: "loading" }, told, bar));
  const began = performance.now();
  try {
    const model = await load(FILE, { onprogress: (size, total) => { told.textContent = `loading ${NAME}: ${bytes(size)}${total ? ` of ${bytes(total)}` : ""}`; if (total) bar.value = size / total; } });
    const root = h("section", { "aria-label": NAME });
    show(main, root);
    await PANELS[FAMILY](root, model);
    root.querySelector("[autofocus]")?.focus({ preventScroll: true });
    const licence = model.card?.licence ?? model.card?.license;
    show(document.getElementById("foot"), h("span", {}, `Ready in ${((performance.now() - began) / 1000).toFixed(1)} s. Nothing you type leaves this page.`),
      licence && h("span", {}, "Licence of the model: ", h("a", { href: "NOTICE.txt" }, licence)));
    document.body.dataset.ready = "true";
    if ("serviceWorker" in navigator) await navigator.serviceWorker.register("sw.js").catch(() => null);
  } catch (error) {
    show(main, h("h1", {}, "The model cannot be used"), h("p", { class: "lead" }, error.message));
    document.body.dataset.ready = "failed";
  }
}
start();
