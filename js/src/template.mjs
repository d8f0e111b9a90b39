// Templates in the syntax of CRF++ with functions on cells (epigram/features/template.py, cell_functions.py, regex.py).

import { InputError, ModelFileError } from "./core.mjs";

export const MOST_VALUES = 20_000;
const FARTHEST = 1000, NO_LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const DIGIT = /\p{Nd}/u, DIGITS = /\p{Nd}/gu, UPPER = /\p{Uppercase}/u, LETTER = /\p{L}/u;

const shapeOf = (c) => (DIGIT.test(c) ? "#" : UPPER.test(c) ? "A" : LETTER.test(c) ? "a" : c);
const SHAPES = new Map();
function shape(cell) {
  let out = "";
  for (const c of cell) {
    let found = SHAPES.get(c);
    if (found === undefined) SHAPES.set(c, (found = shapeOf(c)));
    out += found;
  }
  return out;
}
const SINGLE = { lower: (cell) => cell.toLowerCase(), shape, normalise: (cell) => cell.toLowerCase().replace(DIGITS, "#") };
const SLICES = { prefix: 1, suffix: 1, substrings: 2 };

/** Values of a word list; what it has not is looked up with # for digits, in lower case, in both. */
function lookUp(table, cell) {
  const digits = cell.replace(DIGITS, "#");
  for (const form of [cell, digits, cell.toLowerCase(), digits.toLowerCase()]) if (table.has(form)) return table.get(form);
  return [];
}

/** The word list that a model file holds, unpacked. */
export function wordTable(text) {
  const table = new Map();
  for (const line of text.split("\n").slice(0, -1)) {
    const [key, values] = line.split("\t");
    if (values === undefined) throw new ModelFileError("corrupt file: a word list has a line without values");
    table.set(key, values.split(/\s+/).filter(Boolean));
  }
  return table;
}

function slices(name, length, cell) {
  const characters = [...cell], n = characters.length;
  if (name !== "substrings") {
    if (n < length) return [];
    return [(name === "prefix" ? characters.slice(0, length) : characters.slice(n - length)).join("")];
  }
  if (n * Math.min(n, length - 1) > MOST_VALUES) throw new InputError(`substrings:${length} makes more than ${MOST_VALUES} values of a cell of ${n} characters`);
  const found = new Set();
  for (let i = 0; i < n; i++) for (let j = i + 1; j <= Math.min(n, i + length - 1); j++) found.add(characters.slice(i, j).join(""));
  return [...found];
}

/** A function of a cell: `{text, name, length, values(cell)}`; `single` makes exactly one string. */
function cellFunction(text, lists, key) {
  const colon = text.indexOf(":"), name = colon < 0 ? text : text.slice(0, colon), argument = text.slice(colon + 1);
  const refuse = (why) => { throw new ModelFileError(`its template cannot be used in a page: ${why}`); };
  if (colon < 0 && name in SINGLE) return { text, name, single: SINGLE[name] };
  if (text === "boundary") return { text, name, boundary: true };
  if (name in SLICES && /^\d{1,9}$/.test(argument) && Number(argument) >= SLICES[name]) return { text, name, length: Number(argument), values: (cell) => slices(name, Number(argument), cell) };
  if (name === "match" && argument) {
    const search = compileSearch(argument, refuse);
    return { text, name, single: (cell) => (search(cell) ? "1" : "0") };
  }
  if (name === "in") refuse(`${text} looks for phrases of several words`);
  if (name === "class" || name === "vector") {
    const table = lists.get(text) ?? refuse(`the word list ${text} is not in the file`);
    return { text, name, many: true, values: (cell) => lookUp(table, cell) };
  }
  if ((name === "frequent" || name === "rare") && /^\d+$/.test(argument)) {
    const table = lists.get(key) ?? refuse(`the words of ${text} are not in the file`);
    return { text, name, values: (cell) => (table.has(cell) === (name === "frequent") ? [cell] : []) };
  }
  return refuse(`unknown function '${text}'`);
}

/** The functions from left to right, each applied to every value of the one before. */
export function applyChain(functions, cell) {
  let values = [cell];
  for (const { single, values: many, boundary } of functions) {
    if (boundary) return [];
    values = single ? values.map(single) : values.flatMap(many);
    if (values.length > MOST_VALUES) throw new InputError(`functions make more than ${MOST_VALUES} values of a cell; use shorter words`);
    if (values.length > 1) values = [...new Set(values)];
  }
  return values;
}

