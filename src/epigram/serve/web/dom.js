// Elements, always from text: nothing that a model or a person wrote is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function show(parent, ...children) {
  parent.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

export function later(action, wait) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
}

let noticeTimer;
export function notice(text, bad = false) {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.className = bad ? "shown bad" : "shown";
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (place.className = ""), bad ? 6000 : 2500);
}

// An action whose failure is shown in the words of the server or the model.
export const tried = (action) => async (...values) => {
  try {
    return await action(...values);
  } catch (error) {
    notice(error.message, true);
  }
};

export const percent = (p) => (p >= 0.9995 ? "100 %" : p >= 0.0995 ? `${(100 * p).toFixed(0)} %` : `${(100 * p).toFixed(1)} %`);

export function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return size >= 0.01 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}

export const bytes = (n) => (n < 1e4 ? `${n} B` : n < 1e7 ? `${Math.round(n / 1e3)} kB` : `${Math.round(n / 1e6)} MB`);

export function table(columns, rows) {
  const isNumber = columns.map((_, k) => rows.length > 0 && rows.every((row) => typeof row[k] === "number" || row[k] === null));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": columns.join(", ") },
    h("table", {},
      h("thead", {}, h("tr", {}, columns.map((name, k) => h("th", { scope: "col", class: isNumber[k] && "number" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, k) =>
        h("td", { class: isNumber[k] ? "number" : "text" }, cell instanceof Node ? cell : number(cell))))))));
}

export function facts(record) {
  return h("dl", { class: "facts" }, Object.entries(record).map(([name, value]) =>
    h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, number(value)))));
}

export function save(name, content, type = "text/plain") {
  const link = h("a", { href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function dropzone(element, take) {
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("drop");
  });
  element.addEventListener("dragleave", () => element.classList.remove("drop"));
  element.addEventListener("drop", async (event) => {
    event.preventDefault();
    element.classList.remove("drop");
    const file = event.dataTransfer.files[0];
    if (file) take(await file.text(), file.name);
  });
  return element;
}

export function filePicker(label, take) {
  const input = h("input", {
    type: "file", class: "skip", tabindex: "-1", "aria-label": label,
    onchange: async () => input.files[0] && take(await input.files[0].text(), input.files[0].name),
  });
  return [h("button", { type: "button", onclick: () => input.click() }, label), input];
}

export function hue(text) {
  const known = { NP: 205, VP: 140, PP: 42, SBAR: 290, ADVP: 175, ADJP: 325, PRT: 20, NN: 205, NNS: 215, VB: 140, VBD: 130, VBZ: 150, DT: 42, IN: 20, JJ: 325, PER: 205, LOC: 140, ORG: 42 };
  if (text in known) return known[text];
  let sum = 7;
  for (const c of text) sum = (sum * 31 + c.codePointAt(0)) % 3607;
  return (sum * 47) % 360;
}
