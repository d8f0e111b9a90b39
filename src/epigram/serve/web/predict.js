// Predict: the next word while one types, two models side by side, and how surprising a text is.

import { choice, choose, modelChoice, post, tried } from "./api.js";
import { terms } from "./chart.js";
import { h, later, percent, show } from "./dom.js";

const CONTEXT = "the old";
const TEXT = "the sailors did not paint the old boat\nbefore the soup the cook paint tasted";

export async function mount(root, list) {
  const words = (text, name) => (list.find((one) => one.name === name)?.lowercase ? text.toLowerCase() : text);
  const sides = ["first", "second"].map((key, k) => side(key, list, k));
  const context = h("input", { type: "text", class: "wide", id: "context", value: CONTEXT, autofocus: true, autocomplete: "off", spellcheck: "false", oninput: () => ask(), "aria-label": "words before the next one" });
  const text = h("textarea", { rows: 3, oninput: () => scoreLater(), "aria-label": "text to score, a sentence a line", spellcheck: "false" });
  const heat = h("div", { class: "surprise", id: "surprise" });
  const ask = () => sides.forEach((one) => one.ask(words(`<s> ${context.value}`, one.name())));
  const score = tried(async () => {
    const sentences = words(text.value, sides[0].name()).split("\n").filter((line) => line.trim());
    if (!sentences.length) return show(heat);
    const answer = await post("lm/score", { model: sides[0].name(), sentences });
    show(heat,
      answer.sentences.map((one) => h("div", {}, one.words.map(({ word, bits, known }) => h("span", {
        class: !known && "unknown", "--p": bits === null ? 0 : Math.min(0.5, bits / 24).toFixed(3),
        title: [!known && "not in the vocabulary", bits !== null && `${bits.toFixed(2)} bits`].filter(Boolean).join(": "),
      }, word === "</s>" ? "⏎" : word, bits !== null && h("small", {}, bits.toFixed(1)))))),
      h("p", { class: "note" }, `The numbers are bits of surprise. Perplexity ${answer.perplexity?.toFixed(1) ?? "–"}.`));
  });
  const scoreLater = later(score, 200);
  text.value = TEXT;
  show(root,
    h("h1", {}, "What comes next?"),
    h("p", { class: "lead" }, "Type, and the bars move. Click a word to see where its probability comes from."),
    h("div", { class: "row" }, context),
    h("div", { class: list.length > 1 ? "two" : "" }, sides.slice(0, Math.min(2, list.length)).map((one) => one.element)),
    h("h2", {}, "How surprising is a text?"),
    text, heat);
  sides.forEach((one) => (one.changed = () => { ask(); score(); }));
  sides.forEach((one) => (one.take = (word) => { context.value = `${context.value.trimEnd()} ${word} `.trimStart(); context.focus(); ask(); }));
  ask();
  await score();

  function side(key, models, k) {
    if (!choice(key)) choose(key, models[Math.min(k, models.length - 1)].name);
    const bars = h("ul", { class: "bars" });
    const why = h("div", { "aria-live": "polite" });
    const self = { name: () => choice(key), changed: () => {}, take: () => {} };
    let latest = 0;
    self.ask = tried(async (typed) => {
      const turn = ++latest;
      const answer = await post("lm/next", { model: choice(key), contexts: [typed], k: 8 });
      if (turn !== latest) return;
      const next = answer.contexts[0].next;
      show(why);
      show(bars, next.map(({ word, probability }) => h("li", {}, h("button", {
        type: "button", onclick: () => explain(typed, word), "aria-label": `${word} ${percent(probability)}, why?`,
      }, h("span", {}, word === "</s>" ? "⏎ end" : word), h("span", { class: "bar", "--size": probability / Math.max(next[0].probability, 0.2) }), h("span", { class: "value" }, percent(probability))))));
    });
    const explain = tried(async (typed, word) => {
      const told = await post("explain", { model: choice(key), context: typed, word });
      show(why, h("h2", {}, `Why ${word === "</s>" ? "the end" : `“${word}”`}? ${percent(told.probability)}`),
        terms([...told.terms.map((term) => ({ name: `… ${term.context}`.trim(), note: `so far ${percent(term.probability)}`, value: term.weight })),
          { name: "shared with all other words", value: -told.log_normaliser }]),
        word !== "</s>" && h("button", { type: "button", class: "link", onclick: () => self.take(word) }, `go on with “${word}”`));
    });
    const select = modelChoice(models, key, () => self.changed(), `${key} model`);
    self.element = h("div", {}, select, bars, why);
    return self;
  }
}
