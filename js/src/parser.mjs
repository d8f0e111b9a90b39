// Dependency parsers (epigram/parsing/): trees by arc, sibling and grandparent features, relations by a tree CRF.

import { InputError, ModelFileError, packed } from "./core.mjs";
import { ChainModel } from "./chain.mjs";
import { fingerprints, lowWords, mapColumn, putOffsets, running } from "./features.mjs";
import { damaged, readArrays, refuse, under } from "./file.mjs";

const PLACES = ["h", "c", "b", "way", "side", "l", "r", "s", "gap", "g", "up"];
const NUMBERED = ["way", "side", "gap", "up"], ZONES = ["b", "l", "r"];
const FAR = ["1", "2", "3", "4", "5-9", "10+"], SIDES = ["right", "left", "root"];
const WAYS = [...FAR.map((far) => `right ${far}`), ...FAR.map((far) => `left ${far}`), "root"];
const NO_SIBLING = "<none>", THE_END = "<end>", OUTSIDE = ["<root>", "<before>", "<after>", NO_SIBLING, THE_END];
const MOST_EDGES = 2 ** 29, DISTANCES = [1, 2, 3, 4, 5, 10], MOST_CHILDREN = 3;

// ---- Templates (arc_templates.py)

function parseCell(word) {
  const found = /^([hcsg])\[([+-]?\d{1,4}),(\d{1,2})\]$/.exec(word), zone = /^([blr])\[(\d{1,2})\]$/.exec(word);
  if (NUMBERED.includes(word)) return { place: word, offset: 0, column: 0, name: word };
  if (zone) return { place: zone[1], offset: 0, column: Number(zone[2]), name: `${zone[1]}[${Number(zone[2])}]` };
  if (!found) throw new ModelFileError(`its arc template cannot be used: ${word.slice(0, 40)} is no cell`);
  const offset = Number(found[2]), column = Number(found[3]);
  return { place: found[1], offset, column, name: `${found[1]}[${offset < 0 ? offset : `+${offset}`},${column}]` };
}

/** 0 arc, 1 with b, l, r; 2 sibling, 3 with head; 4 grandparent, 5 with sibling. */
function rankOf(cells) {
  const has = (place) => cells.some((cell) => cell.place === place);
  if (has("g")) return has("s") ? 5 : 4;
  if (has("s")) return has("h") ? 3 : 2;
  return cells.some((cell) => ZONES.includes(cell.place)) ? 1 : 0;
}

function parseArcTemplate(text) {
  const lines = [];
  for (const line of text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)) {
    const content = line.split("#")[0].trim();
    if (!content) continue;
    const cells = content.replace(/^\+/, "").split(/\s+/).filter(Boolean).map(parseCell), rank = rankOf(cells), has = (places) => cells.some((cell) => places.includes(cell.place));
    const wrong = cells.filter((cell) => ZONES.includes(cell.place)).length > 1 || (rank > 1 && has([...ZONES, "way"])) || (has(["up"]) && !has(["g"])) || (has(["gap"]) && !has(["s"]));
    if (wrong || !cells.length) throw new ModelFileError(`its arc template cannot be used: ${content.slice(0, 60)}`);
    lines.push({ cells, rank });
    if (content[0] === "+") lines.push({ cells: [...cells, parseCell("way")], rank });
  }
  for (const line of lines) line.name = line.cells.map((cell) => cell.name).join(" ");
  const distinct = [...new Map(lines.sort((a, b) => a.rank - b.rank).map((line) => [line.name, line])).values()];
  if (!distinct.length) damaged("its arc template has no lines");
  return distinct;
}

/** Lines as the C structure. */
function templateOf(core, lines, nBetween) {
  const cells = lines.flatMap((line) => line.cells);
  return core.c.ArcTemplates({
    n_between: nBetween, cell_ptr: putOffsets(core, running(lines.map((line) => line.cells.length))), places: core.put("i32", cells.map((cell) => PLACES.indexOf(cell.place))),
    offsets: core.put("i32", cells.map((cell) => cell.offset)), columns: core.put("i32", cells.map((cell) => cell.column)),
    seeds: fingerprints(core, packed(core, lines.map((line) => line.name))),
  });
}

