#pragma once

#include <string_view>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace v0 {

/// The text of providers.json.
extern const std::string_view k_builtin_providers;

}  // namespace v0
}  // namespace kernelgen
