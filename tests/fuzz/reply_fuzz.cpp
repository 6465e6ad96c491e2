#include "fuzz/reply_fuzz.hpp"

#include <cstdlib>
#include <string>

#include <kernelgen/prompt/reply_reader.hpp>

using namespace kernelgen;

namespace {

/// Exactly one of code and problem; the problem is one line; code read again is the same code.
void check_code(const ExtractedCode& extracted, Target target) {
  if (extracted.code.has_value() == !extracted.problem.empty()) std::abort();
  if (extracted.problem.find('\n') != std::string::npos) std::abort();
  if (!extracted.code) return;
  const auto again = extract_code({.text = "````\n" + *extracted.code + "````\n"}, target);
  if (!again.code) std::abort();
}

}  // namespace

void fuzz_reply(const std::uint8_t* data, std::size_t size) {
  Reply reply;
  reply.text.assign(reinterpret_cast<const char*>(data), size);
  for (const auto finish : {FinishReason::Stop, FinishReason::Length}) {
    reply.finish = finish;
    for (const auto target : {Target::Cpp, Target::Triton}) check_code(extract_code(reply, target), target);
  }
  if (const auto analysis = read_analysis(reply.text); !analysis && analysis.error().message.empty()) std::abort();
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_reply(data, size);
  return 0;
}
#endif
