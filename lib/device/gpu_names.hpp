#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// The words of a device's name that tell it from others, in lower case: "NVIDIA A100-SXM4-80GB" is a100, sxm4, 80gb.
[[nodiscard]] std::vector<std::string> gpu_name_words(std::string_view name);

/// Whether two names are the same but for case, separators, order and words that every device of a vendor has.
[[nodiscard]] bool same_gpu_name(std::string_view a, std::string_view b);

}  // namespace v0
}  // namespace kernelgen
