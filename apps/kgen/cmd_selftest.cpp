#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <ostream>
#include <thread>

#include <fmt/format.h>
#include <boost/json.hpp>

#include <kernelgen/core/version.hpp>

#include "commands.hpp"
#include "corpus.hpp"
#include "evaluation_flags.hpp"
#include "layout.hpp"
#include "local_device.hpp"
#include "render.hpp"
#include "render_devices.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

/// Evaluations at once of cases that need no time.
constexpr std::size_t k_at_once = 2;
/// A case that the machine was too busy for is tried again.
constexpr int k_attempts = 3;
constexpr double k_timeout_seconds = 5;
constexpr std::uint64_t k_memory_limit = 1ULL << 30;
constexpr std::chrono::milliseconds k_measuring{2000};

struct SelftestOptions {
  std::string directory;
  std::string save;
  bool attacks = false;
  bool skip_timed = false;
  bool only_timed = false;
  bool full = false;
  bool json = false;
  std::vector<std::string> only;
  EvaluationFlags evaluation;
};

/// The answer to a case, and the record that it was judged by; none if the evaluation failed.
struct Answer {
  CorpusResult result;
  std::optional<EvaluationRecord> record;
};

/// A case and the answer to it; none yet if another case ended the test.
struct Row {
  CorpusCase which;
  std::optional<Answer> answer;

  /// Requires: it was answered.
  [[nodiscard]] const CorpusResult& result() const { return answer->result; }
};

bool is_wanted(const CorpusCase& which, const SelftestOptions& options) {
  const bool on_gpu = options.evaluation.options.device != "cpu";
  if (which.is_attack && !options.attacks) return false;
  if (on_gpu ? !which.on_gpu : !which.on_cpu) return false;
  // The emulator executes nothing but HIP, and takes minutes for tasks of a GPU's size.
  if (options.evaluation.options.device == "amd:emulated" &&
      (!which.name.ends_with(".hip") || which.name.starts_with("examples/")))
    return false;
  if (which.is_timed ? options.skip_timed : options.only_timed) return false;
  return options.only.empty() || std::any_of(options.only.begin(), options.only.end(), [&](const auto& text) {
           return contains(which.name, text) || contains(which.title, text);
         });
}

/// Evaluates cases; one for each thread that asks.
class Evaluations {
 public:
  Evaluations(const SelftestOptions& options, std::filesystem::path corpus, Benchmarker& benchmarker,
              std::stop_token stop)
      : options_(options), corpus_(std::move(corpus)), benchmarker_(benchmarker), stop_(std::move(stop)) {}

  Result<Answer> answer(const CorpusCase& which) {
    for (int attempt = 1;; ++attempt) {
      KERNELGEN_TRY(auto answer, answer_once(which));
      // What gains over its twin does so again; a disturbed machine does not.
      const auto found = answer.result.answer;
      const bool is_doubtful =
          found == CorpusAnswer::Unmeasured || (found == CorpusAnswer::Wrong && !which.twin.empty() && attempt == 1);
      if (!is_doubtful || attempt == k_attempts) return answer;
      const std::scoped_lock lock(mutex_);
      twins_.clear();
    }
  }

 private:
  Result<Answer> answer_once(const CorpusCase& which) {
    auto record = evaluate(which);
    if (!record) return failed(which, record.error());
    const bool compare = !which.twin.empty() && record->outcome.correct();
    if (!compare) return Answer{judge_corpus_case(which, *record, nullptr), *std::move(record)};
    const auto twin = twin_of(which);
    if (!twin) return failed(which, twin.error());
    return Answer{judge_corpus_case(which, *record, &*twin), *std::move(record)};
  }

  /// A failure of the worker may be the work of the case, or say what the machine lacks; what cannot be used or was
  /// interrupted ends the test.
  Result<Answer> failed(const CorpusCase& which, const Error& error) const {
    if (stop_.stop_requested() || error.code == ErrorCode::Cancelled || error.code == ErrorCode::InvalidArgument ||
        error.code == ErrorCode::NotFound)
      return Result<Answer>(error).context(which.name);
    return Answer{judge_corpus_failure(which, error), std::nullopt};
  }

  Result<EvaluationRecord> twin_of(const CorpusCase& which) {
    const auto key = fmt::format("{} {} {}", which.twin, which.task, which.threads);
    {
      const std::scoped_lock lock(mutex_);
      if (const auto known = twins_.find(key); known != twins_.end()) return known->second;
    }
    KERNELGEN_TRY(auto source, read_code("twin", (corpus_ / "honest" / which.twin).string()));
    auto twin = which;
    twin.name = which.twin;
    twin.source = std::move(source);
    KERNELGEN_TRY(auto record, evaluate(twin));
    const std::scoped_lock lock(mutex_);
    return twins_.insert_or_assign(key, std::move(record)).first->second;
  }

