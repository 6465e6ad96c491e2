"use strict";
// Shows /campaign.json and /run.json, and asks for them again while the page is visible. Texts come from models and
// tasks: they are only ever set as textContent.

const k_period_ms = 2000;
const k_quiet_seconds = 600;

const byId = (id) => document.getElementById(id);
const state = { campaign: null, order: "name", reversed: false, filter: "", open: null, failures: 0 };

function element(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined && text !== null) node.textContent = text;
  if (className) node.className = className;
  return node;
}

// Numbers and times as text.

const score = (value) => (value === null ? "-" : value.toFixed(2) + "x");
const count = (n) => (n < 1000 ? String(n) : n < 1e6 ? (n / 1e3).toFixed(1) + "k" : (n / 1e6).toFixed(2) + "M");
const percent = (part) => Math.round(100 * part) + " %";

function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
}

const shortDuration = (seconds) => duration(seconds).split(" ").slice(0, 2).join(" ");
const phases = (object) => Object.entries(object).map(([name, n]) => n + " " + name).join(", ");
const stateClass = (status) => status.split(" ")[0];

function statusOf(run) {
  return run.status === "running" && run.silent_seconds > k_quiet_seconds ? "quiet" : run.status;
}

// The columns of the table: how a run is sorted and shown.

const collator = new Intl.Collator("en", { numeric: true });
const k_ranks = ["running", "error", "paused", "budget exhausted", "busy", "success", "partial", "failed", "not begun"];
const last = (value) => (value === null ? Infinity : value);
const columns = [
  { id: "name", title: "run", text: (r) => r.name, className: "name" },
  { id: "status", title: "status", value: (r) => k_ranks.indexOf(r.status), text: statusOf, marked: true },
  { id: "score", title: "best", value: (r) => -(r.score ?? -Infinity), text: (r) => score(r.score), className: "number" },
  { id: "attempts", title: "attempts", value: (r) => -r.finished_attempts, className: "number",
    text: (r) => r.finished_attempts + (r.max_attempts === null ? "" : "/" + r.max_attempts) },
  { id: "failed", title: "failed", value: (r) => -r.failed_attempts, text: (r) => r.failed_attempts,
    className: "number wide" },
  { id: "tokens", title: "tokens", value: (r) => -r.spent.tokens, text: (r) => count(r.spent.tokens),
    className: "number wide" },
  { id: "cost", title: "cost", value: (r) => -r.spent.cost, text: (r) => r.spent.cost > 0 ? r.spent.cost.toFixed(2) : "-",
    className: "number wide" },
  { id: "time", title: "time", value: (r) => -r.spent.seconds, text: (r) => shortDuration(r.spent.seconds),
    className: "number wide" },
  { id: "latest", title: "last event", value: (r) => last(r.silent_seconds), className: "number",
    text: (r) => (r.silent_seconds === null ? "-" : shortDuration(r.silent_seconds)) },
  { id: "target", title: "target", text: (r) => r.target, className: "wide" },
  { id: "model", title: "model", text: (r) => r.model, className: "wide" },
  { id: "doing", title: "doing", text: (r) => (r.status === "running" ? phases(r.phases) : r.reason),
    className: "long" },
];

function compareRuns(a, b) {
  const column = columns.find((one) => one.id === state.order);
  const difference = column.value ? column.value(a) - column.value(b) : collator.compare(column.text(a), column.text(b));
  return (difference || collator.compare(a.name, b.name)) * (state.reversed ? -1 : 1);
}

function visibleRuns() {
  const wanted = state.filter.toLowerCase();
  const matches = (r) =>
    [r.name, r.status, r.target, r.model, phases(r.phases)].some((text) => text.toLowerCase().includes(wanted));
  return state.campaign.runs.filter(matches).sort(compareRuns);
}

// Rows are kept and filled anew, so that focus and scrolling stay where they are.

function fillRow(row, run) {
  row.className = "link";
  row.dataset.name = run.name;
  columns.forEach((column, i) => {
    const cell = row.cells[i];
    cell.className = column.className || "";
    const text = String(column.text(run));
    if (cell.textContent === text) return;
    cell.textContent = text;
    if (column.marked) cell.prepend(element("span", "", "mark " + stateClass(text)));
  });
}

function showTable() {
  const runs = visibleRuns();
  const body = byId("rows");
  while (body.rows.length > runs.length) body.deleteRow(-1);
  while (body.rows.length < runs.length) {
    const row = body.insertRow();
    row.tabIndex = 0;
    columns.forEach(() => row.insertCell());
  }
  runs.forEach((run, i) => fillRow(body.rows[i], run));
  const all = state.campaign.runs.length;
  byId("shown").textContent = runs.length === all ? all + " runs" : runs.length + " of " + all + " runs";
}

