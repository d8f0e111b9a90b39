// A text area in which kana becomes text: what is typed stands in the text itself, marked, until it is committed.
//
// The server holds the state of the line; keys go to it one after the other, and its answer says what to insert and what
// to show. A sheet under the text area, with the same letters in no colour, draws the marks; the window of candidates
// follows the phrase.

import { h, show } from "./dom.js";

export const KEYS = [["space", "convert, next"], ["tab", "predict"], ["← →", "phrase"], ["↑ ↓ 1–9", "candidate"], ["shift ← →", "shorter, longer"],
  ["F6–F10", "kana, katakana, Latin"], ["enter", "commit"], ["esc", "back"], ["Ctrl-Z", "take back"]];
export const TAPS = [["convert", "space"], ["predict", "tab"], ["◀", "left", "previous phrase"], ["▶", "right", "next phrase"], ["−", "shorter", "shorter phrase"],
  ["+", "longer", "longer phrase"], ["commit", "enter"], ["back", "escape"], ["undo", "undo"]];
export const SETTINGS = { punctuation: ["、。", "，．", "、．", "，。"], width: ["mixed", "half", "full"], layout: ["romaji", "kana"] };

const NAMES = {
  Escape: "escape", Tab: "tab", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", PageUp: "page up",
  PageDown: "page down", F6: "f6", F7: "f7", F8: "f8", F9: "f9", F10: "f10", Convert: "space", NonConvert: "f7",
};
const EDITS = { insertLineBreak: "enter", insertParagraph: "enter", deleteContentBackward: "backspace" };
const REACH = 300; // characters before the caret that are sent as context

export class Editor {
  // ask(request) gives the server's answer; changed(answer) is told of each.
  constructor({ ask, changed }) {
    Object.assign(this, { ask, changed, start: 0, pieces: [], at: null, candidates: [], chosen: 0, page: 0, pages: 0, busy: 0, original: "" });
    this.area = h("textarea", {
      rows: 3, autofocus: true, spellcheck: "false", autocapitalize: "off", autocomplete: "off", lang: "ja", "aria-label": "Japanese text",
      "aria-describedby": "keys", "aria-controls": "candidates", "aria-autocomplete": "list",
      onkeydown: (event) => this.#key(event), onbeforeinput: (event) => this.#input(event), oninput: () => this.#draw(),
      oncompositionend: (event) => this.#composed(event.data ?? ""), onmousedown: () => this.settle(), onfocus: () => this.#draw(),
      onblur: (event) => (event.relatedTarget ? this.settle() : (this.window.hidden = true)),
    });
    this.under = h("div", { class: "under", "aria-hidden": "true" });
    this.window = h("ul", { class: "candidates", id: "candidates", role: "listbox", "aria-label": "candidates", hidden: true });
    this.element = h("div", { class: "page" }, this.under, this.area, this.window);
    this.queue = Promise.resolve();
  }

  get shown() { return this.pieces.join(""); }
  get composing() { return this.pieces.length > 0 || this.busy > 0; }

