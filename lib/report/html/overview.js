// The first view of a report: figures over all runs, and the table of runs.

function headlines(data) {
  const {totals, figures, usage} = data;
  const pass = data.pass_at_k.find((entry) => entry.k === 1);
  const low = figures.score.low;
  return element(
      "div", {class: "tiles"},
      tile("Correct", `${figures.correct} of ${totals.runs}`, `${totals.correct_percent.toFixed(1)} % of all runs`),
      tile("Goal reached", String(totals.success), `${totals.success_percent.toFixed(1)} % of all runs`),
      tile("Faster than the reference", percentText(figures.fast_1), "fast_1, over all runs"),
      tile(
          "Geometric mean of scores", scoreText(figures.score.value),
          `${low === null ? "no interval" : "95 %: " + intervalText(low, figures.score.high)}, ${
              countText(figures.score.tasks, "run")}`),
      tile("pass@1", percentText(pass.value), `${countText(pass.tasks, "task")}`),
      tile(
          "Cost per correct kernel", numberText(figures.cost_per_correct),
          usage.cost === null ? "no prices are known" : `${numberText(usage.cost)} in all`),
      tile(
          "Tokens per correct kernel", numberText(figures.tokens_per_correct && Math.round(figures.tokens_per_correct)),
          usage.total_tokens === null ? "the model did not report them" :
                                        `${numberText(usage.total_tokens)} in all` + cachedText(usage)),
      tile(
          "Not over", String(totals.unfinished),
          totals.damaged ? `${countText(totals.damaged, "journal")} damaged` : "unfinished runs"));
}

/** The share of the input that came from the providers' caches, where they tell. */
function cachedText(usage) {
  return usage.cached_tokens && usage.input_tokens ?
      `, ${percentText(usage.cached_tokens / usage.input_tokens)} of the input from a cache` :
      "";
}

function curves(data) {
  const at = (p) => percentText(data.fast_p.find((point) => Math.abs(point[0] - p) < 1e-9)?.[1]);
  const says = `Fraction of runs with a score above p: ${at(1)} for 1, ${at(2)} for 2, ${at(4)} for 4`;
  const passes = data.pass_at_k.filter((entry) => entry.value !== null);
  return element(
      "div", {class: "columns"},
      element(
          "section", null, element("h2", null, "fast_p"),
          linePlot(
              says, data.fast_p, "fast_p", {min: 0.5, max: 4, text: "p: score above which a run counts"},
              {min: 0, max: 1, text: "fraction of all runs"}),
          element("p", {class: "quiet"}, says + ".")),
      element(
          "section", null, element("h2", null, "pass@k"),
          passes.length ? barPlot(
                              "pass@k: " + passes.map((entry) => `${entry.k}: ${percentText(entry.value)}`).join(", "),
                              passes.map((entry) => `k = ${entry.k}`), passes.map((entry) => entry.value), "pass@k",
                              {max: 1, text: "probability"}) :
                          element("p", null, "No attempt was judged."),
          element(
              "p", {class: "quiet"},
              "Unbiased estimate 1 - C(n-c, k) / C(n, k), mean over the tasks with at least k judged attempts: " +
                  data.pass_at_k.map((entry) => `k = ${entry.k}: ${countText(entry.tasks, "task")}`).join("; ") +
                  ". Attempts of a search build on one another; the estimate takes them as equal draws.")));
}

function failureSection(failures) {
  if (failures.length === 0)
    return element("section", null, element("h2", null, "Failures"), element("p", null, "No attempt failed."));
  const most = Math.max(...failures.map((failure) => failure.attempts));
  const errorsOf = (failure) => Object.entries(failure.errors).sort((a, b) => b[1] - a[1]);
  return element(
      "section", null, element("h2", null, "Failures by class"),
      makeTable(
          [
            {label: "Class", value: (row) => row.class, class: "name"},
            {label: "Attempts", number: true, value: (row) => row.attempts},
            {label: "Share", value: (row) => row.attempts, wide: true, show: (row) => bar(row.attempts / most, "7em")},
            {label: "Runs", number: true, value: (row) => row.runs},
            {
              label: "Errors",
              value: (row) => errorsOf(row).length,
              wide: true,
              show: (row) => errorsOf(row).slice(0, 6).map(([name, count]) => `${name} ${count}`).join(", ") || "-"
            },
          ],
          failures, {sorted: {column: 1, descending: true}}));
}

/** What the time of requests and evaluations was spent on. */
function timeSection(time) {
  const parts = [
    ["models", time.model_s],
    ["compilers", time.compiling_s],
    ["starting judges and admitting tasks", time.starting_s],
    ["waiting for a judge or device", time.waiting_s],
    ["judging", time.judging_s],
  ].map(([name, seconds]) => ({name, seconds}));
  const whole = parts.reduce((sum, part) => sum + part.seconds, 0);
  if (time.evaluation_median_s === null || whole === 0) return element("div");
  return element(
      "section", null, element("h2", null, "Time"),
      makeTable(
          [
            {label: "Spent on", value: (row) => row.name, class: "name"},
            {label: "Seconds", number: true, value: (row) => row.seconds, show: (row) => numberText(row.seconds)},
            {
              label: "Share",
              value: (row) => row.seconds,
              wide: true,
              show: (row) => element("span", null, bar(row.seconds / whole, "7em"), " " + percentText(row.seconds / whole))
            },
          ],
          parts),
      element(
          "p", {class: "quiet"},
          `An evaluation without waiting: median ${numberText(time.evaluation_median_s)} s, a tenth above ${
              numberText(time.evaluation_upper_decile_s)} s.`));
}

