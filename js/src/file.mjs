// Model files: safetensors with a JSON header and a checksum, and the checks of their arrays.

import { EpigramError, ModelFileError } from "./core.mjs";
import { SCHEMAS } from "./schemas.mjs";

const half = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
};
const DTYPES = {
  BOOL: Uint8Array, U8: Uint8Array, U16: Uint16Array, U32: Uint32Array, U64: BigUint64Array, I8: Int8Array, I16: Int16Array,
  I32: Int32Array, I64: BigInt64Array, F16: Uint16Array, F32: Float32Array, F64: Float64Array,
};
const FORMAT = 2, MOST_LEVELS = 60;
export const damaged = (what) => {
  throw new ModelFileError(`corrupt file: ${what}; copy or train it again`);
};

export const refuse = (what) => {
  throw new ModelFileError(`a page cannot reproduce ${what}; use this model from Python`);
};

let crcTable;
function crc32(parts) {
  crcTable ??= Uint32Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n;
  });
  let crc = ~0;
  for (const part of parts) for (let k = 0; k < part.length; k++) crc = crcTable[(crc ^ part[k]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Read a file's bytes: `{family, header, tensors}`, where a tensor is `{type, shape, data}`. */
export function readFile(bytes) {
  const no = (why) => new ModelFileError(why);
  if (!bytes.length) throw no("empty file, not an epigram model");
  const length = bytes.length < 8 ? Infinity : Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const text = new TextDecoder("utf-8", { fatal: true });
  if (length + 8 > bytes.length) throw no(bytes[8] === 0x7b ? "truncated model file" : "not an epigram model file");
  let places, header;
  try {
    places = JSON.parse(text.decode(bytes.subarray(8, 8 + length)));
    header = JSON.parse(places.__metadata__.epigram ?? places.__metadata__.laconic);
    if (typeof header.family !== "string" || !Number.isInteger(header.format) || deeper(header, MOST_LEVELS)) throw no("");
  } catch {
    throw no("not an epigram model file");
  }
  delete places.__metadata__;
  if (header.format !== FORMAT) throw no(`a model file of format ${header.format}, not ${FORMAT}: write it again with epigram export-web`);
  if (header.crc32 !== undefined) checkSum(bytes, length, header.crc32);
  if ("zstd" in header) {
    throw no("a compressed model file, which JavaScript does not unpack; convert it: epigram export-web MODEL -o FOLDER");
  }
  return { family: header.family, header, tensors: arrays(bytes, 8 + length, places) };
}

function deeper(value, most) {
  if (typeof value !== "object" || value === null) return false;
  return most === 0 || Object.values(value).some((one) => deeper(one, most - 1));
}

function checkSum(bytes, length, expected) {
  const mark = '"{\\"crc32\\": \\"', start = new TextDecoder("latin1").decode(bytes.subarray(0, 8 + length));
  const at = start.indexOf(mark) + mark.length;
  const found = crc32([bytes.subarray(0, at), new Uint8Array(8).fill(48), bytes.subarray(at + 8)]).toString(16).padStart(8, "0");
  if (found !== expected) damaged(`its checksum is ${found}, not '${String(expected).slice(0, 20)}'`);
}

function arrays(bytes, start, places) {
  const tensors = new Map();
  let end = start;
  const whole = (n) => Number.isSafeInteger(n) && n >= 0;
  const listed = Object.entries(places);
  if (!listed.every(([, { data_offsets: o } = {}]) => Array.isArray(o) && o.length === 2 && o.every(whole))) damaged("its arrays have no places");
  for (const [name, { dtype, shape, data_offsets: [first, last] }] of listed.sort((a, b) => a[1].data_offsets[0] - b[1].data_offsets[0] || a[1].data_offsets[1] - b[1].data_offsets[1])) {
    const Type = Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype] : damaged(`'${name}' has the type ${dtype}`);
    if (!Array.isArray(shape) || !shape.every(whole) || Math.max(0, ...shape) > bytes.length) damaged(`'${name}' has the shape ${shape}`);
    const size = shape.reduce((a, b) => a * b, 1) * Type.BYTES_PER_ELEMENT;
    if (start + first !== end || last - first !== size || start + last > bytes.length) damaged(`'${name}' is not where the header says`);
    const at = bytes.byteOffset + end, aligned = at % Type.BYTES_PER_ELEMENT === 0;
    const data = aligned ? new Type(bytes.buffer, at, size / Type.BYTES_PER_ELEMENT) : new Type(bytes.slice(end, start + last).buffer);
    end = start + last;
    tensors.set(name, { type: dtype, shape, data: dtype === "F16" ? Float32Array.from(data, half) : data });
  }
  if (end !== bytes.length) damaged(`it has ${bytes.length} bytes, its header speaks of ${end}`);
  return tensors;
}

/** The tensors whose names begin with a prefix, without it. */
export const under = (tensors, prefix) =>
  new Map([...tensors].filter(([name]) => name.startsWith(prefix)).map(([name, tensor]) => [name.slice(prefix.length), tensor]));

/** The strings packed in two arrays. */
export function unpackStrings(bytes, lengths) {
  const text = new TextDecoder("utf-8", { fatal: true });
  let at = 0;
  try {
    return Array.from(lengths, (n) => text.decode(bytes.subarray(at, (at += Number(n)))));
  } catch {
    return damaged("its strings are no UTF-8");
  }
}

/** Inflate zlib data, at most so many bytes. */
export async function inflate(data, format = "deflate", most = 1 << 28) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream(format));
  const parts = [];
  let size = 0;
  try {
    for (const reader = stream.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      if ((size += value.length) > most) damaged(`more than ${most} bytes when unpacked`);
      parts.push(value);
    }
  } catch (error) {
    if (error instanceof EpigramError) throw error;
    return damaged("its compressed data cannot be unpacked");
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

// ---- The checks of epigram/storage/schema.py, by the same declarations.

/** The arrays of a tagger, parser, ...: typed arrays by name, checked against the schema of that name. */
export function readArrays(schema, { header, tensors }, sizes = {}, prefix = "") {
  const { header: fields, arrays: wanted } = SCHEMAS[schema];
  if (header) checkField("the header", fields, header);
  return checkArrays(wanted, tensors, sizes, prefix);
}

function checkArrays(wanted, tensors, sizes, prefix) {
  const found = { sizes }, shapes = {};
  const size = (name) => (typeof name === "number" ? name : name.split("+").reduce((sum, part) => sum + (/^\d+$/.test(part) ? Number(part) : (sizes[part] ?? 0)), 0));
  for (const [name, array] of Object.entries(wanted)) {
    const tensor = tensors.get(prefix + name);
    if (!tensor) shapes[name] = array.optional ? null : [0, ...array.shape.slice(1).map((n) => (typeof n === "number" ? n : 0))];
    else if ((array.dtype[0] === "f") !== (tensor.type[0] === "F") || tensor.type === "BOOL" || (array.dtype === "u8" && tensor.type !== "U8")) {
      damaged(`'${name}' holds ${tensor.type}, not ${array.dtype}`);
    } else shapes[name] = tensor.shape;
  }
  for (const [name, { shape }] of Object.entries(wanted)) {
    if (!shapes[name]) continue;
    if (shape.length !== shapes[name].length) damaged(`'${name}' has the shape ${shapes[name]}`);
    shape.forEach((axis, k) => {
      if (typeof axis === "string" && !axis.includes("+") && !(axis in sizes) && tensors.has(prefix + name)) sizes[axis] = shapes[name][k];
    });
  }
  for (const [name, { shape }] of Object.entries(wanted)) {
    if (!shapes[name]) continue;
    shape.forEach((axis, k) => {
      if (shapes[name][k] !== size(axis)) damaged(`'${name}' has ${shapes[name][k]} numbers where ${size(axis)} belong`);
    });
  }
  for (const [name, array] of Object.entries(wanted)) {
    if (shapes[name]) found[name] = checkedArray(name, array, tensors.get(prefix + name)?.data ?? [], found, size);
  }
  return found;
}

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, i64: Float64Array, f32: Float32Array, f64: Float64Array };
const LIMITS = { u8: 255, u16: 65535, u32: 2 ** 32 - 1, i32: 2 ** 31 - 1, i64: Number.MAX_SAFE_INTEGER };