  #key(event) {
    if (event.isComposing || event.altKey || event.metaKey) return;
    const undo = event.ctrlKey && event.key === "z";
    let name = undo ? "undo" : event.ctrlKey ? null : NAMES[event.key];
    if (event.shiftKey && name === "left") name = "shorter";
    if (event.shiftKey && name === "right") name = "longer";
    if (event.key === "Convert" && !this.composing) event.preventDefault(), this.reconvert();
    else if (name && (this.composing || undo)) event.preventDefault(), this.press(name);
    else if (this.composing && ["Home", "End"].includes(event.key)) event.preventDefault();
  }

  #input(event) {
    if (event.isComposing || !["insertText", ...Object.keys(EDITS)].includes(event.inputType)) {
      if (!event.isComposing) this.settle();
      return;
    }
    const name = EDITS[event.inputType];
    if (name && !this.composing) return;
    event.preventDefault();
    for (const key of name ? [name] : event.data ?? "") this.press(key === " " ? "space" : key);
  }

  // Letters that a telephone's keyboard has put together; text of another input method stays.
  #composed(text) {
    if (!/^[a-zA-Z'\-]+$/.test(text)) return this.settle();
    const caret = this.area.selectionStart;
    this.area.setRangeText("", caret - text.length, caret, "end");
    for (const key of text) this.press(key);
  }

  press(key) {
    return this.#send({ key });
  }

  // Convert the selected text again, or reopen what was committed last.
  reconvert() {
    const { value, selectionStart, selectionEnd } = this.area;
    const text = value.slice(selectionStart, selectionEnd);
    this.original = text;
    return this.#send(text ? { reconvert: text } : { key: "reconvert" });
  }

  // Commit what is being composed.
  settle() {
    return this.composing ? this.press("enter") : this.queue;
  }

  // Requests are answered one after the other, however long each takes.
  #send(request) {
    this.busy += 1;
    this.queue = this.queue.then(async () => {
      const open = this.pieces.length > 0;
      const { value, selectionStart } = this.area;
      if (!open) this.start = selectionStart;
      const answer = await this.ask(open ? request : { ...request, before: value.slice(0, this.start).slice(-REACH) });
      if (answer) this.#take(request.key, answer, open);
    }).catch(() => {}).then(() => {
      this.busy -= 1;
      this.#draw();
    });
    return this.queue;
  }

  #take(key, answer, open) {
    const empty = answer.commit === null && !answer.preedit.length;
    const text = (answer.commit ?? "") + answer.preedit.join("") + (open && empty ? this.original : "");
    if (open && (empty || answer.commit !== null)) this.original = "";
    let length = open ? this.shown.length : text ? this.area.selectionEnd - this.area.selectionStart : 0;
    if (open && answer.fresh) [this.start, length] = [this.start + length, 0]; // the server has forgotten the line: it stays as it is
    this.start -= answer.erase;
    if (text || open || answer.erase) this.area.setRangeText(text, this.start, this.start + length + answer.erase, "end");
    this.start += (answer.commit ?? "").length;
    Object.assign(this, { pieces: answer.preedit, at: answer.at, candidates: answer.candidates, chosen: answer.chosen, page: answer.page, pages: answer.pages });
    if (!open && !answer.handled) this.#plain(key);
    this.changed(answer);
  }

  // A key that was typed while another was on its way, and means nothing to an empty line.
  #plain(key) {
    const { selectionStart, selectionEnd } = this.area;
    if (key === "enter") this.area.setRangeText("\n", selectionStart, selectionEnd, "end");
    if (key === "backspace") this.area.setRangeText("", selectionStart === selectionEnd ? Math.max(0, selectionStart - 1) : selectionStart, selectionEnd, "end");
  }

  #draw() {
    const { value } = this.area;
    const pieces = this.pieces.map((text, k) =>
      h("span", { class: this.at === null ? "reading at" : k === this.at ? "piece at" : "piece" }, text));
    show(this.under, value.slice(0, this.start), pieces, value.slice(this.start + this.shown.length), "\u200b");
    this.area.style.height = "auto";
    this.area.style.height = `${this.area.scrollHeight + 2}px`;
    this.#candidates(this.under.querySelector(".at"));
  }

  #candidates(mark) {
    this.window.hidden = !mark || !this.candidates.length;
    if (this.window.hidden) return this.area.removeAttribute("aria-activedescendant");
    const option = (text, k) => h("li", {
      role: "option", id: `candidate-${k}`, "aria-selected": String(k === this.chosen),
      onmousedown: (event) => { event.preventDefault(); event.stopPropagation(); this.press(String(k + 1)); },
    }, h("span", { class: "n" }, String(k + 1)), h("span", {}, differing(text, this.candidates[0])));
    const more = h("li", { role: "presentation", class: "more", onmousedown: (event) => { event.preventDefault(); this.press("page down"); } },
      `${this.page + 1} of ${this.pages} ▾`);
    show(this.window, this.candidates.map(option), this.pages > 1 && more);
    this.area.setAttribute("aria-activedescendant", `candidate-${this.chosen}`);
    const box = this.element.getBoundingClientRect();
    const place = mark.getClientRects()[0] ?? mark.getBoundingClientRect();
    this.window.style.top = `${place.bottom - box.top + 6}px`;
    this.window.style.left = `${Math.max(0, Math.min(place.left - box.left, box.width - this.window.offsetWidth - 8))}px`;
  }
}

// A text with the part marked that differs from another one.
export function differing(text, other) {
  const most = Math.min(text.length, other.length);
  let first = 0;
  let last = 0;
  while (first < most && text[first] === other[first]) first += 1;
  while (last < most - first && text.at(-1 - last) === other.at(-1 - last)) last += 1;
  const end = text.length - last;
  return [text.slice(0, first), first < end && h("mark", {}, text.slice(first, end)), text.slice(end)];
}
