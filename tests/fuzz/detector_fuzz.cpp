#include "fuzz/detector_fuzz.hpp"

#include <cstdlib>

#include <kernelgen/detect/persistent_detector.hpp>

using namespace kernelgen;

void fuzz_detector(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto detector = make_persistent_detector();
  for (const auto target : {Target::Triton, Target::Cuda, Target::Cpp}) {
    const auto report = detector->inspect(source, target);
    for (const auto& item : report.evidence)
      if (item.line < 1) std::abort();
    if (to_json(report).empty()) std::abort();
  }
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_detector(data, size);
  return 0;
}
#endif