/** Weights of arcs and of parts of trees, in a hash table by the keys of their features. */
class ArcModel {
  constructor(core, text, tensors, prefix = "") {
    const lines = parseArcTemplate(text), t = readArrays("parser", { tensors }, { lines: lines.length }, prefix), n = t.weights.length;
    Object.assign(this, { core, lines, n, columns: 1 + Math.max(...lines.flatMap((line) => line.cells.map((cell) => cell.column))) });
    if (this.columns > 64) damaged(`its arc template reads ${this.columns} columns`);
    const kinds = [lines.filter((line) => line.rank < 2), ...[[2, 3], [4], [5]].map((ranks) => lines.filter((line) => ranks.includes(line.rank)))];
    this.kinds = kinds.map((own, k) => ({ lines: own, template: templateOf(core, own, k ? 0 : own.filter((line) => line.rank === 1).length) }));
    this.hasParts = kinds.slice(1).some((own) => own.length);
    const scale = Math.max(4, 32 - Math.clz32((3 * n) >> 1)), { c } = core;
    this.table = c.ArcTable({ slots: core.zeros("u64", 2 ** scale), filter: core.zeros("u64", 2 ** (scale - 4)) });
    core.scope(() => {
      const known = fingerprints(core, { ptr: putOffsets(core, running(t.string_lengths)), content: core.put("u8", t.strings) });
      const sizes = new Int32Array(n), owners = new Int32Array(n), nCells = lines.reduce((sum, line, l) => sum + line.cells.length * t.line_counts[l], 0);
      if (t.cells.length !== nCells) damaged(`it has ${t.cells.length} cells of arc features where ${nCells} belong`);
      const atoms = core.space("u64", nCells), words = new Uint32Array(core.x.memory.buffer), from = known.at / 4, to = atoms.at / 4;
      for (let l = 0, k = 0, at = 0; l < lines.length; l++) {
        const numbered = lines[l].cells.map((cell) => NUMBERED.includes(cell.place)), width = numbered.length;
        for (let last = k + t.line_counts[l]; k < last; k++) {
          [owners[k], sizes[k]] = [l, width];
          for (let j = 0; j < width; j++, at++) {
            const code = t.cells[at];
            if (code >= (numbered[j] ? WAYS.length : known.n)) damaged("a cell of an arc feature has no string");
            words[to + 2 * at] = numbered[j] ? code : words[from + 2 * code];
            words[to + 2 * at + 1] = numbered[j] ? 0 : words[from + 2 * code + 1];
          }
        }
      }
      const keys = core.space("u64", n);
      c.arcs_keys_of(templateOf(core, lines, 0), core.put("i32", owners), putOffsets(core, running(sizes)), atoms, keys);
      c.arcs_fill(keys, core.put("u32", new Uint32Array(Float32Array.from(t.weights).buffer)), this.table);
      [this.keys, this.weights] = [core.view(keys).slice(), t.weights];
    });
  }

  /** The weight of a key, where it has one. */
  weight(key) {
    this.numbers ??= new Map(Array.from(this.keys, (own, k) => [own, k]));
    return this.weights[this.numbers.get(key)];
  }

  /** The features of an arc and of parts (grandparent, head, sibling, child) of sentence 0 that have weights: `[name, weight]`. */
  *terms(words, input, head, child) {
    const { core, kinds: [{ lines, template }] } = this, most = lines.length + 64 * template.n_between;
    const [keys, owners, middles] = [core.space("u64", most), core.space("i32", most), core.space("i32", most)];
    const n = core.c.arcs_keys(template, words.struct, this.memory(0, words.room), 0, head, child, keys, owners, middles), [k, o, m] = [keys, owners, middles].map((one) => core.view(one).slice(0, n));
    for (let j = 0; j < n; j++) {
      const weight = this.weight(k[j]);
      if (weight !== undefined) yield [nameOf(lines[o[j]], input, [0, head, m[j], child]), weight];
    }
  }

