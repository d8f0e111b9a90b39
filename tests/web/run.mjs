// Answers calls of models: a line of JSON {module, wasm, model, calls: [[name, ...values]]} a model, on standard input.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { module, model, options = {}, calls = [] } = JSON.parse(line);
  const { open } = await import(module);
  const answers = [];
  try {
    const opened = await open(model, options);
    for (const [name, ...values] of calls) {
      try {
        answers.push({ value: await opened[name](...values) });
      } catch (error) {
        answers.push({ error: error.message, kind: error.name });
      }
    }
  } catch (error) {
    answers.push({ error: error.message, kind: error.name });
  }
  process.stdout.write(`${JSON.stringify(answers)}\n`);
}
