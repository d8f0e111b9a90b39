// Japanese converters (epigram/ime/): readings in kana to texts, the best, the n best, and by phrases.

import { InputError, ModelFileError, NONE, packed } from "./core.mjs";
import { putOffsets, running } from "./features.mjs";
import { damaged, readArrays, refuse } from "./file.mjs";
import { Typing, fromRomaji, isContent, isHiragana, toKatakana, unique } from "./typing.mjs";

const CODES = 256, NOTHING = -1e30, LONGEST_UNKNOWN = 20, LONGEST_INPUT = 2000, N_BEST = 20, AT_ONCE = 64, MOST_WAYS = 1000, HIRAGANA_STARTS = 87 * 88;
const CHARACTERS = 0.6, PAIRS = 0.25, STRAY = -15, WINDOW = 8, DOUBT = 0.1, DROPPED = 0.3, MOST_COUNT = 65535, ORDER = 6, MARGIN = 5, OUTSIDE = -18, LONGEST_WORD = 12, RECENT = 2, AS_KATAKANA = 1;
const ENDS = /[^。！？!?\n]*[。！？!?\n]|[^。！？!?\n]+$/gu, OPEN = 24, SENTENCES = 3, KEPT_CHARACTERS = 160, FAR = 400, KEPT = 256, FOLLOWING = 2;
const CHAR_LOGP = [1, 0.5 / 10, 0.5 / 52, 0.5 / 90, 0.5 / 10_000].map(Math.log), LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const FUNCTION = ["助詞", "助動詞", "接尾辞", "補助記号", "記号"], PREFIXES = ["お", "ご", "御"], text = new TextDecoder();
const range = (first, last) => Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k);
const sum = (values) => values.reduce((a, b) => a + b, 0), points = (string) => Int32Array.from([...string], (c) => c.codePointAt(0));

/** Numbers that codes stand for, of one book a level. */
function decoded(codes, books, ends) {
  const out = new Float32Array(codes.length);
  let k = 0;
  ends.forEach((end, level) => { for (; k < end; k++) out[k] = books[CODES * level + codes[k]]; });
  return out;
}

/** Numbers of which all first bytes stand first, then all second ones. */
function joined(tensor) {
  if (tensor?.type !== "U8" || tensor.shape.length !== 2 || ![2, 4].includes(tensor.shape[0])) damaged("the bytes of its numbers");
  const { data, shape: [width, n] } = tensor, out = new (width === 2 ? Uint16Array : Uint32Array)(n);
  for (let b = 0, at = 0; b < width; b++) for (let k = 0; k < n; k++) out[k] |= data[at++] << (8 * b);
  return { type: `U${8 * width}`, shape: [n], data: out };
}

/** The longest suffix of each context of a trie and the context after each n-gram; the context of word 0. */
function linked(core, nWords, nodePair, counts, pairWord) {
  const { c } = core;
  return core.scope(() => {
    const node = putOffsets(core, nodePair), ptr = putOffsets(core, running(counts)), word = core.put("i32", pairWord), of = core.space("i32", word.n);
    if (ptr.n !== node.n + 1 || !c.ngram_nodes_of_pairs(nWords, node, ptr, word, of)) damaged("its n-grams are no trie");
    const parent = core.zeros("i32", node.n), depth = core.zeros("i32", node.n), next = core.zeros("i32", word.n);
    c.ngram_link(ptr, word, of, 0, parent, depth, next);
    return { parent: core.view(parent).slice(), next: core.view(next).slice(), first: Math.max(core.view(of)[0], 0) };
  });
}

/** Texts of words of the lexicon, and their readings. */
class Lexicon {
  constructor(core, t) {
    const { c } = core, [bytes, chars] = [t["surface.bytes"], t["reading.chars"]], sizes = t["reading.sizes"];
    Object.assign(this, { core, bytes, chars, ptr: running(t["surface.lengths"]), readingPtr: running(t["reading.lengths"]) });
    this.firstWord = running(sizes).map((first) => first + 1);
    this.n = this.ptr.length - 1;
    if (this.firstWord.at(-1) !== this.n || chars.some((char) => char >= 0xd800 && char < 0xe000)) damaged("its lexicon does not fit together");
    this.surfacePtr = putOffsets(core, this.ptr);
    this.surfaces = core.put("u8", bytes);
    if (!c.ime_are_texts(this.surfacePtr, this.surfaces)) damaged("surfaces of its lexicon are no text");
    const readingPtr = putOffsets(core, this.readingPtr), readings = core.put("i32", chars), starts = core.zeros("i32", HIRAGANA_STARTS);
    c.ime_index_readings(readingPtr, readings, starts);
    this.readings = c.Readings({ char_ptr: readingPtr, chars: readings, reading_word: core.put("i32", this.firstWord), starts });
    this.lengths = new Int32Array(this.n);
    for (let r = 0; r < sizes.length; r++) this.lengths.fill(this.readingPtr[r + 1] - this.readingPtr[r], this.firstWord[r], this.firstWord[r + 1]);
    [this.order, this.sorted] = [null, null];
  }

