// Classify: a text, the probabilities of labels, and the words that speak for and against one.

import { choice, choose, modelChoice, notice, post, tried } from "./api.js";
import { terms } from "./chart.js";
import { dropzone, filePicker, h, later, percent, show } from "./dom.js";

const EXAMPLE = "The old cook tasted the soup before the sailors did.";
const MOST = 20000; // characters of a request

export async function mount(root, list) {
  let picked = null; // a label; null for the most probable
  let latest = 0;
  const labels = h("ol", { class: "bars", id: "labels", "aria-label": "labels" });
  const marked = h("p", { class: "marked", id: "marked" });
  const why = h("div", { "aria-live": "polite", id: "why" });
  const text = h("textarea", { rows: 6, "aria-label": "text to classify", autofocus: true, oninput: () => { picked = null; classifyLater(); } });

  const classify = tried(async () => {
    const mine = ++latest;
    if (text.value.length > MOST) notice(`only the first ${MOST.toLocaleString("en")} characters are classified here; epigram classify run takes any file`);
    const model = choice("classify");
    const sent = text.value.slice(0, MOST);
    const [found, reason] = await Promise.all([
      post("classify", { model, texts: [sent], top: 10 }), post("explain", { model, text: sent, ...(picked !== null && { label: picked }) }),
    ]);
    if (mine !== latest) return;
    show(labels, found.documents[0].labels.map(({ label, probability }) => h("li", {}, h("button", {
      type: "button", "aria-pressed": String(label === reason.label), onclick: () => { picked = label; classify(); },
    }, h("span", {}, label), h("span", { class: "bar", "--size": probability.toFixed(4) }), h("span", { class: "value" }, percent(probability))))));
    const most = Math.max(1e-9, ...reason.spans.map((span) => Math.abs(span.contribution)));
    show(marked, reason.spans.map((span) => h("span", {
      class: span.contribution > 0 ? "plus" : "minus", "--part": (Math.abs(span.contribution) / most).toFixed(3),
    }, span.text)));
    show(why, h("h2", {}, `Why “${reason.label}”?`),
      h("p", { class: "note" }, "The parts of the score by n-gram. Green words speak for the label, red ones against it."),
      terms(reason.ngrams.slice(0, 12).map((one) => ({ name: `“${one.ngram}”`, note: "", value: one.contribution }))));
  });
  const classifyLater = later(classify, 200);
  const take = (content) => { text.value = content; picked = null; classify(); };

  text.value = EXAMPLE;
  choose("classify", choice("classify") ?? list[0].name);
  show(root,
    h("h1", {}, "Classify text"),
    h("p", { class: "lead" }, "Type or open a text. Click a label to see which words speak for it."),
    dropzone(text, take),
    h("div", { class: "row" }, modelChoice(list, "classify", () => { picked = null; classify(); }, "classifier"), filePicker("open a file", take)),
    labels, marked, why);
  await classify();
}
