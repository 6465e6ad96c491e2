#include "corpus.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "command_line.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

/// An attack on the clock gains nothing up to this multiple of its twin's speedup, which is noise.
constexpr double k_noise = 1.25;
constexpr std::string_view k_no_device = "no device";
constexpr std::string_view k_no_tool = "no tool";

/// Refusals that name what an attack does. Others, such as a failed import, could be a mistake in the attack itself,
/// and count only where the case names them.
constexpr std::array k_refusals{OutcomeKind::Accuracy,   OutcomeKind::OffDistribution, OutcomeKind::Race,
                                OutcomeKind::Suspect,    OutcomeKind::Cheat,           OutcomeKind::MutatedInput,
                                OutcomeKind::WeightSync, OutcomeKind::Sanitizer};

/// The text of a comment line; nothing for a line of code.
std::optional<std::string_view> comment_of(std::string_view line) {
  for (const std::string_view mark : {"#", "//"})
    if (line.starts_with(mark) && !line.starts_with("#include") && !line.starts_with("#!"))
      return trim(line.substr(mark.size()));
  return std::nullopt;
}

std::vector<std::string> patterns_of(std::string_view text) {
  std::vector<std::string> patterns;
  for (const auto part : split(text, ',')) patterns.emplace_back(trim(part));
  return patterns;
}

Error wrong_value(std::string_view key, std::string_view value) {
  return {ErrorCode::InvalidArgument, fmt::format("{} cannot be {}", key, value)};
}

Result<void> set_device(CorpusCase& which, std::string_view value) {
  if (value != "cpu" && value != "gpu" && value != "both") return wrong_value("device", value);
  which.on_cpu = value != "gpu";
  which.on_gpu = value != "cpu";
  return {};
}

Result<void> set(CorpusCase& which, std::string_view key, std::string_view value) {
  const std::string text(value);
  if (value.empty()) return wrong_value(key, "empty");
  if (key == "attack" || key == "honest") {
    which.is_attack = key == "attack";
    which.title = text;
  } else if (key == "task") {
    which.task = text;
  } else if (key == "device") {
    return set_device(which, value);
  } else if (key == "expect") {
    which.expected = patterns_of(value);
  } else if (key == "twin") {
    which.twin = text;
    which.is_timed = true;
  } else if (key == "open") {
    which.open = text;
  } else if (key == "varies" || key == "timed" || key == "installed" || key == "sanitize") {
    if (value != "yes") return wrong_value(key, value);
    if (key == "varies") which.varies = true;
    if (key == "timed") which.is_timed = true;
    if (key == "sanitize") which.is_sanitized = true;
  } else if (key == "threads") {
    KERNELGEN_TRY(const auto number, parse_whole_number(text, {1, 4096}));
    which.threads = static_cast<int>(number);
  } else if (key == "timeout") {
    KERNELGEN_TRY(which.timeout_seconds, parse_number(text, {1, k_day_seconds}));
  } else if (key == "precision") {
    const auto precision = parse_precision(text);
    if (!precision) return wrong_value(key, value);
    which.precision = *precision;
  } else {
    return Error{ErrorCode::InvalidArgument, "there is no key " + std::string(key)};
  }
  return {};
}

bool fits_any(std::string_view text, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return fits_pattern(text, pattern); });
}

std::optional<double> speedup_of(const EvaluationRecord& record) {
  if (!record.timing || record.timing->speedup_call.value <= 0) return std::nullopt;
  return record.timing->speedup_call.value;
}

/// True if a replayed call gains more than the twin's does; only devices replay.
bool gains_as_graph(const EvaluationRecord& record, const EvaluationRecord& twin) {
  if (!record.timing || !twin.timing || !record.timing->speedup_device || !twin.timing->speedup_device) return false;
  return record.timing->speedup_device->value > k_noise * twin.timing->speedup_device->value;
}

const std::vector<std::string>& kernel_endings() {
  static const std::vector<std::string> k_endings{".py", ".cpp", ".c", ".cu", ".hip"};
  return k_endings;
}