  surface(word) {
    return text.decode(this.bytes.subarray(this.ptr[word], this.ptr[word + 1]));
  }

  /** The first and last word of a reading. */
  wordsOf(reading) {
    const wanted = points(reading), { chars, readingPtr } = this;
    const compare = (r) => {
      for (let k = 0, at = readingPtr[r]; k < wanted.length; k++, at++) if (at === readingPtr[r + 1] || chars[at] !== wanted[k]) return at === readingPtr[r + 1] ? -1 : chars[at] - wanted[k];
      return readingPtr[r + 1] - readingPtr[r] - wanted.length;
    };
    let low = 0, high = readingPtr.length - 1;
    while (low < high) {
      const half = (low + high) >> 1;
      if (compare(half) < 0) low = half + 1; else high = half;
    }
    return low < readingPtr.length - 1 && compare(low) === 0 ? range(this.firstWord[low], this.firstWord[low + 1]) : [];
  }

  find(surface, reading) {
    return this.wordsOf(reading).find((word) => this.surface(word) === surface) ?? -1;
  }

  /** Hashes of surfaces in their order, and the words of them. */
  bySurface() {
    if (!this.order) {
      const { core, n } = this, [order, hashes] = core.scope(() => {
        const hash = core.space("u64", n), pow = core.space("u64", n);
        core.c.ime_surface_hashes(this.surfacePtr, this.surfaces, hash, pow);
        const found = core.view(hash).slice(), order = range(0, n).sort((a, b) => (found[a] < found[b] ? -1 : found[a] > found[b] ? 1 : a - b));
        return [order, BigUint64Array.from(order, (word) => found[word])];
      });
      this.order = core.put("i64", order);
      this.sorted = core.put("u64", hashes);
    }
    return [this.order, this.sorted];
  }
}

/** The trigram model as the search takes it, with classes before the contexts (epigram/ime/quantised.py, scorer.py). */
function trigram(core, t, names, readings) {
  const { c } = core, words = t["lm.word_class"].length, more = names.length - 1, counts = t["lm.counts"], targets = new Int32Array(t["lm.steps"].length), steps = t["lm.steps"];
  if (more < 0 || t["lm.class_logp"].length !== names.length ** 2 || t["lm.word_class"].some((one) => one > more) || counts[0] !== words) damaged("its classes of words do not fit its words");
  for (let node = 1, at = 0; node < counts.length; node++) for (let k = 0, word = 0; k < counts[node]; k++, at++) if ((targets[at] = word = (k ? word : 0) + steps[at]) >= words) damaged("an n-gram ends in a word that the lexicon lacks");
  const pairWord = new Int32Array(words + targets.length), contexts = t["lm.contexts"];
  for (let k = 0; k < words; k++) pairWord[k] = k;
  pairWord.set(targets, words);
  const pairs = new Int32Array(contexts.length + 1);
  pairs[0] = -1;
  pairs.set(contexts, 1);
  const link = linked(core, words, pairs, counts, pairWord), ptr = running(counts);
  let single = 0;
  while (single < contexts.length && contexts[single] < words) single++;
  const ofPairs = [ptr[1 + single] - words, targets.length], ofContexts = [single, contexts.length], n = pairs.length + more;
  const widened = (Type, rest, first = 0) => { const out = new Type(n).fill(first); out.set(rest, n - rest.length); return out; };
  const [bow, gain, logp] = [["bow", ofContexts], ["gain", ofContexts], ["logp", ofPairs]].map(([name, ends]) => decoded(t[`lm.${name}.codes`], t[`lm.${name}.books`], ends));
  const number = (nodes, last) => nodes.map((node, k) => (node ? node + more : t["lm.word_class"][last(k)])), allLogp = new Float32Array(pairWord.length);
  allLogp.set(t["lm.root"]);
  allLogp.set(logp, words);
  const next = number(link.next, (k) => pairWord[k]), parent = widened(Int32Array, number(link.parent, (k) => pairWord[Math.max(pairs[k], 0)]).subarray(1));
  const allPtr = new Int32Array(n + 1).fill(words, 1), lastWord = widened(Int32Array, pairs.subarray(1).map((pair) => pairWord[pair]), -1);
  allPtr.set(ptr.subarray(1), more + 1);
  const fields = {
    n_classes: names.length, pair_ptr: putOffsets(core, allPtr), pair_word: core.put("i32", pairWord), pair_logp: core.put("f32", allLogp), pair_next: core.put("i32", next),
    node_parent: core.put("i32", parent), node_bow: core.put("f32", widened(Float32Array, bow)), word_class: core.put("u16", t["lm.word_class"]), class_logp: core.put("f32", t["lm.class_logp"]),
  };
  const start = next[0], model = c.Trigram(fields), nodes = putOffsets(core, widened(Int32Array, pairs.subarray(1), -1)), prefix = core.space("i32", n);
  if (!c.ime_fits(model, nodes) || start < 0 || start >= n) damaged("the arrays of its language model do not fit together");
  c.ime_prefixes(names.length, fields.pair_ptr, nodes, prefix);
  const most = names.map((_, to) => names.reduce((best, _, from) => Math.max(best, t["lm.class_logp"][from * names.length + to]), -Infinity)), packedNodes = core.space("u64", 3 * n + 3);
  core.scope(() => c.ime_pack_nodes(model, readings, core.put("f32", widened(Float32Array, gain, NOTHING)), packedNodes));
  return { model, fields, start, backwards: { nodes: packedNodes, class_most: core.put("f32", most), node_word: core.put("i32", lastWord), node_prefix: prefix }, classes: t["lm.word_class"], names };
}

