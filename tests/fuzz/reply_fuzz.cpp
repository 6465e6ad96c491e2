#include "fuzz/reply_fuzz.hpp"

#include <cstdlib>
#include <string>

#include <kernelgen/prompt/reply_reader.hpp>

using namespace kernelgen;

namespace {

/// Longer than any run of backticks in the code.
std::string longer_fence(const std::string& code) {
  std::string fence = "```";
  while (code.find(fence) != std::string::npos) fence.push_back('`');
  return fence;
}

/// Exactly one of code and problem; the problem is one line; code that is sent back is read again.
void check_code(const ExtractedCode& extracted, Target target) {
  if (extracted.code.has_value() == !extracted.problem.empty()) std::abort();
  if (extracted.problem.find('\n') != std::string::npos) std::abort();
  if (extracted.change.size() > k_max_change || extracted.change.find_first_of("\n`") != std::string::npos)
    std::abort();
  if (!extracted.code) return;
  // A tag that closes a thought ends one wherever it stands on a line of its own, in garbage too.
  if (extracted.code->find("</think") != std::string::npos) return;
  const auto fence = longer_fence(*extracted.code);
  const auto again = extract_code({.text = fence + "\n" + *extracted.code + fence + "\n"}, target);
  if (!again.code) std::abort();
}

}  // namespace

void fuzz_reply(const std::uint8_t* data, std::size_t size) {
  Reply reply;
  reply.text.assign(reinterpret_cast<const char*>(data), size);
  for (const auto finish : {FinishReason::Stop, FinishReason::Length}) {
    reply.finish = finish;
    for (const auto target :
         {Target::Cpp, Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton, Target::Torch})
      check_code(extract_code(reply, target), target);
  }
  if (const auto analysis = read_analysis(reply.text); !analysis && analysis.error().message.empty()) std::abort();
  if (const auto critique = read_critique(reply.text); !critique && critique.error().message.empty()) std::abort();
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_reply(data, size);
  return 0;
}
#endif
