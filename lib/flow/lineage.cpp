#include "flow/lineage.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

std::string parent_of(const std::string& id) {
  const auto slash = id.rfind('/');
  return slash == id.npos ? "" : id.substr(0, slash);
}

/// The ids before this one in its chain: "a/repair1" and "a/repair2" for "a/repair3", rounds, stages and further tries
/// of a stage likewise. None for other ids.
std::vector<std::string> earlier_siblings(const std::string& id) {
  const auto digits = id.find_last_not_of("0123456789") + 1;
  const std::string stem = id.substr(0, digits);
  const std::string name = stem.substr(stem.rfind('/') + 1);
  constexpr std::size_t k_most_digits = 6;
  const bool is_numbered = name == "repair" || name == "round" || name == "stage" || name == "again";
  if (!is_numbered || digits == id.size() || id.size() - digits > k_most_digits) return {};
  std::vector<std::string> siblings;
  for (int number = std::stoi(id.substr(digits)) - 1; number > 0; --number)
    siblings.push_back(stem + std::to_string(number));
  return siblings;
}

}  // namespace

std::vector<const ActionResult*> lineage_of(const History& history, const Action& action) {
  std::map<std::string, const ActionResult*> found;
  std::vector<std::string> ids;
  const auto add_ancestors = [&](const Action& of) {
    for (const auto& id : {of.base, of.second_base, parent_of(of.id)})
      if (!id.empty()) ids.push_back(id);
    for (auto& sibling : earlier_siblings(of.id)) ids.push_back(std::move(sibling));
  };
  add_ancestors(action);
  while (!ids.empty()) {
    const std::string id = ids.back();
    ids.pop_back();
    const auto result = history.find(id);
    if (result == history.end() || found.contains(id)) continue;
    found[id] = &result->second;
    add_ancestors(result->second.action);
  }
  std::vector<const ActionResult*> lineage;
  lineage.reserve(found.size());
  for (const auto& [id, result] : found) lineage.push_back(result);
  std::sort(lineage.begin(), lineage.end(), [](const auto* a, const auto* b) { return a->number < b->number; });
  return lineage;
}

}  // namespace v0
}  // namespace kernelgen
