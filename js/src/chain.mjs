// Linear-chain models: taggers (epigram/chain/, epigram/tagging/). Labels, probabilities, alternatives, reasons.

import { InputError, NONE } from "./core.mjs";
import { Names, Plan, columnsOf, corpusOf, lookUpNames, lowWords, putOffsets, running } from "./features.mjs";
import { damaged, inflate, readArrays, refuse } from "./file.mjs";
import { parseTemplate, wordTable } from "./template.mjs";

const DENSE_SHARE = 8, MOST_LABELS = 128, MOST_LABEL_PAIRS = 1 << 22, BATCH = 4096, MOST_NUMBERS = 1 << 27;
const REFUSED = {
  segment: "models of segments", tree: "models of trees by themselves", maxent: "classifiers of features",
};
const padded = (n) => Math.ceil(n / 8) * 8;

/** Read the word lists of a tagger's file and its template; refuse what a page cannot reproduce, by name. */
async function readTemplate({ header, tensors }, kinds) {
  if (!kinds.includes(header.kind)) refuse(REFUSED[header.kind] ?? `taggers of kind '${header.kind}'`);
  if ("reranker" in header) refuse("rerankers of taggers");
  if (header.template === null) refuse("models that read features, not columns (they have no template)");
  const lists = new Map();
  for (const [k, name] of (header.lexicons ?? []).entries()) {
    const tensor = tensors.get(`lexicon_${k}`);
    if (tensor?.type !== "U8") damaged(`it has no word list ${name}`);
    lists.set(name, wordTable(new TextDecoder().decode(await inflate(tensor.data))));
  }
  return parseTemplate(header.template, lists);
}

export class ChainModel {
  static async of(core, file, kinds = ["crf", "history"]) {
    const arrays = (sizes) => readArrays("tagger", file, sizes);
    if (!Array.isArray(file.header.labels)) damaged("it has no labels");
    const L = file.header.labels.length, nBytes = [...file.tensors.values()].reduce((sum, { data }) => sum + data.byteLength, 0);
    if (!L || new Set(file.header.labels).size !== L) damaged(`${L} labels, ${new Set(file.header.labels).size} of them distinct`);
    if (L * L > MOST_LABEL_PAIRS + 16 * nBytes || L > 65535) damaged(`${L} labels, too many for its ${nBytes} bytes`);
    const t = arrays({ labels: L });
    return new ChainModel(core, file.header, t, await readTemplate(file, kinds));
  }

  constructor(core, header, t, template) {
    Object.assign(this, { core, header, template, labels: header.labels, kind: header.kind });
    const L = this.labels.length, width = padded(L), { c } = core;
    if (!header.has_transitions && (t.transition_weights.length || t.edge_weights.length || t.triple_weights.length)) damaged("weights of transitions in a model without transitions");
    this.names = new Names(core, t.names, t.name_lengths);
    this.width = width;
    this.chained = header.has_transitions;
    this.tables = t;
    this.nTriples = t.triple_weights.length;
    if (this.nTriples && header.kind !== "crf") damaged("label triples in a model that has none");
    const { rows, codes, dense, state } = layOut(t, L, width);
    const square = this.chained ? L * width : 0, w = core.zeros("f64", state + square + t.edge_weights.length + this.nTriples);
    const view = core.view(w);
    for (let a = 0, e = 0; a < rows.length; a++) {
      for (let k = 0, n = t.state_counts[a]; k < n; k++, e++) view[rows[a] < dense ? rows[a] + t.state_labels[e] : rows[a] + k] = t.state_weights[e];
    }
    this.transitions = new Float64Array(L * L);
    t.transition_weights.forEach((v, k) => {
      const [i, j] = [t.transition_pairs[2 * k], t.transition_pairs[2 * k + 1]];
      view[state + i * width + j] = this.transitions[i * L + j] = v;
    });
    const allowed = new Float64Array(L * width);
    for (let i = 0; i < L; i++) allowed.fill(1, i * width, i * width + L);
    for (let k = 0; k < t.forbidden.length; k += 2) allowed[t.forbidden[k] * width + t.forbidden[k + 1]] = 0;
    this.allowed = allowed;
    this.ends = t.forbidden_ends ?? null;
    const order = Array.from(t.edge_attributes.keys()).sort((a, b) => t.edge_attributes[a] - t.edge_attributes[b]
      || t.edge_pairs[2 * a] - t.edge_pairs[2 * b] || t.edge_pairs[2 * a + 1] - t.edge_pairs[2 * b + 1]);
    const edgeCounts = new Int32Array(this.names.n);
    order.forEach((k, place) => {
      edgeCounts[t.edge_attributes[k]]++;
      view[state + square + place] = t.edge_weights[k];
    });
    this.rows = core.put("i32", rows);
    this.w = w;
    this.one = core.put("f64", [1]);
    this.layout = c.Layout({
      n_labels: L, width, dense_end: dense, has_transitions: this.chained ? 1 : 0, codes: core.put("i32", codes), free: core.zeros("u8", w.n),
      allowed: core.put("f64", allowed), edge_row_ptr: putOffsets(core, running(edgeCounts)),
      edge_pair: core.put("i32", order.map((k) => t.edge_pairs[2 * k] * width + t.edge_pairs[2 * k + 1])), ...this.triples(t, L, width, core.part(w, w.n - this.nTriples)),
    });
    this.nodes = new Plan(core, template, template.nodes);
    this.edges = new Plan(core, template, template.edges);
    if (this.kind === "history") this.tagWeights();
  }

