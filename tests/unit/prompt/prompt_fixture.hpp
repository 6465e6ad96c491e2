#pragma once

/// \file
/// Helpers of the tests of prompts: a builder with the shipped templates, and directories of overrides.

#include <filesystem>
#include <memory>
#include <string>

#include <kernelgen/prompt/prompt_builder.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/sample_prompt.hpp"

namespace kernelgen::testing {

inline const std::string k_templates = KERNELGEN_SOURCE_DIR "/lib/prompt/templates";
inline const auto k_kinds = {PromptKind::Seed,  PromptKind::Repair,  PromptKind::Analysis, PromptKind::Optimize,
                             PromptKind::Stage, PromptKind::Reflect, PromptKind::Critic,   PromptKind::Crossover};
inline const auto k_targets = {Target::Cpp,        Target::Cuda,   Target::Hip,
                               Target::Hipkittens, Target::Triton, Target::Torch};

inline std::unique_ptr<PromptBuilder> builder(const std::filesystem::path& overrides = {}) {
  return make_prompt_builder({k_templates, overrides}).value();
}

/// A builder with the shipped templates, shared because reading them takes longer than building a prompt.
inline const PromptBuilder& shipped() {
  static const auto k_shipped = builder();
  return *k_shipped;
}

inline Prompt built(const PromptRequest& request) { return shipped().build(request).value(); }

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

inline std::string refusal(const PromptRequest& request) {
  auto prompt = shipped().build(request);
  REQUIRE_FALSE(prompt);
  CHECK(prompt.error().code == ErrorCode::InvalidArgument);
  return prompt.error().message;
}

/// The least number of tokens that a prompt needs without its optional parts, from the message of a refusal.
inline std::int64_t least_tokens(PromptRequest request) {
  request.max_tokens = 1;
  const auto message = refusal(request);
  CHECK(holds(message, "without its optional parts; max_tokens is 1"));
  return std::stoll(message.substr(message.find(" needs ") + 7));
}

/// A directory of templates that override the shipped ones.
class Overrides {
 public:
  void write(const std::string& name, const std::string& text) const {
    const auto path = directory_.path() / name;
    make_directories(path.parent_path()).value();
    write_file_atomic(path, text).value();
  }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_ =
      TemporaryDirectory::create(std::filesystem::temp_directory_path(), "prompts-").value();
};

}  // namespace kernelgen::testing
