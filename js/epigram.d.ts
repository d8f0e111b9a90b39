/** Models of epigram in JavaScript. Every method of a loaded model may be awaited: in a page it runs in a worker. */

export interface LoadOptions {
  /** Where core.wasm is, or its bytes; beside this module by default. */
  wasm?: string | URL | BufferSource;
  /** Run in a Web Worker; in pages by default. */
  worker?: boolean;
  /** `sha256-...`, `sha384-...` or `sha512-...` of the model file, in base64. */
  integrity?: string;
  /** Keep a model with an integrity hash in the browser's cache storage; true by default. */
  cache?: boolean;
  /** Bytes that have arrived, and all of them (0 where the server does not say). */
  onprogress?: (bytes: number, total: number) => void;
}

/** What runs here answers at once, what runs in a worker answers later. */
export type Answer<T> = T | Promise<T>;
/** A word, or the cells of a token's columns. */
export type Token = string | string[];

export interface Model {
  readonly family: "tagger" | "pipeline" | "classifier" | "lm" | "ime";
  /** Name, source and licence of the model, where its file says them. */
  readonly card: Record<string, string> | null;
  /** Give its memory back; a model that is no longer reachable is freed too. */
  free(): void;
}

export interface LabelTerm { token: number; feature: string; label: string; lift: number }
export interface Explanation {
  token: number; label: string; other: string | null; labels: string[]; otherLabels?: string[]; lead: number; terms: LabelTerm[];
}

export interface Tagger extends Model {
  info(): Answer<{ family: string; kind: string; labels: string[]; nColumns: number; probabilities: boolean }>;
  /** The labels of one sentence. */
  tag(sentence: Token[]): Answer<string[]>;
  /** The labels of many sentences. */
  tagAll(sentences: Token[][]): Answer<string[][]>;
  /** For each token the probabilities of its labels, those above a millionth. */
  marginals(sentence: Token[]): Answer<Record<string, number>[]>;
  /** The same for many sentences, with log Z of each; `every` keeps the smallest probabilities too. */
  marginalsAll(sentences: Token[][], options?: { every?: boolean }): Answer<{ probabilities: Record<string, number>[][]; logZ: number[] }>;
  /** The k best labellings, best first. */
  nbest(sentence: Token[], k?: number): Answer<{ labels: string[]; logProbability: number }[]>;
  /** The weights that speak for a token's label against the best labelling without it. */
  explain(sentence: Token[], token: number): Answer<Explanation>;
}

export interface Word {
  /** From 1 in its sentence. */
  id: number; text: string; lemma?: string; upos?: string; xpos?: string; feats?: string;
  /** The id of its head, 0 for the root. */
  head?: number; relation?: string;
  /** Of the first tag and of the head, where they are asked for. */
  probability?: number; head_probability?: number;
}
/** `start` and `end` are offsets in the text: `text.slice(start, end)`. */
export interface Span { text: string; start: number; end: number }
export interface Sentence extends Span { opens_paragraph: boolean; tokens: (Span & { words: Word[] })[] }

export interface HeadExplanation {
  word: number; head: number; other: number | null; probability: number; other_probability: number;
  heads: number[]; other_heads: number[]; lead: number; terms: { word: number; head: number; feature: string; lift: number }[];
}

export interface Pipeline extends Model {
  info(): Answer<{ family: string; parts: string[]; tags: string[]; trees: boolean; trainedOn: Record<string, number> }>;
  /** Sentences, tokens, words, tags, lemmas and trees of running text. */
  analyse(text: string, options?: { probabilities?: boolean }): Answer<{ text: string; sentences: Sentence[] }>;
  /** The same in CoNLL-U. */
  conllu(text: string): Answer<string>;
  /** Why a word (from 1) of a sentence (from 0) has its tags, its lemma (whose labels are edit scripts) and its head (`trees`). */
  explain(text: string, sentence: number, word: number): Answer<{ trees?: HeadExplanation } & Record<string, Explanation & { lemma?: string; other_lemma?: string | null }>>;
}

