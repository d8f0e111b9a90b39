// Type: Japanese in a text area, corrections learnt, a converter adapted to one's own text.

import { choice, choose, get, modelChoice, notice, post, tried } from "./api.js";
import { h, later, number, show } from "./dom.js";
import { Editor, KEYS, SETTINGS, TAPS } from "./editor.js";

const TOY = "This converter is a toy of a few dozen sentences: most of what you type comes out wrong. For real Japanese install the model, "
  + "in a checkout with ";

export async function mount(root, list) {
  const told = h("summary", { id: "corrections" });
  const lessons = h("ol", { class: "lessons" });
  const settings = h("div", { class: "options" });
  const inside = h("div", { "aria-live": "polite" });
  const toy = h("p", { class: "warning", id: "toy" });
  let detailed = false;
  let learnt = -1;

  const ask = (request) => post("type", { model: choice("type"), ...request });
  const look = later(tried(async (reading, before) => {
    if (!detailed || !reading) return show(inside);
    const answer = await post("convert", { model: choice("type"), readings: [reading], before, nbest: 6, explain: true });
    show(inside, aligned(answer.conversions[0].nbest));
  }), 120);
  function changed(answer) {
    if (answer.message) notice(answer.message);
    if (answer.corrections !== learnt) listLessons();
    learnt = answer.corrections;
    look(answer.reading, editor.area.value.slice(0, editor.start).slice(-300));
  }
  const listLessons = tried(async () => {
    const found = (await ask({ lessons: true })).lessons;
    told.textContent = found.length ? `${found.length} correction${found.length > 1 ? "s" : ""} learnt` : "no corrections yet";
    show(lessons, found.map(([reading, text], k) => h("li", {}, h("span", { lang: "ja" }, `${reading} → ${text} `),
      h("button", { type: "button", class: "link", onclick: tried(async () => changed(await ask({ forget: k }))) }, "undo"))).reverse());
  });
  const setting = (name, value) => tried(async () => showSettings((await ask({ set: { [name]: value() } })).settings));
  function showSettings(now) {
    show(settings, Object.entries(SETTINGS).map(([name, values]) => {
      const select = h("select", { onchange: setting(name, () => select.value) }, values.map((value) => h("option", { value, selected: value === now[name] }, value)));
      return h("label", {}, name, select);
    }), h("label", {}, "learn nothing", h("input", { type: "checkbox", checked: now.private, onchange: (event) => setting("private", () => event.target.checked)() })));
  }
  const tapped = (key) => (key === "space" && !editor.composing ? editor.reconvert() : editor.press(key));
  const begin = tried(async () => {
    show(toy, list.find((one) => one.name === choice("type"))?.origin === "sample" && [TOY, h("code", {}, "pip install ./models/japanese"), ", and start the studio again."]);
    const answer = await ask({ reset: true });
    learnt = answer.corrections;
    showSettings(answer.settings);
    await listLessons();
    editor.area.focus();
  });

  const editor = new Editor({ ask: tried(ask), changed });
  const why = h("label", {}, h("input", {
    type: "checkbox",
    onchange: (event) => {
      detailed = event.target.checked;
      show(inside);
      editor.area.focus();
    },
  }), "words and probabilities");
  const select = list.length > 1 && modelChoice(list, "type", begin, "converter");
  if (list.length === 1) choose("type", list[0].name);
  show(root,
    h("h1", {}, "Type Japanese"),
    toy,
    h("p", { class: "lead" }, "Romaji or kana. Try ", h("em", {}, "hashiwowataru"), " and a space; choose otherwise, and it remembers."),
    h("div", { class: "taps" }, TAPS.map(([label, key, name]) =>
      h("button", { type: "button", "aria-label": name, onmousedown: (event) => event.preventDefault(), onclick: () => tapped(key) }, label))),
    editor.element,
    h("ul", { class: "keys", id: "keys" }, KEYS.map(([key, what]) => h("li", {}, h("kbd", {}, key), ` ${what}`))),
    h("div", { class: "row" }, select, why),
    inside,
    h("details", { class: "tight" }, told, lessons),
    h("details", { class: "tight" }, h("summary", {}, "Settings"), settings),
    adaptation());
  await begin();
}

// Conversions below each other, cut where all have a word boundary; what differs from the first is marked.
function aligned(ways) {
  const ends = ways.map((way) => {
    let at = 0;
    return way.words.map((word) => (at += word.token === "</s>" ? 1 : word.token.replace(/^.*\//, "").length));
  });
  const cuts = ends[0].filter((end) => ends.every((own) => own.includes(end)));
  const rows = ways.map((way, w) => cuts.map((end, c) => way.words.filter((_, k) => ends[w][k] <= end && ends[w][k] > (cuts[c - 1] ?? 0))));
  const text = (words) => words.map((word) => word.token).join(" ");
  const cell = (words, first) => h("td", {}, words.map((word) => h("span", { class: "word" },
    h(text(words) === text(first) ? "span" : "mark", { lang: "ja" }, word.token === "</s>" ? "⏎" : word.token.replace(/\/.*/, "")),
    h("small", {}, `${word.logp.toFixed(2)} ${["unknown", "1-gram", "2-gram", "3-gram"][word.order]}${word.bonus ? ` ${word.bonus > 0 ? "+" : "−"}${Math.abs(word.bonus).toFixed(2)}` : ""}`))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "conversions" },
    h("table", { class: "aligned" }, h("tbody", {}, rows.map((row, w) => h("tr", {},
      row.map((words, c) => cell(words, rows[0][c])), h("td", { class: "number" }, ways[w].score.toFixed(2)))))),
    h("p", { class: "note" }, "Log-probabilities of the words; the last column, which sorts the rows, adds the rescorer where the model has one."));
}

function adaptation() {
  const text = h("textarea", { class: "small", rows: 6, lang: "ja", placeholder: "端/はし の 値/あたい を 削る/けずる 。", "aria-label": "text with readings" });
  const result = h("div", { role: "status" });
  const run = h("button", {
    type: "button", class: "main",
    onclick: tried(async () => {
      run.disabled = true;
      try {
        await post("train", { family: "adapt", model: choice("type"), text: text.value });
        show(result, h("progress", { "aria-label": "adapting" }));
        let state;
        do {
          await new Promise((done) => setTimeout(done, 250));
          state = await get("train");
        } while (state.state === "running");
        if (state.state !== "done") throw new Error(state.message);
        const found = state.result.facts;
        show(result, h("p", {}, `Errors on ${found["held out"]} sentences it did not see: `, h("strong", {}, `${number(found["error rate % before"])} %`), " before, ",
          h("strong", {}, `${number(found["error rate % after"])} %`), ` after. The model `, h("strong", {}, state.model), " can be chosen above now.",
          " ", h("button", { type: "button", class: "link", onclick: () => { choose("type", state.model); dispatchEvent(new HashChangeEvent("hashchange")); } }, "use it")));
      } catch (error) {
        show(result);
        throw error;
      } finally {
        run.disabled = false;
      }
    }),
  }, "adapt");
  return h("details", {},
    h("summary", {}, "Adapt it to your own text"),
    h("p", { class: "note" }, "Paste sentences, one a line, as words with readings. A fifth of them is kept aside to tell how well it went."),
    text,
    h("div", { class: "row" }, run, h("button", { type: "button", onclick: tried(async () => (text.value = (await get("train/sample", { family: "adapt" })).text)) }, "sample text")),
    result);
}
