#include "task/task_names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "support/sha256.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Replaces what the name of a directory cannot have: run_directory() refuses it.
std::string to_directory_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_' && c != '-') c = '_';
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name;
}

/// The name of a file with its `depth` innermost folders in front.
std::string name_with_folders(const fs::path& file, std::size_t depth) {
  std::vector<std::string> parts;
  for (const auto& part : file.parent_path().relative_path()) parts.push_back(part.string());
  std::string name;
  for (std::size_t i = parts.size() - std::min(depth, parts.size()); i < parts.size(); ++i) name += parts[i] + '-';
  return to_directory_name(name + file.stem().string());
}

std::size_t folders_above(const fs::path& file) {
  const auto folders = file.parent_path().relative_path();
  return std::size_t(std::distance(folders.begin(), folders.end()));
}

/// The names of files with the least number of folders that makes them differ; those without folders if none does.
std::vector<std::string> names_of_group(const std::vector<fs::path>& files) {
  std::size_t deepest = 0;
  for (const auto& file : files) deepest = std::max(deepest, folders_above(file));
  const auto names_at = [&](std::size_t depth) {
    std::vector<std::string> names;
    names.reserve(files.size());
    for (const auto& file : files) names.push_back(name_with_folders(file, depth));
    return names;
  };
  for (std::size_t depth = 0; depth <= deepest; ++depth) {
    auto names = names_at(depth);
    if (std::set<std::string>(names.begin(), names.end()).size() == files.size()) return names;
  }
  return names_at(0);
}

/// Adds numbers to repeated names. Of equal names, the first one in `order` stays as it is.
void add_numbers(std::vector<std::string>& names, const std::vector<std::size_t>& order) {
  std::set<std::string> taken(names.begin(), names.end());
  std::set<std::string> seen;
  for (const auto place : order) {
    auto& name = names[place];
    if (seen.insert(name).second) continue;
    int number = 2;
    while (!taken.insert(name + '-' + std::to_string(number)).second) ++number;
    name += '-' + std::to_string(number);
  }
}

}  // namespace

std::vector<std::string> unique_names(const std::vector<fs::path>& files) {
  // Sorted by their paths, so that the numbers of the last step do not depend on the order of the files.
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return files[a] < files[b]; });
  std::map<std::string, std::vector<std::size_t>> groups;
  for (const auto place : order) groups[name_with_folders(files[place], 0)].push_back(place);
  std::vector<std::string> names(files.size());
  for (const auto& [shared_name, places] : groups) {
    std::vector<fs::path> group;
    for (const auto place : places) group.push_back(files[place]);
    auto own = names_of_group(group);
    for (std::size_t i = 0; i < places.size(); ++i) names[places[i]] = std::move(own[i]);
  }
  add_numbers(names, order);
  return names;
}

std::vector<std::size_t> draw_sample(const std::vector<std::string>& names, std::size_t count, std::int64_t seed) {
  std::vector<std::pair<std::string, std::size_t>> ranks;
  for (std::size_t i = 0; i < names.size(); ++i)
    ranks.emplace_back(sha256_hex("task sample\n" + std::to_string(seed) + '\n' + names[i]), i);
  std::sort(ranks.begin(), ranks.end());
  ranks.resize(std::min(count, ranks.size()));
  std::vector<std::size_t> places;
  places.reserve(ranks.size());
  for (const auto& [rank, place] : ranks) places.push_back(place);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace v0
}  // namespace kernelgen
