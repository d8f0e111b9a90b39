// Language models (epigram/lm/): back-off models, and mixtures of them. Next words and scores.

import { InputError, ModelFileError } from "./core.mjs";
import { putOffsets } from "./features.mjs";
import { damaged, readArrays, refuse, under, unpackStrings } from "./file.mjs";

const END = "</s>", START = "<s>", UNKNOWN = "<unk>", UNSEEN = -1, LARGEST_CHAIN = 700, MOST_WORDS = 1e5;

/** One back-off model in the layout that C scores with. */
class Backoff {
  constructor(core, tensors) {
    if (!tensors.has("mapped.pair_ptr")) throw new ModelFileError("a language model that is not stored for a page; write it with epigram export-web MODEL -o FOLDER");
    const stored = readArrays("words", { tensors }), t = readArrays("backoff", { tensors }, {}, "mapped."), pieces = stored["words.pieces"];
    const kind = pieces ? new TextDecoder().decode(pieces.subarray(0, 20)).split("\n")[0] : null;
    if (kind !== null && kind !== "chars") refuse(`the tokenizer ${kind}`);
    const words = unpackStrings(stored["words.bytes"], stored["words.lengths"]), n = words.length;
    Object.assign(this, { core, words, isChars: kind === "chars", ids: new Map(words.map((word, k) => [word, k])), depth: t.node_depth, parent: t.node_parent });
    if (words[0] !== END || this.ids.size < n || this.ids.has(START)) damaged("its vocabulary does not begin with </s>, or has a word twice");
    this.ids.set(START, 0);
    const put = (kind, name) => (kind === "i64" ? putOffsets(core, t[name]) : core.put(kind, t[name]));
    const [nodePair, pairPtr, pairWord, nodeOf, parent, depth, next] = [["i64", "node_pair"], ["i64", "pair_ptr"], ["i32", "pair_word"], ["i32", "pair_node_of"], ["i32", "node_parent"], ["i32", "node_depth"], ["i32", "pair_next"]].map((one) => put(...one));
    if (!core.c.ngram_is_linked(n, nodePair, pairPtr, pairWord, nodeOf, parent, depth, next)) damaged("the arrays of a back-off model do not fit together");
    const sums = Float64Array.from(t.node_bow);
    for (let x = 1; x < sums.length; x++) if ((sums[x] += sums[t.node_parent[x]]) > LARGEST_CHAIN) damaged(`its back-off weights add up to ${sums[x]}`);
    this.c = core.c.Backoff({ pair_ptr: pairPtr, pair_word: pairWord, pair_logp: put("f64", "pair_logp"), pair_next: next, node_parent: parent, node_bow: put("f64", "node_bow") });
    this.rootP = core.put("f64", t.pair_logp.subarray(0, n).map(Math.exp));
    this.begin = Math.max(t.pair_node_of[0], 0);
  }

  step(state, word) {
    if (word === UNSEEN) return [0, NaN];
    return this.core.scope(() => {
      const logp = this.core.zeros("f64", 1), next = this.core.c.ngram_step(this.c, state, word, logp);
      return [next, this.core.view(logp)[0]];
    });
  }

  /** Log-probabilities of ids from the start of a sentence. */
  scores(ids) {
    const { core } = this;
    return core.scope(() => {
      const out = core.zeros("f64", ids.length);
      core.c.ngram_score_stream(this.c, core.put("i32", ids), this.begin, out);
      return core.view(out).slice();
    });
  }

  /** Probabilities of all words in a state. */
  distribution(state) {
    const { core, words } = this, depth = this.depth[state];
    return core.scope(() => {
      const out = core.zeros("f64", words.length);
      core.c.ngram_distribution(this.c, state, core.zeros("i64", depth), core.zeros("f64", depth), this.rootP, out);
      return core.view(out).slice();
    });
  }
}

/** Says what comes next, and how surprising a text is. */
export class LanguageModel {
  static methods = ["info", "next", "score", "scoreAll", "explain"];

  static async of(core, { header, tensors }) {
    readArrays("lm", { header, tensors });
    const { model: kind, weights = [1] } = header.settings;
    if (!["backoff", "mixture"].includes(kind)) refuse(`language models of kind '${kind}'; epigram export-web writes those that it can as back-off models`);
    const parts = kind === "mixture" ? (Array.isArray(header.parts) ? header.parts : damaged("the parts of a mixture are missing")) : [header];
    if (parts.some((part) => part?.settings?.model !== "backoff")) refuse("mixtures of other models than back-off models");
    if (!Array.isArray(weights) || weights.length !== parts.length || !weights.every((weight) => weight >= 0) || Math.abs(weights.reduce((a, b) => a + b, 0) - 1) > 1e-6) damaged("the weights of its mixture");
    const models = parts.map((_, k) => new Backoff(core, kind === "mixture" ? under(tensors, `${k}.`) : tensors)), sum = weights.reduce((a, b) => a + b, 0);
    if (models.some((model) => model.isChars !== models[0].isChars)) damaged("parts with different tokenizers");
    return Object.assign(new LanguageModel(), { models, shares: weights.map((weight) => weight / sum) }).join();
  }

  /** The vocabulary of all parts, and the id of each of its words in each part. */
  join() {
    const { models } = this, all = models.length === 1 ? models[0].words : [...new Set([END, ...models.flatMap((model) => model.words)])];
    this.words = all;
    this.ids = new Map(all.map((word, k) => [word, k])).set(START, 0);
    this.translated = models.map((model) => Int32Array.from(all, (word) => model.ids.get(word) ?? UNSEEN));
    this.order = 1 + models.reduce((most, model) => model.depth.reduce((a, b) => Math.max(a, b), most), 0);
    return this;
  }

