#include "prompt/prompt_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "prompt/recurrence.hpp"
#include "prompt/verdict_data.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using List = kainjow::mustache::list;

constexpr std::size_t k_max_shown_line = 240;

/// A fence that the text cannot close.
std::string fence_for(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(3, longest + 1), '`');
}

/// A text between fences: without the line end that the template writes.
void set_source(TemplateData& data, const std::string& name, std::string_view text, Inserts& inserts) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  data.set(name, inserts.mark(text));
  data.set(name + "_fence", fence_for(text));
}

std::string tuple(const std::vector<std::int64_t>& numbers) {
  return fmt::format("({}{})", fmt::join(numbers, ", "), numbers.size() == 1 ? "," : "");
}

bool is_contiguous(const TensorSpec& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (i < tensor.strides.size() && tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

void add_tensors(List& rows, const std::string& role, const std::string& list, const std::vector<TensorSpec>& tensors) {
  for (const auto& tensor : tensors) {
    TemplateData row;
    row.set("role", role);
    row.set("list", list);
    row.set("tensor_name", sanitize_line(tensor.name, k_max_shown_line));
    row.set("dtype", std::string(to_string(tensor.dtype)));
    row.set("shape", tuple(tensor.shape));
    row.set("is_contiguous", is_contiguous(tensor));
    row.set("strides", is_contiguous(tensor) ? "contiguous" : tuple(tensor.strides));
    rows.push_back(std::move(row));
  }
}

void set_names(TemplateData& data, const std::string& name, const std::vector<std::string>& names) {
  data.set("has_" + name, !names.empty());
  data.set(name, sanitize_line(fmt::format("`{}`", fmt::join(names, "`, `")), 4000));
}

void set_tensors(TemplateData& data, const TaskDescription& task) {
  List rows;
  add_tensors(rows, "input", "inputs", task.inputs);
  add_tensors(rows, "parameter", "parameters", task.parameters);
  add_tensors(rows, "buffer", "buffers", task.buffers);
  add_tensors(rows, "attribute", "attributes", task.attributes);
  add_tensors(rows, "draw", "draws", task.draws);
  add_tensors(rows, "output", "outputs", task.outputs);
  data.set("has_tensors", !rows.empty());
  data.set("tensors", rows);
  data.set("has_state", !task.parameters.empty() || !task.buffers.empty() || !task.attributes.empty());
  data.set("has_draws", !task.draws.empty());
}

void set_scalars(TemplateData& data, const TaskDescription& task) {
  List rows;
  for (const auto& scalar : task.scalars) {
    TemplateData row;
    row.set("scalar_name", sanitize_line(scalar.name, k_max_shown_line));
    row.set("scalar_type", sanitize_line(scalar.type, k_max_shown_line));
    row.set("scalar_value", sanitize_line(scalar.value, k_max_shown_line));
    rows.push_back(std::move(row));
  }
  data.set("has_scalars", !rows.empty());
  data.set("scalars", rows);
}

/// The one label that changes what the source means: its constants are others than it says.
void set_labels(TemplateData& data, const TaskDescription& task) {
  std::vector<std::string> shrunk;
  std::copy_if(task.labels.begin(), task.labels.end(), std::back_inserter(shrunk),
               [](const std::string& label) { return label.rfind("shrunk", 0) == 0; });
  set_names(data, "shrunk", shrunk);
}

void set_task(TemplateData& data, const PromptRequest& request, Inserts& inserts) {
  const auto& task = request.description;
  data.set("task_name", sanitize_line(request.task.name, k_max_shown_line));
  set_source(data, "reference", request.task.text, inserts);
  set_tensors(data, task);
  set_scalars(data, task);
  set_labels(data, task);
  set_names(data, "mutated_inputs", task.mutated_inputs);
  set_names(data, "mutated_buffers", task.mutated_buffers);
  data.set("mode", std::string(to_string(task.mode)));
  data.set("is_stochastic", task.randomness == ForwardRandomness::Stochastic);
  data.set("precision", std::string(to_string(task.precision)));
  data.set("is_strict", task.precision == PrecisionClass::Strict);
  data.set("is_fusion", task.level == TaskLevel::Fusion);
  data.set("is_recurrent", is_recurrent(request.task.text));
  data.set("rtol", fmt::format("{:g}", request.tolerance.rtol));
  data.set("atol", fmt::format("{:g}", request.tolerance.atol));
  data.set("has_float64_multiple", request.tolerance.float64_multiple > 0);
  data.set("float64_multiple", fmt::format("{:g}", request.tolerance.float64_multiple));
}

void set_target(TemplateData& data, Target target) {
  data.set("target", std::string(to_string(target)));
  for (const auto one : {Target::Cpp, Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton, Target::Torch})
    data.set("is_" + std::string(to_string(one)), one == target);
  data.set("is_native", is_native(target));
  data.set("language", target == Target::Cpp ? "C++" : is_native(target) ? std::string(to_string(target)) : "Python");
  data.set("fence_tag", is_native(target) ? "cpp" : "python");
}

bool is_dropped(const DataOptions& options, Part part) {
  return std::find(options.dropped.begin(), options.dropped.end(), part) != options.dropped.end();
}

void set_device(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  const bool blank = options.measured == Measured::Blank;
  data.set("threads", blank ? "" : std::to_string(request.threads));
  // One blank fact however many there are: machines differ in what they tell.
  const auto facts = blank ? std::vector<DeviceFact>{{"", ""}} : request.device;
  List rows;
  for (const auto& [name, value] : facts) {
    TemplateData row;
    row.set("fact_name", sanitize_line(name, k_max_shown_line));
    row.set("fact_value", sanitize_line(value, k_max_shown_line));
    rows.push_back(std::move(row));
  }
  data.set("has_device", !rows.empty() && !is_dropped(options, Part::Device));
  data.set("device", rows);
}

void set_history(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  List rows;
  for (const auto& attempt : request.history) {
    TemplateData row;
    row.set("attempt_id", sanitize_line(attempt.action_id, k_max_shown_line));
    row.set("attempt_result", describe_attempt(attempt, options.measured));
    rows.push_back(std::move(row));
  }
  data.set("has_history", !rows.empty() && !is_dropped(options, Part::Earlier));
  data.set("history", rows);
}

void set_analysis(TemplateData& data, const Analysis& analysis, Inserts& inserts) {
  const auto set = [&](const std::string& name, const std::string& text) {
    data.set("has_" + name, !trim(text).empty());
    data.set(name, inserts.mark(trim(text)));
  };
  set("reason", analysis.reason);
  set("bottleneck", analysis.bottleneck);
  set("method", analysis.method);
  set("plan", analysis.plan);
  set("expected_speedup", analysis.expected_speedup);
  set("output_requirement", analysis.output_requirement);
}

}  // namespace

std::string to_string(Part part) {
  switch (part) {
    case Part::Examples:
      return "examples";
    case Part::Earlier:
      return "history";
    case Part::Device:
      return "device";
  }
  return "";
}

std::vector<std::string> class_variables(const Outcome& outcome) {
  std::string name = "is_" + std::string(to_string(outcome.kind));
  std::vector<std::string> names{name};
  if (outcome.detail.empty()) return names;
  name.push_back('_');
  for (const char c : outcome.detail)
    name.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0
                       ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                       : '_');
  names.push_back(std::move(name));
  return names;
}

TemplateData make_prompt_data(const PromptRequest& request, const DataOptions& options, Inserts& inserts) {
  TemplateData data;
  set_target(data, request.target);
  set_task(data, request, inserts);
  set_device(data, request, options);
  set_history(data, request, options);
  data.set("has_examples", !is_dropped(options, Part::Examples));
  data.set("variant", sanitize_line(request.variant, k_max_shown_line));
  data.set("has_variant", !request.variant.empty());
  if (request.analysis) set_analysis(data, *request.analysis, inserts);
  if (request.base) {
    data.set("has_code", !trim(request.base->source).empty());
    set_source(data, "code", request.base->source, inserts);
    set_verdict(data, *request.base, options.measured, inserts);
  }
  return data;
}

}  // namespace v0
}  // namespace kernelgen
