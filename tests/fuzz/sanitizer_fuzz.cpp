#include "fuzz/sanitizer_fuzz.hpp"

#include <cstdlib>
#include <string_view>

#include "profile/sanitizer_report.hpp"
#include "profile/sanitizers.hpp"
#include "support/text.hpp"

using namespace kernelgen;

namespace {

/// Each finding has a class and a message, and nothing that could break a line or a terminal.
void check(const std::vector<SanitizerFinding>& findings) {
  for (const auto& [detail, found] : findings) {
    if (detail.empty() || found.line < 0 || found.column < 0) std::abort();
    for (const auto& text : {found.message, found.file})
      if (!is_valid_utf8(text) || text.find('\n') != text.npos || text.find('\x1b') != text.npos) std::abort();
  }
}

}  // namespace

void fuzz_sanitizer(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(read_native_findings(text, "candidate.cpp", "0a1b.so"));
  check(read_compute_sanitizer(text).findings);
  if (const auto shaken = read_shaken(text)) check(shaken->findings);
  if (const auto name = find_unordered_openmp(text); name && !name->starts_with("GOMP_")) std::abort();
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_sanitizer(data, size);
  return 0;
}
#endif