function showHeading() {
  const row = byId("columns");
  row.replaceChildren(...columns.map((column) => {
    const cell = element("th", null, column.className);
    const isOrder = state.order === column.id;
    const button = element("button", column.title + (isOrder ? (state.reversed ? " \u25b4" : " \u25be") : ""));
    button.type = "button";
    button.addEventListener("click", () => {
      state.reversed = isOrder && !state.reversed;
      state.order = column.id;
      showHeading();
      showTable();
      row.cells[columns.indexOf(column)].firstChild.focus();
    });
    cell.setAttribute("aria-sort", isOrder ? (state.reversed ? "descending" : "ascending") : "none");
    cell.append(button);
    return cell;
  }));
}

// What stands above the table.

function number(title, text, note, used) {
  const box = element("div");
  const value = element("dd", text);
  if (note) value.append(element("small", note));
  if (used !== undefined && used !== null) {
    const meter = element("meter");
    Object.assign(meter, { min: 0, max: 1, low: 0.8, high: 0.95, optimum: 0, value: Math.min(used, 1) });
    value.append(meter);
  }
  box.append(element("dt", title), value);
  return box;
}

function limited(title, used, limit, text) {
  if (limit === null) return number(title, text(used));
  const part = limit > 0 ? used / limit : 1;
  return number(title, text(used), "of " + text(limit) + " (" + percent(part) + ")", part);
}

function numbers(c) {
  const over = ["success", "partial", "failed"].reduce((sum, name) => sum + (c.counts[name] || 0), 0);
  const boxes = [
    number("runs over", over + " of " + c.runs.length),
    limited("time", c.spent.seconds, c.limits.seconds, duration),
    limited("requests", c.spent.requests, c.limits.requests, count),
    number("requests a minute", c.requests_per_minute.toFixed(1),
           c.unanswered > 0 ? c.unanswered + " unanswered, perhaps paid for" : ""),
    limited("tokens", c.spent.tokens, c.limits.tokens, count),
    number("evaluations", count(c.spent.evaluations)),
  ];
  if (c.limits.cost !== null || c.spent.cost > 0)
    boxes.push(limited("cost", c.spent.cost, c.limits.cost, (n) => n.toFixed(2)));
  if (c.mean_score !== null)
    boxes.push(number("geometric mean", score(c.mean_score), "of " + c.scored_runs + " runs with a score"));
  if (Object.keys(c.phases).length > 0) boxes.push(number("now", phases(c.phases)));
  if (c.remaining !== null)
    boxes.push(number("left", duration(c.remaining.expected_seconds), duration(c.remaining.low_seconds) + " to " +
      duration(c.remaining.high_seconds) + ", from " + c.remaining.known_runs + " runs"));
  if (c.unread_bytes > 0) boxes.push(number("still to read", (c.unread_bytes / 1e6).toFixed(0) + " MB of journals"));
  return boxes;
}

function listItem(lead, text) {
  const item = element("li");
  if (lead) item.append(element("span", lead));
  item.append(text);
  return item;
}

function devices(c) {
  const items = c.devices.map((d) => listItem(percent(d.recent_use) + " in use", d.name + ": " + d.evaluations +
    " evaluations, " + duration(d.busy_seconds) + " together"));
  if (c.spool_problem) items.push(listItem("spool", c.spool_problem));
  if (c.spool) {
    const s = c.spool;
    items.push(listItem("spool", s.workers.length + " workers, " + s.dead_workers + " dead; " + s.waiting +
      " requests wait, " + s.judged + " are judged, " + s.abandoned + " abandoned, " + s.answered + " answered"));
    for (const w of s.workers)
      items.push(listItem("worker", w.pid + " on " + w.host + ": " + w.jobs + " at a time, last sign " +
        shortDuration(w.silent_seconds) + " ago"));
  }
  return items;
}

const orNone = (items) => (items.length > 0 ? items : [listItem("", "none")]);

function showCampaign() {
  const c = state.campaign;
  byId("directory").textContent = c.directory;
  byId("problem").hidden = c.problem === "";
  byId("problem").textContent = "waiting: " + c.problem;
  const counts = k_ranks.filter((name) => c.counts[name]).map((name) => [name, c.counts[name]]);
  byId("states").replaceChildren(...counts.map(([name, n]) => {
    const part = element("div", "", "part " + stateClass(name));
    part.style.flexGrow = n;
    return part;
  }));
  byId("counts").replaceChildren(...counts.map(([name, n]) => {
    const item = element("li");
    item.append(element("span", "", "mark " + stateClass(name)), n + " " + name);
    return item;
  }));
  byId("numbers").replaceChildren(...numbers(c));
  byId("devices").replaceChildren(...orNone(devices(c)));
  byId("errors").replaceChildren(...orNone(c.errors.map((e) =>
    listItem(shortDuration(e.age_seconds) + " ago", e.run + (e.action ? " " + e.action : "") + ": " + e.message))));
  byId("failures").replaceChildren(...orNone(Object.entries(c.failures).sort((a, b) => b[1] - a[1])
    .map(([name, n]) => listItem(String(n), name))));
  showTable();
}

