// Loads models: from a URL, a file or bytes, in this thread or in a worker.

import { Core, EpigramError, InputError, ModelFileError } from "./core.mjs";
import { FAMILIES } from "./families.mjs";
import { inflate, readFile } from "./file.mjs";

const MOST_BYTES = 2 ** 31;
const IN_WORKER = typeof WorkerGlobalScope !== "undefined" && globalThis instanceof WorkerGlobalScope && globalThis.name === "epigram";
const HAS_PAGE = typeof window !== "undefined" && typeof Worker !== "undefined";
const modules = new Map();

/** The compiled core, once for each address. */
function compiled(wasm) {
  const address = wasm instanceof URL || typeof wasm === "string" ? String(wasm) : null;
  if (address === null) return WebAssembly.compile(wasm);
  if (!modules.has(address)) modules.set(address, fetchBytes(address, {}).then((bytes) => WebAssembly.compile(bytes)));
  return modules.get(address);
}

async function fetchBytes(address, { integrity, onprogress, cache = true }) {
  const url = new URL(address, typeof location === "undefined" ? `file://${globalThis.process?.cwd?.() ?? ""}/` : location.href);
  if (url.protocol === "file:") {
    const { readFile: read } = await import("node:fs/promises");
    try {
      return new Uint8Array(await read(url));
    } catch (error) {
      throw new ModelFileError(`cannot read ${address}: ${error.message}`);
    }
  }
  const store = cache && integrity && typeof caches !== "undefined" ? await caches.open("epigram").catch(() => null) : null;
  const key = new Request(url, { headers: {} }), stored = await store?.match(key);
  if (stored) {
    const bytes = new Uint8Array(await stored.arrayBuffer());
    if (await matches(bytes, integrity)) return bytes;
    await store.delete(key);
  }
  let answer;
  try {
    answer = await fetch(url, { credentials: "omit", mode: "cors" });
  } catch (error) {
    throw new ModelFileError(`cannot fetch ${url.href}: ${error.message}; is the server reachable, and does it allow this origin (CORS)?`);
  }
  if (!answer.ok) throw new ModelFileError(`cannot fetch ${url.href}: the server answered ${answer.status}`);
  const total = Number(answer.headers.get("content-length")) || 0, parts = [];
  let size = 0;
  for (const reader = answer.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    onprogress?.(size, total);
  }
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  await store?.put(key, new Response(bytes)).catch(() => null);
  return bytes;
}

async function matches(bytes, integrity) {
  const found = /^sha(256|384|512)-(.+)$/.exec(integrity);
  if (!found) throw new InputError(`integrity must be sha256-, sha384- or sha512- and a hash in base64, not '${integrity}'`);
  if (!globalThis.crypto?.subtle) throw new InputError("integrity can be checked on https and localhost only");
  const digest = new Uint8Array(await crypto.subtle.digest(`SHA-${found[1]}`, bytes));
  return btoa(String.fromCharCode(...digest)) === found[2];
}

/**
 * Open a model in this thread.
 * @param source its address, a file's path (node, Deno), or its bytes; plain or as one gzip stream.
 */
export async function open(source, { wasm = new URL("core.wasm", import.meta.url), integrity, onprogress, cache } = {}) {
  const isAddress = typeof source === "string" || source instanceof URL;
  const [module, found] = await Promise.all([compiled(wasm), isAddress ? fetchBytes(source, { integrity, onprogress, cache }) : source]);
  let bytes = found instanceof Uint8Array ? found : new Uint8Array(found);
  if (integrity && !(await matches(bytes, integrity))) throw new ModelFileError(`${isAddress ? source : "the model"} is not the file that its integrity hash names`);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await inflate(bytes, "gzip", MOST_BYTES);
  const core = await Core.of(module), file = readFile(bytes), Family = Object.hasOwn(FAMILIES, file.family) ? FAMILIES[file.family] : null;
  if (!Family) throw new ModelFileError(`a model of family '${file.family}', where this module reads ${Object.keys(FAMILIES).join(", ")}; Japanese converters are read by japanese/epigram.mjs, other families from Python alone`);
  return guarded(await sentence(() => Family.of(core, file)), core, file.header);
}

