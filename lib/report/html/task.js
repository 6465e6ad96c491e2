// The page of one run: its search, its attempts, and one attempt with its code. Made from the run's details when it is
// opened.

/** The details of a run: base64 of compressed JSON, in an element of their own. Nothing where there are none. */
async function loadDetails(index) {
  const holder = document.getElementById("details-" + index);
  if (!holder) return null;
  const bytes = Uint8Array.from(atob(holder.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

/** The class of an attempt's result: that of the record, else its status. */
const resultOf = (attempt) =>
    attempt.record?.class && attempt.status !== "not_judged" ? attempt.record.class : attempt.status;
const isFailure = (attempt) => toneOf(resultOf(attempt)) === "bad";
const attemptLink = (index, attempt, ...content) => element("a", {href: `#/run/${index}/${attempt.number}`}, content);

function scorePlot(attempts) {
  const scored = attempts.filter((attempt) => attempt.score);
  const failed = attempts.filter(isFailure);
  const unscored = attempts.filter((attempt) => resultOf(attempt) === "correct" && !attempt.score);
  let best = 0;
  const path = scored.map((attempt) => ({x: attempt.number, y: best = Math.max(best, attempt.score[0])}));
  if (path.length) path.push({x: attempts[attempts.length - 1].number, y: best});
  const says =
      `Score by attempt: ${scored.length} with a score, best ${scoreText(best || null)}, ${failed.length} failed`;
  return element(
      "section", null, element("h2", null, "Score over attempts"), makePlot(says, (colours) => {
        const set = (label, colour, data, more) =>
            ({label, data, borderColor: colours[colour], backgroundColor: colours[colour], ...more});
        return {
          type: "scatter",
          data: {
            datasets: [
              set("score with 95 % interval", "accent", scored.map((attempt) => ({
                                                                     x: attempt.number,
                                                                     y: attempt.score[0],
                                                                     low: attempt.score[1],
                                                                     high: attempt.score[2],
                                                                     attempt
                                                                   })),
                  {pointRadius: 3}),
              set("best so far", "good", path,
                  {showLine: true, stepped: true, pointRadius: 0, borderWidth: 1.5, pointStyle: "line"}),
              set("failed", "bad", failed.map((attempt) => ({x: attempt.number, y: 0, attempt})),
                  {pointStyle: "crossRot", pointRadius: 6, borderWidth: 2}),
              set("correct, no time", "quiet", unscored.map((attempt) => ({x: attempt.number, y: 0, attempt})),
                  {pointStyle: "rectRot", pointRadius: 5}),
            ].filter((data) => data.data.length)
          },
          options: {plugins: {tooltip: {callbacks: {label: pointText}}}},
          scales: {
            x: {
              type: "linear",
              text: "attempt",
              min: 0,
              max: attempts.length ? attempts[attempts.length - 1].number + 1 : 1,
              ticks: {precision: 0}
            },
            y: {beginAtZero: true, text: "score", suggestedMax: 1.04 * Math.max(1.06, ...scored.map((attempt) => attempt.score[2]))}
          },
        };
      }), element("p", {class: "quiet"}, says + "."));
}

function pointText(point) {
  const attempt = point.raw.attempt;
  if (!attempt) return `best so far ${scoreText(point.raw.y)}`;
  const interval = attempt.score ? `, ${intervalText(attempt.score[1], attempt.score[2])}` : "";
  return visible(`#${attempt.number} ${attempt.id}: ${attempt.score ? scoreText(attempt.score[0]) : resultOf(attempt)}${
      interval}`);
}

function timePlot(attempts) {
  const timed = attempts.filter((attempt) => attempt.record?.timing);
  if (timed.length === 0) return null;
  const says = `Milliseconds of a call by attempt, fastest kernel ${
      millisecondsText(Math.min(...timed.map((attempt) => attempt.record.timing.ms)))}`;
  return element(
      "section", null, element("h2", null, "Milliseconds per attempt"),
      makePlot(says, (colours) => ({
                       type: "bar",
                       data: {
                         labels: timed.map((attempt) => "#" + attempt.number),
                         datasets: [
                           {
                             label: "kernel",
                             data: timed.map((attempt) => attempt.record.timing.ms),
                             backgroundColor: colours.accent,
                             maxBarThickness: 26,
                             pointStyle: "rect"
                           },
                           {
                             label: "reference",
                             data: timed.map((attempt) => attempt.record.timing.reference_ms),
                             type: "line",
                             borderColor: colours.quiet,
                             backgroundColor: colours.quiet,
                             borderDash: [5, 4],
                             borderWidth: 1.5,
                             pointRadius: 2
                           },
                         ]
                       },
                       scales: {x: {grid: {display: false}, text: "attempt"}, y: {beginAtZero: true, text: "ms"}},
                     })),
      element("p", {class: "quiet"}, says + "."));
}

/**
 * The tree of the search: an attempt stands below the one whose code it began with, or whose analysis it follows. One
 * that began with two names the other.
 */
function searchTree(index, attempts, current) {
  const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]));
  const children = new Map();
  const isAncestor = (candidate, attempt) => {
    for (let at = candidate, steps = 0; at && steps < attempts.length;
         at = byId.get(at.base || at.analysis_of), ++steps)
      if (at === attempt) return true;
    return false;
  };
  for (const attempt of attempts) {
    const parent = byId.get(attempt.base) || byId.get(attempt.analysis_of);
    const key = parent && !isAncestor(parent, attempt) ? parent.id : null;
    if (!children.has(key)) children.set(key, []);
    children.get(key).push(attempt);
  }
  // Below its parent, an attempt needs only the last part of its name.
  const nameBelow = (key, id) => key !== null && id.startsWith(key + "/") ? id.slice(key.length + 1) : id;
  const list = (key, attributes) => element("ul", attributes, (children.get(key) || []).map((attempt) => {
    const link = attemptLink(
        index, attempt, element("span", null, "#" + attempt.number),
        element("bdi", null, nameBelow(key, attempt.id)),
        attempt.score ? element("span", {class: "good"}, scoreText(attempt.score[0])) :
                        element("span", {class: toneOf(resultOf(attempt))}, wordsOf(resultOf(attempt))));
    if (attempt === current) link.setAttribute("aria-current", "true");
    const second = byId.get(attempt.second_base);
    const also = second ? element("span", {class: "quiet"}, " and of ", attemptLink(index, second, second.id)) : null;
    return element("li", null, link, also, children.has(attempt.id) ? list(attempt.id) : null);
  }));
  return element("section", null, element("h2", null, "Search tree"), list(null, {class: "tree"}));
}