// One run.

function attemptRow(attempt, best) {
  const row = element("tr", null, attempt.id === best ? "best" : attempt.failed ? "bad" : "");
  row.append(element("td", attempt.number), element("td", attempt.id), element("td", attempt.phase ?? attempt.class),
             element("td", score(attempt.score), "number"),
             element("td", attempt.phase ? "for " + duration(attempt.age_seconds) : attempt.message, "long"));
  return row;
}

function showRun(run) {
  byId("run-name").textContent = run.name;
  byId("run-facts").textContent = [
    statusOf(run), phases(run.phases),
    run.silent_seconds === null ? "" : "last event " + duration(run.silent_seconds) + " ago",
    run.target, run.policy, run.model, run.best ? "best " + run.best + " " + score(run.score) : "no correct kernel yet",
    run.finished_attempts + " attempts, " + run.failed_attempts + " failed", count(run.spent.requests) + " requests",
    count(run.spent.tokens) + " tokens", run.spent.cost > 0 ? "cost " + run.spent.cost.toFixed(2) : "",
    duration(run.spent.seconds),
  ].filter((text) => text !== "").join(" \u00b7 ");
  byId("run-reason").textContent = run.reason;
  byId("attempts").replaceChildren(...run.attempts.slice().reverse().map((one) => attemptRow(one, run.best)));
  byId("omitted").hidden = run.omitted_attempts === 0;
  byId("omitted").textContent = "and " + run.omitted_attempts + " older ones";
}

function showPage() {
  for (const id of ["campaign", "sides", "runs"]) byId(id).hidden = state.open !== null;
  byId("run").hidden = state.open === null;
}

function openRun(name) {
  location.hash = "run=" + encodeURIComponent(name);
}

function closeRun() {
  const name = state.open;
  location.hash = "";
  const row = [...byId("rows").rows].find((one) => one.dataset.name === name);
  if (row) requestAnimationFrame(() => row.focus());
}

function followHash() {
  const found = /^#run=(.*)$/.exec(location.hash);
  let name = null;
  try {
    name = found ? decodeURIComponent(found[1]) : null;
  } catch {
    // The address was typed, and names no run.
  }
  state.open = name;
  showPage();
  if (name !== null) {
    byId("run-name").textContent = name;
    byId("attempts").replaceChildren();
    byId("run-name").focus();
    refresh();
  }
}

// Asking.

async function fetchJson(path) {
  const response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(10000) });
  if (!response.ok) throw new Error(String(response.status));
  return response.json();
}

async function refresh() {
  try {
    state.campaign = await fetchJson("campaign.json");
    showCampaign();
    if (state.open !== null && state.campaign.runs.some((run) => run.name === state.open))
      showRun(await fetchJson("run.json?name=" + encodeURIComponent(state.open)));
    state.failures = 0;
    byId("connection").textContent = "live";
    byId("connection").className = "";
  } catch {
    state.failures += 1;
    byId("connection").textContent = "no answer: kgen monitor has ended, or is out of reach; what is shown is old";
    byId("connection").className = "lost";
  }
}

async function keepFresh() {
  if (!document.hidden) await refresh();
  setTimeout(keepFresh, k_period_ms * Math.min(1 + state.failures, 5));
}

// Keys.

function moveFocus(lines) {
  const rows = [...byId("rows").rows];
  const now = rows.indexOf(document.activeElement);
  const next = rows[now < 0 ? 0 : Math.min(Math.max(now + lines, 0), rows.length - 1)];
  if (next) next.focus();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (state.open !== null) return closeRun();
    if (document.activeElement === byId("filter")) byId("filter").blur();
    byId("filter").value = state.filter = "";
    return showTable();
  }
  if (event.target === byId("filter")) {
    if (event.key === "Enter" || event.key === "ArrowDown") moveFocus(0);
    return;
  }
  if (state.open !== null) return;
  const row = event.target.closest("tbody tr.link");
  if (event.key === "/") {
    event.preventDefault();
    byId("filter").focus();
  } else if (event.key === "j" || (event.key === "ArrowDown" && row)) {
    event.preventDefault();
    moveFocus(1);
  } else if (event.key === "k" || (event.key === "ArrowUp" && row)) {
    event.preventDefault();
    moveFocus(-1);
  } else if (event.key === "Enter" && row) {
    openRun(row.dataset.name);
  }
}

byId("rows").addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row && String(getSelection()) === "") openRun(row.dataset.name);
});
byId("filter").addEventListener("input", (event) => {
  state.filter = event.target.value;
  if (state.campaign) showTable();
});
byId("back").addEventListener("click", closeRun);
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", followHash);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
showHeading();
followHash();
keepFresh();
