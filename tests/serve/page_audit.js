// What is wrong with the page as it stands: overflow, controls without a name, text that is hard to read.
(() => {
  const wrong = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const tell = (element) => `${element.tagName.toLowerCase()}.${element.className} ${(element.textContent || "").trim().slice(0, 30)}`;
  for (const element of document.body.querySelectorAll("*")) {
    if (!shown(element) || element.closest(".scroll > *, .skip, svg > *")) continue;
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1)) wrong.push(`overflows: ${tell(element)}`);
  }
  for (const element of document.querySelectorAll("button, a, input, select, textarea, [role=listbox], svg[role=img], nav, [role=region]")) {
    if (!shown(element)) continue;
    const label = element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent || element.getAttribute("title");
    if (!label?.trim()) wrong.push(`no name: ${tell(element)} ${element.outerHTML.slice(0, 80)}`);
  }
  const parse = (colour) => {
    const parts = colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return { rgb: parts.slice(0, 3), alpha: parts[3] ?? 1 };
  };
  const over = (top, alpha, under) => top.map((value, k) => alpha * value + (1 - alpha) * under[k]);
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, { rgb, alpha }) => over(rgb, alpha, under), [255, 255, 255]);
  };
  const light = (rgb) => rgb.map((value) => value / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !shown(element) || element.disabled || element.closest(".under, [aria-hidden=true], #notice, noscript, :disabled")) continue;
    const style = getComputedStyle(element);
    const behind = background(element);
    const { rgb, alpha } = parse(element.namespaceURI.includes("svg") ? style.fill : style.color);
    const [a, b] = [light(over(rgb, alpha, behind)), light(behind)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)}: ${tell(element)}`);
  }
  const headings = document.querySelectorAll("h1").length;
  if (headings < 1) wrong.push("no heading");
  return wrong;
})()
