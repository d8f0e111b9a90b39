// Growth of memory over many calls: node --expose-gc memory.mjs MODULE CALLS < {"model": [method, ...values], ...}
import { readFileSync } from "node:fs";

const { open } = await import(process.argv[2]), most = Number(process.argv[3]), found = {};
const taken = () => {
  gc();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
};
for (const [path, [name, ...values]] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const model = await open(path);
  for (let k = 0; k < most / 10; k++) model[name](...values);
  const before = taken();
  for (let k = 0; k < most; k++) model[name](...values);
  found[path] = [taken() - before, process.resourceUsage().maxRSS];
}
console.log(JSON.stringify(found));