function attemptTable(index, attempts, current) {
  const request = (attempt) => attempt.request || {};
  const tokens = (attempt) => request(attempt).input_tokens === undefined ?
      null :
      request(attempt).input_tokens + (request(attempt).output_tokens || 0);
  return element(
      "section", null, element("h2", null, "Attempts"),
      makeTable(
          [
            {label: "#", number: true, value: (row) => row.number, show: (row) => attemptLink(index, row, row.number)},
            {
              label: "Action",
              value: (row) => row.id,
              show: (row) => attemptLink(index, row, element("bdi", null, row.id)),
              class: "name"
            },
            {
              label: "Kind",
              class: "short",
              wide: true,
              value: (row) => row.kind,
              show: (row) => wordsOf(row.kind) + (row.variant ? `: ${row.variant}` : "")
            },
            {label: "Result", value: resultOf, show: (row) => badge(resultOf(row))},
            {label: "Score", number: true, value: (row) => row.score?.[0], show: (row) => scoreText(row.score?.[0])},
            {
              label: "95 %",
              class: "short",
              wide: true,
              value: (row) => row.score?.[1],
              show: (row) => row.score ? intervalText(row.score[1], row.score[2]) : "-"
            },
            {
              label: "Kernel",
              number: true,
              value: (row) => row.record?.timing?.ms,
              show: (row) => millisecondsText(row.record?.timing?.ms)
            },
            {label: "Tokens", number: true, wide: true, value: tokens, show: (row) => numberText(tokens(row))},
            {
              label: "Reply after",
              number: true,
              wider: true,
              value: (row) => request(row).seconds,
              show: (row) => request(row).seconds === undefined ? "-" : numberText(request(row).seconds) + " s"
            },
            {
              label: "Cost",
              number: true,
              wider: true,
              value: (row) => request(row).cost,
              show: (row) => numberText(request(row).cost)
            },
          ],
          attempts, {currentRow: current}));
}

/** What analyses expected, and what the attempts that followed them achieved. */
function expectationTable(index, attempts) {
  const followers = attempts.filter(
      (attempt) => attempt.analysis_of && attempts.some((other) => other.id === attempt.analysis_of && other.analysis));
  if (followers.length === 0) return null;
  const analysisOf = (attempt) => attempts.find((other) => other.id === attempt.analysis_of);
  return element(
      "section", null, element("h2", null, "Analyses: expected and achieved"),
      makeTable(
          [
            {
              label: "Analysis",
              value: (row) => analysisOf(row).number,
              show: (row) => attemptLink(index, analysisOf(row), "#" + analysisOf(row).number)
            },
            {label: "Bottleneck", wide: true, value: (row) => analysisOf(row).analysis.bottleneck},
            {label: "Method", value: (row) => analysisOf(row).analysis.method},
            {
              label: "Followed by",
              value: (row) => row.number,
              show: (row) => attemptLink(index, row, `#${row.number} ${row.id}`)
            },
            {label: "Expected", value: (row) => row.expected},
            {
              label: "Achieved",
              number: true,
              value: (row) => row.achieved,
              show: (row) => row.achieved ? scoreText(row.achieved) : wordsOf(resultOf(row))
            },
          ],
          followers));
}

