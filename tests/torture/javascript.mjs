// Reads damaged model files in the JavaScript runtime: node javascript.mjs MODULE FILES, where FILES holds them end to
// end, each after its length. Says the number of each case before it, and after it how it ended.
import { readFileSync, writeSync } from "node:fs";

const [module, path] = process.argv.slice(2);
const general = await import(module), japanese = await import(new URL("japanese/epigram.mjs", module));
const content = readFileSync(path), TEXT = "The cook didn't taste the soup. Cheap pills, a rose is red!\n\n日本 é", KANA = "はしをわたるさんじゅうななほんABC";
const WORDS = ["The", "cook", "a", "is", "日本"];
const USES = {
  tagger: (model) => {
    const { nColumns, probabilities } = model.info(), sentence = WORDS.map((word) => Array.from({ length: nColumns }, () => word));
    model.tagAll([sentence, [], sentence.slice(0, 1)]);
    if (probabilities) [model.marginalsAll([sentence]), model.nbest(sentence, 3), model.explain(sentence, 1)];
  },
  pipeline: (model) => [model.conllu(TEXT), model.explain(TEXT, 0, 1)],
  lm: (model) => [model.next("<s> a", 5), model.scoreAll([TEXT, "a rose is"]), model.explain("a", model.next("", 1)[0].word)],
  classifier: (model) => [model.classifyAll([TEXT, ""]), model.explain(TEXT)],
  ime: (model) => [model.convertAll([KANA, ""]), model.nbest(KANA, 30, { before: "石の橋。箸で" }), model.segments(KANA, 20), ...["h", "a", "space", "right", "enter"].map((key) => model.type({ key }))],
};

async function outcome(bytes) {
  try {
    const model = await general.open(bytes).catch((error) => (error.message.includes("japanese/epigram.mjs") ? japanese.open(bytes) : Promise.reject(error)));
    USES[model.family](model);
    return "= read";
  } catch (error) {
    const isSentence = (error instanceof general.EpigramError || error instanceof japanese.EpigramError) && error.message && !error.message.includes("\n");
    return isSentence ? "= refused" : `! ${error.stack}`.replaceAll("\n", " ");
  }
}

process.on("unhandledRejection", (error) => { writeSync(1, `! unhandled: ${String(error)}\n`); process.exit(1); });
for (let at = 0, k = 0; at < content.length; k++) {
  const size = content.readUInt32LE(at), bytes = new Uint8Array(content.subarray(at + 4, at + 4 + size));
  writeSync(1, `> ${k}\n`);
  const begun = process.cpuUsage(), found = await outcome(bytes), { user } = process.cpuUsage(begun);
  writeSync(1, `${user > 10e6 ? `! ${user / 1e6} CPU s` : found}\n`);
  at += 4 + size;
}
