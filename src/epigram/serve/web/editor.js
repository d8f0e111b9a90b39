// A text area in which kana becomes text: what is typed stands in the text itself, marked, until it is committed.
//
// The state is a place in the text and either a reading (typed) or its segments with a choice each. A sheet under the
// text area, with the same letters in no colour, draws the marks; the window of candidates follows the piece.

import { fromRomaji } from "./romaji.js";
import { h, show } from "./dom.js";

const ENDS = /[。！？!?\n]$/;

export class Editor {
  // ask(reading, left, fixed) gives segments, learn(reading, text, left) is told of corrections.
  constructor({ ask, learn, changed }) {
    Object.assign(this, { ask, learn, changed, start: 0, typed: "", segments: null, chosen: [], at: 0, left: [], recent: [], hint: "" });
    this.area = h("textarea", {
      rows: 6, autofocus: true, spellcheck: "false", autocapitalize: "off", autocomplete: "off", lang: "ja", "aria-label": "Japanese text",
      "aria-describedby": "keys", "aria-controls": "candidates", "aria-autocomplete": "list",
      onkeydown: (event) => this.#key(event), onbeforeinput: (event) => this.#input(event), oninput: () => this.#draw(),
      onmousedown: () => this.#settle(), onblur: () => this.#hide(), onfocus: () => this.#draw(),
    });
    this.under = h("div", { class: "under", "aria-hidden": "true" });
    this.window = h("ul", { class: "candidates", id: "candidates", role: "listbox", "aria-label": "candidates", hidden: true });
    this.element = h("div", { class: "page" }, this.under, this.area, this.window);
    this.queue = Promise.resolve();
  }

  get composing() { return this.typed !== "" || this.segments !== null; }
  get reading() { return fromRomaji(this.typed, false); }
  get shown() { return this.segments ? this.segments.map((one, k) => one.alternatives[this.chosen[k]]).join("") : this.reading; }

  #input(event) {
    const data = event.data ?? "";
    if (event.isComposing || event.inputType === "insertFromPaste") return this.#settle();
    if (event.inputType === "insertText" && /^[a-z'\-]$|^[ぁ-ゖーァ-ヺ]+$/.test(data) && (this.composing || /[a-zぁ-ヺ]/.test(data))) {
      event.preventDefault();
      this.#do(() => this.#type(data));
    } else if (event.inputType === "insertText" && this.composing && data !== " ") {
      event.preventDefault();
      this.#do(() => (this.segments ? this.#commit() : null, this.#type(data)));
    } else if (event.inputType === "insertText" && ".,!?[]".includes(data) && data) {
      event.preventDefault();
      this.#do(() => this.#insert(fromRomaji(data)));
    }
  }

