#include "report/run_details.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "flow/run_state.hpp"
#include "report/report_json.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr std::size_t k_max_entries = 60;

std::string tensor_text(const TensorSpec& tensor) {
  std::vector<std::string> sizes;
  for (const auto size : tensor.shape) sizes.push_back(std::to_string(size));
  return cut_text(fmt::format("{}: {} [{}]", tensor.name, to_string(tensor.dtype), join(sizes, ", ")), k_max_name, "");
}

json::array tensors_json(const std::vector<TensorSpec>& tensors) {
  json::array array;
  for (const auto& tensor : tensors)
    if (array.size() < k_max_entries) array.emplace_back(tensor_text(tensor));
  return array;
}

json::array pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  json::array array;
  for (const auto& [name, value] : pairs)
    array.push_back(json::array{cut_text(name, k_max_name, ""), cut_text(value, k_max_name, "events.jsonl")});
  return array;
}

json::object description_json(const TaskDescribed& described) {
  Members members;
  const auto& task = described.description;
  members.add("precision", std::string(to_string(task.precision)));
  members.add("inputs", tensors_json(task.inputs));
  members.add("outputs", tensors_json(task.outputs));
  members.add("parameters", json::value(task.parameters.size()));
  json::array labels, operations;
  for (const auto& label : task.labels) labels.emplace_back(cut_text(label, k_max_name, ""));
  members.add("labels", std::move(labels));
  if (task.facts) {
    for (const auto& operation : task.facts->operations)
      if (operations.size() < k_max_entries)
        operations.push_back(json::array{cut_text(operation.name, k_max_name, ""), operation.count});
    members.add("operations", std::move(operations));
    members.add("flops", json::value(task.facts->product_flops + task.facts->other_flops));
    members.add("bytes", json::value(task.facts->input_bytes + task.facts->state_bytes + task.facts->output_bytes));
  }
  members.add("device", pairs_json(described.device));
  return members.take();
}

json::object request_json(const RequestReport& request) {
  Members members;
  members.add("input_tokens", or_null(request.usage.input_tokens));
  members.add("output_tokens", or_null(request.usage.output_tokens));
  members.add("seconds", or_null(request.latency_seconds));
  members.add("cost", or_null(request.cost));
  members.add("time", request.time);
  return members.take();
}

json::object open_json(int number, const OpenAction& open) {
  Members members;
  members.add("number", json::value(number));
  members.add("id", cut_text(open.action.id, k_max_name, ""));
  members.add("kind", std::string(to_string(open.action.kind)));
  members.add("base", cut_text(open.action.base, k_max_name, ""));
  members.add("second_base", cut_text(open.action.second_base, k_max_name, ""));
  members.add("status", "unfinished");
  return members.take();
}

json::array attempts_json(const RunReport& run, const RunState& state) {
  std::map<int, json::object> by_number;
  for (const auto& [id, result] : state.history) by_number[result.number] = attempt_details(result, state.history);
  for (const auto& [number, open] : state.open) by_number[number] = open_json(number, open);
  // Later requests of an attempt replace earlier ones.
  for (const auto& request : run.requests)
    if (const auto found = by_number.find(request.number); found != by_number.end())
      found->second["request"] = request_json(request);
  json::array attempts;
  for (auto& [number, attempt] : by_number) attempts.push_back(std::move(attempt));
  return attempts;
}

}  // namespace

std::string cut_text(std::string_view text, std::size_t max_bytes, std::string_view whole) {
  if (text.size() <= max_bytes) return to_utf8(text);
  std::size_t end = max_bytes;
  constexpr unsigned k_continuation_mask = 0xC0U, k_continuation = 0x80U;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & k_continuation_mask) == k_continuation) --end;
  auto cut = to_utf8(text.substr(0, end)) + " ...";
  if (!whole.empty()) cut += fmt::format("\n[cut: all {} bytes are in {}]", text.size(), whole);
  return cut;
}

std::string run_details(const RunReport& run, const std::vector<Event>& events) {
  RunState state;
  for (const auto& event : events) apply(state, event);
  Members members;
  if (state.started) {
    members.add("text", cut_text(state.started->task.text, k_max_code, "events.jsonl"));
    members.add("path", cut_text(state.started->task.path, k_max_name, ""));
    members.add("version", cut_text(state.started->kernelgen_version, k_max_name, ""));
    members.add("options", pairs_json(state.started->options));
  }
  if (!events.empty()) members.add("started", events.front().time);
  if (state.task) members.add("description", description_json(*state.task));
  members.add("attempts", attempts_json(run, state));
  return json::serialize(members.take());
}

}  // namespace v0
}  // namespace kernelgen
