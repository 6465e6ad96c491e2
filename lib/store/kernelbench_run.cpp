#include <kernelgen/store/kernelbench_run.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "store/kernelbench_json.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int k_most_number = 1'000'000;
constexpr std::size_t k_max_results_bytes = 256u << 20;

/// Takes `text` and a number off the front of `rest`.
std::optional<int> take_number(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return std::nullopt;
  rest.remove_prefix(text.size());
  int number = 0;
  std::size_t digits = 0;
  for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits) {
    number = number * 10 + (rest[digits] - '0');
    if (number > k_most_number) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  rest.remove_prefix(digits);
  return number;
}

std::optional<int> whole_text(std::string_view text) {
  const auto number = take_number(text, "");
  return text.empty() ? number : std::nullopt;
}

KernelBenchResult read_entry(int problem, const json::object& entry) {
  KernelBenchResult result{.problem = problem};
  result.sample = static_cast<int>(read_number(entry, "sample_id", result.problems, {0, k_most_number}).value_or(0));
  result.compiled = read_truth(entry, "compiled", result.problems);
  result.correct = read_truth(entry, "correctness", result.problems);
  result.runtime_ms = read_time(entry, "runtime", result.problems);
  result.reference_ms = read_time(entry, "ref_runtime", result.problems);
  for (const char* member : {"runtime_stats", "metadata"}) {
    const auto* facts = entry.if_contains(member);
    if (facts == nullptr || !facts->is_object() || !result.device.empty()) continue;
    if (const auto* hardware = facts->get_object().if_contains("hardware");
        hardware != nullptr && hardware->is_string())
      result.device = sanitize_line(hardware->get_string(), k_max_claim_text);
  }
  return result;
}

/// Adds an entry, in place of an earlier one of the same sample.
void add_entry(KernelBenchResults& results, int problem, const json::value& entry) {
  if (!entry.is_object()) {
    results.problems.push_back(fmt::format("problem {}: expected an object, found {}", problem, kind_text(entry)));
    return;
  }
  auto result = read_entry(problem, entry.get_object());
  const auto same = std::find_if(results.results.begin(), results.results.end(), [&](const auto& other) {
    return other.problem == problem && other.sample == result.sample;
  });
  if (same == results.results.end()) return results.results.push_back(std::move(result));
  results.problems.push_back(
      fmt::format("problem {}: sample {} has several entries; the last one counts", problem, result.sample));
  *same = std::move(result);
}

Claim read_claim(const json::object& members) {
  Claim claim;
  constexpr double k_most_speedup = 1e9;
  claim.correct = read_truth(members, "correct", claim.problems);
  claim.speedup = read_number(members, "speedup", claim.problems, {1e-9, k_most_speedup});
  const auto low = read_number(members, "low", claim.problems, {0, k_most_speedup});
  const auto high = read_number(members, "high", claim.problems, {0, k_most_speedup});
  if (claim.speedup && low && high && *low <= *claim.speedup && *claim.speedup <= *high)
    claim.interval = Ratio{*claim.speedup, *low, *high};
  if (const auto* device = members.if_contains("device"); device != nullptr && device->is_string())
    claim.device = sanitize_line(device->get_string(), k_max_claim_text);
  if (const auto* kind = members.if_contains("kind"); kind != nullptr && *kind == "score")
    claim.kind = SpeedupKind::Score;
  if (const auto* problems = members.if_contains("problems"); problems != nullptr && problems->is_array())
    for (const auto& problem : problems->get_array())
      if (problem.is_string()) claim.problems.push_back(sanitize_line(problem.get_string(), k_max_claim_text));
  return claim;
}

Result<json::object> parse_object(std::string_view text, const char* what) {
  KERNELGEN_TRY(auto document, parse_python_json(text));
  if (!document.is_object())
    return Error{ErrorCode::InvalidArgument, fmt::format("{}, found {}", what, kind_text(document))};
  return document.get_object();
}

}  // namespace

std::optional<KernelBenchSample> parse_kernel_file_name(std::string_view file_name) {
  const auto level = take_number(file_name, "level_");
  const auto problem = level ? take_number(file_name, "_problem_") : std::nullopt;
  const auto sample = problem ? take_number(file_name, "_sample_") : std::nullopt;
  if (!sample || file_name != "_kernel.py") return std::nullopt;
  return KernelBenchSample{*level, *problem, *sample};
}

