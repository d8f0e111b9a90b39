// The C core as WebAssembly: one instance a model, its memory, and arrays that C takes.

import { HEADERS, bindings } from "./bindings.mjs";

/** An error in one sentence: what was found, what was expected, what to do. */
export class EpigramError extends Error {
  name = "EpigramError";
}
/** A model file that cannot be used. */
export class ModelFileError extends EpigramError {
  name = "ModelFileError";
}
/** Input that a model cannot read. */
export class InputError extends EpigramError {
  name = "InputError";
}

const TYPES = {
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array,
  u64: BigUint64Array, f32: Float32Array, f64: Float64Array,
};
const SETTERS = { u8: "setUint8", u16: "setUint16", u32: "setUint32", i16: "setInt16", i32: "setInt32", f32: "setFloat32", f64: "setFloat64" };
export const NONE = Object.freeze({ at: 64, n: 0, kind: "none" });
const CHUNK = 1 << 20;

/** Memory of one model. What is allocated inside `scope` is given back at its end; the rest stays as long as the model. */
export class Core {
  static async of(module) {
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: new Proxy({}, { get: () => () => 0 }) });
    return new Core(instance.exports);
  }

  constructor(exports) {
    this.x = exports;
    this.chunks = [];
    this.chunk = -1;
    this.used = 0;
    exports._initialize?.();
    if (exports.headers_digest() >>> 0 !== HEADERS) {
      throw new EpigramError("core.wasm is of another version than epigram.mjs; copy both from the same package");
    }
    this.c = bindings(exports, this);
  }

  /** Whether a call has failed in the middle, after which nothing in this memory can be relied on. */
  broken = false;

  allocate(bytes) {
    const size = Math.ceil(bytes / 64) * 64 || 64;
    while (this.chunk < 0 || this.used + size > this.chunks[this.chunk].size) {
      if (this.chunk + 1 < this.chunks.length && this.chunks[this.chunk + 1].size >= size) {
        this.chunk++;
        this.used = 0;
        continue;
      }
      const whole = Math.max(size, CHUNK), at = whole < 2 ** 32 - 128 ? this.x.malloc(whole + 64) >>> 0 : 0;
      if (!at) throw new EpigramError(`not enough memory: ${Math.round(whole / 1e6)} MB more are needed; use a smaller model or text`);
      this.chunks.splice(++this.chunk, 0, { at: Math.ceil(at / 64) * 64, size: whole });
      this.used = 0;
    }
    const at = this.chunks[this.chunk].at + this.used;
    this.used += size;
    return at;
  }

  /** Run a function, and give back what it allocated. */
  scope(action) {
    const { chunk, used } = this;
    try {
      return action();
    } finally {
      this.chunk = chunk;
      this.used = used;
    }
  }

  /** An array of n zeros. */
  zeros(kind, n) {
    const made = this.space(kind, n);
    new Uint8Array(this.x.memory.buffer, made.at, n * TYPES[kind].BYTES_PER_ELEMENT).fill(0);
    return made;
  }

  /** An array of n numbers, whatever they are. */
  space(kind, n) {
    return { at: this.allocate(n * TYPES[kind].BYTES_PER_ELEMENT), n, kind };
  }

  /** An array with these numbers. */
  put(kind, values) {
    const made = this.space(kind, values.length), view = this.view(made);
    if ((kind === "i64" || kind === "u64") && typeof values[0] === "number") {
      for (let k = 0; k < values.length; k++) view[k] = BigInt(values[k]);
    } else view.set(values);
    return made;
  }

  /** The numbers of an array, until the next allocation. */
  view(array) {
    return new TYPES[array.kind](this.x.memory.buffer, array.at, array.n);
  }

  /** A part of an array. */
  part(array, first, n = array.n - first) {
    return { at: array.at + first * TYPES[array.kind].BYTES_PER_ELEMENT, n, kind: array.kind };
  }

  /** Where an array begins, for C; refuses another kind. */
  of(array, kind) {
    if (array.kind !== kind && array.kind !== "none") throw new TypeError(`expected an array of ${kind}, not ${array.kind}`);
    return array.at;
  }

  structure(size, fields, numbers) {
    const at = this.allocate(size), view = new DataView(this.x.memory.buffer, at, size);
    for (const [place, kind, value] of fields) {
      if (kind === "i64") view.setBigInt64(place, BigInt(value), true);
      else view[SETTERS[kind]](place, Number(value), true);
    }
    return { at, ...numbers };
  }

  misfit(name) {
    throw new EpigramError(`${name}: the lengths of its arrays disagree; the model file is corrupt: copy or train it again`);
  }
}

/** Offsets from lengths: 0, l0, l0 + l1, ... as 64-bit numbers. */
export function offsets(lengths) {
  const out = new BigInt64Array(lengths.length + 1);
  let sum = 0;
  for (let k = 0; k < lengths.length; k++) out[k + 1] = BigInt((sum += Number(lengths[k])));
  return out;
}

const encoder = new TextEncoder();

/** Strings end to end in UTF-8 and their offsets, as C takes them. */
export function packed(core, strings) {
  let most = 0;
  for (const string of strings) most += 3 * string.length;
  const content = core.space("u8", most), ptr = core.space("i64", strings.length + 1);
  const bytes = core.view(content), places = core.view(ptr);
  let at = 0;
  places[0] = 0n;
  for (let k = 0; k < strings.length; k++) {
    const string = strings[k], n = string.length;
    let plain = n < 24;
    for (let i = 0; plain && i < n; i++) {
      const code = string.charCodeAt(i);
      plain = code < 128;
      bytes[at + i] = code;
    }
    at += plain ? n : encoder.encodeInto(string, bytes.subarray(at)).written;
    places[k + 1] = BigInt(at);
  }
  return { ptr, content: core.part(content, 0, at) };
}
