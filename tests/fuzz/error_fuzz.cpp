#include "fuzz/error_fuzz.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include <kernelgen/prompt/error_classifier.hpp>

using namespace kernelgen;

namespace {

constexpr auto k_kinds = std::to_array<std::pair<OutcomeKind, const char*>>({{OutcomeKind::Compile, "triton"},
                                                                             {OutcomeKind::Compile, "type"},
                                                                             {OutcomeKind::Launch, "exception"},
                                                                             {OutcomeKind::Resource, "shared_memory"},
                                                                             {OutcomeKind::OutOfMemory, ""},
                                                                             {OutcomeKind::Crash, "signal 11"}});

/// One of the known classes, few and short lines, a fingerprint that begins with the class.
void check(const ErrorReport& report) {
  static const auto known = error_classes();
  if (!std::binary_search(known.begin(), known.end(), report.error_class)) std::abort();
  if (report.lines.size() > 12 || report.fingerprint.size() > 400) std::abort();
  if (report.fingerprint.rfind(report.error_class + "|", 0) != 0) std::abort();
  for (const auto& line : report.lines)
    if (line.size() > 400 || line.find('\n') != line.npos) std::abort();
}

}  // namespace

double fuzz_error(const std::uint8_t* data, std::size_t size) {
  double slowest = 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& [kind, detail] : k_kinds) {
    for (const auto target : {Target::Cuda, Target::Triton}) {
      EvaluationRecord record;
      record.target = target;
      record.outcome = {kind, detail, text};
      if (is_native(target) && kind != OutcomeKind::Launch) record.compile.emplace().log = text;
      const auto begin = std::clock();
      const auto report = classify_error(record, text);
      slowest = std::max(slowest, 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
      check(report);
    }
  }
  return slowest;
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_error(data, size);
  return 0;
}
#endif
