#include "fuzz/prompt_set_fuzz.hpp"

#include <cstdlib>
#include <string_view>

#include "prompt/json_places.hpp"
#include "prompt/prompt_set_text.hpp"

using namespace kernelgen;

void fuzz_prompt_set(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Garbage has places, too, wherever they may be.
  if (JsonPlaces(text).of_value({"patterns", "relu"}).line < 1) std::abort();
  const auto set = parse_prompt_set("/nowhere", text);
  if (set) {
    if (reflection_hints_for(*set, text).size() > k_max_reflection_hints) std::abort();
    static_cast<void>(prompt_file_for(*set, text.substr(0, 100)));
    return;
  }
  const auto& message = set.error().message;
  if (!message.starts_with("/nowhere/config.json:") || message.find('\n') != message.npos) std::abort();
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_prompt_set(data, size);
  return 0;
}
#endif