/** Characters of texts, and words that stand near each other (epigram/ime/rescoring.py). */
class Rescorer {
  constructor(core, tensors) {
    const { c } = core, t = readArrays("rescorer", { tensors }), letters = t["characters.points"], contexts = t["characters.contexts"], counts = t["characters.counts"], words = Int32Array.from(t["characters.steps"]);
    const link = linked(core, letters.length + 1, [-1, ...contexts], counts, words), bow = new Uint8Array(contexts.length + 1);
    bow.set(t["characters.bow.codes"], 1);
    if (words.some((word) => word > 65535)) damaged("too many characters");
    this.characters = c.CodedCharacters({
      pair_ptr: core.put("i32", running(counts)), pair_word: core.put("u16", words), pair_code: core.put("u8", t["characters.logp.codes"]), pair_next: core.put("i32", link.next),
      node_parent: core.put("i32", link.parent), node_code: core.put("u8", bow), logp: core.put("f32", t["characters.logp.books"]), bow: core.put("f32", t["characters.bow.books"]),
    });
    this.start = link.first;
    this.ids = new Int32Array(letters.reduce((most, letter) => Math.max(most, letter), 0) + 1).fill(-1);
    letters.forEach((letter, k) => { this.ids[letter] = k + 1; });
    const ptr = running(t["pairs.units.lengths"]), raw = t["pairs.units.bytes"], degrees = Float64Array.from(t["pairs.degrees"]), units = putOffsets(core, ptr), content = core.put("u8", raw);
    const slots = core.space("i32", Math.max(16, 2 ** (32 - Math.clz32(2 * ptr.length))));
    c.ime_engine_index_units(units, content, slots);
    this.longest = 0;
    for (let k = 0; k + 1 < ptr.length; k++) this.longest = Math.max(this.longest, points(text.decode(raw.subarray(ptr[k], ptr[k + 1]))).length);
    this.index = [units, content, slots];
    this.known = c.TextUnits({ stray: STRAY, start: this.start, char_id: core.put("i32", this.ids), unit_ptr: units, unit_text: content, slots });
    this.pairs = c.WordPairs({ window: WINDOW, total: Math.max(sum(degrees), 1), doubt: DOUBT, dropped: DROPPED * Math.max(t["pairs.counts"].reduce((least, count) => Math.min(least, count), MOST_COUNT) - 1, 0), ptr: putOffsets(core, running(t["pairs.sizes"])), others: core.put("i32", t["pairs.steps"]), counts: core.put("u16", t["pairs.counts"]), degrees: core.put("f64", degrees) });
    this.core = core;
  }