  triples({ triples, triple_weights: weights }, L, width, place) {
    const { core } = this, n = weights.length, at = (k, column) => triples[3 * k + column];
    if (!n) return { triple_ptr: core.zeros("i64", 1), triple_before: NONE, triple_number: NONE, triple_from: NONE, triple_into: NONE };
    const order = Array.from({ length: n }, (_, k) => k).sort((a, b) => at(a, 2) - at(b, 2) || at(a, 0) - at(b, 0) || at(a, 1) - at(b, 1));
    for (let k = 1; k < n; k++) if ([0, 1, 2].every((j) => at(order[k], j) === at(order[k - 1], j))) damaged("a label triple with two weights");
    core.view(place).set(order.map((k) => weights[k]));
    const pair = order.map((k) => at(k, 1) * width + at(k, 2)), first = order.map((k) => at(k, 0));
    const byPair = Array.from({ length: n }, (_, k) => k).sort((a, b) => pair[a] - pair[b] || first[a] - first[b]), counts = new Int32Array(L * width);
    for (const p of pair) counts[p]++;
    return {
      triple_ptr: putOffsets(core, running(counts)), triple_before: core.put("i32", byPair.map((k) => first[k])), triple_number: core.put("i32", byPair),
      triple_from: core.put("i32", order.map((k) => at(k, 0) * width + at(k, 1))), triple_into: core.put("i32", pair),
    };
  }

  /** What tags on the left add, for taggers by beam search. */
  tagWeights() {
    const { core, labels, tables: t } = this, L = labels.length, tags = [...labels, "(start)"];
    const names = tags.map((tag) => `tag[-1]=${tag}`);
    if (L <= MOST_LABELS) for (const first of tags) for (const second of tags) names.push(`tag[-2,-1]=${first} ${second}`);
    const ids = lookUpNames(core, this.names, names), starts = running(t.state_counts), table = new Float64Array(names.length * L);
    ids.forEach((id, k) => {
      if (id >= 0) for (let e = starts[id]; e < starts[id + 1]; e++) table[k * L + t.state_labels[e]] = t.state_weights[e];
    });
    this.before = core.put("f64", table.subarray(0, (L + 1) * L));
    this.twoBefore = core.put("f64", table.subarray((L + 1) * L));
    this.beam = this.header.beam ?? 5;
    if (!(this.beam >= 1 && this.beam <= 4096)) damaged(`its settings have beam=${this.beam}`);
  }

