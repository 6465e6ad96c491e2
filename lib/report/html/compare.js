// The page of a comparison: each results directory with the first one.

function setTable(sets) {
  const usage = (set) => set.usage;
  return makeTable(
      [
        {label: "Directory", value: (row) => row.directory, class: "name"},
        {label: "Tasks", number: true, value: (row) => row.tasks},
        {
          label: "Correct",
          number: true,
          value: (row) => row.correct,
          show: (row) => `${row.correct} (${percentText(row.correct / row.tasks)})`
        },
        {label: "Faster", number: true, value: (row) => row.faster},
        {
          label: "Geometric mean",
          number: true,
          value: (row) => row.geometric_mean,
          show: (row) => scoreText(row.geometric_mean)
        },
        {
          label: "Requests",
          number: true,
          wide: true,
          value: (row) => usage(row).requests,
          show: (row) => numberText(usage(row).requests)
        },
        {
          label: "Tokens",
          number: true,
          wide: true,
          value: (row) => usage(row).total_tokens,
          show: (row) => numberText(usage(row).total_tokens)
        },
        {
          label: "Cost",
          number: true,
          wide: true,
          value: (row) => usage(row).cost,
          show: (row) => numberText(usage(row).cost)
        },
      ],
      sets);
}

function comparisonTiles(comparison, isOneOfSeveral) {
  const {ratio, correctness, base_totals: base, other_totals: other} = comparison;
  return element(
      "div", {class: "tiles few"},
      tile(
          "Won, lost, tied", `${comparison.won}, ${comparison.lost}, ${comparison.tied}`,
          `of ${countText(comparison.tasks, "task")}, by the intervals`),
      tile(
          "Ratio of the scores", scoreText(ratio.geometric_mean),
          `95 %: ${intervalText(ratio.low, ratio.high)}, ${countText(ratio.tasks, "task")}`),
      tile(
          "Correct", `${other.correct} against ${base.correct}`,
          `${correctness.only_other} only here, ${correctness.only_base} only there`),
      tile(
          "McNemar's p", numberText(correctness.mcnemar_p),
          isOneOfSeveral ? `of correctness, exact; by Holm's method ${numberText(correctness.mcnemar_p_holm)}` :
                           "of correctness, exact"),
      tile(
          "Cost", `${numberText(other.usage.cost)} against ${numberText(base.usage.cost)}`,
          `tokens ${numberText(other.usage.total_tokens)} against ${numberText(base.usage.total_tokens)}`));
}

function ratioPlot(pairs) {
  const ratios = pairs.filter((pair) => pair.ratio !== null).sort((a, b) => a.ratio - b.ratio);
  if (ratios.length === 0) return null;
  const says = `Ratio of the scores of ${countText(ratios.length, "task")}: from ${numberText(ratios[0].ratio)} to ${
      numberText(ratios[ratios.length - 1].ratio)}`;
  return element(
      "section", null, element("h3", null, "Ratio of the scores by task, in order"),
      makePlot(
          says,
          (colours) => ({
            type: "scatter",
            data: {
              datasets: [["won", "good"], ["lost", "bad"], ["tied", "quiet"]].map(
                  ([outcome, colour]) => ({
                    label: outcome,
                    borderColor: colours[colour],
                    backgroundColor: colours[colour],
                    pointRadius: 4,
                    pointStyle: {won: "triangle", lost: "crossRot", tied: "circle"}[outcome],
                    data: ratios.map((pair, index) => ({x: index + 1, y: pair.ratio, pair}))
                              .filter(({pair}) => pair.outcome === outcome)
                  }))
            },
            options: {
              plugins: {
                tooltip: {callbacks: {label: (point) => visible(`${point.raw.pair.task}: ${scoreText(point.raw.y)}`)}}
              }
            },
            scales: {
              x: {type: "linear", text: "tasks", min: 0, max: ratios.length + 1, ticks: {precision: 0}},
              y: {type: "logarithmic", text: "ratio"}
            },
          })),
      element("p", {class: "quiet"}, says + "."));
}

/** What tells two results directories apart: their names, without what both paths begin with. */
function shortNames(base, other) {
  const [one, two] = [base.split("/"), other.split("/")];
  while (one.length > 1 && two.length > 1 && one[0] === two[0]) [one, two].forEach((parts) => parts.shift());
  return {base: one.join("/"), other: two.join("/")};
}

function pairTable(comparison) {
  const names = shortNames(comparison.base, comparison.other);
  const side = (pair, name) => pair[name].correct ? scoreText(pair[name].score) : pair[name].failure || "-";
  const columns = [
    {label: "Task", value: (row) => row.task, show: (row) => element("bdi", null, row.task), class: "name"},
    {label: "Result", value: (row) => row.outcome, show: (row) => badge(row.outcome)},
    {label: "Ratio", number: true, value: (row) => row.ratio, show: (row) => scoreText(row.ratio)},
    ...["base", "other"].flatMap(
        (name) =>
            [{
              label: visible(names[name]),
              number: true,
              value: (row) => row[name].score,
              show: (row) => side(row, name)
            },
             {
               label: "95 %",
               class: "short",
               wide: true,
               value: (row) => row[name].score_low,
               show: (row) => row[name].score === null ? "-" : intervalText(row[name].score_low, row[name].score_high)
             },
             {
               label: "Cost",
               wide: true,
               number: true,
               value: (row) => row[name].cost,
               show: (row) => numberText(row[name].cost)
             }]),
  ];
  return filteredTable(
      columns, comparison.pairs,
      (apply) =>
          [makeSearch("Search", (row) => [row.task, row.outcome, row.base.failure, row.other.failure].join(" "), apply),
           makeFilter("Result", comparison.pairs, (row) => [row.outcome], apply)],
      "task", {sorted: {column: 2, descending: true}});
}

function comparisonSection(comparison, isOneOfSeveral) {
  const lists = [
    [`Only in ${visible(comparison.base)}`, comparison.only_in_base],
    [`Only in ${visible(comparison.other)}`, comparison.only_in_other],
    ["Not compared", comparison.excluded]
  ];
  return element(
      "section", null,
      element("h2", null, element("bdi", null, comparison.other), " against ", element("bdi", null, comparison.base)),
      comparisonTiles(comparison, isOneOfSeveral), comparison.warnings.map((warning) => element("p", {class: "notice"}, warning)),
      ratioPlot(comparison.pairs), pairTable(comparison),
      lists.filter(([, names]) => names.length)
          .map(
              ([title, names]) => folded(
                  `${title}: ${countText(names.length, "task")}`,
                  () => element("ul", null, names.map((name) => element("li", null, name))))));
}

function showComparison(data) {
  return element(
      "div", null, setTable(data.sets),
      data.comparisons.map((comparison) => comparisonSection(comparison, data.comparisons.length > 1)),
      element(
          "p", {class: "quiet"},
          "The interval of a ratio covers the choice of tasks."));
}