function checkedArray(name, array, data, found, size) {
  // 64-bit integers become doubles, which hold all that a file of this size can mean
  let values = data instanceof BigInt64Array || data instanceof BigUint64Array ? Float64Array.from(data, Number) : data;
  const n = values.length;
  if (array.per_parent || array.per_count || array.steps) {
    const out = new Float64Array(n), starts = groupStarts(name, array, found, n);
    for (let k = 0, sum = 0; k < n; k++) out[k] = sum = starts && starts[k] ? Number(values[k]) : sum + Number(values[k]);
    values = out;
  }
  let low = Infinity, high = -Infinity, sum = 0;
  const minus = array.infinite === "-";
  for (let k = 0; k < n; k++) {
    const v = values[k];
    if (minus && v === -Infinity) continue;
    if (!(v >= low)) low = v;
    if (!(v <= high)) high = v;
    sum += v;
  }
  if (array.dtype[0] === "f") {
    if (n && array.infinite !== "any" && high !== -Infinity) {
      if (!(low > -Infinity && high < Infinity && sum === sum)) damaged(`'${name}' holds a number that is not finite`);
      if (typeof array.below === "number" && high >= array.below) damaged(`'${name}' holds ${high}, which is too large`);
      const most = values instanceof Float32Array ? Math.fround(array.most) : array.most;
      if (!(-most <= low && high <= most)) damaged(`'${name}' holds a number beyond ${array.most}`);
    }
    return values instanceof KINDS[array.dtype] ? values : KINDS[array.dtype].from(values);
  }
  if (n) {
    if (low < array.least) damaged(`'${name}' holds ${low} where all are at least ${array.least}`);
    if (array.below !== null && high >= size(array.below)) damaged(`'${name}' holds ${high} where all are below ${size(array.below)}`);
    if (array.parents !== null) {
      for (let k = 0, base = size(array.parents); k < n; k++) if (values[k] >= k + base) damaged(`'${name}' has a child before its parent`);
    }
    if (array.offsets !== null) {
      let rises = values[0] === 0 && values[n - 1] === size(array.offsets);
      for (let k = 1; k < n; k++) rises = rises && values[k] >= values[k - 1];
      if (!rises) damaged(`'${name}' does not rise from 0 to ${size(array.offsets)}`);
    }
    if (high > LIMITS[array.dtype]) damaged(`'${name}' holds ${high}, which is too large`);
  }
  if (array.total !== null && sum !== size(array.total)) damaged(`'${name}' adds up to ${sum}, not ${size(array.total)}`);
  return values instanceof KINDS[array.dtype] ? values : KINDS[array.dtype].from(values);
}

