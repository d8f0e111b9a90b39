// Requests to this server, and nobody else.

import { h } from "./dom.js";

export { notice, tried } from "./dom.js";

const found = new URLSearchParams(location.hash.slice(1)).get("token");
if (found) {
  sessionStorage.setItem("token", found);
  history.replaceState(null, "", "#type");
}

function session() {
  if (!sessionStorage.getItem("session")) {
    const letters = crypto.getRandomValues(new Uint8Array(16));
    sessionStorage.setItem("session", [...letters].map((n) => n.toString(16).padStart(2, "0")).join(""));
  }
  return sessionStorage.getItem("session");
}

async function request(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = { "X-Epigram-Session": session(), ...(token && { Authorization: `Bearer ${token}` }), ...options.headers };
  const answer = await fetch(`/v1/${path}`, { ...options, headers });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => null);
  throw new Error(problem?.error?.message ?? `the server answered ${answer.status}`);
}

export const get = async (path, query = {}) => (await request(`${path}?${new URLSearchParams(query)}`.replace(/\?$/, ""))).json();

export const post = async (path, body = {}) =>
  (await request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

export const download = async (path) => (await request(path)).blob();

export const fetchFile = async (path, body) =>
  (await request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).blob();

export const models = async (family) => (await get("models")).models.filter((one) => !family || one.family === family);

// A choice of model; remembered while the page is open.
const chosen = {};
export function modelChoice(list, key, onchange, label = "model") {
  const names = list.map((one) => one.name);
  if (!names.includes(chosen[key])) chosen[key] = names[0];
  const select = h("select", {
    "aria-label": label,
    onchange: () => {
      chosen[key] = select.value;
      onchange(select.value);
    },
  }, list.map((one) => h("option", { value: one.name, selected: one.name === chosen[key] }, one.name)));
  return select;
}
export const choose = (key, name) => (chosen[key] = name);
export const choice = (key) => chosen[key];
