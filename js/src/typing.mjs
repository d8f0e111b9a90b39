// Typing Japanese: keys in, text out (epigram/ime/typing/). What was chosen is not learnt.

import { InputError } from "./core.mjs";

const BEFORE_CARET = 300, PAGE = 9, MOST = 36, AHEAD = 3, PROBABLE = 12, LARGEST = 1e16, REIWA = 2018, HALF = Array.from({ length: 0xff9e - 0xff61 }, (_, k) => String.fromCharCode(0xff61 + k));
const SETTINGS = { punctuation: ["、。", "，．", "、．", "，。"], width: ["mixed", "half", "full"], layout: ["romaji", "kana"] }, LATIN = { romaji: /[A-Z]/, kana: /[A-DF-Y]/ }, FORMS = ["f6", "f7", "f8", "f9", "f10"];
const DAYS = { おととい: -2, きのう: -1, さくじつ: -1, きょう: 0, ほんじつ: 0, あした: 1, あす: 1, あさって: 2, せんしゅう: -7, らいしゅう: 7 };
const YEARS = { おととし: -2, きょねん: -1, さくねん: -1, ことし: 0, らいねん: 1, さらいねん: 2 }, MONTHS = { せんげつ: -1, こんげつ: 0, らいげつ: 1 };
export const unique = (values) => [...new Set(values)];
const shifted = (text, pattern, by) => text.replace(pattern, (c) => String.fromCharCode(c.charCodeAt(0) + by)), size = (text) => [...text].length;
const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

export const isHiragana = (text) => /^[ぁ-ゖーゝゞ]+$/.test(text);
export const isContent = (text) => /[一-鿿ァ-ヺ]/.test(text);
const hasKanji = (text) => /[一-鿿㐀-䶿]/.test(text);
export const toKatakana = (text) => shifted(text, /[ぁ-ゖ]/g, 0x60);
const toHiragana = (text) => shifted(text, /[ァ-ヶ]/g, -0x60);
const toWide = (text) => shifted(text.replaceAll(" ", "\u3000"), /[!-~]/g, 0xfee0);
let halves;
function toHalfWidth(text) {
  halves ??= new Map([...["", "ﾞ", "ﾟ"].flatMap((mark) => HALF.map((half) => half + mark)).map((half) => [half.normalize("NFKC"), half]).filter(([full]) => full.length === 1).reverse()]);
  return shifted([...text].map((c) => halves.get(c) ?? c).join(""), /[！-～]/g, -0xfee0);
}

/** Romaji as hiragana; a last n waits for what follows where a word is not finished. */
export function fromRomaji(text, table, finished = true) {
  let out = "", at = 0;
  const isDigit = (c) => /\p{Nd}/u.test(c ?? "");
  while (at < text.length) {
    if (",.-/:".includes(text[at]) && isDigit(text[at - 1]) && isDigit(text[at + 1])) { out += text[at++]; continue; }
    let length = Math.min(4, text.length - at), kana;
    while (length > 0 && (kana = own(table, text.slice(at, at + length))) === undefined) length--;
    if (length) {
      if (/^nn[aiueoy]/.test(text.slice(at, at + 3))) [kana, length] = ["ん", 1];
      out += kana;
      at += length;
      continue;
    }
    const here = text[at++], then = text[at] ?? "";
    out += here === "n" && (finished || then) && then !== "y" && then !== "'" ? "ん" : here === then && "bcdfghjkmprstwyz".includes(here) ? "っ" : here;
  }
  return out;
}

