// Text classifiers (epigram/classify/): probabilities of labels by n-grams of words and characters.

import { InputError, packed } from "./core.mjs";
import { putOffsets, running } from "./features.mjs";
import { damaged, readArrays } from "./file.mjs";

const LONGEST_TEXT = 200_000, TEXTS_AT_A_TIME = 1 << 18, NORMAL_FORMS = ["", "NFC", "NFKC"], LABEL_KINDS = ["U", "i", "f", "b"], ASCII = /^[\0-\x7f]*$/, LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Labels texts. */
export class Classifier {
  static methods = ["info", "classify", "classifyAll", "explain"];

  static async of(core, file) {
    const { header } = file, tensors = new Map(file.tensors), nColumns = header.bias?.length, prints = tensors.get("prints");
    if (nColumns === 1 && prints) for (const [name, value] of [["row_sizes", 1], ["columns", 0]]) tensors.set(name, { type: "U8", shape: [prints.data.length], data: new Uint8Array(prints.data.length).fill(value) });
    const t = readArrays("classifier", { header, tensors }, { labels: nColumns, m: tensors.get("columns")?.shape[0] ?? 0 }), { labels, grams, several, temperature } = header;
    if (!LABEL_KINDS.includes(header.label_kind) || new Set(labels).size < Math.max(labels.length, several ? 1 : 2)) damaged("too few labels, or one of them twice");
    if (nColumns !== (labels.length === 2 && !several ? 1 : labels.length)) damaged(`${nColumns} columns of scores for ${labels.length} labels`);
    const [least, most] = grams.chars ?? [1, 1];
    const isKnown = NORMAL_FORMS.includes(grams.normalise) && (grams.chars === null || grams.chars.length === 2) && grams.words >= 0 && grams.words <= 3 && least >= 1 && least <= most && most <= 6 && (grams.words || grams.chars);
    if (!isKnown) damaged("n-grams of an unknown kind");
    if (!(temperature > 0 && temperature < 1e6)) damaged(`the temperature ${temperature}`);
    const codes = t.codes, weights = t.weights ?? Float32Array.from(codes ?? [], (code) => t.codebook[code]);
    if (weights.length !== t.columns.length) damaged("its weights do not fit its labels");
    if (t.prints.some((print, k) => k && print <= t.prints[k - 1])) damaged("fingerprints that do not rise");
    return new Classifier(core, header, { ...t, weights });
  }

  constructor(core, header, t) {
    const { c } = core, n = t.prints.length, slots = core.space("u32", Math.max(16, 2 ** (32 - Math.clz32(2 * n)))), rows = core.space("i32", slots.n);
    c.grams_index(core.put("u32", t.prints), slots, rows);
    this.rowPtr = running(t.row_sizes);
    this.table = [slots, rows, putOffsets(core, this.rowPtr), core.put("i32", t.columns), core.put("f32", t.weights), core.put("f64", header.bias)];
    const { grams } = header, [least, most] = grams.chars ?? [0, 0], orders = grams.words + (grams.chars ? most - least + 1 : 0);
    Object.assign(this, { core, header, t, grams, orders, sizes: [least, most], labels: header.labels.map(String), nColumns: header.bias.length });
  }

  info() {
    const { header: { several, fit }, labels, grams } = this;
    return { family: "classifier", labels, several, grams, trainedOn: fit };
  }

  /** Texts as C reads them: end to end, a zero after each. */
  encode(texts) {
    const { core, grams: { normalise, lowercase } } = this, cut = texts.map((text) => (text.length > LONGEST_TEXT ? [...text].slice(0, LONGEST_TEXT).join("") : text));
    let joined = `${(cut.some((text) => text.includes("\0")) ? cut.map((text) => text.replaceAll("\0", " ")) : cut).join("\0")}\0`;
    if (!ASCII.test(joined)) {
      joined = joined.replace(LONE, "?");
      if (normalise) joined = joined.normalize(normalise);
    }
    const { content } = packed(core, [lowercase ? joined.toLowerCase() : joined]), bytes = core.view(content), bounds = [0];
    while (bounds.length <= texts.length) bounds.push(bytes.indexOf(0, bounds.at(-1)) + 1);
    return { bounds, ptr: putOffsets(core, bounds), content };
  }

  scratch(most) {
    const { core, grams, orders, sizes: [least, largest] } = this, points = most + 2, n = points * orders, slots = Math.max(64, 2 ** (32 - Math.clz32(2 * n - 1)));
    return core.c.Grams({
      words: grams.words, chars_least: least, chars_most: largest, across: grams.across ? 1 : 0, log_counts: grams.log_counts ? 1 : 0, apart: grams.apart ? 1 : 0, points: core.space("u32", points),
      starts: core.space("i64", points + 1), words_at: core.space("u64", 3 * points), keys: core.space("u64", n), counts: core.space("i32", n), slots: core.space("u64", slots), entries: core.space("i32", slots),
    });
  }

  /** Scores of columns, row by row. */
  scores(texts) {
    const { core, table, nColumns } = this;
    return core.scope(() => {
      const { bounds, ptr, content } = this.encode(texts), out = core.zeros("f64", texts.length * nColumns);
      let most = 0;
      for (let k = 0; k < texts.length; k++) most = Math.max(most, bounds[k + 1] - bounds[k]);
      core.c.grams_score(this.scratch(most), content, ptr, ...table, out);
      return core.view(out).slice();
    });
  }