  /** Encode columns, of trees with the parent of each token: `{ptr, chains, nTokens, longest}`; inside a scope. */
  encode(input, parents = null) {
    const { core, template } = this, nTokens = input.ptr.at(-1), nSentences = input.ptr.length - 1;
    if (nTokens && input.columns.length < template.nColumns) throw new InputError(`the model reads ${template.nColumns} columns, found ${input.columns.length}`);
    const corpus = corpusOf(core, input), nodes = this.nodes.encode(corpus, input, this.names.slots, false);
    const edges = template.edges.length ? this.hang(this.edges.encode(corpus, input, this.names.slots, !parents), parents) : { ptr: core.zeros("i64", nTokens + 1), ids: core.zeros("i32", 0) };
    const chains = core.c.Chains({
      value_stride: 0, sentence_ptr: putOffsets(core, input.ptr), attribute_ptr: nodes.ptr, rows_ptr: core.zeros("i64", nSentences + 1), n_shared: NONE,
      rows: this.rows, local: nodes.ids, values: this.one, edge_ptr: edges.ptr, edge_attributes: edges.ids, parents: parents ? core.put("i32", parents) : NONE,
    });
    let longest = 1, withEdges = 0;
    const edgePtr = core.view(edges.ptr);
    for (let s = 0; s < nSentences; s++) {
      longest = Math.max(longest, input.ptr[s + 1] - input.ptr[s]);
      let own = 0;
      if (edges.ids.n) for (let t = input.ptr[s]; t < input.ptr[s + 1]; t++) own += edgePtr[t + 1] > edgePtr[t] ? 1 : 0;
      withEdges = Math.max(withEdges, own);
    }
    return { ptr: input.ptr, chains, nTokens, nSentences, longest, matrices: 1 + withEdges, nodes, edges, parents };
  }

  /** Drop the attributes of transitions into roots. */
  hang(edges, parents) {
    if (!parents || !edges.ids.n) return edges;
    const ends = lowWords(this.core, edges.ptr), ids = this.core.view(edges.ids);
    let n = 0;
    for (let t = 0, first = 0; t < parents.length; t++) {
      const last = ends[2 * t + 2];
      if (parents[t] >= 0) for (let k = first; k < last; k++) ids[n++] = ids[k];
      first = last;
      ends[2 * t + 2] = n;
    }
    return { ptr: edges.ptr, ids: this.core.part(edges.ids, 0, n) };
  }

  scratch({ longest: n, matrices: k }) {
    const { core, width } = this, L = this.labels.length, f = (size) => core.zeros("f64", size);
    if (k * width * width + 3 * n * width > MOST_NUMBERS) throw new InputError(`a sentence of ${n} tokens needs too much memory; cut it into shorter ones`);
    const room = this.nTriples ? core.c.second_order_room(n, L, width, this.nTriples) : 0;
    return core.c.Scratch({
      n_labels: L, width, n_matrices: k, scores: f(n * width), alpha: f(n * width), beta: f(n * width), c: f(n), matrices: f(k * L * width),
      transposed: f(k * width * width), pair_sums: f(k * L * width), which: core.zeros("i32", n), order: core.zeros("i32", 2 * n), room: f(room),
    });
  }

  /** Permitted labels of all tokens as C takes them; `only` is a list of [token, label, whether] to change. */
  mask({ ptr, nTokens, nSentences }, forbidden = []) {
    const { core, width } = this, L = this.labels.length;
    if (!this.ends && !forbidden.length) return NONE;
    const mask = core.zeros("u8", nTokens * width), view = core.view(mask).fill(1);
    for (let s = 0; this.ends && s < nSentences; s++) {
      if (ptr[s] === ptr[s + 1]) continue;
      for (let j = 0; j < L; j++) {
        if (this.ends[j]) view[ptr[s] * width + j] = 0;
        if (this.ends[L + j]) view[(ptr[s + 1] - 1) * width + j] = 0;
      }
    }
    for (const [token, label] of forbidden) view[token * width + label] = 0;
    return mask;
  }