/// The kernels of a folder, sorted by name.
std::vector<std::filesystem::path> kernels_in(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto& endings = kernel_endings();
    if (std::find(endings.begin(), endings.end(), entry.path().extension()) != endings.end())
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// On which devices its language runs.
Result<void> set_device_of_language(CorpusCase& which) {
  which.on_gpu = which.name.ends_with(".py");
  if (which.name.ends_with(".cu")) return set_device(which, "gpu");
  if (which.name.ends_with(".hip")) return set_device(which, "both");
  return {};
}

CorpusResult answered(const CorpusCase& which, bool is_right, std::string found, std::string message) {
  CorpusAnswer answer = is_right ? CorpusAnswer::Right : CorpusAnswer::Wrong;
  if (!which.open.empty()) {
    if (!is_right)
      answer = CorpusAnswer::Open;
    else if (!which.varies)
      answer = CorpusAnswer::Closed;
  }
  return {answer, std::move(found), std::move(message)};
}

bool expects_label(const CorpusCase& which) {
  return std::any_of(which.expected.begin(), which.expected.end(),
                     [](const auto& pattern) { return pattern.starts_with("label:"); });
}

CorpusResult judge_accepted_attack(const CorpusCase& which, const EvaluationRecord& record,
                                   const EvaluationRecord* twin) {
  // The pattern * names any refusal, and no label.
  const auto expects = [&](const std::string& label) {
    return std::any_of(which.expected.begin(), which.expected.end(), [&](const auto& pattern) {
      return pattern.starts_with("label:") && fits_pattern("label:" + label, pattern);
    });
  };
  const bool has_label = std::any_of(record.labels.begin(), record.labels.end(), expects);
  if (has_label) return answered(which, true, "correct, labelled", "");
  // A busy machine gives too few samples of what works, and tools do not end in time.
  if (which.is_sanitized)
    for (const auto& report : record.sanitizers)
      if (report.status == SanitizerStatus::NotFinished)
        return {CorpusAnswer::Unmeasured, "correct", report.tool + ": " + report.reason};
  for (const auto& label : record.labels)
    if (label.starts_with("work unknown: ") && expects_label(which))
      return {CorpusAnswer::Unmeasured, "correct", label};
  if (twin == nullptr) return answered(which, false, "correct", "it was accepted");
  const auto mine = speedup_of(record);
  const auto fair = speedup_of(*twin);
  if (!mine || !fair) return {CorpusAnswer::Unmeasured, "correct, not timed", "its twin: " + twin->outcome.to_class()};
  const bool is_right = *mine <= k_noise * *fair && !gains_as_graph(record, *twin);
  return answered(which, is_right, fmt::format("correct, {:.2f}x (twin {:.2f}x)", *mine, *fair),
                  is_right ? "" : "it is accepted as faster than its twin");
}

/// True for an error that says what the machine lacks, and nothing about the kernel.
bool is_lack(ErrorCode code) {
  return code == ErrorCode::MissingTool || code == ErrorCode::MissingDevice || code == ErrorCode::UnsuitableDevice;
}

}  // namespace

std::string CorpusCase::first_class() const { return title.substr(0, title.find(' ')); }

