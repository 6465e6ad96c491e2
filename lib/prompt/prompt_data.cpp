#include "prompt/prompt_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include <kernelgen/platform/platform.hpp>
#include <kernelgen/prompt/knowledge_topics.hpp>
#include <kernelgen/prompt/reply_reader.hpp>

#include "prompt/family_data.hpp"
#include "prompt/step_data.hpp"
#include "prompt/verdict_data.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using List = kainjow::mustache::list;

constexpr std::size_t k_max_shown_line = 240;
constexpr std::size_t k_max_profiled_kernels = 8;
constexpr std::size_t k_max_kernel_name = 80;
/// The position against the roofline and three findings: more pull a model in several directions.
constexpr std::size_t k_max_findings = 4;
constexpr std::size_t k_max_finding = 600;

/// A fence that the text does not contain.
std::string fence_for(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(3, longest + 1), '`');
}

/// Sets a fenced text, without its last line end, which the template writes.
void set_source(TemplateData& data, const std::string& name, std::string_view text, VerbatimTexts& verbatim) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  data.set(name, verbatim.placeholder(text));
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

/// This label changes the meaning of the source: the task runs with other constants.
void set_labels(TemplateData& data, const TaskDescription& task) {
  std::vector<std::string> shrunk;
  std::copy_if(task.labels.begin(), task.labels.end(), std::back_inserter(shrunk),
               [](const std::string& label) { return label.rfind("shrunk", 0) == 0; });
  set_names(data, "shrunk", shrunk);
}

/// Describes weights that are read in every step, grouped by shape: "6 of (768, 256), 768 KiB each, 4.5 MiB in all".
std::string recurrent_weights(const TaskDescription& task) {
  std::map<std::vector<std::int64_t>, int> shapes;
  for (const auto& tensor : task.parameters)
    if (tensor.name.find("weight_hh") != tensor.name.npos) ++shapes[tensor.shape];
  std::vector<std::string> groups;
  double total = 0;
  for (const auto& [shape, count] : shapes) {
    double bytes = 4;
    for (const auto length : shape) bytes *= static_cast<double>(length);
    total += bytes * count;
    groups.push_back(fmt::format("{} of {}, {:.0f} KiB each", count, tuple(shape), bytes / 1024));
  }
  if (groups.empty()) return "";
  return fmt::format("{}; {:.0f} KiB in all", fmt::join(groups, ", "), total / 1024);
}

/// "1.5 GFLOP".
std::string amount_of(std::int64_t number, const char* unit) {
  const auto value = static_cast<double>(number);
  if (value >= 1e12) return fmt::format("{:.3g} T{}", value / 1e12, unit);
  if (value >= 1e9) return fmt::format("{:.3g} G{}", value / 1e9, unit);
  if (value >= 1e6) return fmt::format("{:.3g} M{}", value / 1e6, unit);
  return fmt::format("{:.3g} k{}", value / 1e3, unit);
}

