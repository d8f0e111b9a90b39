// What stands for families.mjs in japanese/epigram.mjs.

import { Converter } from "./ime.mjs";

export const FAMILIES = { ime: Converter };