function patternEnd(line, at) {
  for (let inClass = false; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (inClass) inClass = line[at] !== "]";
    else if (line[at] === "[") {
      inClass = true;
      at += line.startsWith("[^]", at) ? 2 : line.startsWith("[]", at) ? 1 : 0;
    } else if (line[at] === "]") return at;
  }
  throw new ModelFileError("its template cannot be used: no closing bracket after a regular expression");
}

function parseLine(line, lists) {
  const literals = [], cells = [], bad = () => { throw new ModelFileError(`its template cannot be used: ${line.slice(0, 60)}`); };
  let at = 0;
  for (let start; (start = line.indexOf("%x", at)) >= 0;) {
    literals.push(line.slice(at, start));
    const head = /^%x\[\s*([+-]?\d{1,4})\s*,\s*(\d{1,5})\s*([|\]])/.exec(line.slice(start, start + 60)) ?? bad();
    const cell = { offset: Number(head[1]), column: Number(head[2]), functions: [] };
    if (Math.abs(cell.offset) > FARTHEST) bad();
    at = start + head[0].length;
    for (let open = head[3] === "|"; open;) {
      const isMatch = line.startsWith("match:", at), stop = isMatch ? patternEnd(line, at) : line.slice(at).search(/[|\]]/) + at;
      if (stop < at) bad();
      const text = isMatch ? line.slice(at, stop) : line.slice(at, stop).trim();
      const key = [cell.column, ...cell.functions.map((one) => one.text), text].join("|");
      cell.functions.push(cellFunction(text, lists, key));
      open = line[stop] === "|";
      at = stop + 1;
    }
    cell.boundary = cell.functions.some((one) => one.boundary);
    cells.push(cell);
  }
  return { literals: [...literals, line.slice(at)], cells };
}

/** Parse a template: `{nodes, edges, transitions, drops, nColumns, reach}`; `lists` are the word lists by name. */
export function parseTemplate(text, lists = new Map()) {
  const found = { text, nodes: [], edges: [], transitions: false, drops: false };
  for (const raw of text.split(NO_LINE_END)) {
    const line = raw.trim(), directive = /^#\s*outside:\s*(\w+)\s*$/.exec(line);
    if (directive) found.drops = directive[1] === "drop";
    if (!line || line[0] === "#") continue;
    if (line[0] === "S") throw new ModelFileError("its template has S lines (segments), which a page cannot reproduce");
    if (line[0] !== "U" && line[0] !== "B") throw new ModelFileError(`its template cannot be used: ${line.slice(0, 60)}`);
    const parsed = parseLine(line, lists);
    if (line[0] === "U") found.nodes.push(parsed);
    else if (parsed.cells.length) found.edges.push(parsed);
    else found.transitions = true;
  }
  const cells = [...found.nodes, ...found.edges].flatMap((line) => line.cells);
  if (!found.nodes.length) throw new ModelFileError("its template cannot be used: it has no U line");
  found.nColumns = cells.reduce((most, cell) => Math.max(most, cell.column + 1), 0);
  found.reach = cells.reduce((most, cell) => Math.max(most, Math.abs(cell.offset)), 0);
  if (found.nColumns > 64) throw new ModelFileError(`its template reads ${found.nColumns} columns, more than 64`);
  return found;
}

// ---- Regular expressions: Python's syntax in JavaScript's, as far as both mean the same.

export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const CLASSES = { d: "0-9\\p{Nd}", w: "\\p{L}\\p{N}_", s: SPACE };
const MOST_ATTEMPTS = 1e7, LENGTHS = [1000, 300, 100, 50, 20];