  /** Characters of the open sentence and the last units of a text. */
  after(before) {
    const { core } = this, all = [...before], open = all.slice(all.findLastIndex((c) => "。！？!?\n".includes(c)) + 1).slice(1 - ORDER), found = core.scope(() => {
      const { content } = packed(core, [all.slice(-KEPT_CHARACTERS).join("")]), units = core.space("i32", content.n);
      return [...core.view(units).subarray(0, core.c.ime_engine_units_in(...this.index, this.longest, content, units))];
    });
    return { before: open.map((c) => this.ids[c.codePointAt(0)] ?? -1), units: found.slice(-WINDOW) };
  }

  /** Add what characters and pairs say of ways to their scores. */
  add(score, ptr, textEnd, bytes, { before = [], units = [] }) {
    const { core } = this, n = score.length, out = core.space("f64", n), pairs = core.space("f64", n);
    if (!core.c.ime_engine_coded_gains(this.characters, this.pairs, this.known, core.put("i32", before), core.put("i32", units), ptr, textEnd, bytes, out, pairs)) throw new ModelFileError("not enough memory to rescore; convert a shorter text");
    const [ofCharacters, ofPairs] = [core.view(out), core.view(pairs)];
    return score.map((one, k) => one + (CHARACTERS * ofCharacters[k] + PAIRS * ofPairs[k]));
  }
}

/** Converts readings. */
export class Converter {
  static methods = ["info", "convert", "convertAll", "nbest", "segments", "type"];

  static async of(core, { header, tensors: stored }) {
    const tensors = new Map(stored);
    if (header.rerank) refuse("rerankers of a converter");
    if (header.lessons?.length || header.user_words?.length) refuse("corrections and words of a user");
    if (!header.texts || !header.numbers || !header.classes) throw new ModelFileError("a converter that is not stored for a page; write it with epigram export-web MODEL -o FOLDER");
    for (const name of header.planes ?? []) tensors.set(name, joined(tensors.get(name)));
    return new Converter(core, header, readArrays("ime", { header, tensors }), tensors);
  }

  constructor(core, header, t, tensors) {
    const { c } = core, lexicon = new Lexicon(core, t), model = trigram(core, t, header.classes, lexicon.readings), katakana = header.unknown_class ?? 0;
    if (model.classes.length !== lexicon.n || katakana >= header.classes.length) damaged("its words and its lexicon are of different sizes");
    Object.assign(this, { core, header, lexicon, model, texts: header.texts, known: new Map() });
    const spelling = { hiragana: core.put("f64", t["unknown.hiragana"]), katakana: core.put("f64", t["unknown.katakana"]), class_logp: core.put("f64", t["unknown.class_logp"]), char_logp: core.put("f64", CHAR_LOGP) };
    this.spelling = { ...spelling, n_rows: Math.sqrt(spelling.hiragana.n) };
    this.unknown = c.UnknownModel({ ...this.spelling, longest: LONGEST_UNKNOWN, katakana_class: katakana });
    this.backwards = c.Backwards({ ...model.backwards, word_length: core.put("i32", lexicon.lengths), surface_ptr: lexicon.surfacePtr, surface: lexicon.surfaces });
    this.bonus = core.zeros("f32", lexicon.n);
    this.rescorer = tensors.has("characters.points") ? new Rescorer(core, tensors) : null;
    this.special = this.specialTexts(header, header.texts.counted);
    this.onlySigns = this.specialTexts({ ...header, numbers: { ...header.numbers, logp: -Infinity } }, []);
    this.plain = { start: model.start, recent: [], rescoring: {}, before: "" };
    this.seen = this.plain;
    this.typing = new Typing(this);
  }

  specialTexts({ numbers, texts: { letters, signs, forms, logps } }, counted) {
    const { core } = this, one = numbers.logp + logps.counted + Math.log(numbers.shares.digits / 10);
    const rows = [...counted.map(([reading, way]) => [reading, way, one]), ...signs.flatMap(([reading, own]) => [...own].map((sign, k) => [reading, sign, logps.sign + k * logps.next_sign]))];
    const all = [...letters.map((row) => [...row, 0]), ...rows.sort((a, b) => a[0].codePointAt(0) - b[0].codePointAt(0))], chars = all.map(([reading]) => points(reading)), own = packed(core, all.map((row) => row[1]));
    return core.c.SpecialTexts({
      n_letters: letters.length, number: numbers.logp, spelled: logps.spelled, letter: logps.letter, form_logp: core.put("f64", forms.map((form) => Math.log(numbers.shares[form]))),
      form_class: core.put("u16", forms.map((form) => numbers.classes[form] ?? 0)), char_ptr: putOffsets(core, running(chars.map((row) => row.length))), chars: core.put("i32", chars.flatMap((row) => [...row])),
      logp: core.put("f64", all.map((row) => row[2])), text_ptr: own.ptr, text: own.content,
    });
  }