  #key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key;
    const action = this.#action(key, event.shiftKey);
    if (!action) {
      if (this.composing && ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(key)) event.preventDefault();
      return;
    }
    event.preventDefault();
    this.#do(action);
  }

  #action(key, shift) {
    if (!this.composing && !this.pending) return null;
    if (key === "Enter") return () => this.#commit();
    if (key === "Escape") return () => (this.segments ? this.#back() : this.#clear());
    if (key === " ") return () => (this.segments ? this.#candidate(1) : this.#convert([]));
    if (key === "Backspace") return () => (this.segments ? this.#back() : this.#erase());
    if (key === "ArrowDown" || key === "ArrowUp") return () => this.segments && this.#candidate(key === "ArrowDown" ? 1 : -1);
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const step = key === "ArrowRight" ? 1 : -1;
      return () => this.segments && (shift ? this.#resize(step) : this.#move(step));
    }
    if (/^[1-9]$/.test(key) && (this.segments || this.pending)) return () => (this.segments ? this.#choose(Number(key) - 1) : this.#type(key));
    return null;
  }

  // Keys are done one after the other, whatever the server's answers take.
  #do(action) {
    this.pending = (this.pending ?? 0) + 1;
    this.queue = this.queue.then(action).catch(() => {}).then(() => {
      this.pending -= 1;
      this.#draw();
      this.changed(this);
    });
    return this.queue;
  }

  // For buttons and tests: wait until every key so far is done.
  settled() { return this.queue; }

  #replace(length, text) {
    const { value } = this.area;
    this.area.value = value.slice(0, this.start) + text + value.slice(this.start + length);
    this.area.selectionStart = this.area.selectionEnd = this.start + text.length;
  }

  #update(change) {
    const before = this.shown.length;
    change();
    this.#replace(before, this.shown);
  }

  #type(text) {
    if (this.segments) this.#commit();
    if (!this.composing) {
      const { value, selectionStart, selectionEnd } = this.area;
      this.area.value = value.slice(0, selectionStart) + value.slice(selectionEnd);
      this.start = selectionStart;
      this.area.selectionStart = this.area.selectionEnd = this.start;
      const before = this.area.value.slice(0, this.start);
      const known = this.recent.map((token) => token.surface).join("");
      this.left = known && before.endsWith(known) && !ENDS.test(before) ? this.recent.map((token) => token.token) : [];
    }
    this.hint = "";
    this.#update(() => (this.typed += text));
  }

  #insert(text) {
    const { selectionStart, selectionEnd, value } = this.area;
    this.area.value = value.slice(0, selectionStart) + text + value.slice(selectionEnd);
    this.area.selectionStart = this.area.selectionEnd = selectionStart + text.length;
    this.recent = [];
  }

  #erase() {
    this.#update(() => {
      const before = this.reading.length;
      const kana = !/[a-z]$/.test(this.reading);
      do this.typed = this.typed.slice(0, -1);
      while (this.typed && (this.reading.length >= before || (kana && /[a-z]$/.test(this.reading))));
    });
    this.hint = "";
  }

  async #convert(fixed, at = 0) {
    const reading = fromRomaji(this.typed);
    if (!reading) return;
    const old = this.segments ? this.segments.map((one, k) => [one.reading, one.alternatives[this.chosen[k]]]) : [];
    const segments = await this.ask(reading, this.left, fixed);
    this.#update(() => {
      this.segments = segments;
      this.chosen = segments.map((one, k) => {
        const kept = k < at && old[k]?.[0] === one.reading ? one.alternatives.indexOf(old[k][1]) : 0;
        return Math.max(kept, 0);
      });
      this.at = Math.min(at, segments.length - 1);
    });
  }

  #resize(step) {
    const lengths = this.segments.slice(0, this.at + 1).map((one) => one.reading.length);
    lengths[this.at] += step;
    const total = lengths.reduce((a, b) => a + b, 0);
    if (lengths[this.at] < 1 || total > fromRomaji(this.typed).length) return null;
    return this.#convert(lengths, this.at);
  }

  #move(step) {
    this.at = (this.at + step + this.segments.length) % this.segments.length;
  }

  #candidate(step) {
    const n = this.segments[this.at].alternatives.length;
    this.#choose((this.chosen[this.at] + step + n) % n);
  }

  #choose(k) {
    if (k < this.segments[this.at].alternatives.length) this.#update(() => (this.chosen[this.at] = k));
  }

  #back() {
    this.#update(() => {
      this.segments = null;
      this.chosen = [];
    });
  }

  #clear() {
    this.#update(() => {
      this.typed = "";
      this.segments = null;
    });
  }

  #commit() {
    const { segments, chosen, left } = this;
    const reading = fromRomaji(this.typed);
    const text = segments ? this.shown : reading;
    this.#replace(this.shown.length, text);
    if (segments && chosen.some((k) => k > 0)) this.learn(reading, text, left);
    const tokens = (segments ?? []).map((one, k) => {
      const surface = one.alternatives[chosen[k]];
      return { surface, token: surface === one.reading ? surface : `${surface}/${one.reading}` };
    });
    this.recent = [...(left.length ? this.recent : []), ...tokens].slice(-4);
    if (!segments) this.recent = [];
    Object.assign(this, { typed: "", segments: null, chosen: [], at: 0, hint: "" });
  }

  #settle() {
    if (this.composing) this.#do(() => this.#commit());
  }

  #hide() {
    this.window.hidden = true;
  }

  suggest(reading, text) {
    if (!this.segments && fromRomaji(this.typed) === reading) {
      this.hint = text;
      this.#draw();
    }
  }

  #draw() {
    const { value } = this.area;
    const pieces = this.segments
      ? this.segments.map((one, k) => h("span", { class: k === this.at ? "piece at" : "piece" }, one.alternatives[this.chosen[k]]))
      : this.typed ? [h("span", { class: "reading at" }, this.reading)] : [];
    show(this.under, value.slice(0, this.start), pieces, value.slice(this.start + this.shown.length), "\u200b");
    this.area.style.height = "auto";
    this.area.style.height = `${this.area.scrollHeight + 2}px`;
    this.#candidates(this.under.querySelector(".at"));
  }

  #candidates(mark) {
    const options = this.segments?.[this.at].alternatives ?? [];
    this.window.hidden = !mark || (!options.length && !this.hint);
    if (this.window.hidden) return this.area.removeAttribute("aria-activedescendant");
    show(this.window, this.segments
      ? options.map((text, k) => h("li", {
        role: "option", id: `candidate-${k}`, "aria-selected": String(k === this.chosen[this.at]),
        onmousedown: (event) => { event.preventDefault(); event.stopPropagation(); this.#do(() => this.#choose(k)); },
      }, h("span", { class: "n" }, String(k + 1)), text))
      : h("li", { role: "option", id: "candidate-0", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); this.#do(() => this.#convert([])); } },
        this.hint, h("span", { class: "hint" }, "space")));
    this.area.setAttribute("aria-activedescendant", `candidate-${this.segments ? this.chosen[this.at] : 0}`);
    const box = this.element.getBoundingClientRect();
    const place = (mark.getClientRects()[0] ?? mark.getBoundingClientRect());
    this.window.style.top = `${place.bottom - box.top + 6}px`;
    this.window.style.left = `${Math.max(0, Math.min(place.left - box.left, box.width - this.window.offsetWidth - 8))}px`;
  }
}
