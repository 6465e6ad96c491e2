#pragma once

/// \file
/// Names of tasks, and choosing some of them by a seed.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A name for each file, in their order: its own, fit for a directory. Files of one name are all named with as many of
/// their folders as tells them apart ("a-relu", "b-relu"); where folders do not, with a number ("relu", "relu-2"). Does
/// not depend on the order. Requires: the files are absolute paths, and differ.
[[nodiscard]] std::vector<std::string> unique_names(const std::vector<std::filesystem::path>& files);

/// Places of `count` names, in rising order: those with the smallest SHA-256 of seed and name. It is the same on every
/// machine, and independent of the order of the names.
[[nodiscard]] std::vector<std::size_t> draw_sample(const std::vector<std::string>& names, std::size_t count,
                                                   std::int64_t seed);

}  // namespace v0
}  // namespace kernelgen
