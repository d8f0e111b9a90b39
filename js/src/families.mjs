// Families of models that epigram.mjs loads; Japanese converters have a module of their own.

import { Tagger } from "./chain.mjs";
import { Classifier } from "./classify.mjs";
import { LanguageModel } from "./lm.mjs";
import { Pipeline } from "./pipeline.mjs";

export const FAMILIES = { tagger: Tagger, pipeline: Pipeline, classifier: Classifier, lm: LanguageModel };
