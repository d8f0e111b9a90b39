// Type: Japanese in a text area, corrections learnt, a converter adapted to one's own text.

import { choice, choose, get, modelChoice, notice, post, tried } from "./api.js";
import { h, later, number, show, table } from "./dom.js";
import { Editor } from "./editor.js";
import { fromRomaji, loadRomaji } from "./romaji.js";

const KEYS = [["space", "convert, next"], ["← →", "segment"], ["↑ ↓ 1–9", "candidate"], ["shift ← →", "longer, shorter"], ["enter", "commit"], ["esc", "back"]];

export async function mount(root, list) {
  await loadRomaji();
  const count = h("span", { class: "note", id: "corrections" });
  const inside = h("div", { "aria-live": "polite" });
  let detailed = false;
  const told = (n) => (count.textContent = n ? `${n} correction${n > 1 ? "s" : ""} learnt` : "no corrections yet");

  const ask = tried(async (reading, left, fixed) => {
    const answer = await post("convert", { model: choice("type"), readings: [reading], left, fixed, segments: true });
    told(answer.corrections);
    return answer.conversions[0].segments;
  });
  const learn = tried(async (reading, text, left) => {
    told((await post("convert/learn", { model: choice("type"), reading, text, left })).corrections);
    notice(`learnt: ${reading} → ${text}`);
  });
  const look = later(tried(async (editor) => {
    const reading = fromRomaji(editor.typed);
    if (!reading || !editor.typed) return show(inside);
    const body = { model: choice("type"), readings: [reading], left: editor.left };
    const answer = await post("convert", detailed ? { ...body, nbest: 6, explain: true } : body);
    editor.suggest(reading, answer.conversions[0].text);
    if (detailed) show(inside, candidates(answer.conversions[0].nbest));
  }), 120);
  const editor = new Editor({ ask, learn, changed: look });

  const undo = h("button", {
    type: "button",
    onclick: tried(async () => {
      told((await post("convert/undo", { model: choice("type") })).corrections);
      notice("forgot the last correction");
      editor.area.focus();
    }),
  }, "undo the last correction");
  const why = h("label", {}, h("input", {
    type: "checkbox",
    onchange: (event) => {
      detailed = event.target.checked;
      show(inside);
      look(editor);
      editor.area.focus();
    },
  }), "words and probabilities");
  told(0);
  show(root,
    h("h1", {}, "Type Japanese"),
    h("p", { class: "lead" }, "Romaji or kana. Try ", h("em", {}, "hashiwowataru"), " and a space; choose otherwise, and it remembers."),
    editor.element,
    h("ul", { class: "keys", id: "keys" }, KEYS.map(([key, what]) => h("li", {}, h("kbd", {}, key), ` ${what}`))),
    h("div", { class: "row spread" },
      h("div", { class: "row" }, list.length > 1 && modelChoice(list, "type", () => editor.area.focus(), "converter"), why),
      h("div", { class: "row" }, count, undo)),
    inside,
    adaptation());
  if (list.length === 1) choose("type", list[0].name);
}

function candidates(ways) {
  return table(["text", "words", "log probability"], ways.map((way) => [
    h("span", { lang: "ja" }, way.text),
    h("span", {}, way.words.map((word) => h("span", { class: "word" }, h("span", { lang: "ja" }, word.token === "</s>" ? "⏎" : word.token.replace(/\/.*/, "")),
      h("small", {}, `${word.logp.toFixed(2)} ${["unknown", "1-gram", "2-gram", "3-gram"][word.order]}${word.bonus ? ` ${word.bonus > 0 ? "+" : "−"}${Math.abs(word.bonus).toFixed(2)}` : ""}`)))),
    Number(way.score.toFixed(2)),
  ]));
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
