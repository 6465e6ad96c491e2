#pragma once

/// \file
/// Which constants to reduce, and by how much, when a kernel needs more than the device has.

#include <string>
#include <string_view>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/prompt/error_classifier.hpp>

namespace kernelgen {
inline namespace v0 {

/// Adds "required" and "limit" (bytes, registers or threads) to the report where the reason tells them.
void read_resource_numbers(std::string_view reason, ErrorReport& report);

/// The smallest changes of the source's own constants that are enough, as Markdown; empty where nothing is known.
[[nodiscard]] std::string resource_advice(const ErrorReport& report, Target target, std::string_view source);

}  // namespace v0
}  // namespace kernelgen
