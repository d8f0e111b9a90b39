// Pipelines (epigram/pipeline/): raw text to sentences, words, tags, lemmas and trees.

import { InputError } from "./core.mjs";
import { ChainModel, Tagger } from "./chain.mjs";
import { column, putOffsets, running } from "./features.mjs";
import { damaged, readArrays, refuse, under } from "./file.mjs";
import { Parser } from "./parser.mjs";
import { SPACE } from "./template.mjs";

const LONGEST_CELL = 200; // characters that templates see of a word
const LABELS = ["I", "S", "T"], TAGS = ["upos", "xpos", "feats"], WRITABLE = { words: "script", lemmas: "lemma" };
const WINDOW = 1 << 14, OVERLAP = 1 << 8, CHARACTERS = 1 << 15, LONGEST = 200, LIKELY = 0.4, BLOCK = 4096, N_COLUMNS = 13;

// ---- Characters (characters.py)

const BLANK = 1, LINE_ENDS = { 0x0a: 1, 0x0d: 1, 0x85: 1, 0x2028: 1, 0x0c: 2, 0x2029: 2 };
const BLANKS = new RegExp(`[${SPACE}]+`, "gu"), IS_BLANK = new RegExp(`[${SPACE}]`, "u"), ALNUM = /[\p{L}\p{N}]$/u;
const SCRIPTS = [
  ["漢", /[\p{Unified_Ideograph}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u], ["あ", /(?![\u{1b002}-\u{1b11e}])\p{Script=Hiragana}/u],
  ["ア", /(?![\uff66-\uff9d])[\p{Script=Katakana}\u30fc]/u], ["가", /(?![\uffa0-\uffdc])\p{Script=Hangul}/u], ["ก", /\p{Script=Thai}/u],
  ["ع", /[\p{Script=Arabic}\u0640]/u], ["א", /\p{Script=Hebrew}/u],
];
const CHARACTER_CLASSES = [
  [/[\p{Lu}\p{Lt}]/u, "A"], [/\p{Ll}/u, "a"], [/\p{L}/u, (c) => SCRIPTS.find(([, of]) => of.test(c))?.[0] ?? "o"], [/\p{Nd}/u, "0"], [/\p{N}/u, "n"], [/\p{M}/u, "m"],
  [/[\p{Cc}\p{Cs}\p{Cn}\p{Co}]/u, "c"], [/\p{So}/u, "s"],
];
const lowered = new Map();

/** Class and lower case of a code point, as numbers. */
function learn(code) {
  let found = lowered.get(code);
  if (found) return found;
  const c = String.fromCodePoint(code), low = c.toLowerCase(), kind = CHARACTER_CLASSES.find(([of]) => of.test(c))?.[1] ?? c;
  const lower = /\p{Nd}/u.test(c) ? 48 : [...low].length === 1 ? low.codePointAt(0) : code;
  lowered.set(code, (found = [lower, IS_BLANK.test(c) ? BLANK : (typeof kind === "string" ? kind : kind(c)).codePointAt(0)]));
  return found;
}

/** The code points of a text, where in it they begin, and which are not blank. */
function charactersOf(text) {
  const codes = new Uint32Array(text.length), places = new Int32Array(text.length + 1);
  let n = 0;
  for (let at = 0; at < text.length; n++) {
    [codes[n], places[n]] = [text.codePointAt(at), at];
    at += codes[n] > 0xffff ? 2 : 1;
  }
  places[n] = text.length;
  const lower = new Uint32Array(n), kinds = new Uint32Array(n), positions = new Int32Array(n), paragraphs = [];
  let nPositions = 0, ends = 2;
  for (let k = 0; k < n; k++) {
    [lower[k], kinds[k]] = learn(codes[k]);
    if (kinds[k] !== BLANK) {
      if (ends >= 2) paragraphs.push(nPositions);
      ends = 0;
      positions[nPositions++] = k;
    }
    if (codes[k] in LINE_ENDS && !(codes[k] === 0x0d && codes[k + 1] === 0x0a)) ends += LINE_ENDS[codes[k]];
  }
  return { lower, kinds, places, positions: positions.subarray(0, nPositions), paragraphs: nPositions ? [...paragraphs, nPositions] : [0] };
}

/** Finds tokens and sentences (splitter.py). */
class Splitter {
  constructor(core, model, keepsBlanks) {
    if (!model.labels.every((label) => LABELS.includes(label)) || model.template.nColumns > N_COLUMNS) damaged("the tokenizer has other labels or columns");
    Object.assign(this, { core, model, keepsBlanks, number: model.labels.map((label) => LABELS.indexOf(label)) });
  }

  /** Cells of characters begins[s] .. ends[s] as columns of strings that stay in C's memory. */
  columns({ lower, kinds }, begins, ends, sizes) {
    const { core } = this, { c } = core, low = Math.min(...begins), high = Math.max(...ends), n = high - low, rows = sizes.at(-1);
    const raw = core.space("u8", 8 * n + 11), [starts, stops] = [core.space("i64", N_COLUMNS * rows), core.space("i64", N_COLUMNS * rows)];
    const own = kinds.subarray(low, high), used = c.characters_find_cells(
      core.put("u32", lower.subarray(low, high)), core.put("u32", own), core.put("u8", Uint8Array.from(own, (kind) => (kind === BLANK ? 1 : 0))),
      core.put("i64", begins.map((at) => at - low)), core.put("i64", ends.map((at) => at - low)), putOffsets(core, sizes), raw, core.space("i64", n + 1), core.space("i64", n + 1), starts, stops,
    );
    if (used < 0) damaged("the characters of a text");
    const ids = core.space("i32", rows), first = core.space("i64", rows), length = core.space("i32", rows);
    return Array.from({ length: N_COLUMNS }, (_, k) => {
      const found = c.columns_factorise(core.part(raw, 0, used), core.part(starts, k * rows, rows), core.part(stops, k * rows, rows), ids, first, length);
      const begin = Array.from(core.view(core.part(first, 0, found)), Number), size = core.view(core.part(length, 0, found)).slice(), ptr = running(size);
      const content = core.space("u8", ptr.at(-1)), from = core.view(raw), to = core.view(content);
      for (let j = 0; j < found; j++) for (let b = 0; b < size[j]; b++) to[ptr[j] + b] = from[begin[j] + b];
      return { ids: core.view(ids).slice(), packed: { ptr: putOffsets(core, ptr), content } };
    });
  }

  /** The number in LABELS of every character that is not blank. */
  label(characters) {
    const { positions, paragraphs } = characters, out = new Uint8Array(positions.length), windows = [];
    for (let p = 0; p + 1 < paragraphs.length; p++) {
      const [begin, end] = [paragraphs[p], paragraphs[p + 1]];
      for (let at = begin; at < end; at += WINDOW) {
        const stop = Math.min(at + WINDOW, end);
        windows.push([at, stop, Math.max(begin, at - OVERLAP), Math.min(end, stop + OVERLAP)]);
      }
    }
    for (let w = 0; w < windows.length;) {
      const batch = [];
      for (let n = 0; w < windows.length && (!batch.length || n + windows[w][3] - windows[w][2] <= CHARACTERS); w++) {
        batch.push(windows[w]);
        n += windows[w][3] - windows[w][2];
      }
      const ptr = running(batch.map(([, , low, high]) => high - low));
      const found = this.core.scope(() => {
        const columns = this.columns(characters, batch.map(([, , low]) => positions[low]), batch.map(([, , , high]) => positions[high - 1] + 1), ptr);
        const encoded = this.model.encode({ ptr, columns }), best = this.model.best(encoded), { nodes } = this.model.probabilities(encoded), L = this.number.length, opens = this.number.indexOf(1);
        return best.map((label, t) => (opens >= 0 && nodes[t * L + opens] >= LIKELY ? 1 : this.number[label]));
      });
      batch.forEach(([begin, end, low], k) => out.set(found.subarray(ptr[k] + begin - low, ptr[k] + end - low), begin));
    }
    for (let t = 1; t < out.length && !this.keepsBlanks; t++) if (!out[t] && positions[t] - positions[t - 1] > 1) out[t] = 2;
    return out;
  }

  /** Tokens as offsets in the text: `{starts, ends, ptr, opens}`. */
  split(text) {
    const characters = charactersOf(text), { positions, paragraphs, places } = characters, labels = this.label(characters), opening = new Set(paragraphs.slice(0, -1));
    const starts = [], ends = [], begins = [], opens = [];
    for (const t of opening) labels[t] = 1;
    for (let t = 0; t < labels.length; t++) {
      if (labels[t] === 1) {
        begins.push(starts.length);
        opens.push(opening.has(t));
      }
      if (labels[t]) {
        starts.push(places[positions[t]]);
        ends.push(0);
      }
      ends[ends.length - 1] = places[positions[t] + 1];
    }
    return { text, starts, ends, ...cutLong(begins, opens, starts, ends, text) };
  }
}

/** Cut sentences longer than LONGEST, after punctuation where there is any. */
function cutLong(begins, opens, starts, ends, text) {
  const ptr = [], found = [];
  begins.forEach((begin, s) => {
    const end = begins[s + 1] ?? starts.length;
    for (let at = begin; ;) {
      ptr.push(at);
      found.push(at === begin && opens[s]);
      if (end - at <= LONGEST) break;
      let mark = at + LONGEST;
      while (mark > at + LONGEST / 2 && ALNUM.test(text.slice(starts[mark - 1], ends[mark - 1]))) mark--;
      at = mark > at + LONGEST / 2 ? mark : at + LONGEST;
    }
  });
  return { ptr: [...ptr, starts.length], opens: found };
}

// ---- Edit scripts (edits.py)

const LEMMA_SCRIPT = /^([ltk])\|(\d{1,6})\|([^|]*)\|(\d{1,6})\|([^|]*)$/, WORD_SCRIPT = /^(?:[+-]\d{1,6}(?: [+-]\d{1,6})*|\d{1,6}>[^ <>]*(?: [^ <>]*<\d{1,6})+)$/;
const TITLED = /[\u01c4-\u01cc\u01f1-\u01f3]/, UNTITLED = /[\u10d0-\u10ff]/, CASED = /\p{Uppercase}/u, NOT_UPPER = /[\p{Lowercase}\p{Lt}]/u;
const isUpper = (text) => CASED.test(text) && !NOT_UPPER.test(text);

/** The first letter as a title begins with it, the others small. */
function capitalize(text) {
  const [first = "", ...rest] = text, upper = [...first.toUpperCase()];
  const title = TITLED.test(first) ? { "Ǆ": "ǅ", "Ǉ": "ǈ", "Ǌ": "ǋ", "Ǳ": "ǲ" }[upper[0]] : UNTITLED.test(first) ? first : upper[0] + upper.slice(1).join("").toLowerCase();
  return first ? title + rest.join("").toLowerCase() : "";
}

/** Leave out the middle of cells that are longer than LONGEST_CELL characters. */
function bounded(column) {
  if (column.strings.every((cell) => cell.length <= LONGEST_CELL)) return column;
  const strings = column.strings.map((cell) => {
    const characters = [...cell];
    return characters.length <= LONGEST_CELL ? cell : [...characters.slice(0, LONGEST_CELL / 2), ...characters.slice(-LONGEST_CELL / 2)].join("");
  });
  return { ...column, strings };
}

function applyLemma(form, script) {
  if (script[0] === "=") return script.slice(1) || form;
  const found = LEMMA_SCRIPT.exec(script);
  if (!found) return form;
  const [, how, front, before, back, after] = found, base = [...(how === "l" ? form.replaceAll("İ", "i").toLowerCase() : how === "t" ? capitalize(form) : form)];
  if (Number(front) + Number(back) > base.length) return base.join("");
  const stem = base.slice(Number(front), base.length - Number(back)).join("");
  return before + stem + after || base.join("");
}

function applyWords(token, script) {
  if (script === "=" || !WORD_SCRIPT.test(script)) return [token];
  const whole = [...token], n = whole.length;
  if (!script.includes(">")) {
    const marks = [0, ...script.split(" ").map((cut) => (cut[0] === "+" ? Number(cut) : n + Number(cut))), n];
    if (marks.some((mark, k) => k && marks[k - 1] >= mark)) return [token];
    const words = marks.slice(1).map((mark, k) => whole.slice(marks[k], mark).join(""));
    return words.every((word) => !IS_BLANK.test([...word][0]) && !IS_BLANK.test([...word].at(-1))) ? words : [token];
  }
  const base = [...token.toLowerCase()], found = [];
  if (base.length !== n) return [token];
  for (const part of script.split(" ")) {
    const [cut, put] = part.includes(">") ? part.split(">") : part.split("<").reverse();
    if (Number(cut) > n) return [token];
    found.push(part.includes(">") ? base.slice(0, n - Number(cut)).join("") + put : put + base.slice(n - Number(cut)).join(""));
  }
  if (!found.every(Boolean)) return [token];
  if (isUpper(token) && n > 1) return found.map((word) => word.toUpperCase());
  if (!isUpper(whole[0])) return found;
  const [first, ...rest] = found[0];
  return [first.toUpperCase() + rest.join(""), ...found.slice(1)];
}

/** Rows of columns as one column, by an action on their cells, once for each distinct row. */
function combine(columns, action) {
  const rows = column(Array.from(columns[0].ids, (_, t) => columns.map(({ ids }) => ids[t]).join(" "))), first = new Map();
  rows.ids.forEach((id, t) => { if (!first.has(id)) first.set(id, t); });
  return { ids: rows.ids, values: Array.from(rows.strings, (_, id) => action(columns.map(({ ids, strings }) => strings[ids[first.get(id)]]), first.get(id))) };
}

/** A combined column of strings. */
const asColumn = ({ ids, values }) => ({ ids, strings: values });

// ---- The pipeline (pipeline.py, stages.py)

/** Analyses raw text. */
export class Pipeline {
  static methods = ["info", "analyse", "conllu", "explain"];

  static async of(core, file) {
    readArrays("pipeline", file);
    const parts = file.header.parts, names = parts.map((part) => part.name), made = new Pipeline(), known = new Set(["form"]);
    if (new Set(names).size < names.length) damaged("two parts of the same name");
    if (!names.includes("tokens")) refuse("pipelines without a tokenizer");
    Object.assign(made, { core, header: file.header, stages: [], parser: null });
    const check = (reads) => { if (!reads.length || !reads.every((name) => known.has(name))) damaged(`a part reads ${reads}, which no part before it writes`); };
    for (const { name, reads, writes, header } of parts) {
      const own = { header, tensors: under(file.tensors, `${name}.`) };
      if (name === "trees") {
        made.parser = await Parser.of(core, own);
        check(made.parser.observed);
        continue;
      }
      const model = await ChainModel.of(core, own, ["crf"]), wanted = WRITABLE[name];
      if (name === "tokens") {
        made.splitter = new Splitter(core, model, file.header.keeps_blanks ?? true);
        continue;
      }
      if (name !== "words") check(reads);
      if (wanted ? writes.join() !== wanted : !writes.length || !writes.every((cell) => TAGS.includes(cell))) damaged(`part '${name}' writes ${writes}`);
      if (model.template.nColumns > (name === "lemmas" ? 3 : reads.length)) damaged(`part '${name}' reads more columns than it names`);
      for (const cell of writes) known.add(cell);
      made.stages.push({ name, reads, writes, model, cells: model.labels.map((label) => String(label).split("\t")), tagger: new Tagger(core, file, model) });
    }
    return made;
  }

  info() {
    const { header: { parts, fit }, stages, parser } = this;
    return { family: "pipeline", parts: parts.map((part) => part.name), tags: stages.flatMap((stage) => (stage.name === "words" ? [] : stage.writes)), trees: parser !== null, trainedOn: fit };
  }

  /** The columns that the template of a stage sees. */
  observed({ reads, name }, columns) {
    const own = reads.map((read) => bounded(columns[read]));
    if (name !== "lemmas") return own;
    const tags = own.length > 1 ? own.slice(1) : [{ ids: new Int32Array(own[0].ids.length), strings: ["_"] }];
    return [own[0], tags[0], tags.length === 1 ? tags[0] : asColumn(combine(tags, (cells) => cells.join("\t")))];
  }

  /** The label id of every word. */
  label(stage, columns, ptr) {
    const { model } = stage, observed = this.observed(stage, columns);
    if (!observed[0].ids.length) return new Int32Array(0);
    if (model.template.reach || model.template.transitions || model.template.edges.length) return this.core.scope(() => model.best(model.encode({ ptr, columns: observed })));
    const { ids, values: first } = combine(observed, (_, t) => t); // each distinct row once
    const rows = observed.map((one) => ({ ids: Int32Array.from(first, (t) => one.ids[t]), strings: one.strings }));
    const found = this.core.scope(() => model.best(model.encode({ ptr: Int32Array.from({ length: first.length + 1 }, (_, k) => k), columns: rows })));
    return ids.map((id) => found[id]);
  }

  /** Columns, heads and words of tokens in sentences: `{columns, heads, sizes, ptr}`. */
  annotate(forms, ptr) {
    const columns = { form: column(forms) };
    let sizes = new Int32Array(forms.length).fill(1), heads = null, deprel = null;
    for (const stage of this.stages) {
      const ids = this.label(stage, stage.name === "words" ? { ...columns, token: columns.form } : columns, ptr), cells = stage.writes.map((_, k) => ({ ids, strings: stage.cells.map((cell) => cell[k] ?? "_") }));
      if (stage.name === "words") {
        const { ids: rows, values } = combine([columns.form, { ids, strings: stage.model.labels }], ([form, script]) => applyWords(form, script));
        sizes = rows.map((row) => values[row].length);
        const words = Array.from(rows).flatMap((row) => values[row]), before = running(sizes);
        columns.form = column(words);
        ptr = ptr.map((t) => before[t]);
      } else if (stage.name === "lemmas") columns.lemma = asColumn(combine([columns.form, cells[0]], ([form, script]) => applyLemma(form, script)));
      else stage.writes.forEach((name, k) => { columns[name] ??= cells[k]; });
    }
    if (this.parser) ({ heads, deprel } = this.parser.parse({ ptr, columns: this.parser.observed.map((name) => columns[name]) }));
    return { columns: deprel ? { ...columns, deprel } : columns, heads, sizes, ptr };
  }

  /** A text as tokens and, for blocks of sentences, what is known of their words. */
  blocks(text) {
    if (typeof text !== "string") throw new InputError(`expected a text, not ${text === null ? "null" : typeof text}`);
    const tokens = this.splitter.split(text), { starts, ends, ptr } = tokens, blocks = [];
    for (let s = 0; s < ptr.length - 1;) {
      const first = s;
      while (s < ptr.length - 1 && (s === first || ptr[s + 1] - ptr[first] <= BLOCK)) s++;
      const forms = [];
      for (let t = ptr[first]; t < ptr[s]; t++) forms.push(text.slice(starts[t], ends[t]).replace(BLANKS, " "));
      blocks.push({ first, ...this.annotate(forms, Int32Array.from(ptr.slice(first, s + 1), (t) => t - ptr[first])) });
    }
    return { tokens, blocks };
  }

  /** The probabilities of the first tag and of the head of every word of a block. */
  confidences({ columns, heads, ptr }) {
    const stage = this.stages.find(({ writes }) => TAGS.includes(writes[0])), found = {};
    if (stage) {
      const { model, cells } = stage, L = cells.length, { ids } = columns[stage.writes[0]], { nodes } = this.core.scope(() => model.probabilities(model.encode({ ptr, columns: this.observed(stage, columns) })));
      found.probability = Array.from(ids, (id, t) => cells.reduce((sum, [tag], j) => sum + (tag === cells[id][0] ? nodes[t * L + j] : 0), 0));
    }
    if (heads) {
      const charts = this.core.scope(() => this.parser.charts({ ptr, columns: this.parser.observed.map((name) => columns[name]) }));
      found.head_probability = charts.flatMap(({ p }, s) => Array.from(heads.subarray(ptr[s], ptr[s + 1]), (head, c) => p[head * (ptr[s + 1] - ptr[s]) + c]));
    }
    return found;
  }

  /**
   * A text as sentences of tokens of words, as Python's `Doc.to_json`; offsets are those of JavaScript's strings.
   * `probabilities` adds those of each word's first tag and head.
   */
  analyse(text, { probabilities = false } = {}) {
    const { tokens: { starts, ends, ptr, opens }, blocks } = this.blocks(text), sentences = [];
    for (const block of blocks) {
      const { first, columns, heads, sizes, ptr: wordPtr } = block, chances = probabilities ? Object.entries(this.confidences(block)) : [];
      const known = [["lemma", "lemma"], ["upos", "upos"], ["xpos", "xpos"], ["feats", "feats"]].filter(([name]) => columns[name]);
      const cell = (name, k) => columns[name].strings[columns[name].ids[k]];
      for (let s = 0, k = 0, t0 = ptr[first]; s < wordPtr.length - 1; s++) {
        const from = ptr[first + s], to = ptr[first + s + 1], tokens = [];
        for (let t = from, id = 1; t < to; t++) {
          const words = [];
          for (const last = k + sizes[t - t0]; k < last; k++, id++) {
            const word = { id, text: cell("form", k) };
            for (const [name] of known) word[name] = cell(name, k);
            if (heads) Object.assign(word, { head: heads[k], relation: cell("deprel", k) });
            for (const [name, p] of chances) word[name] = p[k];
            words.push(word);
          }
          tokens.push({ text: text.slice(starts[t], ends[t]), start: starts[t], end: ends[t], words });
        }
        sentences.push({ text: text.slice(starts[from], ends[to - 1]), start: starts[from], end: ends[to - 1], opens_paragraph: opens[first + s], tokens });
      }
    }
    return { text, sentences };
  }

  /** A text in CoNLL-U, as Python's `Doc.to_conllu`. */
  conllu(text) {
    const { sentences } = this.analyse(text), lines = ["# newdoc\n"], spaced = (form) => form.replace(BLANKS, " ").trim(), all = sentences.flatMap(({ tokens }) => tokens);
    const escaped = (blanks) => blanks.replace(/[\\ \t\n\r|]/g, (c) => ({ "\\": "\\\\", " ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p" })[c]);
    let t = 0;
    sentences.forEach(({ tokens, opens_paragraph: opens }, s) => {
      const whole = tokens.map((token, k) => (k && token.start > tokens[k - 1].end ? " " : "") + spaced(token.text)).join("");
      lines.push(opens ? "# newpar\n" : "", `# sent_id = ${s + 1}\n# text = ${whole}\n`);
      for (const token of tokens) {
        const after = text.slice(token.end, all[t + 1]?.start), before = t === 0 ? text.slice(0, token.start) : "", found = [];
        if (!after) found.push("SpaceAfter=No");
        if (after && after !== " ") found.push(`SpacesAfter=${escaped(after)}`);
        if (before) found.push(`SpacesBefore=${escaped(before)}`);
        if (spaced(token.text) !== token.text) found.push(`SpacesInToken=${escaped(token.text)}`);
        let misc = found.join("|") || "_";
        const { words } = token;
        if (words.length > 1) {
          lines.push(`${words[0].id}-${words.at(-1).id}\t${spaced(token.text)}${"\t_".repeat(7)}\t${misc}\n`);
          misc = "_";
        }
        for (const { id, text: form, lemma = "_", upos = "_", xpos = "_", feats = "_", head = "_", relation = "_" } of words) lines.push(`${[id, form, lemma, upos, xpos, feats, head, relation, "_", misc].join("\t")}\n`);
        t++;
      }
      lines.push("\n");
    });
    return lines.join("");
  }

  /** Why a word (from 1) of a sentence (from 0) has its tags, its lemma and its head: an explanation by the name of each part. */
  explain(text, sentence, word) {
    const { blocks } = this.blocks(text), block = blocks.findLast(({ first }) => first <= sentence), s = sentence - block?.first;
    if (!(Number.isInteger(sentence) && sentence >= 0 && s < block?.ptr.length - 1 && Number.isInteger(word) && word >= 1 && word <= block.ptr[s + 1] - block.ptr[s])) throw new InputError(`there is no word ${word} of sentence ${sentence}`);
    const found = {}, { form: { ids: formIds, strings: forms } } = block.columns, form = forms[formIds[block.ptr[s] + word - 1]];
    for (const stage of this.stages) {
      if (stage.name === "words") continue;
      const observed = this.observed(stage, block.columns).map(({ ids, strings }) => Array.from(ids.subarray(block.ptr[s], block.ptr[s + 1]), (id) => strings[id])), at = word - 1;
      const rows = observed[0].map((_, t) => observed.map((cells) => cells[t]));
      const told = (found[stage.name] = stage.name === "lemmas" ? stage.tagger.explain([rows[at]], 0) : stage.tagger.explain(rows, at));
      if (stage.name === "lemmas") Object.assign(told, { lemma: applyLemma(form, told.label), other_lemma: told.other === null ? null : applyLemma(form, told.other) });
    }
    if (this.parser) {
      const cut = (name) => ({ ids: block.columns[name].ids.slice(block.ptr[s], block.ptr[s + 1]), strings: block.columns[name].strings });
      found.trees = this.parser.explain({ ptr: [0, block.ptr[s + 1] - block.ptr[s]], columns: this.parser.observed.map(cut) }, word);
    }
    return found;
  }
}