std::string describe_work(const TaskFacts& facts) {
  std::vector<std::string> parts;
  if (facts.product_flops > 0) parts.push_back(amount_of(facts.product_flops, "FLOP") + " of products");
  if (facts.other_flops > 0) parts.push_back(amount_of(facts.other_flops, "FLOP") + " of other operations");
  parts.push_back(amount_of(facts.input_bytes, "B") + " of inputs");
  if (facts.state_bytes > 0) parts.push_back(amount_of(facts.state_bytes, "B") + " of weights and other state");
  parts.push_back(amount_of(facts.output_bytes, "B") + " of outputs");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cell_name(RecurrenceKind kind) {
  switch (kind) {
    case RecurrenceKind::Gru:
      return "GRU";
    case RecurrenceKind::Lstm:
      return "LSTM";
    case RecurrenceKind::Rnn:
      return "RNN";
    case RecurrenceKind::Loop:
      break;
  }
  return "a loop";
}

/// "GRU, 6 layers, 512 steps, hidden size 256; it returns something of every step".
std::string describe_recurrence(const RecurrenceFact& recurrence) {
  auto text = fmt::format("{}, ", cell_name(recurrence.kind));
  if (recurrence.kind != RecurrenceKind::Loop)
    text += fmt::format("{} layer{}, ", recurrence.layers, recurrence.layers == 1 ? "" : "s");
  if (recurrence.directions == 2) text += "both directions, ";
  text += fmt::format("{} steps", recurrence.steps);
  if (recurrence.hidden_size) text += fmt::format(", hidden size {}", *recurrence.hidden_size);
  if (!recurrence.returns) return text;
  switch (*recurrence.returns) {
    case OutputRequirement::FullSequence:
      return text + "; what it returns is made of every step";
    case OutputRequirement::FinalStateOnly:
      return text + "; what it returns is what the last step left";
    case OutputRequirement::Other:
      return text + "; what it returns is neither every step nor the last one";
  }
  return text;
}

void set_facts(TemplateData& data, const TaskDescription& task) {
  data.set("is_recurrent", task.is_recurrent());
  data.set("has_facts", task.facts.has_value());
  if (!task.facts) return;
  data.set("work", describe_work(*task.facts));
  if (task.facts->recurrence) data.set("recurrence", describe_recurrence(*task.facts->recurrence));
}

void set_task(TemplateData& data, const PromptRequest& request, VerbatimTexts& verbatim) {
  const auto& task = request.description;
  data.set("task_name", sanitize_line(request.task.name, k_max_shown_line));
  set_source(data, "reference", request.task.text, verbatim);
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
  set_facts(data, task);
  const auto weights = recurrent_weights(task);
  data.set("has_recurrent_weights", !weights.empty());
  data.set("recurrent_weights", weights);
  data.set("rtol", fmt::format("{:g}", request.tolerance.rtol));
  data.set("atol", fmt::format("{:g}", request.tolerance.atol));
  data.set("has_float64_multiple", request.tolerance.max_rms_error_multiple > 0);
  data.set("float64_multiple", fmt::format("{:g}", request.tolerance.max_rms_error_multiple));
}

std::string language_name(Target target, Language language) {
  return language == Language::C ? "C" : traits_of(target).language;
}

std::string fence_tag(Target target, Language language) {
  return language == Language::C ? "c" : traits_of(target).fence_tag;
}

/// The platform with the words that a prompt uses: the target's, else that of the GPU that judges. Blank data does not
/// tell where candidates run, unless the target does.
const Platform& platform_for(const PromptRequest& request, Measured measured) {
  const auto& traits = traits_of(request.target);
  const bool tells = !traits.gpu_vendor.empty() || measured == Measured::Blank || !request.on_gpu ||
                     traits.device == TargetDevice::Cpu;
  return platform_of(tells ? traits.gpu_vendor : request.gpu_vendor);
}

void set_platform(TemplateData& data, const PromptRequest& request, Measured measured) {
  const auto& platform = platform_for(request, measured);
  for (const auto* one : platforms()) data.set("is_" + one->vendor, one == &platform);
  const auto& words = platform.words;
  data.set("stream_type", words.stream_type);
  data.set("runtime", words.runtime_prefix);
  data.set("multiprocessor", words.multiprocessor);
  data.set("shared_memory", words.shared_memory);
  data.set("warp", words.warp);
  KernelPlace place{.target = request.target, .is_amd = platform.vendor == "amd"};
  if (measured == Measured::Shown && request.gpu_vendor == platform.vendor) {
    place.features = platform.kernel_features(request.gpu_architecture);
    data.set("has_architecture", !place.features.empty());
    data.set("architecture", sanitize_line(request.gpu_architecture, k_max_shown_line));
    for (const auto& feature : place.features) data.set("has_" + feature, true);
  }
  set_families(data, request.description, place);
}

void set_target(TemplateData& data, Target target, Language language, VerbatimTexts& verbatim) {
  data.set("target", std::string(to_string(target)));
  for (const auto one : {Target::Cpp, Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton, Target::Torch})
    data.set("is_" + std::string(to_string(one)), one == target);
  data.set("is_native", is_native(target));
  data.set("is_native_gpu", is_native(target) && needs_gpu(target));
  data.set("language", language_name(target, language));
  data.set("is_c", language == Language::C);
  data.set("fence_tag", fence_tag(target, language));
  const auto text = trim(traits_of(target).prompt_text);
  data.set("target_text", verbatim.placeholder(text));
  // The text of a target's traits says all about its interface.
  data.set("has_interface", is_native(target) && text.empty());
  data.set("worker", target == Target::Triton ? "program" : needs_gpu(target) ? "block" : "thread");
}

/// Blank data does not tell where candidates run, unless the target does.
void set_place(TemplateData& data, const PromptRequest& request, Measured measured) {
  const auto device = traits_of(request.target).device;
  data.set("is_gpu", device == TargetDevice::Gpu ||
                         (request.on_gpu && device == TargetDevice::Any && measured == Measured::Shown));
}

void set_device(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  const bool blank = options.measured == Measured::Blank;
  data.set("threads", blank ? "" : std::to_string(request.threads));
  // One blank fact for any number of facts, because machines report different ones.
  const auto facts = blank ? std::vector<DeviceFact>{{"", ""}} : request.device;
  List rows;
  for (const auto& [name, value] : facts) {
    TemplateData row;
    row.set("fact_name", sanitize_line(name, k_max_shown_line));
    row.set("fact_value", sanitize_line(value, k_max_shown_line));
    rows.push_back(std::move(row));
  }
  data.set("has_device", !rows.empty() && !is_dropped(options, PromptPart::Device));
  data.set("device", rows);
}

void set_knowledge(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  const auto topics = knowledge_topics_of(request.description);
  data.set("has_products", std::any_of(topics.begin(), topics.end(), [](KnowledgeTopic topic) {
             return topic == KnowledgeTopic::Gemm || topic == KnowledgeTopic::Convolution ||
                    topic == KnowledgeTopic::Attention;
           }));
  if (is_dropped(options, PromptPart::Knowledge)) return;
  for (const auto topic : topics) data.set("is_" + std::string(to_string(topic)), true);
  data.set("has_knowledge", !topics.empty());
}

TemplateData history_row(const Attempt& attempt, Measured measured, bool is_base) {
  // A reply's own words are not part of the fingerprint: equal candidates may come with other ones.
  const auto change = measured == Measured::Blank ? "" : quoted_line(attempt.change, k_max_change);
  TemplateData row;
  row.set("attempt_id", sanitize_line(attempt.action_id, k_max_shown_line));
  row.set("attempt_result", describe_attempt(attempt, measured));
  row.set("has_attempt_change", !change.empty());
  row.set("attempt_change", change);
  row.set("is_base", is_base);
  return row;
}

void set_history(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  List rows;
  for (const auto& attempt : request.history) rows.push_back(history_row(attempt, options.measured, false));
  const bool tells = request.base && !request.base->change.empty() && options.measured == Measured::Shown;
  if (tells) rows.push_back(history_row(*request.base, options.measured, true));
  const bool second_tells = request.second && !request.second->change.empty() && options.measured == Measured::Shown;
  if (second_tells) rows.push_back(history_row(*request.second, options.measured, true));
  data.set("has_history", !rows.empty() && !is_dropped(options, PromptPart::EarlierAttempts));
  data.set("history", rows);
}

/// The other kernel of a crossover.
void set_second(TemplateData& data, const Attempt& second, Measured measured, VerbatimTexts& verbatim) {
  const auto score = second.record ? score_of(*second.record) : std::nullopt;
  set_source(data, "second_code", second.source, verbatim);
  data.set("second_id", sanitize_line(second.action_id, k_max_shown_line));
  data.set("has_second_speedup", measured == Measured::Blank || score.has_value());
  data.set("second_speedup", measured == Measured::Blank ? "" : fmt::format("{:.3g}", score.value_or(0)));
}

void set_analysis(TemplateData& data, const Analysis& analysis, VerbatimTexts& verbatim) {
  data.set("has_analysis", true);
  const auto set = [&](const std::string& name, const std::string& text) {
    data.set("has_" + name, !trim(text).empty());
    data.set(name, verbatim.placeholder(trim(text)));
  };
  set("reason", analysis.reason);
  set("bottleneck", analysis.bottleneck);
  set("method", analysis.method);
  set("plan", analysis.plan);
  set("expected_speedup", analysis.expected_speedup);
  set("output_requirement", analysis.output_requirement);
  set("correction", analysis.correction);
}

void set_critique(TemplateData& data, const std::string& reply, VerbatimTexts& verbatim) {
  const auto critique = read_critique(reply);
  if (!critique) return;
  data.set("has_critique", true);
  const auto set = [&](const std::string& name, const std::string& text) {
    data.set("has_critique_" + name, !trim(text).empty());
    data.set("critique_" + name, verbatim.placeholder(trim(text)));
  };
  set("problem", critique->problem);
  set("evidence", critique->evidence);
  set("change", critique->change);
}

/// Everything in a profile is measured: blank data has none of it.
void set_profile(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  if (options.measured == Measured::Blank || is_dropped(options, PromptPart::Profile)) return;
  List kernels;
  if (request.profile && !request.profile->unavailable) {
    for (const auto& kernel : request.profile->kernels) {
      if (kernels.size() == k_max_profiled_kernels) break;
      TemplateData row;
      row.set("kernel_name", sanitize_line(kernel.function.empty() ? kernel.name : kernel.function, k_max_kernel_name));
      row.set("kernel_origin", std::string(to_string(kernel.origin)));
      row.set("kernel_launches", std::to_string(kernel.launches));
      row.set("kernel_time", format_time(kernel.duration_ns));
      row.set("kernel_share", fmt::format("{:.0f} %", 100 * request.profile->share_of(kernel)));
      kernels.push_back(std::move(row));
    }
    data.set("profile_source", sanitize_line(request.profile->source, k_max_shown_line));
  }
  data.set("has_kernels", !kernels.empty());
  data.set("kernels", kernels);
  List findings;
  for (const auto& finding : request.findings) {
    if (findings.size() == k_max_findings) break;
    TemplateData row;
    row.set("finding", sanitize_line(finding, k_max_finding));
    findings.push_back(std::move(row));
  }
  data.set("has_findings", !findings.empty());
  data.set("findings", findings);
  data.set("has_headroom", !request.headroom.empty());
  data.set("headroom", sanitize_line(request.headroom, k_max_finding));
  data.set("has_profile", !kernels.empty() || !findings.empty() || !request.headroom.empty());
}

}  // namespace