bool fits_pattern(std::string_view text, std::string_view pattern) {
  const auto star = pattern.find('*');
  if (star == pattern.npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const auto rest = pattern.substr(star + 1);
  for (auto from = star; from <= text.size(); ++from)
    if (fits_pattern(text.substr(from), rest)) return true;
  return false;
}

Result<CorpusCase> parse_corpus_case(std::string name, std::string source) {
  CorpusCase which{.name = std::move(name), .source = std::move(source)};
  KERNELGEN_CHECK(set_device_of_language(which));
  int number = 0;
  for (const auto line : split_lines(which.source)) {
    ++number;
    const auto comment = comment_of(line);
    if (!comment) break;
    const auto colon = comment->find(": ");
    const auto place = fmt::format("{}:{}", which.name, number);
    if (colon == comment->npos) return Error{ErrorCode::InvalidArgument, place + ": expected KEY: VALUE"};
    KERNELGEN_CHECK(set(which, comment->substr(0, colon), trim(comment->substr(colon + 2))).context(place));
  }
  if (which.title.empty() || which.task.empty())
    return Error{ErrorCode::InvalidArgument,
                 which.name + ": its first lines must say what it is (attack: or honest:) and which task it is for"};
  return which;
}

Result<std::vector<CorpusCase>> read_corpus(const std::filesystem::path& directory) {
  std::vector<CorpusCase> cases;
  for (const char* part : {"attacks", "honest"}) {
    std::error_code error;
    const auto files = kernels_in(directory / part, error);
    if (error) return Error{ErrorCode::NotFound, "there is no corpus: cannot read " + (directory / part).string()};
    for (const auto& file : files) {
      KERNELGEN_TRY(auto source, read_file(file));
      KERNELGEN_TRY(auto which, parse_corpus_case(part + ("/" + file.filename().string()), std::move(source)));
      cases.push_back(std::move(which));
    }
  }
  std::error_code no_examples;
  for (const auto& file : kernels_in(directory / "examples" / "kernels", no_examples)) {
    KERNELGEN_TRY(auto source, read_file(file));
    cases.push_back(make_example_case(file.filename().string(), std::move(source)));
  }
  return cases;
}

CorpusCase make_example_case(const std::string& file, std::string source) {
  CorpusCase which{.name = "examples/" + file, .title = "the example kernel " + file, .source = std::move(source)};
  which.task = file.substr(0, file.rfind('.'));
  which.task_folder = "examples/tasks";
  // It cannot fail for the endings that are read.
  (void)set_device_of_language(which);
  return which;
}

std::string_view to_string(CorpusAnswer answer) {
  switch (answer) {
    case CorpusAnswer::Right:
      return "ok";
    case CorpusAnswer::Wrong:
      return "WRONG";
    case CorpusAnswer::Open:
      return "open";
    case CorpusAnswer::Closed:
      return "CLOSED";
    case CorpusAnswer::Unmeasured:
      return "busy";
    case CorpusAnswer::Missing:
      return "missing";
  }
  return "";
}

CorpusResult judge_corpus_case(const CorpusCase& which, const EvaluationRecord& record, const EvaluationRecord* twin) {
  const auto found = record.outcome.to_class();
  const auto& message = record.outcome.message;
  // A GPU of another make refuses some kernels that are right.
  if (record.environment.stand_in == StandIn::OtherGpu)
    return {CorpusAnswer::Missing, std::string(k_no_device),
            fmt::format("{} kernels were executed on {}, for which they are not written", to_string(record.target),
                        record.environment.device)};
  if (record.target == Target::Triton && record.environment.triton.empty() &&
      record.outcome.kind == OutcomeKind::Import)
    return {CorpusAnswer::Missing, std::string(k_no_tool), "triton is not installed"};
  if (record.outcome.could_not_be_measured()) return {CorpusAnswer::Unmeasured, found, message};
  if (!which.is_attack)
    return answered(which, record.outcome.correct() || fits_any(found, which.expected), found, message);
  if (record.outcome.correct()) return judge_accepted_attack(which, record, twin);
  if (record.outcome.kind == OutcomeKind::NotScored) return answered(which, false, found, message);
  const bool is_named = fits_any(found, which.expected);
  const bool may_be_any = which.expected.empty() || !which.twin.empty();
  const bool is_refusal =
      may_be_any && std::find(k_refusals.begin(), k_refusals.end(), record.outcome.kind) != k_refusals.end();
  return answered(which, is_named || is_refusal, found, message);
}

CorpusResult judge_corpus_failure(const CorpusCase& which, const Error& error) {
  if (is_lack(error.code))
    return {CorpusAnswer::Missing, std::string(error.code == ErrorCode::MissingTool ? k_no_tool : k_no_device),
            error.to_line()};
  return answered(which, false, "error", error.to_line());
}

}  // namespace kernelgen::cli