function compileSearch(pattern, refuse) {
  const no = (what) => refuse(`the regular expression '${pattern}' has ${what}`);
  let out = "", at = 0, repeats = 0, ways = 1, alternatives = 1, last = null, atoms = 0, single = true; // what stands before a repeat
  const open = [];
  const escaped = (inClass) => {
    const c = pattern[++at];
    at++;
    if (c === undefined) no("a backslash at its end");
    if ("tnrfv".includes(c)) return `\\${c}`;
    if (c in CLASSES) return inClass ? CLASSES[c] : `[${CLASSES[c]}]`;
    if (c.toLowerCase() in CLASSES && !inClass) return `[^${CLASSES[c.toLowerCase()]}]`;
    if (/[a-zA-Z0-9]/.test(c)) return no(`\\${c}`);
    return `\\u{${c.codePointAt(0).toString(16)}}`;
  };
  const one = (c) => (/[\p{L}\p{N} ]/u.test(c) ? c : `\\u{${c.codePointAt(0).toString(16)}}`);
  const member = () => {
    if (at >= pattern.length || pattern.startsWith("[:", at)) no("an open bracket");
    if (pattern[at] === "\\") return escaped(true);
    const c = String.fromCodePoint(pattern.codePointAt(at));
    at += c.length;
    return one(c);
  };
  const bracket = () => {
    let inside = "[";
    if (pattern[++at] === "^") { inside += "^"; at++; }
    for (let first = true; first || pattern[at] !== "]"; first = false) {
      const low = member();
      inside += low;
      if (pattern[at] !== "-" || pattern[at + 1] === "]" || pattern[at + 1] === undefined) continue;
      at++;
      const high = member();
      if (low.length > 9 || high.length > 9) no("a range that ends with a class");
      inside += `-${high}`;
    }
    at++;
    return `${inside}]`;
  };
  while (at < pattern.length) {
    const c = String.fromCodePoint(pattern.codePointAt(at));
    if (c === "\\") { out += escaped(false); last = "atom"; atoms++; continue; }
    if (c === "[") { out += bracket(); last = "atom"; atoms++; continue; }
    at += c.length;
    if (c === "(") {
      if (pattern[at] === "?") { if (pattern.startsWith("?:", at)) at += 2; else no("(?"); }
      open.push({ repeats, ways, alternatives, atoms, single });
      [alternatives, atoms, single] = [1, 0, true];
      out += "(?:";
      last = null;
    } else if (c === ")") {
      const before = open.pop() ?? no("a bracket too many");
      const isClass = alternatives === 1 || (single && atoms === 1); // (?:a|b) is [ab]
      last = repeats > before.repeats || ways > before.ways || !isClass ? "complex" : "atom";
      if (!isClass) ways *= alternatives;
      alternatives = before.alternatives;
      single = before.single;
      atoms = before.atoms + 1;
      out += ")";
    } else if (c === "|") { alternatives++; single &&= atoms === 1; atoms = 0; out += "|"; last = null; }
    else if ("*+?{".includes(c)) {
      const counts = c === "{" ? /^\{(\d*)(,?)(\d*)\}/.exec(pattern.slice(at - 1)) : null;
      if (c === "{" && (!counts || (!counts[1] && !counts[3]))) { out += one(c); last = "atom"; continue; }
      if (last === null) no(`nothing before ${c}`);
      const least = c === "{" ? Number(counts[1]) : c === "+" ? 1 : 0, most = c === "?" ? 1 : c !== "{" || (counts[2] && !counts[3]) ? Infinity : Number(counts[2] ? counts[3] : counts[1]);
      if (last === "complex" && most > 1) no("a repeat or alternatives inside a repeat");
      if (least > 1000 || most < least) no("a repeat of too many");
      if (c === "{") at += counts[0].length - 1;
      out += c === "{" ? `{${least},${most === Infinity ? "" : most}}` : c;
      if (most - least > 1) repeats++; else ways *= 1 + most - least;
      if (pattern[at] === "?") { out += "?"; at++; } else if ("*+{".includes(pattern[at] ?? "x")) no("a repeat of a repeat");
      last = last === "atom" ? "done" : last;
    } else if (c === "." ) { out += "[^\\n]"; last = "atom"; atoms++; }
    else if (c === "^") { out += "^"; last = null; }
    else if (c === "$") { out += "(?=\\n?(?![^]))"; last = null; }
    else { out += one(c); last = "atom"; atoms++; }
  }
  if (open.length) no("an open bracket");
  ways *= alternatives;
  const limit = LENGTHS.find((n) => { let found = ways; for (let k = 1; k <= repeats + 1; k++) found *= (n + k) / k; return found <= MOST_ATTEMPTS; }) ?? no("too many repeats");
  let expression;
  try {
    expression = new RegExp(out, "u");
  } catch {
    return no("syntax that JavaScript does not have");
  }
  return (text) => expression.test(text.length <= limit ? text : [...text].slice(0, limit).join(""));
}