  info() {
    const { header, lexicon, rescorer } = this;
    return { family: "ime", words: lexicon.n - 1, rescored: rescorer !== null, trainedOn: header.fit };
  }

  /** A reading as code points; refuses what Python refuses. */
  reading(kana, romaji = false) {
    if (typeof kana !== "string") throw new InputError(`a reading must be a string, not ${kana === null ? "null" : typeof kana}`);
    const found = points((romaji ? fromRomaji(kana, this.texts.romaji) : kana).replace(LONE, "\ufffd"));
    if (found.length > LONGEST_INPUT) throw new InputError(`a reading of ${found.length} characters; at most ${LONGEST_INPUT} are converted at once. Split it at sentence ends`);
    return found;
  }

  /** What stands before readings: state of the model, words that get a bonus, characters and units. */
  after(before) {
    if (before && typeof before !== "string") throw new InputError("'before' must be a string");
    if (!before) return this.plain;
    if (this.seen.before === before) return this.seen;
    const { lexicon, model } = this, all = [...before], pieces = all.slice(-FAR).join("").match(ENDS) ?? [], open = /[。！？!?\n]$/u.test(pieces.at(-1) ?? "。") ? "" : pieces.pop();
    const recent = new Set(pieces.slice(-SENTENCES).flatMap((piece) => this.contentOf(piece)));
    let start = model.start;
    if (open) {
      const letters = [...open], cut = letters.slice(-OPEN), whole = cut.length === letters.length && (pieces.length || all.length <= FAR), found = this.cut(cut.join(""), whole ? start : 0);
      start = found.node;
      for (const word of found.words) if (isContent(lexicon.surface(word))) recent.add(word);
    }
    return (this.seen = { before, start, recent: [...recent], rescoring: this.rescorer?.after(before) ?? {} });
  }

  contentOf(sentence) {
    if (!this.known.has(sentence)) {
      if (this.known.size >= KEPT) this.known.clear();
      this.known.set(sentence, this.cut(sentence, this.model.start).words.filter((word) => isContent(this.lexicon.surface(word))));
    }
    return this.known.get(sentence);
  }

  /** The best segmentation of a text: its words, and the node after it. */
  cut(sentence, start) {
    const { core, lexicon, model } = this, [order, sorted] = lexicon.bySurface();
    return core.scope(() => {
      const { content } = packed(core, [sentence]), words = core.space("i32", content.n), begins = core.space("i32", content.n), node = core.zeros("i32", 1);
      const n = core.c.ime_before_segment(model.model, lexicon.surfacePtr, lexicon.surfaces, order, sorted, content, start, OUTSIDE, LONGEST_WORD, words, begins, node);
      if (n < 0) throw new ModelFileError("not enough memory to read the text before the reading; give a shorter one");
      return { words: [...core.view(words).subarray(0, n)], node: core.view(node)[0] };
    });
  }

  /** Edges of numbers, signs and letters of readings as the C structure. */
  ownEdges(ptr, chars, special = this.special) {
    const { core } = this, { c } = core, edgePtr = core.space("i64", ptr.n);
    for (let room = 4 * chars.n + 64; ; room *= 4) {
      const [start, end, logp, word_class, text_ptr, bytes] = [["i32", room], ["i32", room], ["f64", room], ["u16", room], ["i64", room + 1], ["u8", 16 * room]].map((one) => core.space(...one));
      const n = c.ime_special_edges(special, ptr, chars, edgePtr, start, end, logp, word_class, text_ptr, bytes);
      if (n < 0) continue;
      const [s, e, l, w, p] = [[start, n], [end, n], [logp, n], [word_class, n], [text_ptr, n + 1]].map(([array, size]) => core.part(array, 0, size));
      return { n, start: s, end: e, logp: l, text: bytes, textPtr: p, word_class: w, edges: c.OwnEdges({ ptr: edgePtr, start: s, end: e, logp: l, word_class: w, text_ptr: p, text: core.part(bytes, 0, Number(core.view(p)[n])) }) };
    }
  }