  Result<EvaluationRecord> evaluate(const CorpusCase& which) {
    EvaluationRequest request;
    KERNELGEN_TRY(request.options, evaluation_options(options_.evaluation));
    request.options.precision = which.precision;
    request.options.measure.deadline = k_measuring;
    if (which.threads != 0) request.options.threads = which.threads;
    if (which.timeout_seconds != 0) request.options.call_timeout = to_milliseconds(which.timeout_seconds);
    if (!which.is_timed && !options_.full) request.options.mode = EvaluationMode::CorrectnessOnly;
    request.options.sanitizers.enabled = which.is_sanitized;
    KERNELGEN_TRY(request.task, load_task_source((corpus_ / which.task_folder / (which.task + ".py")).string()));
    KERNELGEN_TRY(const auto target, choose_target(std::nullopt, which.name, which.source));
    request.candidate = make_candidate(target, guess_language(which.name, target), which.source);
    return benchmarker_.evaluate(request, {}, stop_);
  }

  const SelftestOptions& options_;
  std::filesystem::path corpus_;
  Benchmarker& benchmarker_;
  std::stop_token stop_;
  std::mutex mutex_;
  std::map<std::string, EvaluationRecord> twins_;
};

/// Answers the cases in [begin, end), several at once, and says on `say` how far it is.
Result<void> answer_all(std::vector<Row>& rows, Evaluations& evaluations, bool timed, bool full,
                        const std::function<void(const Row&)>& say) {
  std::vector<Row*> mine;
  for (auto& row : rows)
    if ((row.which.is_timed || full) == timed) mine.push_back(&row);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < mine.size(); i = next++) {
      auto answer = evaluations.answer(mine[i]->which);
      const std::scoped_lock lock(mutex);
      if (answer) {
        mine[i]->answer = *std::move(answer);
        say(*mine[i]);
      } else {
        failure = answer.error();
      }
      if (failure) return;
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < (timed ? 1 : k_at_once); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return failure ? Result<void>(*failure) : Result<void>();
}

std::string expected_of(const CorpusCase& which) {
  if (!which.is_attack) return which.expected.empty() ? "correct" : "correct, " + join(which.expected, ", ");
  const auto refusals = which.expected.empty() ? std::string("refused") : join(which.expected, ", ");
  return which.twin.empty() ? refusals : refusals + ", or as its twin";
}

std::size_t count(const std::vector<Row>& rows, bool attacks, CorpusAnswer answer) {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const auto& row) {
    return row.which.is_attack == attacks && row.result().answer == answer;
  }));
}

std::string summary_of(const std::vector<Row>& rows) {
  std::string text;
  for (const bool attacks : {true, false}) {
    const auto total =
        std::count_if(rows.begin(), rows.end(), [&](auto& row) { return row.which.is_attack == attacks; });
    if (total == 0) continue;
    text += fmt::format("{} {}: {} answered rightly", total, attacks ? "attacks" : "honest kernels",
                        count(rows, attacks, CorpusAnswer::Right));
    for (const auto& [answer, name] :
         {std::pair{CorpusAnswer::Wrong, "answered wrongly"}, std::pair{CorpusAnswer::Open, "known to be open"},
          std::pair{CorpusAnswer::Closed, "no longer open: remove the line open: of each"},
          std::pair{CorpusAnswer::Unmeasured, "not measured, the machine was busy"},
          std::pair{CorpusAnswer::Missing, "missing what they need here"}})
      if (const auto number = count(rows, attacks, answer); number != 0) text += fmt::format(", {} {}", number, name);
    text += '\n';
  }
  return text;
}

/// What the machine lacks, each reason once with the number of kernels that miss it.
std::string lacks_of(const std::vector<Row>& rows) {
  std::map<std::string, int> numbers;
  for (const auto& row : rows)
    if (row.result().answer == CorpusAnswer::Missing) ++numbers[row.result().message];
  std::string text;
  for (const auto& [reason, number] : numbers)
    text +=
        fmt::format("missing for {} {}: {}\n", number, number == 1 ? "kernel" : "kernels", sanitize_line(reason, 500));
  return text;
}

bool is_bad(CorpusAnswer answer) { return answer == CorpusAnswer::Wrong || answer == CorpusAnswer::Closed; }

