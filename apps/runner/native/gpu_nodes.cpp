#include "gpu_nodes.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace kgen_runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_node = "nvidia";

/// The value on a line that begins with `name`, such as "Device Minor:"; empty without such a line.
std::string value_of(const fs::path& information, std::string_view name) {
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto start = line.find_first_not_of(": \t", name.size());
    if (start == std::string::npos) return {};
    return line.substr(start, line.find_last_not_of(" \t") + 1 - start);
  }
  return {};
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::optional<std::string> minor_of(const std::string& uuid, const std::string& driver_directory) {
  std::error_code error;
  for (const auto& gpu : fs::directory_iterator(driver_directory, error)) {
    const auto information = gpu.path() / "information";
    if (value_of(information, "GPU UUID") != uuid) continue;
    auto minor = value_of(information, "Device Minor");
    if (is_number(minor)) return minor;
  }
  return std::nullopt;
}

std::vector<std::string> gpu_nodes(const std::optional<std::string>& minor, const std::string& dev) {
  std::vector<std::string> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dev, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(k_node)) continue;
    const auto number = std::string_view(name).substr(k_node.size());
    if (minor && is_number(number) && number != *minor) continue;
    nodes.push_back("/dev/" + name);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace kgen_runner