/** A bar whose length is a fraction of `whole`. */
function bar(fraction, whole) {
  const made = element("span", {class: "bar", "aria-hidden": "true"});
  made.style.width = `calc(${whole} * ${Math.max(0, Math.min(1, fraction))})`;
  return made;
}

function groupTable(label, groups) {
  return makeTable(
      [
        {label, value: (row) => row.name, show: (row) => wordsOf(row.name), class: "name"},
        {label: "Runs", number: true, value: (row) => row.runs},
        {
          label: "Correct",
          number: true,
          value: (row) => row.correct / row.runs,
          show: (row) => `${row.correct} (${percentText(row.correct / row.runs)})`
        },
        {label: "fast_1", number: true, value: (row) => row.fast_1, show: (row) => percentText(row.fast_1)},
        {
          label: "Geometric mean",
          number: true,
          value: (row) => row.score.value,
          show: (row) => scoreText(row.score.value)
        },
        {
          label: "95 %",
          class: "short",
          value: (row) => row.score.low,
          wide: true,
          show: (row) => intervalText(row.score.low, row.score.high)
        },
        {
          label: "Tokens per correct",
          number: true,
          wide: true,
          value: (row) => row.tokens_per_correct,
          show: (row) => numberText(row.tokens_per_correct && Math.round(row.tokens_per_correct))
        },
        {
          label: "Cost per correct",
          number: true,
          wide: true,
          value: (row) => row.cost_per_correct,
          show: (row) => numberText(row.cost_per_correct)
        },
      ],
      groups);
}

/** Level and family always; other groups where there are several. */
function groupSections(groups) {
  const titles = {
    level: "By level",
    family: "By family",
    target: "By target",
    model: "By model",
    policy: "By policy",
    device: "By device"
  };
  return element(
      "div", null,
      Object.entries(titles)
          .filter(([name]) => groups[name].length > (name === "level" || name === "family" ? 0 : 1))
          .map(
              ([name, title]) => element(
                  "section", null, element("h2", null, title),
                  groupTable(wordsOf(name).replace(/^./, (c) => c.toUpperCase()), groups[name]))));
}

const runTitle = (run) => run.run ? `${run.task} / ${run.run}` : run.task;
const runLink = (index, text) => element("a", {href: `#/run/${index}`}, element("bdi", null, text));
const familiesOf = (run) => run.families.length ? run.families : [""];

function runTable(runs) {
  const rows = runs.map((run, index) => ({...run, index}));
  const models = new Set(runs.map((run) => run.model)), targets = new Set(runs.map((run) => run.target));
  const columns = [
    {label: "Task", value: runTitle, show: (row) => runLink(row.index, runTitle(row)), class: "name"},
    {label: "Status", value: (row) => row.status, show: (row) => badge(row.status)},
    {label: "Score", number: true, value: (row) => row.score, show: (row) => scoreText(row.score)},
    {
      label: "95 %",
      class: "short",
      value: (row) => row.score_low,
      wide: true,
      show: (row) => row.score === null ? "-" : intervalText(row.score_low, row.score_high)
    },
    {
      label: "Kernel",
      number: true,
      wide: true,
      value: (row) => row.kernel_ms,
      show: (row) => millisecondsText(row.kernel_ms)
    },
    {
      label: "Reference",
      number: true,
      wider: true,
      value: (row) => row.reference_ms,
      show: (row) => millisecondsText(row.reference_ms)
    },
    {
      label: "Correct",
      number: true,
      value: (row) => row.correct_samples,
      show: (row) => `${row.correct_samples} of ${row.samples}`
    },
    {label: "Level", class: "short", wide: true, value: (row) => row.level, show: (row) => wordsOf(row.level)},
    {
      label: "Families",
      wide: true,
      value: (row) => familiesOf(row).join(", "),
      show: (row) => familiesOf(row).map(wordsOf).join(", ")
    },
    targets.size > 1 ? {label: "Target", wide: true, value: (row) => row.target} : null,
    models.size > 1 ? {label: "Model", class: "short", wide: true, value: (row) => row.model} : null,
    {label: "Tokens", number: true, wider: true, value: (row) => row.tokens, show: (row) => numberText(row.tokens)},
    {label: "Cost", number: true, wide: true, value: (row) => row.cost, show: (row) => numberText(row.cost)},
    {label: "Last failure", wide: true, value: (row) => row.failure, show: (row) => row.failure || "-"},
  ].filter(Boolean);
  const controls = (apply) =>
      [makeSearch(
           "Search",
           (row) => [runTitle(row), row.status, row.target, row.model, row.policy, row.failure, row.reason,
                     ...row.families]
                        .join(" "),
           apply),
       makeFilter("Status", rows, (row) => [row.status], apply),
       makeFilter("Level", rows, (row) => [row.level], apply),
       makeFilter("Family", rows, familiesOf, apply),
       makeFilter("Target", rows, (row) => [row.target], apply),
       makeFilter("Model", rows, (row) => [row.model], apply),
  ];
  return element(
      "section", {id: "runs"}, element("h2", null, "Runs"),
      filteredTable(columns, rows, controls, "run", {sorted: {column: 0, descending: false}}));
}

let overview = null;
/** The overview. It is made once, so that it is as it was left when a person comes back to it. */
function showOverview(data) {
  overview ??= element(
      "div", null, headlines(data), curves(data), runTable(data.runs),
      failureSection(data.failures), timeSection(data.time), groupSections(data.groups));
  return overview;
}