  /** Calibrated probabilities of a row of scores, by label. */
  probabilities(scores) {
    const { labels, header: { several, temperature } } = this, found = {}, sigmoid = (x) => 0.5 * (1 + Math.tanh((0.5 * x) / temperature));
    if (several) for (let k = 0; k < labels.length; k++) found[labels[k]] = sigmoid(scores[k]);
    else if (scores.length === 1) [found[labels[0]], found[labels[1]]] = [1 - sigmoid(scores[0]), sigmoid(scores[0])];
    else {
      let most = -Infinity, sum = 0;
      for (const score of scores) if (score > most) most = score;
      for (let k = 0; k < labels.length; k++) sum += found[labels[k]] = Math.exp((scores[k] - most) / temperature);
      for (let k = 0; k < labels.length; k++) found[labels[k]] /= sum;
    }
    return found;
  }

  /** The label of a text with the probabilities of all: `{label, probabilities}`, of several labels `{labels, ...}`. */
  classify(text) {
    return this.classifyAll([text])[0];
  }

  /** The same for many texts. */
  classifyAll(texts) {
    if (!Array.isArray(texts)) throw new InputError("expected a list of texts");
    texts.forEach((text, k) => { if (typeof text !== "string") throw new InputError(`text ${k} is no string but ${text === null ? "null" : typeof text}`); });
    const found = [], { labels, nColumns, header: { several, thresholds } } = this;
    for (let first = 0; first < texts.length;) {
      let last = first, size = 0;
      while (last < texts.length && (last === first || size + texts[last].length <= TEXTS_AT_A_TIME)) size += texts[last++].length;
      const scores = this.scores(texts.slice(first, last));
      for (let k = 0; k < last - first; k++) {
        const p = this.probabilities(scores.subarray(k * nColumns, (k + 1) * nColumns));
        let best = 0;
        for (let j = 1; j < labels.length && !several; j++) if (p[labels[j]] > p[labels[best]]) best = j;
        found.push(several ? { labels: labels.filter((label) => p[label] >= (thresholds?.[label] ?? 0.5)), probabilities: p } : { label: labels[best], probabilities: p });
      }
      first = last;
    }
    return found;
  }

  /** The parts of the score of a label (the likeliest if none is given), by n-gram and by word of the text. */
  explain(text, label = null) {
    const { core, labels, t, nColumns, header: { bias, several } } = this, [{ probabilities }] = this.classifyAll([text]);
    const name = label ?? labels.reduce((a, b) => (probabilities[b] > probabilities[a] ? b : a)), k = labels.indexOf(String(name));
    if (k < 0) throw new InputError(`no label '${name}'; the labels are ${labels.slice(0, 20).join(", ")}`);
    const [column, sign] = nColumns === 1 && labels.length === 2 && !several ? [0, k === 1 ? 1 : -1] : [k, 1];
    return core.scope(() => {
      const { content } = this.encode([text]), bytes = core.part(content, 0, content.n - 1), room = (bytes.n + 2) * this.orders;
      const [keys, begins, ends] = [core.space("u64", room), core.space("i64", room), core.space("i64", room)], shares = core.space("f64", room);
      const n = core.c.grams_locate(this.scratch(content.n), bytes, keys, begins, ends, shares), own = core.view(keys), from = Array.from(core.view(core.part(begins, 0, n)), Number), to = Array.from(core.view(core.part(ends, 0, n)), Number);
      const places = new Map();
      for (let o = 0; o < n; o++) places.set(own[o], [...(places.get(own[o]) ?? []), o]);
      let total = 0;
      const values = core.view(shares), marks = new Float64Array(bytes.n + 1), raw = core.view(bytes).slice(), named = new Map(), decoder = new TextDecoder();
      for (const [key, at] of places) {
        const part = sign * this.weight(Number(key >> 32n), column) * values[at[0]] * at.length;
        if (!part) continue;
        total += part;
        for (const o of at) {
          const share = part / at.length / Math.max(1, to[o] - from[o]);
          marks[from[o]] += share;
          marks[to[o]] -= share;
        }
        const gram = decoder.decode(raw.subarray(from[at[0]], to[at[0]]));
        named.set(gram, (named.get(gram) ?? 0) + part);
      }
      for (let b = 1; b < marks.length; b++) marks[b] += marks[b - 1];
      const spans = [];
      for (let b = 0; b < raw.length;) {
        const c = String.fromCodePoint(decoder.decode(raw.subarray(b, b + 4)).codePointAt(0)), size = raw[b] < 128 ? 1 : raw[b] < 0xe0 ? 2 : raw[b] < 0xf0 ? 3 : 4, last = spans.at(-1), mark = marks.subarray(b, b + size).reduce((x, y) => x + y, 0);
        if (last && /\s/u.test(last.text.at(-1)) === /\s/u.test(c)) [last.text, last.sum, last.n] = [last.text + c, last.sum + mark, last.n + 1];
        else spans.push({ text: c, sum: mark, n: 1 });
        b += size;
      }
      const first = sign * bias[column], ngrams = [...named].map(([ngram, contribution]) => ({ ngram, contribution })).sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
      return { label: labels[k], probability: probabilities[labels[k]], score: first + total, bias: first, ngrams, spans: spans.map(({ text: span, sum, n: size }) => ({ text: span, contribution: sum / size })) };
    });
  }

  /** The weight of a fingerprint for a column. */
  weight(print, column) {
    const { prints, columns, weights } = this.t;
    let [low, high] = [0, prints.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (prints[middle] < print) low = middle + 1;
      else high = middle;
    }
    let sum = 0;
    if (prints[low] === print) for (let m = this.rowPtr[low]; m < this.rowPtr[low + 1]; m++) if (columns[m] === column) sum += weights[m];
    return sum;
  }
}
