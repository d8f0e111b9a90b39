// The shell: which panel is shown, light or dark.

import { models, notice } from "./api.js";
import { h, show } from "./dom.js";

const PANELS = { type: "Type", analyse: "Analyse", tag: "Tag", classify: "Classify", predict: "Predict", rerank: "Rerank", train: "Train", models: "Models" };
const FAMILY = { type: "converter", analyse: "pipeline", tag: "tagger", classify: "classifier", predict: "lm", rerank: "reranker" };
const main = document.getElementById("main");
const nav = document.getElementById("panels");
let leave = () => {};

async function open() {
  const name = location.hash.slice(1) in PANELS ? location.hash.slice(1) : "type";
  for (const link of nav.children) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${PANELS[name]} · epigram`;
  leave();
  leave = () => {};
  try {
    const list = await models(FAMILY[name]);
    const panel = await import(`./${name}.js`);
    const root = h("section", { "aria-label": PANELS[name] });
    if (list.length || !FAMILY[name]) leave = (await panel.mount(root, list)) ?? leave;
    else show(root, h("h1", {}, PANELS[name]), h("p", { class: "lead" }, `No ${FAMILY[name]} is loaded. ${name === "analyse" ? "Install one (pip install ./models/english in a checkout)" : "Train one"}, or start epigram serve with one.`));
    show(main, root);
    root.querySelector("[autofocus]")?.focus({ preventScroll: true });
  } catch (error) {
    notice(error.message, true);
  }
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
}

const dark = matchMedia("(prefers-color-scheme: dark)");
theme(localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () =>
  theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
show(nav, Object.entries(PANELS).map(([name, title]) => h("a", { href: `#${name}` }, title)));
addEventListener("hashchange", () => {
  if (location.hash === "#main") main.focus();
  else open();
});
open();