/** Dates and times of words such as きょう. */
function times(reading, now) {
  if (own(DAYS, reading) !== undefined) {
    const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() + DAYS[reading]), [y, m, d] = [day.getFullYear(), day.getMonth() + 1, day.getDate()], short = `${m}月${d}日`;
    const parts = [String(y).padStart(4, "0"), String(m).padStart(2, "0"), String(d).padStart(2, "0")];
    return [`${y}年${short}`, short, parts.join("/"), parts.join("-"), `令和${y - REIWA}年${short}`, `${"日月火水木金土"[day.getDay()]}曜日`];
  }
  if (own(YEARS, reading) !== undefined) return [`${now.getFullYear() + YEARS[reading]}年`, `令和${now.getFullYear() + YEARS[reading] - REIWA}年`];
  if (own(MONTHS, reading) !== undefined) {
    const month = new Date(now.getFullYear(), now.getMonth() + MONTHS[reading], 1);
    return [`${month.getMonth() + 1}月`, `${month.getFullYear()}年${month.getMonth() + 1}月`];
  }
  return ["いま", "じこく"].includes(reading) ? [`${now.getHours()}時${now.getMinutes()}分`, `${now.getHours()}:${String(now.getMinutes()).padStart(2, "0")}`] : [];
}

/** Whether two texts of a reading differ only in which kanji are written as hiragana. */
function isVariant(one, other) {
  const [a, b] = [[...one], [...other]];
  if (a.length === b.length && a.slice(0, -1).join("") === b.slice(0, -1).join("")) return false;
  const texts = [a, b].map((text) => text.filter((c) => !isHiragana(c))).sort((x, y) => x.length - y.length), [short, long] = texts.map((text) => text.filter(hasKanji)), [x, y] = texts.map((text) => text.filter((c) => !hasKanji(c)).join(""));
  let at = 0;
  return short.length > 0 && x === y && short.every((c) => (at = long.indexOf(c, at) + 1) > 0);
}

/** The line that is being edited. */
export class Typing {
  constructor(converter) {
    Object.assign(this, { converter, texts: converter.texts, settings: { punctuation: "、。", width: "mixed", layout: "romaji" } });
    this.reset();
  }

  reset() {
    Object.assign(this, { typed: "", cleared: "", before: "", message: "", erase: 0, last: null });
    this.toKana();
  }

  answer(request) {
    if (typeof request !== "object" || request === null) throw new InputError("a request must be an object, such as {key: \"a\"}");
    for (const [name, value] of Object.entries(request)) {
      if (["reconvert", "lessons", "forget", "private"].includes(name)) throw new InputError(`a page cannot reproduce '${name}': it learns nothing, and has no readings of texts`);
      if (!["key", "before", "reset", "set", "convert"].includes(name)) throw new InputError(`unknown field '${name}'; use one of before, convert, key, reset, set`);
      if (["key", "before", "convert"].includes(name) && typeof value !== "string") throw new InputError(`'${name}' must be text`);
    }
    if ("set" in request) this.set(request.set);
    if (request.reset) this.reset();
    if ("before" in request) this.moved(request.before);
    if ("convert" in request) return { ways: this.converter.nbest(request.convert, PAGE, { before: this.before }).map((way) => way.text) };
    let commit = null, handled = false;
    if ("key" in request) {
      const wasIdle = !this.typed;
      commit = this.press(request.key);
      handled = !wasIdle || Boolean(this.typed) || commit !== null || (request.key === "undo" && this.erase > 0);
      if (!handled) this.moved();
    }
    return { commit, handled, ...this.view(), settings: { ...this.settings } };
  }

  set(values) {
    for (const [name, value] of Object.entries(values ?? {})) {
      if (!own(SETTINGS, name)?.includes(value)) throw new InputError(`unknown setting ${name}=${value}; settings are ${Object.keys(SETTINGS).join(", ")}`);
      this.settings[name] = value;
    }
  }

  view() {
    const all = this.segments.length ? this.segments[this.at].alternatives : [], choice = this.chosen[this.at] ?? 0, page = Math.floor(choice / PAGE);
    const reading = this.kana(this.typed, this.segments.length > 0);
    return {
      reading, preedit: this.segments.length ? this.shown() : this.typed ? [this.wide(reading)] : [], at: this.segments.length ? this.at : null, candidates: all.slice(page * PAGE, (page + 1) * PAGE),
      chosen: choice - page * PAGE, page, pages: Math.ceil(all.length / PAGE), message: this.message, erase: this.erase,
    };
  }

