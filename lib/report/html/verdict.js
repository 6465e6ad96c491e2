// What the judge, the compiler and the profiler said of one attempt.

function diagnosticTable(diagnostics) {
  return makeTable(
      [
        {
          label: "Line",
          number: true,
          value: (row) => row.line,
          show: (row) => row.line ? `${row.line}${row.column ? ":" + row.column : ""}` : "-"
        },
        {
          label: "Kind",
          value: (row) => row.severity,
          show: (row) => element("span", {class: row.severity === "error" ? "bad" : "quiet"}, row.severity || "-")
        },
        {
          label: "Message",
          value: (row) => row.message,
          show: (row) => element("span", {class: "message"}, row.message || "")
        },
        {label: "File", wide: true, value: (row) => row.file},
      ],
      diagnostics);
}

function compilerSection(compile) {
  if (!compile || (!compile.diagnostics && !compile.log)) return null;
  return element(
      "section", null, element("h3", null, "Compiler"),
      compile.diagnostics ? diagnosticTable(compile.diagnostics) : null,
      compile.more ? element("p", {class: "quiet"}, `${compile.more} more messages in the record.`) : null,
      compile.log ? folded("All that the compiler said", () => element("pre", {class: "message"}, compile.log)) : null,
      element("p", {class: "quiet"}, `${numberText(compile.ms)} ms; cache: ${compile.cache || "unknown"}`));
}

function casesSection(record) {
  if (!record.cases) return null;
  const failed = record.cases.filter((entry) => entry[3] !== "correct").length;
  const [rtol, atol, standard] = record.tolerance;
  const title = `${countText(record.cases.length, "checked call")}, ${failed ? failed + " wrong" : "all right"}`;
  return folded(
      title,
      () => element(
          "div", null,
          element(
              "p", {class: "quiet"},
              `Tolerance: ${rtol} of the value and ${atol} of its root mean square${
                  standard ? "" : "; not the standard one"}.`),
          makeTable(
              [
                {label: "Distribution", value: (row) => row[0]},
                {label: "Weights", number: true, value: (row) => row[1]},
                {label: "Call", number: true, value: (row) => row[2]},
                {label: "Result", value: (row) => row[3], show: (row) => badge(row[3])},
                {label: "Error over allowed", number: true, value: (row) => row[4], show: (row) => numberText(row[4])},
                {label: "Message", wide: true, value: (row) => row[5], show: (row) => row[5] || "-"},
              ],
              record.cases)));
}

/** The kernel beside the reference and the baselines, with bars for their times. */
function baselineSection(timing) {
  if (!timing) return null;
  const rows = [
    {name: "kernel", ms: timing.ms, speedup: null},
    {name: "reference (eager)", ms: timing.reference_ms, speedup: timing.speedup_call[0]}, ...(timing.baselines || [])
  ];
  const longest = Math.max(...rows.map((row) => row.ms || 0));
  return element(
      "section", null, element("h3", null, "Baselines"),
      makeTable(
          [
            {
              label: "What",
              value: (row) => row.name,
              show: (row) => row.name.startsWith("compile") ?
                  ("torch.compile" + row.name.replace(/^compile-?(.*)$/, (_, mode) => mode && ` (${mode})`)) :
                  row.name
            },
            {
              label: "Time",
              number: true,
              value: (row) => row.ms,
              show: (row) => row.ms === undefined ? row.reason || "-" : millisecondsText(row.ms)
            },
            {
              label: "Side by side",
              value: (row) => row.ms,
              wide: true,
              show: (row) => row.ms ? bar(row.ms / longest, "10em") : ""
            },
            {
              label: "Speed-up over it",
              number: true,
              value: (row) => row.speedup,
              show: (row) => scoreText(row.speedup)
            },
          ],
          rows));
}

function timingFacts(timing) {
  if (!timing) return [];
  const ratio = (parts) => parts ? `${scoreText(parts[0])} (95 %: ${intervalText(parts[1], parts[2])})` : null;
  return [
    ["Speed-up of a call", ratio(timing.speedup_call)], ["Speed-up on the device", ratio(timing.speedup_device)],
    ["On the device", timing.device_reason], ["Kernel", millisecondsText(timing.ms)],
    ["Reference", millisecondsText(timing.reference_ms)], ["First call", millisecondsText(timing.first_call_ms)],
    ["Timed pairs", `${timing.samples}, ended by ${wordsOf(timing.stop)}`],
    ["Contention", timing.contention === undefined ? null : percentText(timing.contention)]
  ];
}

function workSection(work) {
  if (!work) return null;
  if (work.unavailable) return element("p", {class: "quiet"}, "What does its work is unknown: " + work.unavailable);
  const names = ["own kernels", "libraries", "framework", "copies"];
  const shares = work.shares.map((share, index) => `${names[index]} ${percentText(share)}`).join(", ");
  return element(
      "section", null, element("h3", null, "What does the work"), element("p", null, `${shares} (${work.source})`),
      work.activities ? makeTable(
                            [
                              {label: "Activity", value: (row) => row[0]}, {label: "Origin", value: (row) => row[1]},
                              {label: "us", number: true, value: (row) => row[2], show: (row) => numberText(row[2])}
                            ],
                            work.activities) :
                        null);
}