std::string kernel_file_name(const KernelBenchSample& sample) {
  return fmt::format("level_{}_problem_{}_sample_{}_kernel.py", sample.level, sample.problem, sample.sample);
}

Result<KernelBenchResults> parse_eval_results(std::string_view text) {
  KERNELGEN_TRY(const auto document, parse_object(text, "expected an object with the numbers of problems"));
  KernelBenchResults results;
  for (const auto& [key, value] : document) {
    const auto problem = whole_text(key);
    if (!problem) {
      results.problems.push_back('"' + sanitize_line(key, k_max_claim_text) + "\" is no number of a problem");
    } else if (value.is_array()) {
      for (const auto& entry : value.get_array()) add_entry(results, *problem, entry);
    } else {
      add_entry(results, *problem, value);
    }
  }
  return results;
}

Result<BaselineTimes> parse_baseline_times(std::string_view text) {
  KERNELGEN_TRY(const auto document, parse_object(text, "expected an object with the levels"));
  BaselineTimes times;
  for (const auto& [key, value] : document) {
    std::string_view name = key;
    const auto level = take_number(name, "level");
    if (!level || !name.empty() || !value.is_object()) continue;
    for (const auto& [file, stats] : value.get_object()) {
      std::vector<std::string> unused;
      if (!stats.is_object()) continue;
      if (const auto mean = read_time(stats.get_object(), "mean", unused)) times[{*level, std::string(file)}] = *mean;
    }
  }
  if (times.empty()) return Error{ErrorCode::InvalidArgument, "expected levels with times, such as level1"};
  return times;
}

Claim claim_of(const KernelBenchResult& result, std::optional<double> reference_ms) {
  Claim claim{.correct = result.correct, .device = result.device, .problems = result.problems};
  // What does not compile is not correct, whatever else an entry says.
  if (result.compiled == false) claim.correct = false;
  const auto reference = result.reference_ms ? result.reference_ms : reference_ms;
  if (claim.correct == true && result.runtime_ms && reference) claim.speedup = *reference / *result.runtime_ms;
  return claim;
}

Result<std::map<std::string, Claim>> parse_claims(std::string_view text) {
  KERNELGEN_TRY(const auto document, parse_object(text, "expected an object with the names of files"));
  std::map<std::string, Claim> claims;
  for (const auto& [name, value] : document) {
    auto& claim = claims[std::string(name)];
    if (value.is_object())
      claim = read_claim(value.get_object());
    else
      claim.problems.push_back("expected an object, found " + kind_text(value));
  }
  return claims;
}

std::string to_json(const Claim& claim) {
  json::object members;
  if (claim.correct) members["correct"] = *claim.correct;
  if (claim.speedup) members["speedup"] = *claim.speedup;
  if (claim.interval) members["low"] = claim.interval->low;
  if (claim.interval) members["high"] = claim.interval->high;
  if (claim.kind == SpeedupKind::Score) members["kind"] = "score";
  if (!claim.device.empty()) members["device"] = to_utf8(claim.device);
  if (!claim.problems.empty()) {
    json::array problems;
    for (const auto& problem : claim.problems) problems.emplace_back(to_utf8(problem));
    members["problems"] = std::move(problems);
  }
  return json::serialize(members);
}

Result<Claim> parse_claim(std::string_view text) {
  KERNELGEN_TRY(const auto document, parse_object(text, "expected an object"));
  return read_claim(document);
}

Result<KernelBenchRun> read_kernelbench_run(const fs::path& directory) {
  std::error_code error;
  KernelBenchRun run;
  fs::directory_iterator entry(directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error))
    if (const auto sample = parse_kernel_file_name(entry->path().filename().string())) run.kernels.push_back(*sample);
  if (error) return Error{ErrorCode::InvalidArgument, "cannot list " + directory.string() + ": " + error.message()};
  std::sort(run.kernels.begin(), run.kernels.end());
  const auto file = directory / "eval_results.json";
  if (fs::exists(file, error)) {
    KERNELGEN_TRY(const auto text, read_file(file, k_max_results_bytes));
    KERNELGEN_TRY(run.claims, parse_eval_results(text).context(file.string()));
  } else if (run.kernels.empty()) {
    return Error{ErrorCode::InvalidArgument, directory.string() + " is no run folder of KernelBench: it has neither " +
                                                 "level_X_problem_Y_sample_Z_kernel.py nor eval_results.json"};
  }
  return run;
}

}  // namespace v0
}  // namespace kernelgen
