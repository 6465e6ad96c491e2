#pragma once

/// \file
/// The cards that a machine has, with or without a driver.

#include <filesystem>
#include <vector>

#include <kernelgen/platform/platform.hpp>

namespace kernelgen {
inline namespace v0 {

/// The platforms of the cards that <root>/sys shows on the PCI bus.
[[nodiscard]] std::vector<const Platform*> cards_on_bus(const std::filesystem::path& root);

}  // namespace v0
}  // namespace kernelgen