  /** The k best ways of each reading, scored again by characters if `rescored`: `{words, score}`, words only where asked for. */
  ways(readings, k, seen, { cuts = [], rescored = this.rescorer !== null, withWords = false, margin = Infinity } = {}) {
    if (!(Number.isInteger(k) && k >= 1 && k <= MOST_WAYS)) throw new InputError(`k must be a whole number from 1 to ${MOST_WAYS}, not ${k}`);
    const { core, model, bonus } = this, { c } = core, n = readings.length, lengths = readings.map((reading) => reading.length), total = sum(lengths);
    if (!total) return readings.map(() => []);
    return core.scope(() => {
      const all = new Int32Array(total);
      readings.reduce((at, reading) => { all.set(reading, at); return at + reading.length; }, 0);
      const ptr = putOffsets(core, running(lengths)), chars = core.put("i32", all), own = this.ownEdges(ptr, chars).edges, pieces = cuts.length ? core.put("i32", all.map((_, at) => cuts.filter((cut) => cut <= at).length)) : NONE;
      const recent = core.zeros("u8", seen.recent.length ? (this.lexicon.n >> 3) + 1 : 0);
      for (const word of seen.recent) core.view(recent)[word >> 3] |= 1 << (word & 7);
      const found = core.space("i64", n), score = core.space("f64", n * k), wayPtr = core.space("i64", n * k + 1), word = core.space("i32", total * k), end = core.space("i32", total * k), textEnd = core.space("i64", total * k);
      let count = -2, bytes;
      for (let room = 16 * total * k + 256; count === -2; room *= 4) {
        bytes = core.space("u8", room);
        count = c.ime_engine_ways(this.lexicon.readings, model.model, this.backwards, this.unknown, own, seen.start, bonus, recent, RECENT, k, margin, ptr, chars, pieces, found, score, wayPtr, word, end, textEnd, bytes);
      }
      if (count < 0) throw new InputError(`not enough memory for ${k} conversions of ${total} characters; give shorter readings`);
      const places = core.view(wayPtr), used = Number(places[count]), ends = core.view(textEnd), size = used ? Number(ends[used - 1]) : 0;
      const plain = [...core.view(core.part(score, 0, count))];
      let scores = plain;
      if (rescored && this.rescorer) scores = this.rescorer.add(scores, core.part(wayPtr, 0, count + 1), core.part(textEnd, 0, used), core.part(bytes, 0, size), seen.rescoring);
      const [raw, wayStarts, textEnds, ids, stops] = [[bytes, size], [wayPtr, count + 1], [textEnd, used], [word, used], [end, used]].map(([array, size]) => core.view(core.part(array, 0, size)));
      const textAt = (x) => (x ? Number(textEnds[x - 1]) : 0), spell = (x, y) => text.decode(raw.slice(textAt(x), textAt(y)));
      let at = 0;
      return readings.map((reading, q) => {
        const first = at, isOutside = (way) => (rescored && plain[way] < plain[first] - MARGIN ? 1 : 0), own = range(at, (at += Number(core.view(found)[q]))).sort((a, b) => isOutside(a) - isOutside(b) || scores[b] - scores[a] || a - b);
        return own.map((way) => {
          const [first, last] = [Number(wayStarts[way]), Number(wayStarts[way + 1])], made = { text: spell(first, last), score: scores[way] };
          if (withWords) made.words = range(first, last).map((x) => ({ start: x === first ? 0 : stops[x - 1], end: stops[x], surface: spell(x, x + 1), id: ids[x] }));
          return made;
        });
      });
    });
  }

  many(readings, before) {
    const seen = this.after(before), out = [], k = this.rescorer ? N_BEST : 1;
    for (let at = 0; at < readings.length; at += AT_ONCE) out.push(...this.ways(readings.slice(at, at + AT_ONCE), k, seen, { margin: MARGIN }).map((ways) => ways[0]?.text ?? ""));
    return out;
  }

  /** The best text of a reading in kana, after the text `before`; with `romaji` Latin letters are read first. */
  convert(kana, { before = "", romaji = false } = {}) {
    return this.many([this.reading(kana, romaji)], before)[0];
  }

  /** The best text of many readings. */
  convertAll(readings) {
    if (!Array.isArray(readings)) throw new InputError("expected a list of readings");
    return this.many(readings.map((kana) => this.reading(kana)), "");
  }

  /** The k best texts with their scores. */
  nbest(kana, k = N_BEST, { before = "", romaji = false } = {}) {
    const reading = this.reading(kana, romaji), most = this.rescorer && Number.isInteger(k) && k >= 1 ? Math.max(k, N_BEST) : k;
    if (!reading.length) return [{ text: "", score: 0 }];
    return this.ways([reading], most, this.after(before))[0].slice(0, k);
  }

