#include <utility>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/detect/persistent_detector.hpp>
#include <kernelgen/prompt/error_classifier.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/prompt/reply_reader.hpp>
#include <kernelgen/task/task_source.hpp>

#include "convert.hpp"
#include "module.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

nb::dict installation(const Text& prefix) {
  const auto found = value_of(installation_of(prefix.get()));
  nb::dict to;
  to["worker"] = found.worker.string();
  to["native_runner"] = found.native_runner.string();
  to["runner_support"] = found.runner_support.string();
  to["sandbox"] = found.sandbox.string();
  to["gpu_probe"] = found.gpu_probe.string();
  to["python_dir"] = found.python_dir.string();
  to["prompts_dir"] = found.prompts_dir.string();
  to["abi_dir"] = found.abi_dir.string();
  to["devices_dir"] = found.devices_dir.string();
  to["selftest_dir"] = found.selftest_dir.string();
  to["hip_cpu_dir"] = found.hip_cpu_dir.string();
  to["hip_cuda_dir"] = found.hip_cuda_dir.string();
  to["report_dir"] = found.report_dir.string();
  return to;
}

nb::dict load_task(const Text& name, const Text& kernelbench_dir) {
  return dict_of(value_of(load_task_source(name.get(), {.kernelbench_dir = kernelbench_dir.get()})));
}

nb::dict make_candidate_dict(const nb::dict& from) { return dict_of(candidate_of(from)); }

std::optional<std::string> guess_target_name(const Text& file_name, const Text& source) {
  const auto target = guess_target(file_name.get(), source.get());
  if (!target) return {};
  return std::string(to_string(*target));
}

std::string guess_language_name(const Text& file_name, const Text& target) {
  return std::string(to_string(guess_language(file_name.get(), target_of(target.get()))));
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (int value = 0; is_registered(static_cast<Target>(value)); ++value)
    names.emplace_back(to_string(static_cast<Target>(value)));
  return names;
}

std::string checked_record(const Text& text) { return to_json(value_of(parse_record(text.get()))); }

std::optional<double> score_of_record(const Text& text) { return score_of(value_of(parse_record(text.get()))); }

nb::dict classify(const Text& record, const Text& source) {
  const auto report = classify_error(value_of(parse_record(record.get())), source.get());
  nb::dict to;
  to["error_class"] = report.error_class;
  to["lines"] = nb::cast(report.lines);
  to["numbers"] = nb::cast(report.numbers);
  to["advice"] = report.advice;
  to["fingerprint"] = report.fingerprint;
  return to;
}

std::string detect_json(const Text& source, const Text& target) {
  return to_json(make_persistent_detector()->inspect(source.get(), target_of(target.get())));
}

nb::dict extract(const Text& text, const Text& target, const Text& finish) {
  Reply reply;
  reply.text = text.get();
  reply.finish = named("finish", finish.get(), parse_finish_reason, k_finish_reasons);
  auto found = extract_code(reply, target_of(target.get()));
  nb::dict to;
  to["code"] = nb::cast(found.code);
  to["problem"] = found.problem;
  to["change"] = found.change;
  return to;
}

PromptPart part_of(const std::string& name) {
  for (const auto part : {PromptPart::Examples, PromptPart::EarlierAttempts, PromptPart::Knowledge, PromptPart::Profile,
                          PromptPart::Device, PromptPart::Recurrence, PromptPart::Feedback})
    if (to_string(part) == name) return part;
  raise({ErrorCode::InvalidArgument, "option without is \"" + name + "\"; no part of a prompt has this name"});
}

Attempt attempt_of(const nb::dict& from) {
  Attempt attempt;
  assign(from, "action_id", attempt.action_id);
  assign(from, "source", attempt.source);
  if (const auto record = find<std::string>(from, "record")) attempt.record = value_of(parse_record(*record));
  assign(from, "message", attempt.message);
  assign(from, "change", attempt.change);
  return attempt;
}

Analysis analysis_of(const nb::dict& from) {
  Analysis analysis;
  assign(from, "worth_optimizing", analysis.worth_optimizing);
  assign(from, "reason", analysis.reason);
  assign(from, "bottleneck", analysis.bottleneck);
  assign(from, "method", analysis.method);
  assign(from, "plan", analysis.plan);
  assign(from, "expected_speedup", analysis.expected_speedup);
  assign(from, "output_requirement", analysis.output_requirement);
  assign(from, "correction", analysis.correction);
  return analysis;
}

nb::dict dict_of_analysis(const Analysis& analysis) {
  nb::dict to;
  to["worth_optimizing"] = analysis.worth_optimizing;
  to["reason"] = analysis.reason;
  to["bottleneck"] = analysis.bottleneck;
  to["method"] = analysis.method;
  to["plan"] = analysis.plan;
  to["expected_speedup"] = analysis.expected_speedup;
  to["output_requirement"] = analysis.output_requirement;
  to["correction"] = analysis.correction;
  return to;
}

