#include <kernelgen/profile/metrics.hpp>

#include <set>

#include "profile/ncu_command.hpp"
#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("the brief set has six metrics, the full one twenty-six", "[profile][metrics]") {
  REQUIRE(find_metric_set("brief") != nullptr);
  CHECK(find_metric_set("brief")->metrics.size() == 6);
  REQUIRE(find_metric_set("full") != nullptr);
  CHECK(find_metric_set("full")->metrics.size() == 26);
}

TEST_CASE("the brief set asks ncu for what the stages decide by", "[profile][metrics]") {
  const auto names = ncu_names(*find_metric_set("brief"));
  for (const std::string wanted : {"gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                                   "launch__grid_size", "sm__warps_active.avg.pct_of_peak_sustained_active",
                                   "dram__throughput.avg.pct_of_peak_sustained_elapsed", "lts__t_sector_hit_rate.pct"})
    CHECK(std::find(names.begin(), names.end(), wanted) != names.end());
  CHECK(names.size() == 7);
  // Since Volta the memory dependency stall has another name; where the new one is unknown, the old one is tried.
  CHECK(names.back() == "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct");
  CHECK(other_ncu_name(names.back()) == "smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct");
}

TEST_CASE("every stage has a set", "[profile][metrics]") {
  for (const auto* stage :
       {"grid_and_parallel", "block_tiling", "memory_access", "advanced_memory", "memory_and_tuning", "fusion"})
    CHECK(find_metric_set(stage) != nullptr);
  CHECK(find_metric_set("no_such_set") == nullptr);
}

TEST_CASE("names are unique, and sets name metrics that there are", "[profile][metrics]") {
  std::set<std::string_view> names;
  for (const auto& metric : all_metrics()) {
    CHECK(names.insert(metric.name).second);
    CHECK((metric.ncu.empty() || names.insert(metric.ncu).second));
    CHECK_FALSE(metric.meaning.empty());
  }
  for (const auto& set : metric_sets())
    for (const auto name : set.metrics) CHECK(find_metric(name) != nullptr);
}

TEST_CASE("a metric has at most one other name", "[profile][metrics]") {
  CHECK(other_ncu_name("lts__t_sector_hit_rate.pct").empty());
  CHECK(other_ncu_name("no such metric").empty());
  CHECK(find_metric("no such metric") == nullptr);
}