  *partTerms(words, input, parts) {
    const { core } = this, n = input.ptr[1];
    for (const [kind, { lines, template }] of [...this.kinds.entries()].slice(1)) {
      const seen = kind === 2 ? parts.filter(([, , , child]) => child >= 1 && child <= n) : parts;
      if (!lines.length || !seen.length) continue;
      const keys = core.space("u64", seen.length * lines.length);
      core.c.part_features_keys(template, words.struct, this.memory(kind, words.room), 0, core.put("i32", seen.flat()), keys);
      const found = core.view(keys).slice();
      for (const [j, key] of found.entries()) {
        const weight = this.weight(key), part = seen[Math.floor(j / lines.length)];
        if (weight !== undefined) yield [part, nameOf(lines[j % lines.length], input, part), weight];
      }
    }
  }

  /** Working memory of a kind of lines for sentences of up to `room` words. */
  memory(kind, room) {
    const { core } = this, { c } = core, { lines: { length: n }, template } = this.kinds[kind], z = (size) => core.zeros("u64", size);
    if (kind) {
      const made = c.PartMemory({ room, n_templates: n, words: z(4 * (room + 2) * n), ways: z(78 * n), keys: z(n) });
      c.part_features_prepare(template, made);
      return made;
    }
    const b = template.n_between, made = c.ArcMemory({
      room, n_templates: n, n_between: b, heads: z((room + 1) * n), children: z((room + 1) * n), ways: z(13 * n),
      values: z(64 * b), bits: z((room + 1) * b), between: z((room + 1) * b), keys: z(n + 64 * b),
    });
    c.arcs_prepare(template, made);
    return made;
  }
}

/** Parses sentences given as columns. */
export class Parser {
  static async of(core, file) {
    const { header, tensors } = file;
    readArrays("parser", file, { lines: parseArcTemplate(String(header.template)).length });
    if (header.classes != null) refuse("parsers with word classes");
    if (header.settings.decoding !== "mbr") refuse(`parsers with decoding=${header.settings.decoding}`);
    const arcs = new ArcModel(core, header.template, tensors);
    if (!arcs.hasParts || header.pruner == null) refuse("parsers of first order, or that prune no arcs");
    const pruner = new ArcModel(core, header.pruner, tensors, "pruner_");
    if (pruner.hasParts || pruner.columns > arcs.columns || !(header.prune > 0 && header.prune < 1)) damaged("its pruner is no first-order model with a share between 0 and 1");
    const labels = await ChainModel.of(core, { header: { ...header.label_header, history: [] }, tensors: under(tensors, "label_") }, ["tree"]);
    return Object.assign(new Parser(), { core, arcs, pruner, share: header.prune, labels, observed: (header.settings.observed ?? "form,upos,xpos,feats").split(",").map((name) => name.trim()) });
  }

  /** The sentences of columns as C takes them: words in lower case, and the hashes of all cells. */
  words({ ptr, columns }) {
    const { core, arcs } = this, n = ptr.at(-1), wanted = arcs.columns;
    if (columns.length < wanted) throw new ModelFileError(`corrupt file: its parser reads ${wanted} columns of ${columns.length}; copy or train it again`);
    const atoms = core.space("u64", wanted * n), outside = core.space("u64", wanted * OUTSIDE.length);
    for (let k = 0; k < wanted; k++) {
      const { ids, strings } = k ? columns[k] : mapColumn(columns[0], (cell) => cell.toLowerCase());
      const known = fingerprints(core, packed(core, strings)), marks = fingerprints(core, packed(core, OUTSIDE)), all = new Uint32Array(core.x.memory.buffer);
      for (let t = 0, to = atoms.at / 4 + 2 * k * n, from = known.at / 4; t < n; t++, to += 2) [all[to], all[to + 1]] = [all[from + 2 * ids[t]], all[from + 2 * ids[t] + 1]];
      core.view(core.part(outside, k * OUTSIDE.length, OUTSIDE.length)).set(core.view(marks));
    }
    const lengths = Array.from({ length: ptr.length - 1 }, (_, s) => ptr[s + 1] - ptr[s]), firstArc = running(lengths.map((size) => size * (size + 1)));
    return { struct: core.c.ArcWords({ n_tokens: n, n_columns: wanted, sentence_ptr: putOffsets(core, ptr), atoms, outside }), lengths, room: Math.max(1, ...lengths), nArcs: firstArc.at(-1), firstArc: putOffsets(core, firstArc) };
  }

