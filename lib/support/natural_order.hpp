#pragma once

#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Compares names in natural order: numbers by their value, so "9_Relu" comes before "10_Gelu".
[[nodiscard]] bool naturally_less(std::string_view a, std::string_view b);

}  // namespace v0
}  // namespace kernelgen
