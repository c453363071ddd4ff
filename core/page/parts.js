// What pages are made of.
// Okabe and Ito's, which those who see few colours tell apart, darkened until each has three times a ground's contrast, light or dark; lines
// differ in their dashes too.
const colours = ["#0072b2", "#b06f00", "#008a66", "#b3568f", "#c24e00", "#2f86b8", "#8a7d00", "#777777"];
function make(name, attributes = {}, ...inside) {
  const svg = ["svg", "path", "rect", "line", "text", "g", "circle", "polygon"].includes(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(key, value);
  node.append(...inside.filter(one => one !== null && one !== undefined));
  return node;
}
const isNumber = value => typeof value === "number" && isFinite(value);
function number(value, digits = 3) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e12) return value.toLocaleString("en");
  return size >= 1e6 || size < 1e-3 ? value.toExponential(1) : String(+value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size + 1)))));
}
function table(caption, head, rows) {
  const cell = (kind, one, column) => make(kind === "td" && column === 0 ? "th" : kind, {scope: kind === "th" ? "col" : column === 0 ? "row" : null, class: head[column].startsWith("!") ? "words" : one && one.class}, one && one.text !== undefined ? one.text : String(one));
  return make("div", {}, make("p", {class: "soft", "aria-hidden": "true"}, caption), make("div", {class: "wide", tabindex: 0, role: "region", "aria-label": caption}, make("table", {"aria-label": caption},
    make("thead", {}, make("tr", {}, ...head.map((one, column) => cell("th", one.replace("!", ""), column)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((one, column) => cell("td", one, column))))))));
}
const behind = (words, ...inside) => make("details", {"data-keep": words}, make("summary", {}, words), ...inside);
function panel(title, picture, ...more) { return make("figure", {class: "panel", style: "margin:0"}, make("h3", {}, title), picture, ...more); }
function part(id, title, ...inside) {
  document.getElementById("parts").append(make("a", {href: "#" + id}, title));
  const section = make("section", {id, "aria-labelledby": id + "-title"}, make("h2", {id: id + "-title"}, title), ...inside);
  document.getElementById("main").append(section);
}
