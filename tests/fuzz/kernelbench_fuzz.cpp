#include "fuzz/kernelbench_fuzz.hpp"

#include <cmath>
#include <cstdlib>
#include <string_view>

#include <kernelgen/store/kernelbench_run.hpp>

using namespace kernelgen;

namespace {

/// Whatever was understood is a number that can be compared, and can be written and read again.
void check_claim(const Claim& claim) {
  if (claim.speedup && !(std::isfinite(*claim.speedup) && *claim.speedup > 0)) std::abort();
  const auto again = parse_claim(to_json(claim));
  if (!again || again->correct != claim.correct) std::abort();
}

}  // namespace

void fuzz_kernelbench(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto results = parse_eval_results(text))
    for (const auto& result : results->results) check_claim(claim_of(result, 1.0));
  if (const auto claims = parse_claims(text))
    for (const auto& [name, claim] : *claims) check_claim(claim);
  if (const auto times = parse_baseline_times(text))
    for (const auto& [name, time] : *times)
      if (!(std::isfinite(time) && time > 0)) std::abort();
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_kernelbench(data, size);
  return 0;
}
#endif