  /** The best label id of every token, as a copy. */
  best(encoded, forbidden) {
    const { core, layout, w } = this, { c } = core, { chains, nTokens, nSentences, longest } = encoded;
    const L = this.labels.length, out = core.zeros("i32", nTokens), mask = this.mask(encoded, forbidden);
    const all = core.put("i32", Array.from({ length: nSentences }, (_, s) => s)), common = [chains, layout, all, w, mask, this.scratch(encoded)];
    if (this.kind === "history") {
      const b = this.beam, n = longest + 1, known = core.zeros("i64", (L + 1) ** 2);
      core.view(known).fill(-1n);
      const beam = c.Beam({
        n_rows: n, size: b, n_labels: L, pairs: core.zeros("i64", n * b), score: core.zeros("f64", n * b), back: core.zeros("i64", n * b), known,
        terms: core.zeros("f64", L), candidates: core.zeros("i64", b * L), values: core.zeros("f64", b * L), origins: core.zeros("i64", b * L),
      });
      c.decoding_beam_search(...common, L, this.before, this.twoBefore, beam, out);
    } else if (this.nTriples) c.second_order_viterbi(...common, out);
    else c.decoding_viterbi(...common, out);
    const found = core.view(out).slice();
    this.checkPossible(encoded, mask, found);
    return found;
  }

  checkPossible({ ptr, nSentences, parents }, mask, found) {
    if (this.kind === "history" || (!this.ends && mask.n === undefined)) return;
    const { core, width, chained, allowed } = this, view = mask.n ? core.view(mask) : null;
    for (let s = 0; s < nSentences; s++) {
      for (let t = ptr[s]; t < ptr[s + 1]; t++) {
        const before = parents ? parents[t] + (parents[t] < 0 ? -1 : ptr[s]) : t - 1;
        const wrong = (view && !view[t * width + found[t]]) || (chained && before >= ptr[s] && !allowed[found[before] * width + found[t]]);
        if (wrong) throw new InputError(`sentence ${s} has no labelling that keeps to the constraints of the model and to allowed; allow more`);
      }
    }
  }

  /** p(label) of every token, row by row, and log Z of every sentence. */
  probabilities(encoded) {
    const { core, layout, w } = this, { c } = core, { chains, nTokens, nSentences } = encoded, L = this.labels.length;
    const all = core.put("i32", Array.from({ length: nSentences }, (_, s) => s)), nodes = core.zeros("f64", nTokens * L), logZ = core.zeros("f64", nSentences);
    const kernel = this.nTriples ? c.second_order_marginals : c.decoding_marginals;
    kernel(chains, layout, all, w, this.mask(encoded), this.scratch(encoded), nTokens, L, nodes, NONE, logZ);
    const found = core.view(logZ).slice(), s = found.findIndex((z) => !Number.isFinite(z));
    if (s >= 0) throw new InputError(`sentence ${s} has no probabilities: weights of this model are too large`);
    return { nodes: core.view(nodes).slice(), logZ: found };
  }

  /** The k best labellings of sentence s as [label ids, score]. */
  kBest(encoded, s, k) {
    const { core, layout, w } = this, { c } = core, L = this.labels.length, { longest } = encoded, length = encoded.ptr[s + 1] - encoded.ptr[s];
    if (!length) return [];
    if (longest * L * k * (this.nTriples ? L : 1) > MOST_NUMBERS) throw new InputError(`${k} labellings of ${length} tokens need too much memory; ask for fewer`);
    const paths = core.zeros("i32", k * longest), f = (n) => core.zeros("f64", n), i = (n) => core.zeros("i64", n);
    const common = [encoded.chains, layout, s, w, this.mask(encoded), this.scratch(encoded), k, longest, L], n = longest * L * k;
    const values = f(this.nTriples ? k : 3 * k);
    const found = this.nTriples
      ? c.second_order_k_best(...kBestOrder2(common), f(2 * L * L * k), f(L * k), i(longest * L * L * k), i(2 * L * k + L + k), paths, values)
      : c.decoding_k_best(encoded.chains, layout, s, w, common[4], common[5], longest, L, f(n), i(n), i(k), paths, values);
    const scores = core.view(values), labels = core.view(paths);
    return Array.from({ length: found }, (_, r) => [labels.slice(r * longest, r * longest + length), scores[r]]);
  }
}

const kBestOrder2 = ([chains, layout, s, w, mask, scratch, , longest, L]) => [chains, layout, s, w, mask, scratch, longest, L];

