// Columns of strings to feature ids, by templates (epigram/features/columns.py, encoding.py).

import { InputError, NONE, packed } from "./core.mjs";
import { MOST_VALUES, applyChain } from "./template.mjs";

const TOKENS_PER_WINDOW = 64, MOST_KEYS = 1 << 25;

/** A column of strings as `{ids, strings}`: each distinct string once. */
export function column(cells) {
  const numbers = new Map(), ids = new Int32Array(cells.length), strings = [];
  for (let k = 0; k < cells.length; k++) {
    const cell = cells[k];
    let id = numbers.get(cell);
    if (id === undefined) {
      numbers.set(cell, (id = strings.length));
      strings.push(cell);
    }
    ids[k] = id;
  }
  return { ids, strings };
}

/** Apply a function to the distinct strings of a column. */
export function mapColumn({ ids, strings }, action) {
  const own = column(strings.map(action));
  return { ids: ids.map((id) => own.ids[id]), strings: own.strings };
}

/** Sentences of tokens (strings, or lists of cells) as columns: `{ptr, columns}`. */
export function columnsOf(sentences, nColumns) {
  const cells = Array.from({ length: nColumns }, () => []), ptr = new Int32Array(sentences.length + 1);
  sentences.forEach((sentence, s) => {
    if (!Array.isArray(sentence)) throw new InputError(`sentence ${s} is no list of tokens: ${String(sentence).slice(0, 40)}`);
    sentence.forEach((token, t) => {
      const own = typeof token === "string" ? [token] : token;
      if (!Array.isArray(own) || own.length < nColumns || !own.every((cell) => typeof cell === "string")) {
        throw new InputError(`sentence ${s}, token ${t}: expected ${nColumns === 1 ? "a string" : `a list of ${nColumns} strings`}, found ${String(JSON.stringify(token)).slice(0, 40)}`);
      }
      for (let c = 0; c < nColumns; c++) cells[c].push(own[c]);
    });
    ptr[s + 1] = ptr[s] + sentence.length;
  });
  return { ptr, columns: cells.map(column) };
}

/** 64-bit integers of numbers of 32 bits. */
export function putOffsets(core, ptr) {
  const made = core.zeros("i64", ptr.length), low = lowWords(core, made);
  for (let k = 0; k < ptr.length; k++) [low[2 * k], low[2 * k + 1]] = [ptr[k], ptr[k] < 0 ? -1 : 0];
  return made;
}

/** The low words of 64-bit integers: element k is at 2 k. */
export const lowWords = (core, array) => new Int32Array(core.x.memory.buffer, array.at, 2 * array.n);

/** At most how many substrings the strings have. */
function mostSubstrings(strings, { text, length: longest }) {
  let most = 0;
  for (const string of strings) {
    const length = [...string].length, made = length * Math.min(length, longest - 1);
    if (made > MOST_VALUES) throw new InputError(`${text} makes more than ${MOST_VALUES} values of the cell '${string.slice(0, 20)}' of ${length} characters`);
    most += 2 * made;
  }
  return most;
}

/** The part of a compiled template that depends on no text; allocated for as long as the model. */
export class Plan {
  constructor(core, template, lines) {
    this.core = core;
    this.lines = lines;
    const cells = lines.flatMap((line) => line.cells), reach = template.reach + 1;
    this.views = [];
    const numbers = new Map();
    const cellView = cells.map((cell) => {
      const key = `${cell.column}|${cell.functions.map((one) => one.text).join("|")}`;
      if (!numbers.has(key)) {
        numbers.set(key, this.views.length);
        this.views.push({ ...cell, key, marks: cell.boundary || !template.drops });
      }
      return numbers.get(key);
    });
    const stride = TOKENS_PER_WINDOW + 2 * reach, parts = (strings) => {
      const { ptr, content } = packed(core, strings), hash = core.space("u64", strings.length), power = core.space("u64", strings.length);
      core.c.encoding_hash_strings(ptr, content, hash, power);
      return [hash, power];
    };
    let sum = 0;
    const linePtr = [0, ...lines.map((line) => (sum += line.cells.length))];
    const [literalHash, literalPower] = parts(lines.flatMap((line) => line.literals));
    const marks = Array.from({ length: 2 * reach }, (_, k) => `_B${k < reach ? "" : "+"}${k - reach}`);
    const [outsideHash, outsidePower] = parts(marks);
    this.fields = {
      stride, line_ptr: core.put("i64", linePtr), cell_offset: core.put("i64", cells.map((cell) => cell.offset)),
      cell_view: core.put("i64", cellView), cell_site: core.put("i64", cells.map((cell, k) => cellView[k] * stride + reach + cell.offset)),
      view_column: core.put("i64", this.views.map((view) => view.column)), view_marks: core.put("i64", this.views.map((view) => (view.marks ? 1 : 0))),
      literal_hash: literalHash, literal_power: literalPower, outside_hash: outsideHash, outside_power: outsidePower,
    };
    this.nWindow = cells.length * stride;
    this.perToken = lines.length;
  }