  spans(room) {
    const f = () => this.core.zeros("f64", room * room), names = ["R", "RT", "L", "LT", "I", "AR", "ALT", "gR", "gRT", "gL", "gLT", "gAR", "gALT"];
    return this.core.c.Spans({ room, ...Object.fromEntries(names.map((name) => [name, f()])), splits: this.core.zeros("i32", 3 * room * room) });
  }

  /** Working memory of forests for sentences of n words with so many parts (pruning.py, ForestMemory). */
  forest(n, [kept, trios, grands, links, nodes, edges]) {
    const { core } = this, i = (size) => core.zeros("i32", size), f = (size) => core.zeros("f64", size), big = (size) => core.zeros("i64", size);
    const own = { counts: big(6), trios: i(4 * trios), grands: i(4 * grands), links: i(4 * links) };
    return { ...own, ...core.c.Forest({
      ...own, n_words: n, n_kept: kept, n_trios: trios, n_grands: grands, n_links: links, n_nodes: nodes, n_edges: edges,
      kept: i(n * n + n), arcs: i(2 * kept), first_child: i(2 * n + 3), above: i(kept), first_above: i(n + 2), widths: i(2 * kept), first_grand: i(2 * kept), first_link: i(2 * kept),
      first_trio: i(kept), first_stop: i(2 * n + 2), span_nodes: i(kept * n + kept), grand_nodes: i(grands), trio_nodes: i(trios),
      link_parts: i(3 * links), first_edge: big(nodes + 1), edges: i(3 * edges), values: f(links), marginals: f(links), inside: f(nodes), outside: f(nodes), best: big(nodes),
    }) };
  }

  /** Arcs that trees may have (of those from h to c with `allowed(h, c)`), and the most of everything that a sentence then needs. */
  kept(words, allowed = null) {
    const { core, pruner } = this, { room, nArcs, lengths } = words, all = core.put("i32", lengths.map((_, s) => s)), keep = core.zeros("u8", nArcs), permitted = core.zeros("u8", nArcs);
    const open = core.view(permitted).fill(1);
    for (let a = 0; allowed && a < nArcs; a++) open[a] = allowed(Math.floor(a / lengths[0]), (a % lengths[0]) + 1) ? 1 : 0;
    const sizes = core.zeros("i64", 6 * lengths.length);
    core.scope(() => core.c.pruning_keep(
      pruner.kinds[0].template, words.struct, pruner.table, pruner.memory(0, room), this.spans(room), all, words.firstArc, permitted, this.share,
      core.zeros("f64", 2 * room * (room + 1)), core.zeros("i32", room), keep,
    ));
    core.c.forest_sizes(core.put("i64", lengths), words.firstArc, keep, sizes);
    const view = lowWords(core, sizes), most = [1, 1, 1, 1, 1, 1];
    for (let k = 0; k < sizes.n; k++) most[k % 6] = Math.max(most[k % 6], view[2 * k] >>> 0);
    const s = lengths.findIndex((_, k) => Math.max(...most) >= MOST_EDGES && [0, 1, 2, 3, 4, 5].some((j) => (view[12 * k + 2 * j] >>> 0) >= MOST_EDGES));
    if (s >= 0) throw new InputError(`a sentence of ${lengths[s]} words is too long to be parsed; cut it into shorter ones`);
    return { keep, all, most };
  }

  /** Probabilities of the arcs of each sentence, (n + 1) rows of heads by n words, and its best tree; `allowed` as for `kept`. */
  charts(input, allowed = null) {
    const { core, arcs } = this, { c } = core, words = this.words(input), { room, lengths, firstArc } = words, { keep, most } = this.kept(words, allowed), forest = this.forest(room, most);
    const memory = [0, 1, 2, 3].map((kind) => arcs.memory(kind, room)), places = lowWords(core, firstArc).slice(); // memory may grow, and views end
    return lengths.map((n, s) => core.scope(() => {
      const nArcs = n * (n + 1), own = core.part(keep, places[2 * s], nArcs);
      c.forest_build(n, own, forest);
      const counts = Array.from(core.view(forest.counts), Number).slice(1, 4), scores = core.space("f64", nArcs + counts[0] + counts[1] + counts[2]), out = core.zeros("f64", nArcs + counts[0] + counts[1]), heads = core.zeros("i32", n);
      c.arcs_scores(arcs.kinds[0].template, words.struct, memory[0], s, arcs.table, own, core.part(scores, 0, nArcs));
      [forest.trios, forest.grands, forest.links].reduce((at, parts, k) => {
        c.part_features_scores(arcs.kinds[k + 1].template, words.struct, memory[k + 1], s, arcs.table, core.part(parts, 0, 4 * counts[k]), core.part(scores, at, counts[k]));
        return at + counts[k];
      }, nArcs);
      c.forest_score(n, scores, forest);
      if (c.forest_best(forest, heads) < -1e299) throw new InputError(`sentence ${s} has no projective tree`);
      c.forest_marginals(forest);
      c.forest_collect(n, forest, out);
      return { p: core.view(core.part(out, 0, nArcs)).slice(), heads: Array.from(core.view(heads)) };
    }));
  }