/** The place of each attribute's weights: dense rows first, then sparse ones, then a zero for attributes without weights. */
function layOut(t, L, width) {
  const n = t.state_counts.length, rows = new Int32Array(n);
  let dense = 0, sparse = 0;
  for (let a = 0; a < n; a++) if (t.state_counts[a] * DENSE_SHARE >= L) dense += width; else sparse += t.state_counts[a];
  const state = dense + sparse + 1, codes = new Int32Array(state);
  for (let a = 0, e = 0, d = 0, s = dense; a < n; a++) {
    const count = t.state_counts[a];
    if (count && count * DENSE_SHARE >= L) {
      rows[a] = d;
      d += width;
      e += count;
    } else if (count) {
      rows[a] = s;
      for (let k = 0; k < count; k++) codes[s++] = t.state_labels[e++] | ((count - k) << 16);
    } else rows[a] = state - 1;
  }
  codes[state - 1] = 1 << 16;
  return { rows, codes, dense, state };
}

/** Labels tokens of sentences. */
export class Tagger {
  static methods = ["info", "tag", "tagAll", "marginals", "marginalsAll", "nbest", "explain"];

  static async of(core, file) {
    return new Tagger(core, file, await ChainModel.of(core, file));
  }

  constructor(core, file, model) {
    Object.assign(this, { core, model, family: "tagger", labels: model.labels, nColumns: Math.max(model.template.nColumns, 1) });
  }

  info() {
    const { labels, nColumns, model } = this;
    return { family: "tagger", kind: model.kind, labels, nColumns, probabilities: model.kind === "crf" };
  }

  each(sentences, action) {
    const found = [];
    for (let first = 0; first < sentences.length;) {
      let last = first, n = 0;
      while (last < sentences.length && (last === first || n + sentences[last].length <= BATCH)) n += sentences[last++]?.length ?? 0;
      const input = columnsOf(sentences.slice(first, last), this.nColumns);
      found.push(...this.core.scope(() => action(this.model.encode(input))));
      first = last;
    }
    return found;
  }

  /** The labels of one sentence: a list of words, or of lists of cells. */
  tag(sentence) {
    return this.tagAll([sentence])[0];
  }

  /** The labels of many sentences. */
  tagAll(sentences) {
    checkSentences(sentences);
    return this.each(sentences, (encoded) => {
      const found = encoded.nTokens ? this.model.best(encoded) : [], { ptr } = encoded;
      return Array.from({ length: encoded.nSentences }, (_, s) => Array.from({ length: ptr[s + 1] - ptr[s] }, (_, t) => this.labels[found[ptr[s] + t]]));
    });
  }

  needProbabilities() {
    if (this.model.kind !== "crf") throw new InputError("a tagger by beam search gives labels alone, no probabilities");
  }

  /** The probabilities of a sentence: for each token an object of label to p, those above a millionth. */
  marginals(sentence) {
    return this.marginalsAll([sentence]).probabilities[0];
  }

  /** The same for many sentences, with log Z: `{probabilities, logZ}`; `every` keeps the smallest ones too. */
  marginalsAll(sentences, { every = false } = {}) {
    this.needProbabilities();
    checkSentences(sentences);
    const L = this.labels.length, logZ = [];
    const probabilities = this.each(sentences, (encoded) => {
      const { nodes, logZ: own } = this.model.probabilities(encoded), { ptr } = encoded;
      logZ.push(...own);
      return Array.from({ length: encoded.nSentences }, (_, s) => Array.from({ length: ptr[s + 1] - ptr[s] }, (_, t) => {
        const row = nodes.subarray((ptr[s] + t) * L, (ptr[s] + t + 1) * L), token = {};
        row.forEach((p, j) => { if (every || p > 1e-6) token[this.labels[j]] = p; });
        return token;
      }));
    });
    return { probabilities, logZ };
  }