  kana(typed, finished = true) {
    const { layout, punctuation } = this.settings, found = typed.search(LATIN[layout]), cut = found < 0 ? typed.length : found, head = typed.slice(0, cut);
    const kana = layout === "kana" ? [...head].map((key) => own(this.texts.keys, key) ?? key).join("").normalize("NFC").replaceAll("\u3099", "゛").replaceAll("\u309a", "゜") : fromRomaji(head, this.texts.romaji, finished || found >= 0);
    return kana.replace(/[、。]/g, (c) => punctuation["、。".indexOf(c)]) + typed.slice(cut);
  }

  wide(text) {
    return this.settings.width === "full" ? toWide(text) : text;
  }

  shown() {
    return this.segments.map(({ alternatives }, k) => (this.plain ? alternatives[this.chosen[k]] : this.wide(alternatives[this.chosen[k]])));
  }

  press(key) {
    [this.message, this.erase] = ["", 0];
    const isOpen = this.segments.length > 0;
    if (key === "enter") return this.commit();
    if (key === "undo") this.reopen();
    else if (key === "escape" && !isOpen) [this.cleared, this.typed] = [this.typed || this.cleared, ""];
    else if (key === "backspace" && !isOpen) this.erased();
    else if (key === "escape" || key === "backspace") this.toKana();
    else if (FORMS.includes(key)) this.writeAs(FORMS.indexOf(key));
    else if (isOpen) return this.choose(key);
    else if (key === "space" && !this.typed) return this.insert(this.settings.width === "half" ? " " : "\u3000");
    else if (key === "space") this.convert();
    else if (key === "tab") this.message = "a page predicts nothing";
    else if (size(key) === 1) this.typed += key;
    return null;
  }

  insert(text) {
    this.before = [...this.before, ...text].slice(-BEFORE_CARET).join("");
    this.last = null;
    return text;
  }

  /** Delete the last kana, or the last letter of an open syllable. */
  erased() {
    const reading = (typed) => this.kana(typed, false), whole = reading(this.typed), n = size(whole), isOpen = /[a-z]+$/.test(whole), shorter = (text) => [...text].slice(0, -1).join("");
    this.typed = shorter(this.typed);
    while (this.typed && !isOpen && (size(reading(this.typed)) >= n || /[a-z]+$/.test(reading(this.typed))) && !LATIN[this.settings.layout].test(this.typed)) this.typed = shorter(this.typed);
  }

  toKana() {
    Object.assign(this, { segments: [], chosen: [], at: 0, plain: false, found: null });
  }

  forms(kana, typed) {
    const hiragana = toHiragana(kana), katakana = toKatakana(hiragana);
    return [hiragana, katakana, toHalfWidth(katakana), toWide(typed), typed];
  }

  /** Write the current phrase, or the whole line, in one of the forms of F6 to F10. */
  writeAs(form) {
    if (!this.typed) return;
    if (this.plain || !this.segments.length) {
      const kana = this.kana(this.typed), surface = this.forms(kana, this.typed)[form];
      Object.assign(this, { segments: [{ reading: kana, surface, alternatives: [surface] }], chosen: [0], at: 0, plain: true, found: null });
      return;
    }
    const here = this.segments[this.at], start = this.segments.slice(0, this.at).reduce((sum, { reading }) => sum + size(reading), 0);
    const written = this.forms(here.reading, this.typed.slice(this.offset(start), this.offset(start + size(here.reading))))[form], alternatives = unique([...here.alternatives, written]);
    this.segments[this.at] = { ...here, alternatives };
    this.chosen[this.at] = alternatives.indexOf(written);
  }

  /** The number of typed characters that make the first n of the reading. */
  offset(n) {
    const kana = [...this.kana(this.typed)].slice(0, n).join(""), all = Array.from({ length: this.typed.length + 1 }, (_, k) => this.kana(this.typed.slice(0, k))), exact = all.indexOf(kana);
    return exact >= 0 ? exact : all.findLastIndex((own) => size(own) <= n);
  }

  convert(fixed = []) {
    const { converter } = this;
    try {
      this.found = converter.phrases(converter.reading(this.kana(this.typed)), this.before, fixed);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      this.message = error.message;
      return;
    }
    this.segments = this.found.bare();
    Object.assign(this, { chosen: this.segments.map(() => 0), at: 0, plain: false });
    this.expand();
  }

