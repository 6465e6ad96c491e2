#include "profile/launches.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace kernelgen {
inline namespace v0 {
namespace {

/// Makes ncu's and torch's forms of a name equal: without result type, parameters, blanks, casts of template arguments
/// ("(int)4") and suffixes of numbers ("2ul").
std::string normalized(std::string_view name) {
  static constexpr std::array<std::string_view, 7> k_casts = {"(int)",          "(bool)",  "(unsignedint)", "(long)",
                                                              "(unsignedlong)", "(short)", "(char)"};
  const std::string function = function_of_kernel(name);
  // The part from the function's own name to the parenthesis of its parameters.
  const auto start = name.find(function.substr(0, function.find_first_of("<(")));
  std::string text;
  int depth = 0;
  for (std::size_t i = start == name.npos ? 0 : start; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth <= 0 && i != start) break;
    if (name[i] != ' ') text += name[i];
  }
  for (const auto cast : k_casts)
    for (auto at = text.find(cast); at != text.npos; at = text.find(cast)) text.erase(at, cast.size());
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool after_digit = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
    if (after_digit && (text[i] == 'u' || text[i] == 'l')) {
      // A suffix ends an argument; without that it is part of a name: "sm90_u8".
      const auto rest = text.find_first_not_of("ul", i);
      if (rest == text.npos || text[rest] == ',' || text[rest] == '>') {
        i = (rest == text.npos ? text.size() : rest) - 1;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

/// All launches of one kernel, summed up.
struct KernelSum {
  std::string name;
  std::int64_t launches = 0;
  double duration_ns = 0;
  std::map<std::string, std::pair<Metric, double>> sums;  // by metric: weighted sum and weight
  std::vector<std::string> order;

  void add(const KernelLaunch& launch) {
    // A launch without a duration counts, too.
    const double weight = launch.duration_ns > 0 ? launch.duration_ns : 1;
    ++launches;
    duration_ns += launch.duration_ns;
    for (const auto& metric : launch.metrics) {
      auto [entry, added] = sums.try_emplace(metric.name, Metric{metric.name, 0, metric.unit}, 0.0);
      if (added) order.push_back(metric.name);
      entry->second.first.value += metric.value * weight;
      entry->second.second += weight;
    }
  }

  [[nodiscard]] std::vector<Metric> metrics() const {
    std::vector<Metric> means;
    for (const auto& name_of_metric : order) {
      auto [metric, weight] = sums.at(name_of_metric);
      metric.value /= weight;
      means.push_back(std::move(metric));
    }
    return means;
  }
};

KernelProfile* find_kernel(Profile& profile, const std::string& name) {
  const auto wanted = normalized(name);
  for (auto& kernel : profile.kernels)
    if (kernel.counted_launches == 0 && normalized(kernel.name) == wanted) return &kernel;
  KernelProfile* only = nullptr;
  for (auto& kernel : profile.kernels) {
    if (kernel.function != function_of_kernel(name)) continue;
    if (only != nullptr || kernel.counted_launches != 0) return nullptr;
    only = &kernel;
  }
  return only;
}

}  // namespace

void add_pass(std::vector<KernelLaunch>& launches, const std::vector<KernelLaunch>& pass) {
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < launches.size(); ++i) places[launches[i].kernel].push_back(i);
  std::map<std::string, std::size_t> seen;
  for (const auto& launch : pass) {
    const auto& same = places[launch.kernel];
    const auto index = seen[launch.kernel]++;
    if (index >= same.size()) {
      launches.push_back(launch);
      continue;
    }
    auto& into = launches[same[index]];
    if (!(into.duration_ns > 0)) into.duration_ns = launch.duration_ns;
    for (const auto& metric : launch.metrics) {
      const auto known = [&](const Metric& one) { return one.name == metric.name; };
      if (std::none_of(into.metrics.begin(), into.metrics.end(), known)) into.metrics.push_back(metric);
    }
  }
}

std::vector<KernelLaunch> last_launches(const Profile& timeline, const std::vector<KernelLaunch>& launches) {
  auto known = timeline;
  std::map<std::string, std::int64_t> wanted;
  for (const auto& launch : launches)
    if (const auto [entry, added] = wanted.try_emplace(launch.kernel, 0); added)
      if (const auto* kernel = find_kernel(known, launch.kernel)) entry->second = kernel->launches;
  std::vector<KernelLaunch> last;
  for (auto launch = launches.rbegin(); launch != launches.rend(); ++launch)
    if (wanted[launch->kernel]-- > 0) last.push_back(*launch);
  std::reverse(last.begin(), last.end());
  return last;
}

void add_launches(Profile& profile, const std::vector<KernelLaunch>& launches) {
  std::vector<KernelSum> gathered;
  for (const auto& launch : launches) {
    const auto same = [&](const KernelSum& one) { return one.name == launch.kernel; };
    auto found = std::find_if(gathered.begin(), gathered.end(), same);
    if (found == gathered.end()) {
      gathered.push_back({.name = launch.kernel, .sums = {}, .order = {}});
      found = std::prev(gathered.end());
    }
    found->add(launch);
  }
  const bool alone = profile.kernels.empty();
  for (const auto& one : gathered) {
    KernelProfile* kernel = find_kernel(profile, one.name);
    if (kernel == nullptr) {
      kernel = &profile.kernels.emplace_back();
      kernel->name = one.name;
      kernel->function = function_of_kernel(one.name);
      kernel->origin = origin_of_kernel(one.name);
      // Beside a timeline, it may be one of its kernels under another name: its time must not count twice.
      kernel->launches = alone ? one.launches : 0;
      kernel->duration_ns = alone ? one.duration_ns : 0;
    }
    kernel->counted_launches = one.launches;
    kernel->metrics = one.metrics();
  }
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const KernelProfile& a, const KernelProfile& b) { return a.duration_ns > b.duration_ns; });
}

}  // namespace v0
}  // namespace kernelgen
