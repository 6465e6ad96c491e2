#include "bench/baselines.hpp"

#include <filesystem>

#include "bench/measurement.hpp"
#include "bench/statistics.hpp"
#include "bench/verdict.hpp"
#include "core/json_codec.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_reason_bytes = 1000;
/// Number of attempts at timing on a busy machine: compiling takes a minute, and timing less than a second.
constexpr int k_tries = 3;

/// The content of one file of a BaselineStore.
struct KeptBaseline {
  std::string key;
  std::vector<std::int64_t> samples_ns;
};
BOOST_DESCRIBE_STRUCT(KeptBaseline, (), (key, samples_ns))

Result<ReferenceSamples> ask(JudgeSession& session, const CompiledBaselineRequest& request, std::stop_token stop) {
  auto& known = session.reference_times->compiled;
  if (const auto found = known.find(request.kind); found != known.end()) return found->second;
  auto measured = session.time_compiled(request, std::move(stop));
  if (!measured && measured.error().code == ErrorCode::Cancelled) return std::move(measured).error();
  // A judge that died while compiling says nothing about the candidate.
  auto baseline = measured ? *measured : ReferenceSamples{{}, measured.error().message};
  // Other failures would happen again; a busy machine may be idle next time.
  if (measured || measured.error().code != ErrorCode::Busy) known.emplace(request.kind, baseline);
  return baseline;
}

}  // namespace

Result<BaselineReport> compare_with_baseline(JudgeSession& session, const CompiledBaselineRequest& request,
                                             double candidate_median_ns, std::stop_token stop) {
  KERNELGEN_TRY(auto baseline, ask(session, request, std::move(stop)));
  BaselineReport report{.name = request.kind, .samples_ns = std::move(baseline.samples_ns)};
  if (report.samples_ns.empty()) {
    report.reason = sanitize_line(baseline.reason, k_reason_bytes);
    return report;
  }
  report.median_ns = median(report.samples_ns);
  if (candidate_median_ns > 0) report.speedup = *report.median_ns / candidate_median_ns;
  return report;
}

Result<ReferenceSamples> time_compiled_reference(Judge& judge, const CompileReferenceRequest& request,
                                                 const SamplingLimits& sampling, std::stop_token stop) {
  KERNELGEN_TRY(auto reason, judge.compile_reference(request, stop));
  if (!reason.empty()) return ReferenceSamples{{}, std::move(reason)};
  std::string busy;
  for (int i = 0; i < k_tries; ++i) {
    const auto before = judge.processor_time();
    KERNELGEN_TRY(auto baseline, judge.time_compiled(sampling, stop));
    const auto after = judge.processor_time();
    busy = before && after ? busy_message(contention(*before, *after)) : "";
    if (busy.empty()) return baseline;
  }
  return Error{ErrorCode::Busy, std::move(busy)};
}

std::string BaselineStore::file_of(const std::string& key_text) const {
  return (std::filesystem::path(directory_) / (sha256_hex(key_text) + ".json")).string();
}

std::optional<ReferenceSamples> BaselineStore::find(const std::string& key_text) const {
  if (directory_.empty()) return std::nullopt;
  const auto text = read_file(file_of(key_text));
  if (!text) return std::nullopt;
  const auto parsed = parse_json(*text);
  if (!parsed) return std::nullopt;
  auto kept = from_value<KeptBaseline>(*parsed);
  if (!kept || kept->key != key_text || kept->samples_ns.empty()) return std::nullopt;
  return ReferenceSamples{std::move(kept->samples_ns), ""};
}

void BaselineStore::keep(const std::string& key_text, const ReferenceSamples& baseline) const {
  if (directory_.empty() || baseline.samples_ns.empty() || !make_directories(directory_)) return;
  const auto text = to_pretty_json(to_value(KeptBaseline{key_text, baseline.samples_ns}));
  [[maybe_unused]] const auto written = write_file_atomic(file_of(key_text), text, {.durability = Durability::Rename});
}

}  // namespace v0
}  // namespace kernelgen