/** Run an action; what goes wrong with a file that passed its checks is one sentence too. */
async function sentence(action) {
  try {
    return await action();
  } catch (error) {
    throw told(error, "corrupt file: ");
  }
}

function told(error, prefix = "") {
  if (error instanceof EpigramError) return error;
  return new ModelFileError(`${prefix}${error.message}; copy or train the model again`, { cause: error });
}

/** A model whose methods answer, or throw one sentence; after a failure inside C its memory is not used again. */
function guarded(model, core, header) {
  let open = model;
  const guard = {
    family: header.family,
    card: header.card ?? null,
    free: () => { open = null; },
    [Symbol.dispose ?? Symbol("dispose")]: () => { open = null; },
  };
  for (const name of methods(model)) {
    guard[name] = (...values) => {
      if (!open) throw new InputError("the model was freed; load it again");
      if (core.broken) throw new ModelFileError("the model failed in the middle of an earlier call; load it again");
      try {
        return open[name](...values);
      } catch (error) {
        core.broken = !(error instanceof EpigramError);
        throw told(error, "corrupt file: ");
      }
    };
  }
  return guard;
}

const methods = (model) => Object.getOwnPropertyNames(Object.getPrototypeOf(model)).filter((name) => name !== "constructor" && model.constructor.methods.includes(name));

/**
 * Load a model: in a page, in a worker of its own (unless `worker` is false); elsewhere in this thread.
 * `await` every call: a worker answers later.
 */
export async function load(source, options = {}) {
  const { worker = HAS_PAGE, onprogress, ...rest } = options;
  if (!worker || !HAS_PAGE) return open(source, options);
  let thread;
  try {
    thread = new Worker(import.meta.url, { type: "module", name: "epigram" });
  } catch {
    return open(source, options); // the module is of another origin, whose workers a page may not start
  }
  return remote(thread, typeof source === "string" ? new URL(source, location.href).href : source, { ...rest, wasm: String(rest.wasm ?? new URL("core.wasm", import.meta.url)) }, onprogress);
}

const finished = typeof FinalizationRegistry === "undefined" ? null : new FinalizationRegistry((thread) => thread.terminate());

async function remote(thread, source, options, onprogress) {
  const waiting = new Map();
  let number = 0, ended = null;
  const end = (error) => {
    ended = error;
    thread.terminate();
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  thread.onerror = (event) => end(new EpigramError(`the worker of the model failed: ${event.message ?? "it cannot be started"}`));
  thread.onmessage = ({ data: { id, value, error, progress } }) => {
    if (progress) return onprogress?.(...progress);
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(Object.assign(new ({ InputError, ModelFileError }[error.name] ?? EpigramError)(error.message)));
    else resolve(value);
  };
  const ask = (name, values) => new Promise((resolve, reject) => {
    if (ended) return reject(ended);
    waiting.set(++number, { resolve, reject });
    thread.postMessage({ id: number, name, values });
  });
  const { names, ...facts } = await ask("open", [source, options, Boolean(onprogress)]).catch((error) => {
    thread.terminate();
    throw error;
  });
  const model = { ...facts, free: () => end(new InputError("the model was freed; load it again")) };
  for (const name of names) model[name] = (...values) => ask(name, values);
  finished?.register(model, thread);
  return model;
}

if (IN_WORKER) {
  let model;
  globalThis.onmessage = async ({ data: { id, name, values } }) => {
    try {
      let value;
      if (name === "open") {
        const [source, options, shown] = values;
        model = await open(source, { ...options, onprogress: shown ? (...progress) => postMessage({ progress }) : undefined });
        const names = Object.keys(model).filter((key) => typeof model[key] === "function" && key !== "free");
        value = { names, family: model.family, card: model.card };
      } else value = await model[name](...values);
      postMessage({ id, value });
    } catch (error) {
      postMessage({ id, error: { name: error.name, message: error.message } });
    }
  };
}

export { EpigramError, InputError, ModelFileError };