  /** The values of all views at the distinct strings of their columns, as the C structure; columns may share strings. */
  compile({ columns }) {
    const { core, views } = this, made = new Map(), jobs = [];
    const of = (source, key, make) => {
      if (!made.has(source)) made.set(source, new Map());
      const own = made.get(source);
      if (!own.has(key)) own.set(key, make());
      return own.get(key);
    };
    const name = (functions) => functions.map((one) => one.text).join("|");
    const strings = (column, functions) => of(column.packed ?? column.strings, `text ${name(functions)}`, () => {
      if (!functions.length && column.packed) return column.packed;
      return packed(core, functions.length ? column.strings.map((cell) => functions.reduce((value, one) => one.single(value), cell)) : column.strings);
    });
    let nRows = 0, nValues = 0;
    const base = views.map((view) => of(columns[view.column].packed ?? columns[view.column].strings, `values ${name(view.functions)}`, () => {
      const column = columns[view.column], n = column.packed ? column.packed.ptr.n - 1 : column.strings.length, last = view.functions.at(-1), job = { view, column, n, base: nRows, most: view.boundary ? 0 : n };
      nRows += n + 1;
      if (!view.boundary && !view.functions.every((one) => one.single)) {
        if (last.length && view.functions.slice(0, -1).every((one) => one.single)) {
          job.slices = last;
          if (last.name === "substrings") job.most = mostSubstrings(column.strings, last);
        } else {
          job.chosen = column.strings.map((cell) => applyChain(view.functions, cell));
          job.most = job.chosen.reduce((sum, values) => sum + values.length, 0);
        }
      }
      nValues += job.most;
      jobs.push(job);
      return job.base;
    }));
    const bases = core.put("i64", base), ptr = core.zeros("i64", nRows);
    const hash = core.space("u64", nValues), power = core.space("u64", nValues), { c } = core;
    let at = 0;
    for (const { view, column, n, base: row, most, slices, chosen } of jobs) {
      const own = core.part(ptr, row, n + 1), h = core.part(hash, at, most), p = core.part(power, at, most);
      if (slices) {
        const text = strings(column, view.functions.slice(0, -1));
        const count = slices.name === "substrings"
          ? c.encoding_hash_substrings(text.ptr, text.content, slices.length - 1, h, p, own)
          : c.encoding_hash_affixes(text.ptr, text.content, slices.length, slices.name === "suffix", h, p, own);
        const low = lowWords(core, own);
        if (at) for (let k = 0; k <= n; k++) low[2 * k] += at;
        at += count;
        continue;
      }
      if (most) {
        const text = chosen ? packed(core, chosen.flat()) : strings(column, view.functions);
        c.encoding_hash_strings(text.ptr, text.content, h, p);
      }
      const low = lowWords(core, own);
      for (let k = 0, sum = at; k <= n; k++) {
        low[2 * k] = sum;
        sum += chosen ? (chosen[k]?.length ?? 0) : most ? 1 : 0;
      }
      at += most;
    }
    return c.TemplateLines({ ...this.fields, view_base: bases, value_ptr: ptr, value_hash: hash, value_power: power });
  }

  /** Offsets and ids of the known attributes of all tokens. */
  encode(corpus, input, slots, skipFirst) {
    const { core } = this, { c } = core, nTokens = input.ptr.at(-1), nSentences = input.ptr.length - 1;
    const ptr = core.zeros("i64", nTokens + 1);
    if (!this.lines.length || !nTokens) return { ptr, ids: core.zeros("i32", 0) };
    const lines = this.compile(input), window = core.space("u64", 4 * this.nWindow), done = core.zeros("i64", 1);
    for (; ;) {
      const room = Math.ceil(nTokens * this.perToken) + 16;
      if (room > MOST_KEYS) throw new InputError("the template makes too many attributes of this text; give shorter sentences");
      const keys = core.space("u64", room);
      const ended = c.encoding_expand_keys(corpus, lines, skipFirst, 0, keys, window, ptr, done);
      if (ended < nSentences) {
        this.perToken *= 2;
        continue;
      }
      const n = Number(core.view(done)[0]), found = core.space("i32", n), knownPtr = core.zeros("i64", nTokens + 1);
      c.encoding_look_up_keys(core.part(keys, 0, n), slots, found);
      return { ptr: knownPtr, ids: core.part(found, 0, c.encoding_drop_unknown(ptr, found, knownPtr)) };
    }
  }
}

/** The columns of sentences as the C structure. */
export function corpusOf(core, { ptr, columns }) {
  const nTokens = ptr.at(-1), ids = core.space("i32", nTokens * columns.length), view = core.view(ids);
  columns.forEach((one, k) => view.set(one.ids, k * nTokens));
  return core.c.Corpus({ n_tokens: nTokens, n_columns: columns.length, sentence_ptr: putOffsets(core, ptr), ids });
}

/** Names to ids: fingerprints, and a table of them. */
export class Names {
  constructor(core, bytes, lengths) {
    const ptr = putOffsets(core, running(lengths)), content = core.put("u8", bytes), n = lengths.length;
    let nSlots = 1024;
    while (nSlots < 2 * n + 1) nSlots *= 2;
    this.slots = core.zeros("u64", 2 * nSlots);
    this.n = n;
    core.scope(() => core.c.encoding_fill_slots(fingerprints(core, { ptr, content }), this.slots));
    this.bytes = bytes;
    this.ptr = running(lengths);
  }

  /** The name of an id. */
  name(id) {
    return new TextDecoder().decode(this.bytes.subarray(this.ptr[id], this.ptr[id + 1]));
  }
}

export function running(lengths) {
  const out = new Int32Array(lengths.length + 1);
  for (let k = 0; k < lengths.length; k++) out[k + 1] = out[k] + Number(lengths[k]);
  return out;
}

/** The fingerprints of packed strings. */
export function fingerprints(core, { ptr, content }) {
  const hash = core.space("u64", ptr.n - 1), power = core.space("u64", ptr.n - 1);
  core.c.encoding_hash_strings(ptr, content, hash, power);
  core.c.encoding_mix_all(hash);
  return hash;
}

/** Ids of strings in a table, -1 for none. */
export function lookUpNames(core, names, strings) {
  return core.scope(() => {
    const ids = core.space("i32", strings.length);
    core.c.encoding_look_up_keys(fingerprints(core, packed(core, strings)), names.slots, ids);
    return core.view(ids).slice();
  });
}