  /** Phrases of the best conversion, each with up to k ways to write it; `fixed` sets lengths of the first ones. */
  segments(kana, k = 9, { before = "", fixed = [] } = {}) {
    if (!(Number.isInteger(k) && k >= 1)) throw new InputError(`k must be a whole number of 1 or more, not ${k}`);
    const found = this.phrases(this.reading(kana), before, fixed);
    return found.ranges.map((_, place) => found.segment(place, k));
  }

  phrases(reading, before, fixed = []) {
    const ends = running(fixed).slice(1), seen = this.after(before);
    if (fixed.some((n) => !(Number.isInteger(n) && n >= 1)) || ends.at(-1) > reading.length) throw new InputError(`segments of ${fixed} characters do not fit a reading of ${reading.length}`);
    const best = this.ways([reading], ends.length || !this.rescorer ? 1 : N_BEST, seen, { cuts: [...ends], rescored: !ends.length, withWords: true })[0][0] ?? { words: [] };
    return new Phrases(this, reading, best.words, ends, seen);
  }

  step(node, word) {
    const { core, model } = this;
    return core.scope(() => {
      const logp = core.zeros("f64", 1), next = core.c.ime_step(model.model, node, word, logp);
      return [core.view(logp)[0], next];
    });
  }

  /** Log-probability of a conversion with bonuses. */
  score(reading, words, { start, recent }) {
    let node = start, total = 0;
    const { core, model: { fields, names } } = this, more = names.length;
    for (const { start: first, end, surface, id } of words) {
      if (id >= 0) {
        const [logp, next] = this.step(node, id);
        total += logp + (recent.includes(id) ? RECENT : 0);
        node = next;
        continue;
      }
      const [logp, to] = this.specialScore(reading.subarray(first, end), surface);
      let weight = 0;
      for (; node >= more; node = core.view(fields.node_parent)[node]) weight += core.view(fields.node_bow)[node];
      total += weight + core.view(fields.class_logp)[node * more + to] + logp;
      node = to;
    }
    return total + this.step(node, 0)[0];
  }

  /** The best log-probability of a word outside the lexicon, and its class. */
  specialScore(reading, surface) {
    const { core, spelling, header } = this, { c } = core, n = reading.length;
    return core.scope(() => {
      const chars = core.put("i32", reading), ptr = core.put("i64", [0, n]), own = this.ownEdges(ptr, chars), room = 2 * n * LONGEST_UNKNOWN, form = core.space("i32", room), end = core.space("i32", room), logp = core.space("f64", room), at = core.space("i64", n + 1);
      const kind = core.space("i32", n), kana = core.space("i32", n);
      c.ime_classify(chars, kind, kana);
      c.ime_find_unknown(kind, kana, LONGEST_UNKNOWN, spelling.n_rows, spelling.hiragana, spelling.katakana, spelling.class_logp, spelling.char_logp, at, end, form, logp);
      const typed = String.fromCodePoint(...reading), found = [[-Infinity, 0]], view = (array) => core.view(array);
      for (let e = 0, last = Number(view(at)[1]); e < last; e++) {
        const isKatakana = view(form)[e] === AS_KATAKANA;
        if (view(end)[e] === n && (isKatakana ? toKatakana(typed) : typed) === surface) found.push([view(logp)[e], isKatakana ? header.unknown_class ?? 0 : 0]);
      }
      for (const { way, logp, wordClass } of this.wholeEdges(own, n)) if (way === surface) found.push([logp, wordClass]);
      return found.reduce((a, b) => (b[0] > a[0] || (b[0] === a[0] && b[1] > a[1]) ? b : a));
    });
  }

  /** Edges that write a reading of n characters as a whole. */
  wholeEdges({ n: most, start, end, textPtr, text: bytes, logp, word_class }, n) {
    const { core } = this, ptr = core.view(textPtr), ends = core.view(end);
    return range(0, most).filter((e) => core.view(start)[e] === 0 && ends[e] === n).map((e) => ({ way: text.decode(core.view(bytes).slice(Number(ptr[e]), Number(ptr[e + 1]))), logp: core.view(logp)[e], wordClass: core.view(word_class)[e] }));
  }

  signsOf(reading) {
    const { core } = this, chars = points(reading);
    return core.scope(() => this.wholeEdges(this.ownEdges(core.put("i64", [0, chars.length]), core.put("i32", chars), this.onlySigns), chars.length).map(({ way }) => way));
  }

  /** The ways to write a number. */
  waysToWrite(value) {
    const { core } = this;
    return core.scope(() => this.texts.forms.map((_, form) => {
      const out = core.zeros("u8", 128), n = core.c.ime_special_write(value, form, out);
      return text.decode(core.view(out).slice(0, n));
    }).filter(Boolean));
  }