function groupStarts(name, array, found, n) {
  if (!array.per_parent && !array.per_count) return null;
  const starts = new Uint8Array(n);
  if (array.per_parent) {
    const parents = found[array.per_parent];
    if (parents.length !== n) damaged("its trees do not fit together");
    for (let k = 0; k < n; k++) starts[k] = k === 0 || parents[k] !== parents[k - 1] ? 1 : 0;
    return starts;
  }
  let at = 0;
  for (const count of found[array.per_count]) {
    if (count > 0 && at < n) starts[at] = 1;
    at += count;
  }
  if (at !== n) damaged("its trees do not fit together");
  return starts;
}

const PLAIN = {
  str: (v) => typeof v === "string", int: Number.isInteger, bool: (v) => typeof v === "boolean", null: (v) => v === null,
  float: (v) => typeof v === "number" && Number.isFinite(v), dict: (v) => typeof v === "object" && v !== null && !Array.isArray(v),
  list: Array.isArray, object: () => true,
};

// Kinds as tools/schemas.py writes them: a name, [kind] for a list, {any: [...]}, {fields: {...}}, {maybe: kind}.
function checkField(name, kind, value) {
  if (!fits(kind, value)) {
    const fields = kind.fields && PLAIN.dict(value) ? Object.entries(kind.fields) : [];
    for (const [key, inner] of fields) {
      if (key in value) checkField(`'${key}'`, inner.maybe ?? inner, value[key]);
      else if (!inner.maybe) damaged(`${name} has no '${key}'`);
    }
    damaged(`${name} cannot be ${String(JSON.stringify(value)).slice(0, 40)}`);
  }
}

function fits(kind, value) {
  if (typeof kind === "string") return PLAIN[kind](value);
  if (Array.isArray(kind)) return Array.isArray(value) && value.every((one) => fits(kind[0], one));
  if (kind.any) return kind.any.some((one) => fits(one, value));
  if (kind.maybe) return fits(kind.maybe, value);
  return PLAIN.dict(value) && Object.entries(kind.fields).every(([key, inner]) => (Object.hasOwn(value, key) ? fits(inner.maybe ?? inner, value[key]) : inner.maybe !== undefined));
}