std::string format_time(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.1f} us", nanoseconds / 1e3);
  return fmt::format("{:.3f} ms", nanoseconds / 1e6);
}

bool is_dropped(const DataOptions& options, PromptPart part) {
  return std::find(options.dropped.begin(), options.dropped.end(), part) != options.dropped.end();
}

std::string_view to_string(PromptPart part) {
  switch (part) {
    case PromptPart::Examples:
      return "examples";
    case PromptPart::EarlierAttempts:
      return "history";
    case PromptPart::Knowledge:
      return "knowledge";
    case PromptPart::Profile:
      return "profile";
    case PromptPart::Device:
      return "device";
    case PromptPart::Recurrence:
      return "recurrence";
    case PromptPart::Feedback:
      return "feedback";
  }
  return "";
}

PromptRequest without_feedback(PromptRequest request) {
  for (auto* attempt : {&request.base, &request.second}) {
    if (!*attempt) continue;
    auto& shown = **attempt;
    shown.change.clear();
    if (shown.record && shown.record->outcome.correct()) {
      EvaluationRecord record;
      record.target = shown.record->target;
      record.outcome = {OutcomeKind::Correct, "", ""};
      shown.record = std::move(record);
    } else {
      shown.record.reset();
      shown.message = "it is not correct; no more is told";
    }
  }
  request.history.clear();
  request.profile.reset();
  request.findings.clear();
  request.headroom.clear();
  return request;
}