function profileSection(profile, headroom) {
  if (!profile && !headroom) return null;
  const section =
      element("section", null, element("h3", null, "Profile"), headroom ? element("p", null, headroom) : null);
  if (!profile) return section;
  if (profile.unavailable) append(section, [element("p", {class: "notice"}, profile.unavailable)]);
  if (profile.no_counters) append(section, [element("p", {class: "quiet"}, "No counters: " + profile.no_counters)]);
  append(section, [facts([
           ["Taken by", profile.source], ["Device", profile.device],
           ["Call", profile.call_ms && millisecondsText(profile.call_ms)],
           ["On the device", profile.span_ms && millisecondsText(profile.span_ms)],
           ["Launches", profile.launches && numberText(profile.launches)]
         ])]);
  const metricsOf = (row) => (row.metrics || [])
                                 .map(([name, value, unit]) => `${wordsOf(name)} ${numberText(value)} ${unit}`.trim())
                                 .join("; ");
  if (profile.kernels)
    append(section, [
      makeTable(
          [
            {label: "Kernel", value: (row) => row.name, class: "name"},
            {label: "Origin", wide: true, value: (row) => row.origin},
            {label: "Launches", number: true, value: (row) => row.launches},
            {label: "Share", number: true, value: (row) => row.share, show: (row) => percentText(row.share)},
            {label: "Time", number: true, value: (row) => row.ms, show: (row) => millisecondsText(row.ms)},
            {label: "Counters", wide: true, value: (row) => metricsOf(row).length, show: (row) => metricsOf(row) || "-"}
          ],
          profile.kernels)
    ]);
  return section;
}

function analysisSection(attempt) {
  const {analysis, critique} = attempt;
  if (!analysis && !critique) return null;
  return element(
      "section", null, element("h3", null, analysis ? "Analysis" : "Critique"),
      critique ? element("p", {class: "message"}, critique) : null,
      analysis ? facts([
        ["Worth optimizing", analysis.worth ? "yes" : "no"], ["Reason", analysis.reason],
        ["Bottleneck", analysis.bottleneck], ["Method", analysis.method], ["Plan", analysis.plan],
        ["Expected speed-up", analysis.expected], ["Output", analysis.output && wordsOf(analysis.output)],
        ["But", analysis.correction]
      ]) :
                 null);
}

function sanitizerSection(reports) {
  if (!reports) return null;
  return element(
      "section", null, element("h3", null, "Sanitizers"),
      reports.map(
          (report) => element(
              "div", null,
              element("p", null, report.tool, " ", badge(report.status), report.reason ? " " + report.reason : ""),
              report.findings ? diagnosticTable(report.findings) : null)));
}

/** All that is known of an attempt but its code. */
function verdictView(attempt) {
  const record = attempt.record || {}, timing = record.timing, request = attempt.request || {};
  const error = attempt.error_class && attempt.error_class !== record.class ? attempt.error_class : null;
  const message = attempt.message || record.message;
  return element(
      "div", null, message ? element("p", {class: "message"}, message) : null, facts([
        ["Error", error], ["Labels", (record.labels || []).join("; ")],
        [
          "Expected against achieved",
          attempt.expected ?
              `${attempt.expected} expected, ${
                  attempt.achieved ? scoreText(attempt.achieved) + " achieved" : "nothing that counts achieved"}` :
              null
        ],
        ...timingFacts(timing), ["Device", record.device], ["Compiler", record.compiler], ["torch", record.torch],
        ["Isolation", record.isolation], ["Precision", record.precision],
        ["Time loop", attempt.recurrence && wordsOf(attempt.recurrence)],
        [
          "Compiled for",
          (record.compiled_for || [])
              .map((report) => report.architecture + (report.failure ? ": " + report.failure : ""))
              .join("; ")
        ],
        [
          "Request",
          request.time &&
              `${numberText(request.input_tokens)} tokens in, ${numberText(request.output_tokens)} out, ${
                  numberText(request.seconds)} s, cost ${numberText(request.cost)}`
        ]
      ]),
      compilerSection(record.compile), record.tolerance ? casesSection(record) : null, baselineSection(timing),
      analysisSection(attempt), profileSection(attempt.profile, attempt.headroom), workSection(record.work),
      sanitizerSection(record.sanitizers),
      record.phases ? folded(
                          "Time of the evaluation",
                          () => makeTable(
                              [
                                {label: "Phase", value: (row) => row[0]},
                                {label: "ms", number: true, value: (row) => row[1], show: (row) => numberText(row[1])}
                              ],
                              record.phases)) :
                      null);
}
