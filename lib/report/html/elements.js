// Elements, and texts as people read them. Every text of a page goes through here, as a text node: nothing of it is
// markup.

/** Characters that change how others are shown: controls, and marks of the direction of writing. */
const HIDDEN_CHARACTERS =
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** The text with characters shown that would hide or reorder others: "\u27e8U+202E\u27e9". */
function visible(text) {
  return String(text).replace(
      HIDDEN_CHARACTERS,
      (character) => "\u27e8U+" + character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9");
}

/** An element with attributes and children: elements, texts, or lists of both; null is left out. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on"))
      made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  append(made, children);
  return made;
}

function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child))
      append(parent, child);
    else if (child instanceof Node)
      parent.append(child);
    else if (child !== null && child !== undefined)
      parent.append(visible(child));
  }
}

/** A number with three significant digits, "-" for none; a narrow space divides thousands. */
function numberText(value, digits = 3) {
  if (value === null || value === undefined) return "-";
  if (Number.isInteger(value)) return value.toLocaleString("en-US").replaceAll(",", "\u202f");
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US").replaceAll(",", "\u202f");
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(digits)));
}

const percentText = (fraction) =>
    !Number.isFinite(fraction) ? "-" : (100 * fraction).toFixed(1) + " %";
const scoreText = (score) => score === null || score === undefined ? "-" : score.toFixed(2) + "x";
const millisecondsText = (ms) => ms === null || ms === undefined ? "-" : numberText(ms, 4) + " ms";
const intervalText = (low, high) =>
    low === null || low === undefined ? "no interval" : `${low.toFixed(2)} to ${high.toFixed(2)}`;
const countText = (count, noun) => `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;

/** "single_operator" as "single operator"; "unknown" for nothing. */
const wordsOf = (name) => name ? name.replaceAll("_", " ") : "unknown";

/** The class that gives a result its colour; the text says it, too. */
function toneOf(name) {
  if (["correct", "success", "won", "clean"].includes(name)) return "good";
  if (["analyzed", "tied", "neither_correct", "not_applicable"].includes(name)) return "quiet";
  if (["partial", "unfinished", "not_judged", "not_timed", "not_finished"].includes(name) || name.startsWith("suspect"))
    return "doubt";
  return "bad";
}
const badge = (name) => element("span", {class: "badge " + toneOf(name)}, wordsOf(name));

/** A tile with a figure. */
function tile(label, figure, note) {
  return element(
      "div", {class: "tile"}, element("div", {class: "label"}, label), element("div", {class: "figure"}, figure),
      note ? element("div", {class: "quiet"}, note) : null);
}

/** A list of names and values; pairs without a value are left out. */
function facts(pairs) {
  const list = element("dl", {class: "facts"});
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(element("dt", null, name), element("dd", null, value));
  }
  return list;
}

/** A section that is closed at first, and made when it is opened. */
function folded(title, make) {
  const section = element("details", null, element("summary", null, title));
  section.addEventListener("toggle", () => {
    if (section.open && section.childElementCount === 1) section.append(make());
  });
  return section;
}
