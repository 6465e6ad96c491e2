#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

[[nodiscard]] inline bool is_decimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The wanted entries of a folder of device nodes, as paths of the machine ("/dev/nvidia0"), sorted.
template <class IsWanted>
[[nodiscard]] std::vector<std::string> nodes_in(const std::filesystem::path& root, const std::string& folder,
                                                const IsWanted& is_wanted) {
  std::vector<std::string> nodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root / folder, error)) {
    const auto name = entry.path().filename().string();
    if (is_wanted(name)) nodes.push_back("/" + folder + "/" + name);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace v0
}  // namespace kernelgen
