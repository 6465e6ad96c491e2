#pragma once

#include <filesystem>
#include <string_view>

#include <kernelgen/core/result.hpp>
#include <kernelgen/prompt/prompt_set.hpp>

namespace kernelgen {
inline namespace v0 {

/// Reads the text of the config.json in `directory`, and the prompts that it names from there.
[[nodiscard]] Result<PromptSet> parse_prompt_set(const std::filesystem::path& directory, std::string_view text);

}  // namespace v0
}  // namespace kernelgen