/** The code of an attempt, or its difference to that of another one. */
function codeSection(attempt, attempts, language) {
  if (!attempt.code) return null;
  const others = attempts.filter((other) => other.code && other !== attempt);
  const view = element("div");
  const show = () => {
    const other = others.find((candidate) => String(candidate.number) === select.value);
    view.replaceChildren(other ? diffView(other.code, attempt.code) : codeView(attempt.code, language));
  };
  const select = element(
      "select", {id: "compare-with", onchange: show}, element("option", {value: ""}, "nothing"),
      others.map(
          (other) => element(
              "option", {value: other.number},
              `#${other.number} ${other.id}: ${other.score ? scoreText(other.score[0]) : wordsOf(resultOf(other))}${
                  other.id === attempt.base || other.id === attempt.second_base ? " (began with it)" : ""}`)));
  show();
  return element(
      "section", null, element("h3", null, `Code: ${attempt.code_file}`),
      others.length ? element("div", {class: "filters"}, element("label", null, "Difference to", select)) : null, view);
}

function attemptPanel(attempt, attempts) {
  return element(
      "section", {class: "panel", id: "attempt", tabindex: "-1", "aria-label": visible(`Attempt ${attempt.number}`)},
      element(
          "h2", null, `#${attempt.number} `, element("bdi", null, attempt.id), " ", badge(resultOf(attempt)),
          attempt.score ? ` ${scoreText(attempt.score[0])}` : ""),
      verdictView(attempt), codeSection(attempt, attempts, attempt.language));
}

function runFacts(run, details) {
  const described = details?.description || {};
  return facts([
    [
      "Result",
      run.score === null ? (run.best ? "correct, without a time that counts" : "no kernel is correct") :
                           `${scoreText(run.score)} (95 %: ${intervalText(run.score_low, run.score_high)}); a call takes ${
                               millisecondsText(run.kernel_ms)}, one of the reference ${
                               millisecondsText(run.reference_ms)}`
    ],
    ["Ended", run.reason || (run.status === "unfinished" ? "not yet" : null)], ["Target", run.target],
    ["Policy", run.policy], ["Model", run.model], ["Device", run.device], ["Level", wordsOf(run.level)],
    ["Families", familiesOf(run).map(wordsOf).join(", ")],
    ["Labels", [...(run.labels || []), ...(described.labels || [])].join("; ")],
    ["Distance from the floor", run.headroom],
    [
      "Spent",
      [
        countText(run.requests, "request"), run.tokens === null ? null : `${numberText(run.tokens)} tokens`,
        run.cost === null ? null : `cost ${numberText(run.cost)}`, `${numberText(run.minutes)} minutes`
      ].filter((part) => part).join(", ")
    ],
    ["Inputs", (described.inputs || []).join("; ")], ["Outputs", (described.outputs || []).join("; ")],
    [
      "Operations",
      (described.operations || []).map(([name, count]) => count > 1 ? `${name} x ${count}` : name).join(", ")
    ],
    ["Begun", details?.started]
  ]);
}

function runHeading(data, index) {
  const run = data.runs[index];
  const step = (to, text, key) =>
      to < 0 || to >= data.runs.length ? null : element("a", {href: `#/run/${to}`, rel: key}, text);
  return element(
      "div", null,
      element(
          "nav", {class: "filters", "aria-label": "Runs"}, element("a", {href: "#/"}, "All runs"),
          step(index - 1, "Previous run", "prev"), step(index + 1, "Next run", "next")),
      element("h1", null, element("bdi", null, runTitle(run)), " ", badge(run.status)));
}

/** The page of a run, with the attempt of that number, else the best one. */
async function showRun(data, index, number) {
  const run = data.runs[index];
  const page = element("div", null, runHeading(data, index));
  let details;
  try {
    details = await loadDetails(index);
  } catch (error) {
    append(page, [element("p", {class: "notice"}, `The details of this run cannot be read: ${error.message}`)]);
  }
  append(page, [runFacts(run, details)]);
  if (!details) {
    append(
        page,
        [element("p", {class: "notice"}, run.status === "damaged" ? run.reason : "There are no details of this run.")]);
    return page;
  }
  const {attempts} = details;
  const current = attempts.find((attempt) => attempt.number === number) ||
      attempts.find((attempt) => attempt.id === run.best) || attempts[attempts.length - 1];
  append(page, [
    element("div", {class: "columns"}, scorePlot(attempts), timePlot(attempts)),
    element("div", {class: "split"}, searchTree(index, attempts, current), attemptTable(index, attempts, current)),
    expectationTable(index, attempts),
    current ? attemptPanel(current, attempts) : element("p", null, "Nothing was asked yet."),
    details.text ?
        folded(`The task${details.path ? ": " + details.path : ""}`, () => codeView(details.text, "python")) :
        null,
    details.options?.length ? folded("Options of the run", () => facts(details.options)) : null,
    details.description?.device ?
        folded("The device, as prompts describe it", () => facts(details.description.device)) :
        null
  ]);
  return page;
}
