// Tables that sort, filter and search. Plain table elements, so that keyboards, screen readers and printers work.

/** Compares values of a column: absent ones last in both directions, numbers by size, texts in natural order. */
function compareValues(a, b, descending) {
  const lacksA = a === null || a === undefined || a === "", lacksB = b === null || b === undefined || b === "";
  if (lacksA || lacksB) return lacksA - lacksB;
  const order = typeof a === "number" && typeof b === "number" ? a - b : naturalOrder.compare(String(a), String(b));
  return descending ? -order : order;
}
const naturalOrder = new Intl.Collator("en", {numeric: true});

/**
 * A table. Each column has a `label`, a `value(row)` to sort by, and optionally `show(row)`, which gives the cell's
 * content, `number` for numbers, and `wide` or `wider` where narrow screens leave it out. Returns the element, with
 * `filter(predicate)`, which returns how many rows are left.
 */
function makeTable(columns, rows, {caption = null, sorted = null, currentRow = null} = {}) {
  const body = element("tbody");
  const lines = rows.map((row) => ({row, line: null}));
  let isShown = () => true;

  const classOf = (column) => [column.number && "number", column.wide && "wide", column.wider && "wider", column.class]
                                  .filter(Boolean)
                                  .join(" ") ||
      null;
  const makeLine = (row) => element(
      "tr", {"aria-current": row === currentRow ? "true" : null},
      columns.map((column) => element("td", {class: classOf(column)}, (column.show || column.value)(row) ?? "-")));
  const fill = () => {
    const shown = lines.filter(({row}) => isShown(row));
    for (const entry of shown) entry.line ??= makeLine(entry.row);
    body.replaceChildren(...shown.map((entry) => entry.line));
    return shown.length;
  };
  const sort = (column, descending) => {
    for (const other of columns) other.header.removeAttribute("aria-sort");
    column.header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    lines.sort((a, b) => compareValues(column.value(a.row), column.value(b.row), descending));
    fill();
  };
  columns = columns.map((column) => ({...column}));
  for (const column of columns) {
    // The first click on a column of numbers shows the largest ones.
    const toggle = () => {
      const order = column.header.getAttribute("aria-sort");
      sort(column, order ? order === "ascending" : Boolean(column.number));
    };
    column.header = element(
        "th", {scope: "col", class: classOf(column)},
        element("button", {type: "button", onclick: toggle}, column.label));
  }
  const table = element(
      "table", null, caption ? element("caption", null, caption) : null,
      element("thead", null, element("tr", null, columns.map((column) => column.header))), body);
  table.addEventListener("keydown", moveBetweenRows);
  if (sorted)
    sort(columns[sorted.column], sorted.descending);
  else
    fill();
  const scroll = element("div", {class: "scroll"}, table);
  scroll.filter = (predicate) => {
    isShown = predicate;
    return fill();
  };
  return scroll;
}

/** Arrow keys go from the link of a row to that of the next one. */
function moveBetweenRows(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const line = event.target.closest("tr");
  const next = event.key === "ArrowDown" ? line?.nextElementSibling : line?.previousElementSibling;
  const link = next?.querySelector("a, button");
  if (!link) return;
  event.preventDefault();
  link.focus();
}

/** A choice among the values that rows have; "all" is the first one. `valuesOf` gives a row's values. */
function makeFilter(label, rows, valuesOf, onchange) {
  const values = [...new Set(rows.flatMap(valuesOf))].sort(naturalOrder.compare);
  if (values.length < 2) return null;
  const select = element(
      "select", {onchange}, element("option", {value: "all"}, "all"),
      values.map((value, index) => element("option", {value: index}, wordsOf(value))));
  const control = element("label", null, label, select);
  control.accepts = (row) => select.value === "all" || valuesOf(row).includes(values[select.value]);
  return control;
}

/** A field that searches the texts of rows: every word must be somewhere in them. */
function makeSearch(label, textOf, oninput) {
  const input = element("input", {type: "search", class: "search", oninput, autocomplete: "off"});
  const control = element("label", null, label, input);
  const texts = new Map();
  control.accepts = (row) => {
    if (!texts.has(row)) texts.set(row, textOf(row).toLowerCase());
    return input.value.toLowerCase().split(/\s+/).every((word) => texts.get(row).includes(word));
  };
  return control;
}

/** A table below its filters, with the number of rows that are shown. */
function filteredTable(columns, rows, controls, noun, options) {
  const table = makeTable(columns, rows, options);
  const count = element("p", {class: "quiet", role: "status"});
  const apply = () => {
    const shown = table.filter((row) => used.every((control) => control.accepts(row)));
    count.textContent = shown === rows.length ? countText(shown, noun) : `${shown} of ${countText(rows.length, noun)}`;
  };
  const used = controls(apply).filter(Boolean);
  apply();
  return element("div", null, element("div", {class: "filters", role: "search"}, used), count, table);
}