export interface WordScore { word: string; logProbability: number | null; known: boolean }

export interface LanguageModel extends Model {
  info(): Answer<{ family: string; order: number; words: number; open: boolean; characters: boolean; parts: number }>;
  /** The k likeliest words after a context; `<s>` stands for the start of a sentence. */
  next(context?: string | string[], k?: number): Answer<{ word: string; probability: number }[]>;
  /** Natural log-probabilities of the words of a sentence and of its end; null for what a closed model lacks. */
  score(sentence: string | string[]): Answer<{ words: WordScore[]; logProbability: number }>;
  /** Scores of many sentences, and the perplexity of their known words and ends. */
  scoreAll(sentences: (string | string[])[]): Answer<{ sentences: { words: WordScore[]; logProbability: number }[]; perplexity: number | null }>;
  /** The probability of a word after each ending of a context that the model knows, from none of it on. */
  explain(context: string | string[], word: string): Answer<{ word: string; probability: number; terms: { context: string[]; probability: number }[] }>;
}

/** The probabilities of all labels, and the likeliest `label`; of models of several labels `labels`, those above their threshold. */
export interface Classification { label?: string; labels?: string[]; probabilities: Record<string, number> }

export interface Classifier extends Model {
  info(): Answer<{ family: string; labels: string[]; several: boolean; grams: object; trainedOn: object }>;
  classify(text: string): Answer<Classification>;
  classifyAll(texts: string[]): Answer<Classification[]>;
  /** The parts of a label's score (the likeliest label if none is given), by n-gram and by word of the text. */
  explain(text: string, label?: string): Answer<{
    label: string; probability: number; score: number; bias: number;
    ngrams: { ngram: string; contribution: number }[]; spans: { text: string; contribution: number }[];
  }>;
}

export interface Conversion { text: string; score: number }
/** A phrase and the ways to write it, the chosen one first. */
export interface Phrase { reading: string; surface: string; alternatives: string[] }
/** A key (a character or a name such as `space`), and what stands before the caret. */
export interface TypingRequest { key?: string; before?: string; reset?: boolean; convert?: string; set?: { punctuation?: string; width?: "mixed" | "half" | "full"; layout?: "romaji" | "kana" } }
export interface TypingState {
  commit: string | null; handled: boolean; reading: string; preedit: string[]; at: number | null; candidates: string[]; chosen: number;
  page: number; pages: number; message: string; erase: number; settings: Record<string, string>;
}

/** A Japanese converter; it is loaded by the `load` of epigram/japanese. */
export interface Converter extends Model {
  info(): Answer<{ family: string; words: number; rescored: boolean; trainedOn: object }>;
  /** The best text of a reading in kana, after the text `before`; with `romaji` Latin letters are read first. */
  convert(kana: string, options?: { before?: string; romaji?: boolean }): Answer<string>;
  convertAll(readings: string[]): Answer<string[]>;
  nbest(kana: string, k?: number, options?: { before?: string; romaji?: boolean }): Answer<Conversion[]>;
  /** Phrases of the best conversion; `fixed` sets the lengths of the first ones. */
  segments(kana: string, k?: number, options?: { before?: string; fixed?: number[] }): Answer<Phrase[]>;
  /** A key of a line that is being typed, and what the line shows. */
  type(request: TypingRequest): Answer<TypingState | { ways: string[] }>;
}

/** Which of them a file holds, its `family` says. */
export type AnyModel = Tagger | Pipeline | LanguageModel | Classifier | Converter;

/** Load a model: in a page in a worker, elsewhere in this thread. Plain files or one gzip stream; not zstd. */
export function load<M extends Model = AnyModel>(source: string | URL | BufferSource, options?: LoadOptions): Promise<M>;
/** Open a model in this thread. */
export function open<M extends Model = AnyModel>(source: string | URL | BufferSource, options?: LoadOptions): Promise<M>;

export class EpigramError extends Error {}
/** Input that a model cannot read. */
export class InputError extends EpigramError {}
/** A file that is no model, or a damaged one. */
export class ModelFileError extends EpigramError {}
