// Romaji as kana, by the server's table; the same rules as epigram.ime.kana.from_romaji.

import { get } from "./api.js";

let table = {};
export const loadRomaji = async () => (table = (await get("convert/romaji")).syllables);

// While a word is still being typed (finished = false), a last "n" waits for what follows.
export function fromRomaji(text, finished = true) {
  let out = "";
  let at = 0;
  while (at < text.length) {
    const length = [4, 3, 2, 1].find((n) => at + n <= text.length && Object.hasOwn(table, text.slice(at, at + n)));
    if (length) {
      const doubled = text.slice(at, at + 2) === "nn" && "aiueoy".includes(text[at + 2] ?? "-");
      out += doubled ? "ん" : table[text.slice(at, at + length)];
      at += doubled ? 1 : length;
      continue;
    }
    const here = text[at];
    const then = text[at + 1] ?? "";
    if (here === "n" && (finished || then) && !(then && "y'".includes(then))) out += "ん";
    else if (here === then && "bcdfghjkmprstwyz".includes(here)) out += "っ";
    else out += here;
    at += 1;
  }
  return out;
}