Language language_of(const PromptRequest& request) {
  return request.language.value_or(default_language(request.target));
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

TemplateData make_prompt_data(const PromptRequest& request, const DataOptions& options, VerbatimTexts& verbatim) {
  TemplateData data;
  set_target(data, request.target, language_of(request), verbatim);
  set_platform(data, request, options.measured);
  set_place(data, request, options.measured);
  set_task(data, request, verbatim);
  set_device(data, request, options);
  set_history(data, request, options);
  set_knowledge(data, request, options);
  set_step(data, request, options);
  data.set("variant", sanitize_line(request.variant, k_max_shown_line));
  data.set("has_variant", !request.variant.empty());
  data.set("has_instructions", !trim(request.instructions).empty());
  data.set("instructions", verbatim.placeholder(trim(request.instructions)));
  set_profile(data, request, options);
  if (request.analysis) set_analysis(data, *request.analysis, verbatim);
  if (request.critique) set_critique(data, *request.critique, verbatim);
  if (request.second) set_second(data, *request.second, options.measured, verbatim);
  if (request.base) {
    data.set("has_code", !trim(request.base->source).empty());
    set_source(data, "code", request.base->source, verbatim);
    set_verdict(data, *request.base, options.measured, verbatim);
    const bool failed = !request.base->record || !request.base->record->outcome.correct();
    data.set("is_correctness", request.variant.empty() ? failed : request.variant == k_correctness);
  }
  return data;
}

}  // namespace v0
}  // namespace kernelgen