std::string render(const std::vector<Row>& rows, const Terminal& terminal) {
  std::size_t name = 0, expected = 0, found = 0;
  for (const auto& row : rows) {
    name = std::max(name, row.which.name.size());
    expected = std::max(expected, expected_of(row.which).size());
    found = std::max(found, row.result().found.size());
  }
  constexpr std::size_t k_widest = 44;
  expected = std::min(expected, k_widest);
  std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  ok\n", "kernel", name, "expected", expected, "found", found);
  for (const auto& row : rows) {
    const auto answer = row.result().answer;
    const bool is_fine = answer == CorpusAnswer::Right;
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", row.which.name, name,
                        cut_to_width(expected_of(row.which), expected), expected,
                        sanitize_line(row.result().found, 200), found,
                        colored(to_string(answer),
                                is_fine          ? k_green
                                : is_bad(answer) ? k_red
                                                 : k_yellow,
                                terminal.color));
    if (is_bad(answer) || answer == CorpusAnswer::Unmeasured)
      text += fmt::format("    {}\n    {}\n", row.which.title, sanitize_line(row.result().message, 500));
    if (answer == CorpusAnswer::Open) text += fmt::format("    open: {}\n", row.which.open);
  }
  return text + lacks_of(rows) + summary_of(rows);
}

boost::json::object row_to_json(const Row& row) {
  return {{"name", row.which.name},
          {"attack", row.which.is_attack},
          {"title", row.which.title},
          {"expected", expected_of(row.which)},
          {"found", row.result().found},
          {"message", row.result().message},
          {"answer", to_string(row.result().answer)},
          {"open", row.which.open}};
}

std::string rows_to_json(const std::vector<Row>& rows) {
  boost::json::array list;
  for (const auto& row : rows) list.push_back(row_to_json(row));
  return to_pretty_json(boost::json::object{{"cases", std::move(list)}});
}

/// How judge and runners share memory of each GPU, by UUID, or why they cannot.
boost::json::object describe_sharing(const Devices& devices, Context& context) {
  boost::json::object ways;
  for (const auto& gpu : devices.gpus.gpus) {
    const auto way = find_memory_sharing(gpu, devices.probe, context.processes, context.stop);
    boost::json::object found{{"way", way ? boost::json::value(*way) : boost::json::value()}};
    found["error"] = way ? boost::json::value() : boost::json::value(way.error().to_line());
    ways[gpu.uuid] = std::move(found);
  }
  return ways;
}

/// What this machine is and has, for the saved file. What cannot be found out is in it as an error.
boost::json::object describe_machine(const SelftestOptions& options, Context& context) {
  boost::json::object file{{"schema", 1},
                           {"kernelgen", version()},
                           {"device", options.evaluation.options.device},
                           {"attacks", options.attacks}};
  if (const auto devices = read_devices(options.evaluation.cache_dir, context)) {
    file["devices"] = boost::json::parse(devices_to_json(devices->cpu, devices->gpus, devices->uses));
    file["memory_sharing"] = describe_sharing(*devices, context);
  } else {
    file["devices"] = boost::json::object{{"error", devices.error().to_line()}};
  }
  if (const auto findings = examine_machine(options.evaluation.python, options.evaluation.cache_dir, context))
    file["findings"] = boost::json::parse(findings_to_json(*findings)).at("findings");
  else
    file["findings"] = boost::json::object{{"error", findings.error().to_line()}};
  return file;
}

/// Writes the file of --save: the machine, each answer with its record, and the error that ended the test.
Result<void> save(const std::string& path, boost::json::object file, const std::vector<Row>& rows,
                  const Result<void>& ended) {
  boost::json::array list;
  for (const auto& row : rows) {
    if (!row.answer) continue;
    auto one = row_to_json(row);
    one["record"] = row.answer->record ? boost::json::parse(to_json(*row.answer->record)) : boost::json::value();
    list.push_back(std::move(one));
  }
  file["unanswered"] = rows.size() - list.size();
  file["cases"] = std::move(list);
  file["error"] = ended ? boost::json::value() : boost::json::value(ended.error().to_line());
  return write_file_atomic(path, to_pretty_json(file));
}

ExitCode exit_code_of(const std::vector<Row>& rows) {
  const auto has = [&](CorpusAnswer answer) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.result().answer == answer; });
  };
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return is_bad(row.result().answer); }))
    return ExitCode::BelowTarget;
  if (std::all_of(rows.begin(), rows.end(),
                  [](const auto& row) { return row.result().answer == CorpusAnswer::Missing; }))
    return ExitCode::MachineLacks;
  return has(CorpusAnswer::Unmeasured) ? ExitCode::TryLater : ExitCode::Success;
}

