#include <boost/json.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "profile/csv_text.hpp"
#include "profile/rocprof_dispatch.hpp"
#include "profile/rocprof_report.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

/// The value at the end of a path of members; null where one is missing.
const json::value& member_at(const json::value& value, std::initializer_list<std::string_view> path) {
  static const json::value k_nothing;
  const auto* found = &value;
  for (const auto name : path) {
    const auto* object = found->if_object();
    found = object == nullptr ? nullptr : object->if_contains(name);
    if (found == nullptr) return k_nothing;
  }
  return *found;
}

std::optional<double> finite_number(const json::value& value) {
  if (!value.is_number()) return std::nullopt;
  const auto found = value.to_number<double>();
  return std::isfinite(found) ? std::optional(found) : std::nullopt;
}

std::string string_or_empty(const json::value& value) {
  const auto* found = value.if_string();
  return found == nullptr ? std::string() : std::string(*found);
}

/// The elements of a list, or the values of an object.
std::vector<const json::value*> children_of(const json::value& value) {
  std::vector<const json::value*> found;
  if (const auto* array = value.if_array())
    for (const auto& one : *array) found.push_back(&one);
  if (const auto* object = value.if_object())
    for (const auto& one : *object) found.push_back(&one.value());
  return found;
}

/// A handle or a number that identifies something, as text.
std::string json_key(const json::value& value) { return value.is_null() ? "" : json::serialize(value); }

/// One profiled process.
class ToolOutput {
 public:
  explicit ToolOutput(const json::value& process) {
    for (const auto* counter : children_of(member_at(process, {"counters"})))
      counters_.emplace(json_key(member_at(*counter, {"id", "handle"})),
                        string_or_empty(member_at(*counter, {"name"})));
    std::size_t index = 0;
    for (const auto* symbol : children_of(member_at(process, {"kernel_symbols"}))) {
      const auto& id = member_at(*symbol, {"kernel_id"});
      symbols_.emplace(id.is_null() ? std::to_string(index) : json_key(id), symbol);
      ++index;
    }
    for (const auto* agent : children_of(member_at(process, {"agents"})))
      agents_.emplace(json_key(member_at(*agent, {"id", "handle"})), agent);
    read(process);
  }

  std::vector<RocprofDispatch> dispatches;
  std::string device;

 private:
  void read(const json::value& process) {
    for (const auto* record : children_of(member_at(process, {"buffer_records", "kernel_dispatch"}))) {
      auto* values = add(member_at(*record, {"dispatch_info"}));
      if (values != nullptr) add_times(*record, *values);
    }
    for (const auto* holder : {"callback_records", "buffer_records"})
      for (const auto* record : children_of(member_at(process, {holder, "counter_collection"}))) read_counters(*record);
  }

  void read_counters(const json::value& record) {
    const auto& data = member_at(record, {"dispatch_data"});
    auto* values = add(member_at(data, {"dispatch_info"}));
    if (values == nullptr) return;
    add_times(data, *values);
    for (const auto& [member, column] :
         {std::pair("arch_vgpr_count", "VGPR_Count"), std::pair("accum_vgpr_count", "Accum_VGPR_Count"),
          std::pair("lds_block_size_v", "LDS_Block_Size")})
      if (const auto value = finite_number(member_at(record, {member}))) (*values)[column] = *value;
    for (const auto* one : children_of(member_at(record, {"records"}))) {
      const auto counter = counters_.find(json_key(member_at(*one, {"counter_id", "handle"})));
      const auto value = finite_number(member_at(*one, {"value"}));
      // There is a record for each instance of a unit.
      if (counter != counters_.end() && value) (*values)[counter->second] += *value;
    }
  }

  using Values = decltype(RocprofDispatch::values);

  static void add_times(const json::value& record, Values& values) {
    const auto start = finite_number(member_at(record, {"start_timestamp"}));
    const auto end = finite_number(member_at(record, {"end_timestamp"}));
    if (!start || !end || !(*end > 0)) return;
    values["Start_Timestamp"] = *start;
    values["End_Timestamp"] = *end;
  }

  /// The values of the dispatch, which is added when it was not seen; nullptr for what is no dispatch.
  Values* add(const json::value& info) {
    const auto id = json_key(member_at(info, {"dispatch_id"}));
    if (id.empty()) return nullptr;
    const auto [entry, added] = by_id_.try_emplace(id, dispatches.size());
    if (added) dispatches.push_back(describe(info));
    return &dispatches[entry->second].values;
  }

  RocprofDispatch describe(const json::value& info) {
    RocprofDispatch dispatch;
    for (const auto& [member, column] :
         {std::pair("grid_size", "Grid_Size_"), std::pair("workgroup_size", "Workgroup_Size_")})
      for (const auto& [axis, ending] : {std::pair("x", "X"), std::pair("y", "Y"), std::pair("z", "Z")})
        if (const auto value = finite_number(member_at(info, {member, axis})))
          dispatch.values[std::string(column) + ending] = *value;
    if (const auto bytes = finite_number(member_at(info, {"group_segment_size"})))
      dispatch.values["LDS_Block_Size"] = *bytes;
    if (const auto symbol = symbols_.find(json_key(member_at(info, {"kernel_id"}))); symbol != symbols_.end()) {
      for (const auto* name : {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"})
        if (dispatch.kernel.empty()) dispatch.kernel = string_or_empty(member_at(*symbol->second, {name}));
      for (const auto& [member, column] :
           {std::pair("arch_vgpr_count", "VGPR_Count"), std::pair("accum_vgpr_count", "Accum_VGPR_Count")})
        if (const auto value = finite_number(member_at(*symbol->second, {member}))) dispatch.values[column] = *value;
    }
    if (const auto agent = agents_.find(json_key(member_at(info, {"agent_id", "handle"})));
        agent != agents_.end() && device.empty())
      for (const auto* name : {"product_name", "name"})
        if (device.empty()) device = sanitize_line(string_or_empty(member_at(*agent->second, {name})), k_max_name);
    return dispatch;
  }

  std::map<std::string, std::string> counters_;
  std::map<std::string, const json::value*> symbols_, agents_;
  std::map<std::string, std::size_t> by_id_;
};

}  // namespace

std::optional<RocprofReport> read_rocprof_json(std::string_view text) {
  if (!trim(text).starts_with('{')) return std::nullopt;
  const auto document = parse_json(text);
  if (!document) return std::nullopt;
  const auto& tool = member_at(*document, {"rocprofiler-sdk-tool"});
  if (tool.is_null()) return std::nullopt;
  RocprofReport report{"rocprofv3", {}, {}};
  // The first releases write one object, later ones a list.
  const auto processes = tool.is_array() ? children_of(tool) : std::vector<const json::value*>{&tool};
  for (const auto* process : processes) {
    const ToolOutput output(*process);
    if (report.device.empty()) report.device = output.device;
    for (const auto& dispatch : output.dispatches) report.launches.push_back(to_launch(dispatch));
  }
  return report;
}

}  // namespace v0
}  // namespace kernelgen