  /** The k best labellings of a sentence: `[{labels, logProbability}]`, best first. */
  nbest(sentence, k = 4) {
    this.needProbabilities();
    checkSentences([sentence]);
    if (!(Number.isInteger(k) && k >= 1 && k <= 1000)) throw new InputError(`k must be a whole number from 1 to 1000, not ${k}`);
    return this.each([sentence], (encoded) => {
      if (!encoded.nTokens) return [];
      const z = this.model.probabilities(encoded).logZ[0];
      return this.model.kBest(encoded, 0, k).map(([ids, score]) => ({ labels: Array.from(ids, (j) => this.labels[j]), logProbability: score - z }));
    });
  }

  /** Why a token has its label: the weights that speak for it against the best labelling without it. */
  explain(sentence, token) {
    this.needProbabilities();
    checkSentences([sentence]);
    if (!(Number.isInteger(token) && token >= 0 && token < sentence.length)) throw new InputError(`token ${token} does not exist; the sentence has tokens 0 to ${sentence.length - 1}`);
    return this.each([sentence], (encoded) => {
      const best = this.model.best(encoded), name = (ids) => Array.from(ids, (j) => this.labels[j]);
      let rival;
      try {
        if (this.labels.length < 2) throw new InputError("");
        rival = this.model.best(encoded, [[token, best[token]]]);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        return [{ token, label: this.labels[best[token]], other: null, labels: name(best), lead: 0, terms: [] }];
      }
      const terms = this.difference(encoded, best, rival), lead = terms.reduce((sum, term) => sum + term.lift, 0);
      return [{ token, label: this.labels[best[token]], other: this.labels[rival[token]], labels: name(best), otherLabels: name(rival), lead, terms }];
    })[0];
  }

  difference({ nodes, edges, ptr }, best, rival) {
    const { core, model, labels } = this, t = model.tables, L = labels.length, lifts = new Map(), { template } = model;
    model.starts ??= running(t.state_counts);
    const ids = core.view(nodes.ids), ends = core.view(nodes.ptr), edgeIds = core.view(edges.ids), edgeEnds = core.view(edges.ptr);
    const add = (token, feature, label, lift) => {
      const key = JSON.stringify([token, feature, label]);
      lifts.set(key, (lifts.get(key) ?? 0) + lift);
    };
    for (const [path, sign] of [[best, 1], [rival, -1]]) {
      for (let k = 0; k < path.length; k++) {
        const label = path[k];
        for (let o = Number(ends[k]); o < Number(ends[k + 1]); o++) {
          for (let e = model.starts[ids[o]]; e < model.starts[ids[o] + 1]; e++) if (t.state_labels[e] === label) add(k, model.names.name(ids[o]), labels[label], sign * t.state_weights[e]);
        }
        if (!k) continue;
        const pair = `${labels[path[k - 1]]} → ${labels[label]}`;
        add(k, "transition", pair, sign * model.transitions[path[k - 1] * L + label]);
        for (let o = Number(edgeEnds[k]); o < Number(edgeEnds[k + 1]); o++) {
          t.edge_attributes.forEach((a, e) => {
            if (a === edgeIds[o] && t.edge_pairs[2 * e] === path[k - 1] && t.edge_pairs[2 * e + 1] === label) add(k, model.names.name(a), pair, sign * t.edge_weights[e]);
          });
        }
        for (let e = 0; k > 1 && e < t.triple_weights.length; e++) {
          if (t.triples[3 * e] === path[k - 2] && t.triples[3 * e + 1] === path[k - 1] && t.triples[3 * e + 2] === label) add(k, "triple", `${labels[path[k - 2]]} → ${pair}`, sign * t.triple_weights[e]);
        }
      }
    }
    const found = [...lifts].filter(([, lift]) => lift !== 0).map(([key, lift]) => {
      const [token, feature, label] = JSON.parse(key);
      return { token, feature, label, lift };
    });
    return found.sort((a, b) => Math.abs(b.lift) - Math.abs(a.lift));
  }
}

function checkSentences(sentences) {
  if (!Array.isArray(sentences)) throw new InputError("expected a list of sentences");
  sentences.forEach((sentence, s) => {
    if (!Array.isArray(sentence)) throw new InputError(`sentence ${s} must be a list of words, not ${typeof sentence}; split the text: text.split(" ")`);
  });
}
