// Analyse: raw text to sentences, words with tags and lemmas, and trees; reasons on a click.

import { choice, choose, modelChoice, notice, post, tried } from "./api.js";
import { terms } from "./chart.js";
import { dropzone, filePicker, h, hue, later, percent, s, show } from "./dom.js";

const EXAMPLE = "Dr. Smith didn't see the cat that sat on the mat. It was asleep!\n\nShe called him twice, but he wouldn't answer.";
const MOST = 20000; // characters of a request
const LEVEL = 26; // pixels between arcs
const TITLES = { tags: "Tag", feats: "Features", lemmas: "Lemma", trees: "Head" };

// Each arc lies above those that it covers or touches, the shortest first.
export function levels(heads) {
  const arcs = heads.map((head, k) => [Math.min(head, k + 1), Math.max(head, k + 1), k]).filter(([a]) => a > 0);
  const found = new Map();
  for (const [a, b, k] of arcs.sort((x, y) => x[1] - x[0] - (y[1] - y[0]) || x[2] - y[2])) {
    const drawn = arcs.filter(([, , j]) => found.has(j));
    let level = 1 + Math.max(0, ...drawn.filter(([x, y]) => x < b && a < y).map(([, , j]) => found.get(j)));
    while (drawn.some(([x, y, j]) => found.get(j) === level && (y === a || x === b))) level += 1;
    found.set(k, level);
  }
  return found;
}