  info() {
    return { family: "lm", order: this.order, words: this.words.length, open: this.ids.has(UNKNOWN), characters: this.models[0].isChars, parts: this.models.length };
  }

  /** A text as words, or words as they are. */
  tokens(text, what) {
    const isList = Array.isArray(text) && text.every((word) => typeof word === "string");
    if (!isList && typeof text !== "string") throw new InputError(`${what} must be a string or a list of words, not ${text === null ? "null" : typeof text}`);
    const found = isList ? text : text.match(/[^ \t\n\v\f\r\0]+/g) ?? [];
    if (found.length > MOST_WORDS) throw new InputError(`${what} has ${found.length} words, more than ${MOST_WORDS}; give shorter ones`);
    if (isList || !this.models[0].isChars) return found;
    const first = found[0] === START ? [START] : [], last = found.slice(first.length).at(-1) === END ? [END] : [];
    return [...first, ...found.slice(first.length, found.length - last.length).join("▁"), ...last];
  }

  id(word) {
    return this.ids.get(word) ?? this.ids.get(UNKNOWN) ?? UNSEEN;
  }

  /** The states of all parts after words. */
  states(words) {
    let states = this.models.map(() => 0);
    for (const word of words) states = this.step(states, this.id(word))[0];
    return states;
  }

  step(states, word) {
    const next = this.models.map((model, k) => model.step(states[k], word === UNSEEN ? UNSEEN : this.translated[k][word]));
    const p = next.reduce((sum, [, logp], k) => sum + (Number.isNaN(logp) ? 0 : this.shares[k] * Math.exp(logp)), 0);
    return [next.map(([state]) => state), word === UNSEEN ? NaN : this.models.length === 1 ? next[0][1] : Math.log(p)];
  }

  /** The k likeliest words after a context: `[{word, probability}]`; `<s>` stands for the start of a sentence. */
  next(context = "", k = 10) {
    if (!(Number.isInteger(k) && k >= 1)) throw new InputError(`k must be a whole number of 1 or more, not ${k}`);
    const p = this.distribution(this.states(this.tokens(context, "the context"))), best = [];
    for (let w = 0; w < p.length; w++) {
      if (best.length === k && p[w] <= p[best[k - 1]]) continue;
      let at = Math.min(best.length, k - 1);
      for (; at > 0 && p[best[at - 1]] < p[w]; at--) best[at] = best[at - 1];
      best[at] = w;
    }
    return best.map((w) => ({ word: this.words[w], probability: p[w] }));
  }

  /** Probabilities of all words. */
  distribution(states) {
    const { models, shares, translated, words } = this;
    if (models.length === 1) return models[0].distribution(states[0]);
    const p = new Float64Array(words.length);
    models.forEach((model, m) => {
      const own = model.distribution(states[m]), ids = translated[m];
      for (let w = 0; w < p.length; w++) if (ids[w] !== UNSEEN) p[w] += shares[m] * own[ids[w]];
    });
    return p;
  }

  /** Natural log-probabilities of the words of a sentence and of its end; null for a word that a closed model lacks. */
  score(sentence) {
    const words = this.tokens(sentence, "the sentence"), ids = Int32Array.from([...words.map((word) => this.id(word)), 0]);
    const rows = this.models.map((model, k) => model.scores(ids.map((id) => (id === UNSEEN ? UNSEEN : this.translated[k][id]))));
    const logp = rows.length === 1 ? rows[0] : rows[0].map((_, t) => {
      const parts = rows.map((row, k) => (Number.isNaN(row[t]) ? -Infinity : row[t] + Math.log(this.shares[k]))), most = Math.max(...parts);
      return most === -Infinity ? most : most + Math.log(parts.reduce((sum, part) => sum + Math.exp(part - most), 0));
    });
    const found = [...words, END].map((word, t) => ({ word, logProbability: ids[t] === UNSEEN || !Number.isFinite(logp[t]) ? null : logp[t], known: this.ids.has(word) }));
    return { words: found, logProbability: found.reduce((sum, one) => sum + (one.logProbability ?? 0), 0) };
  }

  /** Scores of many sentences, and the perplexity of their known words and ends; a sentence without words does not count. */
  scoreAll(sentences) {
    if (!Array.isArray(sentences)) throw new InputError("expected a list of sentences");
    const scored = sentences.map((sentence) => this.score(sentence)), known = scored.flatMap(({ words }) => (words.length > 1 ? words : [])).filter((one) => one.known && one.logProbability !== null);
    return { sentences: scored, perplexity: known.length ? Math.exp(-known.reduce((sum, one) => sum + one.logProbability, 0) / known.length) : null };
  }

  /** The probability of a word after each ending of a context that the model knows, from none of it on. */
  explain(context, word) {
    const words = this.tokens(context, "the context"), id = this.ids.get(word), terms = [];
    if (id === undefined || word === START) throw new InputError(`'${word}' is not in the vocabulary`);
    for (let n = 0, before = null; n <= words.length && n < this.order; n++) {
      const states = this.states(words.slice(words.length - n));
      if (String(states) !== before) terms.push({ context: words.slice(words.length - n), probability: Math.exp(this.step(states, id)[1]) });
      before = String(states);
    }
    return { word, probability: Math.exp(this.step(this.states(words), id)[1]), terms };
  }
}