  /** Why a word (from 1) of a sentence has its head: the weights against the best tree in which it has another (explain.py). */
  explain(input, word) {
    return this.core.scope(() => {
      const { core, arcs } = this, n = input.ptr[1], words = this.words(input), [{ p, heads }] = this.charts(input), head = heads[word - 1];
      const found = { word, head, other: null, probability: p[head * n + word - 1], other_probability: 0, heads, other_heads: [], lead: 0, terms: [] };
      if (n < 2) return found;
      const rival = this.charts(input, (h, c) => c !== word || (h !== head && h !== word))[0].heads, lifts = new Map();
      const add = (place, feature, lift) => {
        const key = JSON.stringify([...place, feature]);
        lifts.set(key, (lifts.get(key) ?? 0) + lift);
      };
      for (const [tree, sign] of [[heads, 1], [rival, -1]]) {
        tree.forEach((above, k) => {
          if (heads[k] !== rival[k]) core.scope(() => { for (const [name, weight] of arcs.terms(words, input, above, k + 1)) add([k + 1, above], name, sign * weight); });
        });
      }
      const [mine, theirs] = [heads, rival].map((tree) => new Map(treeParts(tree).map((part) => [String(part), part])));
      const apart = [...mine].filter(([key]) => !theirs.has(key)).concat([...theirs].filter(([key]) => !mine.has(key))).map(([, part]) => part);
      for (const [part, name, weight] of arcs.partTerms(words, input, apart)) add([part[3] >= 1 && part[3] <= n ? part[3] : part[2], part[1]], name, mine.has(String(part)) ? weight : -weight);
      const terms = [...lifts].filter(([, lift]) => lift).map(([key, lift]) => {
        const [child, above, feature] = JSON.parse(key);
        return { word: child, head: above, feature, lift };
      }).sort((a, b) => Math.abs(b.lift) - Math.abs(a.lift));
      return { ...found, other: rival[word - 1], other_probability: p[rival[word - 1] * n + word - 1], other_heads: rival, lead: terms.reduce((sum, term) => sum + term.lift, 0), terms };
    });
  }

  /** The head of every word, from 1 in its sentence; 0 for the root. */
  heads(input) {
    const { core, arcs } = this, words = this.words(input), { room } = words, { keep, all, most } = this.kept(words), out = core.zeros("i32", input.ptr.at(-1));
    const memory = [0, 1, 2, 3].map((kind) => arcs.memory(kind, room)), templates = arcs.kinds.map((kind) => kind.template);
    const scores = core.space("f64", 2 * room * (room + 1) + most[1] + most[2] + most[3]);
    const s = core.c.forest_decode_expected(...templates, words.struct, arcs.table, ...memory, this.forest(room, most), this.spans(room), all, words.firstArc, keep, scores, out);
    if (s >= 0) throw new InputError(`sentence ${s} has no projective tree`);
    return core.view(out).slice();
  }

  /** Heads and relations: `{heads, deprel}`, the latter a column. */
  parse(input) {
    const { core, labels } = this;
    if (!input.ptr.at(-1)) return { heads: new Int32Array(0), deprel: { ids: new Int32Array(0), strings: labels.labels } };
    const heads = core.scope(() => this.heads(input));
    const ids = core.scope(() => labels.best(labels.encode({ ptr: input.ptr, columns: treeColumns(input, heads) }, heads.map((head) => head - 1))));
    return { heads, deprel: { ids, strings: labels.labels } };
  }
}