PromptRequest prompt_request_of(const nb::dict& from) {
  PromptRequest request;
  request.kind = named("kind", find<std::string>(from, "kind").value_or("seed"), parse_prompt_kind, k_prompt_kinds);
  request.target = target_of(find<std::string>(from, "target").value_or("cpp"));
  if (const auto language = find<std::string>(from, "language"))
    request.language = named("language", *language, parse_language, k_languages);
  request.task = task_of(find<nb::dict>(from, "task").value_or(nb::dict{}));
  if (const auto description = find<std::string>(from, "description")) {
    request.description = value_of(description_of(*description));
    request.tolerance = standard_tolerance(request.description);
  } else {
    request.description.name = request.task.name;
  }
  assign(from, "rtol", request.tolerance.rtol);
  assign(from, "atol", request.tolerance.atol);
  assign(from, "threads", request.threads);
  assign(from, "on_gpu", request.on_gpu);
  assign(from, "gpu_vendor", request.gpu_vendor);
  assign(from, "gpu_architecture", request.gpu_architecture);
  assign(from, "device", request.device);
  if (const auto base = find<nb::dict>(from, "base")) request.base = attempt_of(*base);
  if (const auto second = find<nb::dict>(from, "second")) request.second = attempt_of(*second);
  for (const auto& one : find<std::vector<nb::dict>>(from, "history").value_or(std::vector<nb::dict>{}))
    request.history.push_back(attempt_of(one));
  if (const auto analysis = find<nb::dict>(from, "analysis")) request.analysis = analysis_of(*analysis);
  request.critique = find<std::string>(from, "critique");
  assign(from, "findings", request.findings);
  assign(from, "headroom", request.headroom);
  assign(from, "variant", request.variant);
  assign(from, "instructions", request.instructions);
  request.max_tokens = find<std::int64_t>(from, "max_tokens");
  for (const auto& part : find<std::vector<std::string>>(from, "without").value_or(std::vector<std::string>{}))
    request.without.push_back(part_of(part));
  return request;
}

/// A builder over templates.
struct NativePrompts {
  std::unique_ptr<PromptBuilder> builder;
};

nb::dict build(const NativePrompts& self, const nb::dict& request) {
  const auto prompt = value_of(self.builder->build(prompt_request_of(request)));
  nb::dict to;
  to["kind"] = std::string(to_string(prompt.kind));
  to["text"] = prompt.text;
  to["estimated_tokens"] = prompt.estimated_tokens;
  to["dropped"] = nb::cast(prompt.dropped);
  to["fingerprint"] = prompt.fingerprint;
  to["shared_bytes"] = prompt.shared_bytes;
  return to;
}

}  // namespace

void bind_values(nb::module_& module) {
  module.def("installation", &installation, nb::arg("prefix"));
  module.def("load_task", &load_task, nb::arg("name"), nb::arg("kernelbench_dir"));
  module.def("make_candidate", &make_candidate_dict, nb::arg("candidate"));
  module.def("guess_target", &guess_target_name, nb::arg("file_name"), nb::arg("source"));
  module.def("guess_language", &guess_language_name, nb::arg("file_name"), nb::arg("target"));
  module.def("targets", &target_names);
  module.def(
      "check_options", [](const nb::dict& options) { return dict_of(options_of(options)); }, nb::arg("options"));
  module.def("check_record", &checked_record, nb::arg("text"));
  module.def(
      "check_text", [](const Text& text) { [[maybe_unused]] const auto checked = text.get(); }, nb::arg("text"));
  module.def("score_of", &score_of_record, nb::arg("record"));
  module.def("classify_error", &classify, nb::arg("record"), nb::arg("source"));
  module.def("error_classes", &error_classes);
  module.def("detect", &detect_json, nb::arg("source"), nb::arg("target"));
  module.def("extract_code", &extract, nb::arg("text"), nb::arg("target"), nb::arg("finish"));
  module.def(
      "read_analysis", [](const Text& reply) { return dict_of_analysis(value_of(read_analysis(reply.get()))); },
      nb::arg("reply"));
  nb::class_<NativePrompts>(module, "NativePrompts")
      .def("build", &build, nb::arg("request"))
      .def(
          "variants",
          [](const NativePrompts& self, const Text& kind, const Text& target) {
            return self.builder->variants(named("kind", kind.get(), parse_prompt_kind, k_prompt_kinds),
                                          target_of(target.get()));
          },
          nb::arg("kind"), nb::arg("target"));
  module.def(
      "open_prompts",
      [](const Text& prefix, const Text& overrides) {
        const auto found = value_of(installation_of(prefix.get()));
        return std::make_unique<NativePrompts>(NativePrompts{
            value_of(make_prompt_builder({.directory = found.prompts_dir, .overrides = overrides.get()}))});
      },
      nb::arg("prefix"), nb::arg("overrides"));
}

}  // namespace kernelgen_python