function tree(words, widths) {
  const heads = words.map((word) => word.head);
  const level = levels(heads);
  const height = 34 + LEVEL * (1 + Math.max(0, ...level.values()));
  const middles = [];
  widths.reduce((at, width) => (middles.push(at + width / 2), at + width), 0);
  const drawn = words.flatMap((word, k) => {
    const x = middles[k];
    if (!word.head) return [s("path", { class: "root", d: `M${x} 14V${height - 3}` }), s("text", { x: x + 4, y: 12 }, word.relation)];
    const start = middles[word.head - 1] + (word.head <= k ? 6 : -6);
    const y = height - 8 - LEVEL * level.get(k);
    const bend = (start < x ? 1 : -1) * Math.min(14, Math.abs(x - start) / 2);
    return [
      s("path", { d: `M${start} ${height}V${y + 8}Q${start} ${y} ${start + bend} ${y}H${x - bend}Q${x} ${y} ${x} ${y + 8}V${height - 3}` }),
      s("path", { class: "tip", d: `M${x - 3} ${height - 6}L${x} ${height}L${x + 3} ${height - 6}z` }),
      s("text", { x: (start + x) / 2, y: y - 3, "text-anchor": "middle" }, word.relation),
    ];
  });
  const told = words.map((word) => `${word.text} ${word.relation} ${word.head ? `of ${words[word.head - 1].text}` : ""}`.trim()).join(", ");
  const width = widths.reduce((sum, one) => sum + one, 0);
  return s("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told }, drawn);
}

export async function mount(root, list) {
  let found = [];
  let asked = "";
  let picked = null; // [sentence, word]
  const results = h("div", { id: "results" });
  const why = h("div", { "aria-live": "polite", id: "why", class: "why" });
  const text = h("textarea", { rows: 4, "aria-label": "text to analyse", autofocus: true, oninput: () => analyseLater() });
  const measure = document.createElement("canvas").getContext("2d");

  let latest = 0;
  const analyse = tried(async () => {
    const mine = ++latest;
    if (text.value.length > MOST) notice(`only the first ${MOST.toLocaleString("en")} characters are analysed here; epigram pipeline run takes any file`);
    const sent = text.value.slice(0, MOST);
    results.setAttribute("aria-busy", "true");
    const answer = await post("analyse", { model: choice("analyse"), text: sent, probabilities: true }).finally(
      () => mine === latest && results.removeAttribute("aria-busy"));
    if (mine !== latest) return;
    asked = sent;
    found = answer.sentences.map((sentence) => ({ ...sentence, words: sentence.tokens.flatMap((token) => token.words) }));
    picked = null;
    draw();
  });
  const analyseLater = later(analyse, 300);

  function draw() {
    show(results, found.map((one, k) => [sentence(one, k), picked?.[0] === k && why]), picked ? null : why);
    if (picked) explain(...picked);
    else show(why, h("p", { class: "note" }, found.length ? "Click a word to see what speaks for its tag, its lemma and its head. A red underline is the model's doubt." : "There is no text yet."));
  }

  function widthOf(word) {
    measure.font = getComputedStyle(text).font;
    const cells = [word.text, word.lemma ?? "", word.upos ?? ""].map((cell) => measure.measureText(cell).width);
    measure.font = "11px sans-serif";
    return Math.ceil(Math.max(...cells, measure.measureText(word.relation ?? "").width + 14, 30)) + 18;
  }

  function sentence(one, k) {
    const widths = one.words.map(widthOf);
    return h("div", { class: "scroll analysed", tabindex: "0", role: "region", "aria-label": `sentence ${k + 1}`, "--gap": one.opens_paragraph && k ? "1.6rem" : "0" },
      one.words[0]?.head !== undefined && tree(one.words, widths),
      h("div", { class: "words" }, one.words.map((word, j) => {
        const p = Math.min(word.probability ?? 1, word.head_probability ?? 1);
        return h("button", {
          type: "button", class: "column", "--width": `${widths[j]}px`, "--hue": hue(word.upos ?? ""), "--doubt": Math.min(1, 1.3 * (1 - p)).toFixed(3),
          "aria-pressed": String(picked?.[0] === k && picked?.[1] === j), "aria-label": [word.text, word.lemma, word.upos].filter(Boolean).join(", "),
          onclick: () => { picked = [k, j]; draw(); results.querySelector('[aria-pressed="true"]')?.focus(); },
        }, h("span", { class: "text" }, word.text), h("span", { class: "lemma" }, word.lemma ?? "\u00a0"), h("span", { class: "tag" }, word.upos ?? "\u00a0"));
      })));
  }

  async function explain(k, j) {
    const one = found[k];
    const word = one.words[j];
    const head = word.head === undefined ? [] : [["relation", word.relation], ["head", word.head ? `“${one.words[word.head - 1].text}”` : "the root"], ["head's probability", percent(word.head_probability)]];
    const rows = [["lemma", word.lemma], ["UPOS", word.upos], ["XPOS", word.xpos], ["features", word.feats?.replaceAll("|", " ")], ["tag's probability", word.probability === undefined ? undefined : percent(word.probability)], ...head];
    const reasons = h("div", { class: "reasons" });
    show(why, h("h2", {}, `“${word.text}”`),
      h("dl", { class: "facts" }, rows.filter(([, value]) => value !== undefined).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))), reasons);
    await tried(async () => {
      const { parts } = await post("explain", { model: choice("analyse"), text: asked, index: k, token: j });
      const named = (part, value) => (part !== "trees" ? String(value).replaceAll(/[\t|]/g, " ") : value ? `“${one.words[value - 1].text}”` : "the root");
      show(reasons, Object.entries(parts).map(([part, reason]) => h("div", {},
        h("h2", {}, reason.other === null ? `${TITLES[part] ?? part}: no other choice` : `${TITLES[part] ?? part} ${named(part, reason.lemma ?? reason.label ?? reason.head)} rather than ${named(part, reason.other_lemma ?? reason.other)}: ahead by ${reason.lead.toFixed(2)}`),
        terms(reason.terms.slice(0, 6).map((term) => ({ name: term.meaning, note: part === "tags" || part === "feats" ? named(part, term.label) : "", value: term.lift }))))));
    })();
  }

  text.value = EXAMPLE;
  choose("analyse", choice("analyse") ?? list[0].name);
  show(root,
    h("h1", {}, "Analyse text"),
    h("p", { class: "lead" }, "Raw text to sentences, words, tags, lemmas and trees. A blank line ends a paragraph."),
    dropzone(text, (content) => { text.value = content; analyse(); }),
    h("div", { class: "row" }, modelChoice(list, "analyse", analyse, "pipeline"), filePicker("open a file", (content) => { text.value = content; analyse(); })),
    results);
  await analyse();
}