Result<ExitCode> run(const SelftestOptions& options, Context& context) {
  if (!options.save.empty()) KERNELGEN_CHECK(check_writable(options.save).context("--save"));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options.evaluation, context));
  std::filesystem::path corpus(options.directory);
  if (options.directory.empty()) {
    KERNELGEN_TRY(const auto installation, context.find_installation());
    corpus = installation.selftest_dir;
  }
  KERNELGEN_TRY(auto cases, read_corpus(corpus));
  std::erase_if(cases, [&](const auto& which) { return !is_wanted(which, options); });
  if (cases.empty()) return Error{ErrorCode::InvalidArgument, "no kernel of " + corpus.string() + " is asked for"};
  std::vector<Row> rows;
  rows.reserve(cases.size());
  for (auto& which : cases) rows.push_back({std::move(which), {}});
  Evaluations evaluations(options, corpus, *benchmarker, context.stop);
  ProgressDisplay progress(context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); });
  std::size_t done = 0;
  const auto say = [&](const Row& row) {
    // A log shows first what is wrong.
    if (!context.err_terminal.interactive && !is_bad(row.result().answer)) {
      ++done;
      return;
    }
    progress.show({fmt::format("{} of {}", ++done, rows.size()), row.which.name + ": " + row.result().found});
  };
  auto machine = options.save.empty() ? boost::json::object() : describe_machine(options, context);
  auto ended = answer_all(rows, evaluations, false, options.full, say);
  if (ended) ended = answer_all(rows, evaluations, true, options.full, say);
  progress.clear();
  // An error may end the test. The file and the answers are written even then, because the answers before it help to
  // find its cause.
  const auto saved = options.save.empty() ? Result<void>() : save(options.save, std::move(machine), rows, ended);
  std::erase_if(rows, [](const auto& row) { return !row.answer; });
  if (!rows.empty()) context.out << (options.json ? rows_to_json(rows) : render(rows, context.out_terminal));
  KERNELGEN_CHECK(ended);
  KERNELGEN_CHECK(saved);
  return exit_code_of(rows);
}

/// Of the options of all evaluations those that have a meaning here: each kernel says itself how it is judged.
std::vector<Option> evaluation_options_of(EvaluationFlags& flags, const Environment& environment) {
  std::vector<Option> options;
  add_evaluation_options(options, flags, environment);
  std::erase_if(options, [](const auto& option) {
    static const std::vector<std::string> meaningless{"--precision", "--rtol", "--atol", "--shrink", "--library-use"};
    return std::find(meaningless.begin(), meaningless.end(), option.name) != meaningless.end();
  });
  for (auto& option : options) {
    // Limits of other evaluations are not meant for kernels that are known to be small.
    if (option.task_file == TaskFileRule::Allowed || option.name == "--memory-limit") {
      option.is_shared = false;
      option.task_file = TaskFileRule::NotAboutTask;
    }
    if (option.name == "--device") option.help = "cpu, amd:emulated, or a GPU by index (0, amd:0), UUID or name";
  }
  return options;
}

}  // namespace

Command make_selftest_command(Context& context) {
  const auto options = std::make_shared<SelftestOptions>();
  options->evaluation.timeout_seconds = k_timeout_seconds;
  options->evaluation.options.memory_limit = k_memory_limit;
  options->evaluation.options.device = "cpu";
  std::vector<Option> described{
      {.name = "directory",
       .value_name = "DIR",
       .help = "Folder with attacks/, honest/, tasks/ and examples/; else the set that was installed with kgen",
       .value = values::directory(options->directory)},
      {.name = "--attacks",
       .help = "Judge attacks too, which must not be accepted",
       .value = values::flag(options->attacks),
       .is_command_line_only = true},
      {.name = "--only",
       .value_name = "TEXT",
       .help = "Kernels with this in their name or first line; may be repeated",
       .value = values::texts(options->only),
       .is_repeatable = true,
       .is_command_line_only = true},
      {.name = "--skip-timed",
       .help = "Leave out those that need a time; works on a busy machine",
       .value = values::flag(options->skip_timed),
       .is_command_line_only = true},
      {.name = "--only-timed",
       .help = "Leave out the others",
       .value = values::flag(options->only_timed),
       .excludes = {"--skip-timed"},
       .is_command_line_only = true},
      {.name = "--full",
       .help = "Time all of them, even those that need no time",
       .value = values::flag(options->full),
       .is_command_line_only = true},
      {.name = "--save",
       .value_name = "FILE",
       .help = "Write the answers there with their records, and what this machine is and has",
       .value = values::file(options->save),
       .excludes = {"--launch-prefix", "--spool"},
       .is_command_line_only = true},
      {.name = "--json", .help = "Print the answers as JSON", .value = values::flag(options->json)}};
  for (auto& option : evaluation_options_of(options->evaluation, context.environment))
    described.push_back(std::move(option));
  return {.name = "selftest",
          .summary = "Does this machine accept honest kernels, and refuse attacks?",
          .options = std::move(described),
          .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
