#include <kernelgen/store/campaign_plan.hpp>

#include <boost/json.hpp>

#include "core/json_codec.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(PlannedRun, (), (name, directory, target, model, max_actions))
BOOST_DESCRIBE_STRUCT(PlannedLimits, (), (requests, tokens, cost, seconds))
BOOST_DESCRIBE_STRUCT(CampaignPlan, (), (started, ended, limits, parallel_runs, runs))

namespace {

constexpr int k_plan_schema = 1;
/// A run takes about 200 bytes.
constexpr std::size_t k_max_plan_bytes = 64u << 20;

std::filesystem::path plan_file(const std::filesystem::path& results) { return results / "campaign.json"; }

}  // namespace

Result<void> write_campaign_plan(const std::filesystem::path& results_directory, const CampaignPlan& plan) {
  auto members = to_value(plan).as_object();
  members["schema"] = k_plan_schema;
  return write_file_atomic(plan_file(results_directory), boost::json::serialize(members) + '\n',
                           {.durability = Durability::Rename});
}

Result<CampaignPlan> read_campaign_plan(const std::filesystem::path& results_directory) {
  const auto file = plan_file(results_directory);
  KERNELGEN_TRY(const auto text, read_file(file, k_max_plan_bytes));
  const auto read = [&]() -> Result<CampaignPlan> {
    KERNELGEN_TRY(const auto value, parse_json(text));
    const auto* object = value.if_object();
    const auto* schema = object == nullptr ? nullptr : object->if_contains("schema");
    if (schema == nullptr || !schema->is_int64() || schema->get_int64() < 1)
      return Error{ErrorCode::InvalidArgument, "not the plan of a campaign: it lacks a schema number"};
    if (schema->get_int64() > k_plan_schema)
      return Error{ErrorCode::Unsupported, "a newer kernelgen wrote this plan of a campaign"};
    return from_value<CampaignPlan>(value);
  };
  return read().context(file.string());
}

}  // namespace v0
}  // namespace kernelgen