  /** A request of a text field that types Japanese (docs/input-method.md), and what it shows. */
  type(request) {
    return this.typing.answer(request);
  }
}

/** The best conversion of a reading in phrases, whose alternatives are found when they are asked for (segmentation.py, phrases.py). */
class Phrases {
  constructor(converter, reading, words, ends, seen) {
    Object.assign(this, { converter, reading, words, seen });
    const cut = ends.length ? words.filter((word) => word.end <= ends.at(-1)).length : 0, limits = range(1, cut + 1).filter((k) => ends.includes(words[k - 1].end));
    for (let k = cut + 1; k <= words.length; k++) if (k === words.length || !this.joins(words[k - 1], words[k])) limits.push(k);
    this.ranges = unique(limits).map((limit, k, all) => [k ? all[k - 1] : 0, limit - 1]);
  }

  kana(first, last) {
    return String.fromCodePoint(...this.reading.subarray(first, last));
  }

  partOf({ id }) {
    const { names, classes } = this.converter.model, name = id < 0 ? "any" : names[classes[id]];
    return ["any", "edge"].includes(name) || name.startsWith("?") ? "" : name.slice(name.lastIndexOf(" ") + 1);
  }

  /** Whether a word belongs to the phrase of the word before it. */
  joins(before, word) {
    const [left, part] = [this.partOf(before), this.partOf(word)], begins = (name, all) => all.some((one) => name.startsWith(one)), last = [...before.surface].at(-1) ?? "";
    const isFunction = (surface, name) => !/[\p{L}\p{N}]/u.test(surface) || (name ? begins(name, FUNCTION) : isHiragana(surface)), isStem = isContent(before.surface) && !isHiragana(last);
    const takes = ["て", "で"].includes(before.surface) || (part.includes("非自立可能") && !isFunction(before.surface, left));
    return left.startsWith("接頭辞") || PREFIXES.includes(before.surface) || /\p{Nd}/u.test(last) || ([...word.surface].length === 1 && isContent(word.surface) && isStem && !isFunction(before.surface, left))
      || isFunction(word.surface, part) || (begins(part, ["動詞", "形容詞"]) && isHiragana(word.surface) && takes);
  }

  bare() {
    return this.ranges.map(([first, last]) => {
      const words = this.words.slice(first, last + 1), surface = words.map((word) => word.surface).join("");
      return { reading: this.kana(words[0].start, words.at(-1).end), surface, alternatives: [surface] };
    });
  }

  segment(place, k) {
    const [first, last] = this.ranges[place], { reading, surface } = this.bare()[place], { converter, words } = this;
    if (first === last) return { reading, surface, alternatives: this.ofWord(first, reading, k) };
    let node = this.seen.start;
    for (const { id } of words.slice(0, first)) if (id >= 0) node = converter.step(node, id)[1];
    const own = this.reading.subarray(words[first].start, words[last].end), seen = { ...this.seen, start: node }, following = words.slice(last + 1, last + 1 + FOLLOWING);
    let found = converter.ways([own], k, seen, { rescored: false, withWords: true })[0];
    if (following.length) {
      const shift = words[first].start, rest = this.reading.subarray(shift, following.at(-1).end), moved = following.map((word) => ({ ...word, start: word.start - shift, end: word.end - shift }));
      found = found.map((way) => [converter.score(rest, [...way.words, ...moved], seen), way]).sort((a, b) => b[0] - a[0]).map(([, way]) => way);
    }
    return { reading, surface, alternatives: withKana([surface, ...found.map((way) => way.text)], reading, k) };
  }

  ofWord(place, reading, k) {
    const { converter, words, seen } = this, word = words[place];
    const scored = converter.lexicon.wordsOf(reading).map((id) => {
      const other = { ...word, surface: converter.lexicon.surface(id), id };
      return [converter.score(this.reading, [...words.slice(0, place), other, ...words.slice(place + 1)], seen), other.surface];
    }).sort((a, b) => b[0] - a[0]);
    const signs = converter.signsOf(reading).slice(0, k >> 1);
    return withKana([...unique([word.surface, ...scored.map(([, surface]) => surface)]).slice(0, Math.max(0, k - 2 - signs.length)), ...signs], reading, k);
  }
}

const withKana = (texts, reading, k) => unique([...unique(texts).slice(0, Math.max(0, k - 2)), reading, toKatakana(reading)]).slice(0, k);