/** Parts of a tree: (grandparent, head, sibling, child), siblings from the inside to the outside (part_features.py). */
function treeParts(heads) {
  const n = heads.length, found = [];
  for (let head = 1; head <= n; head++) {
    const [left, right] = [[], []];
    heads.forEach((above, k) => { if (above === head) (k + 1 < head ? left : right).push(k + 1); });
    for (const chain of [[head, ...left.reverse(), 0], [head, ...right, n + 1]]) for (let k = 1; k < chain.length; k++) found.push([heads[head - 1], head, chain[k - 1], chain[k]]);
  }
  return found;
}

/** The name of a line's feature at a place (grandparent, head, sibling or word between, child) of sentence 0. */
function nameOf({ cells }, { ptr, columns }, [grand, head, other, child]) {
  const n = ptr[1], string = ({ place, offset, column: k }) => {
    if (place === "s" && other === head) return NO_SIBLING;
    if (place === "c" && !(child >= 1 && child <= n)) return THE_END;
    const word = { h: head, c: child, g: grand }[place] ?? other, at = word + offset;
    if (!word) return OUTSIDE[offset ? 1 : 0];
    if (at < 1 || at > n) return OUTSIDE[at < 1 ? 1 : 2];
    const cell = columns[k].strings[columns[k].ids[at - 1]];
    return k ? cell : cell.toLowerCase();
  };
  const way = (from, to) => {
    const far = Math.abs(from - to);
    return from === 0 ? 12 : (from < to ? 0 : 6) + (far < 5 ? far - 1 : far < 10 ? 4 : 5);
  };
  return cells.map((cell) => {
    if (!NUMBERED.includes(cell.place)) return `${cell.name}=${string(cell)}`;
    if (cell.place === "gap") return `gap=${other === head || child < 1 || child > n ? "none" : WAYS[way(other, child)]}`;
    const number = cell.place === "up" ? way(grand, head) : way(head, child);
    return `${cell.place}=${cell.place === "way" ? WAYS[number] : SIDES[number === 12 ? 2 : number >= 6 ? 1 : 0]}`;
  }).join(" ");
}

/** The observed columns with those of heads, children and siblings (tree_columns.py). */
function treeColumns({ ptr, columns }, heads) {
  const n = heads.length, none = () => new Int32Array(n).fill(-2), [first, last, before, after] = [none(), none(), none(), none()];
  const head = new Int32Array(n), left = new Int32Array(n), right = new Int32Array(n), ways = new Int32Array(n);
  for (let s = 0; s < ptr.length - 1; s++) {
    for (let t = ptr[s]; t < ptr[s + 1]; t++) {
      const h = (head[t] = heads[t] ? ptr[s] + heads[t] - 1 : -1), far = Math.abs(h - t);
      let bin = 0;
      while (bin + 1 < DISTANCES.length && DISTANCES[bin + 1] <= far) bin++;
      ways[t] = h < 0 ? 2 * DISTANCES.length : h > t ? DISTANCES.length + bin : bin;
      if (h < 0) continue;
      if (first[h] === -2) first[h] = t;
      else [before[t], after[last[h]]] = [last[h], t];
      last[h] = t;
      (t < h ? left : right)[h]++;
    }
  }
  const grand = head.map((h) => (h >= 0 ? head[h] : -2)), own = columns.map(({ ids, strings }) => ({ ids, n: strings.length, strings: [...strings, "<root>", "<none>"] }));
  const moved = ({ ids, n: k, strings }, of) => ({ ids: of.map((t) => (t >= 0 ? ids[t] : t === -1 ? k : k + 1)), strings });
  const some = [0, 1, 2, 3], counts = left.map((l, t) => Math.min(l, MOST_CHILDREN) * (MOST_CHILDREN + 1) + Math.min(right[t], MOST_CHILDREN));
  return [
    ...own, ...own.map((column) => moved(column, head)), ...own.map((column) => moved(column, grand)), ...[first, last, before].map((of) => moved(own.at(-1), of)),
    { ids: ways, strings: [...["L", "R"].flatMap((side) => DISTANCES.map((far) => side + far)), "<root>"] },
    { ids: counts, strings: some.flatMap((a) => some.map((b) => `${a}/${b}`)) },
    ...own.flatMap((column) => [first, last, before, after].map((of) => moved(column, of))),
  ];
}
