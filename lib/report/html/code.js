// Code in colours (Prism) and the difference of two texts (jsdiff).

const GRAMMARS = {
  cpp: "cpp",
  c: "c",
  cuda: "cpp",
  hip: "cpp",
  python: "python"
};
/** Beyond this length, colours take longer than a person waits. */
const LONGEST_COLOURED = 100000;
/** Equal lines that are shown around a difference. */
const CONTEXT = 3;

/** Nodes for the tokens of Prism: spans with texts. */
function tokenNodes(token) {
  if (typeof token === "string") return visible(token);
  if (Array.isArray(token)) return token.map(tokenNodes);
  const aliases = Array.isArray(token.alias) ? token.alias.join(" ") : token.alias || "";
  return element("span", {class: `token ${token.type} ${aliases}`.trim()}, tokenNodes(token.content));
}

/** A listing with numbers of lines. */
function codeView(text, language) {
  const grammar = text.length <= LONGEST_COLOURED ? Prism.languages[GRAMMARS[language]] : null;
  const count = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const numbers = Array.from({length: count}, (_, index) => index + 1).join("\n");
  return element(
      "div", {class: "code"}, element("pre", {class: "lines", "aria-hidden": "true"}, numbers),
      element(
          "pre", {class: "text", tabindex: "0"},
          element("code", null, grammar ? tokenNodes(Prism.tokenize(text, grammar)) : text)));
}

/**
 * The lines of a difference: sign, the numbers of the line on both sides, text. Nothing if the texts differ too much.
 */
function diffLines(before, after) {
  const parts = Diff.diffLines(before, after, {maxEditLength: 3000});
  if (!parts) return null;
  const lines = [];
  let left = 0, right = 0;
  for (const part of parts) {
    const sign = part.added ? "+" : part.removed ? "-" : " ";
    const texts = part.value.split("\n");
    if (texts[texts.length - 1] === "") texts.pop();
    for (const text of texts)
      lines.push({sign, left: part.added ? null : ++left, right: part.removed ? null : ++right, text});
  }
  return lines;
}

function diffRow(line) {
  const name = {"+": "added", "-": "removed", " ": null}[line.sign];
  return element(
      "tr", {class: name}, element("td", {class: "number"}, line.left ?? ""),
      element("td", {class: "number"}, line.right ?? ""), element("td", null, line.sign),
      element("td", null, line.text));
}

/** A row in the place of equal lines, which shows them when it is asked to. */
function foldedRows(lines) {
  const row = element("tr", {class: "folded"});
  const open = () => row.replaceWith(...lines.map(diffRow));
  row.append(element(
      "td", {colspan: "4"},
      element("button", {type: "button", onclick: open}, `... ${countText(lines.length, "equal line")}`)));
  return row;
}

/** The difference of two texts, with equal lines folded. */
function diffView(before, after) {
  const lines = diffLines(before, after);
  if (!lines) return element("p", {class: "notice"}, "The two texts have too little in common to show a difference.");
  const added = lines.filter((line) => line.sign === "+").length,
        removed = lines.filter((line) => line.sign === "-").length;
  if (added + removed === 0) return element("p", null, "The two texts are equal.");
  const near = lines.map(
      (_, index) => lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some((line) => line.sign !== " "));
  const body = element("tbody");
  for (let index = 0; index < lines.length;) {
    let end = index;
    while (end < lines.length && near[end] === near[index]) ++end;
    const part = lines.slice(index, end);
    body.append(...(near[index] || part.length === 1 ? part.map(diffRow) : [foldedRows(part)]));
    index = end;
  }
  return element(
      "div", null,
      element("p", {class: "quiet"}, `${countText(added, "line")} added, ${countText(removed, "line")} removed`),
      element("div", {class: "scroll"}, element("table", {class: "diff"}, body)));
}