  /** Find the ways to write the current phrase, unless they are known. */
  expand() {
    if (this.found && this.segments[this.at]?.alternatives.length === 1) this.segments[this.at] = this.arranged(this.found.segment(this.at, MOST));
  }

  /** Variants first; dates, numbers and emoji behind a few words. */
  arranged(segment) {
    const { reading, alternatives: [first, ...rest] } = segment, variants = rest.slice(0, PROBABLE).filter((text) => isVariant(first, text)), others = rest.filter((text) => !variants.includes(text));
    const computed = [...times(reading, new Date()), ...this.numbers(reading), ...(own(this.texts.emoji, reading) ?? [])], isStray = (text) => /[ぁ-ゖ一-鿿](?![ノヶケ])[ァ-ヺ](?![ァ-ヺー])/.test(text);
    const later = others.slice(AHEAD);
    return { ...segment, alternatives: unique([first, ...variants, ...others.slice(0, AHEAD), ...computed, ...later.filter((text) => !isStray(text)), ...later.filter(isStray)]) };
  }

  numbers(reading) {
    if (!/^[0-9]+$/.test(reading)) return [];
    if (reading[0] === "0" || Number(reading) >= LARGEST) return [toWide(reading)];
    return this.converter.waysToWrite(Number(reading)).filter((text) => text !== reading);
  }

  choose(key) {
    const n = this.segments[this.at].alternatives.length, now = this.chosen[this.at], step = { down: 1, space: 1, tab: 1, up: -1 }[key], count = this.segments.length, pages = Math.ceil(n / PAGE);
    if (key === "left" || key === "right") {
      this.at = (this.at + (key === "right" ? 1 : -1) + count) % count;
      this.expand();
    } else if (key === "longer" || key === "shorter") this.resize(key === "longer" ? 1 : -1);
    else if (step) this.chosen[this.at] = (now + step + n) % n;
    else if (key === "page up" || key === "page down") this.chosen[this.at] = ((Math.floor(now / PAGE) + (key === "page down" ? 1 : -1) + pages) % pages) * PAGE;
    else if (/^[1-9]$/.test(key)) {
      const choice = Math.floor(now / PAGE) * PAGE + Number(key) - 1;
      if (choice < n) this.chosen[this.at] = choice;
    } else if (size(key) === 1) {
      const text = this.commit();
      this.typed = key;
      return text;
    }
    return null;
  }

  /** Lengthen or shorten the current phrase by a character; keeps those before it. */
  resize(more) {
    if (this.plain) return;
    const { at, segments, chosen } = this, lengths = segments.slice(0, at + 1).map(({ reading }) => size(reading));
    lengths[at] += more;
    if (lengths[at] < 1 || lengths.reduce((a, b) => a + b) > size(this.kana(this.typed))) return;
    this.convert(lengths);
    this.segments.splice(0, at, ...segments.slice(0, at));
    this.chosen.splice(0, at, ...chosen.slice(0, at));
    this.at = at;
    this.expand();
  }

  commit() {
    const text = this.segments.length ? this.shown().join("") : this.wide(this.kana(this.typed));
    if (!text) return null;
    const last = [this.typed, text, this.before];
    this.toKana();
    [this.typed, this.cleared] = ["", ""];
    this.insert(text);
    this.last = last;
    return text;
  }

  /** Edit again what was abandoned or committed last. */
  reopen() {
    if (this.typed) return;
    if (this.cleared) [this.typed, this.cleared] = [this.cleared, ""];
    else if (!this.last) this.message = "nothing to take back";
    else {
      const [typed, text, before] = this.last;
      Object.assign(this, { typed, before, last: null, erase: size(text) });
      this.convert();
    }
  }

  /** What stands before the caret now; the last commit cannot be reopened if it may not stand there any more. */
  moved(before) {
    if (before !== undefined) this.before = [...before].slice(-BEFORE_CARET).join("");
    if (this.last && !(before ?? "").endsWith(this.last[1])) this.last = null;
  }
}
