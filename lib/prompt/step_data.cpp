#include "prompt/step_data.hpp"

#include <string>

#include "prompt/recurrence_plan.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// A kernel that works shows the form of an answer itself.
void set_form(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  const bool has_code = request.base && !trim(request.base->source).empty();
  const bool works = has_code && request.base->record && request.base->record->outcome.correct();
  data.set("has_working_kernel", works);
  data.set("has_examples", !works && !is_dropped(options, PromptPart::Examples));
  data.set("has_calls", !has_code);
}

void set_recurrence(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  data.set("has_recurrence_advice", request.description.is_recurrent() && !is_dropped(options, PromptPart::Recurrence));
  const auto sizes = options.measured == Measured::Blank
                         ? std::string()
                         : describe_sizes(recurrence_sizes(request.description), request.gpu);
  data.set("has_weights_on_chip", !sizes.empty());
  data.set("weights_on_chip", sizes);
  data.set("has_clusters", options.measured == Measured::Blank || !request.gpu || request.gpu->cluster_blocks > 1);
}

/// Whether the reference was timed on a device of the kind that times candidates.
bool is_timed_like_candidates(const ReferenceTime& reference, Target target) {
  const auto runs_on = traits_of(target).device;
  if (reference.on_gpu) return runs_on != TargetDevice::Cpu;
  // There Triton is interpreted, which is not timed.
  return runs_on != TargetDevice::Gpu && target != Target::Triton;
}

/// The reference's times where no candidate's verdict shows them.
void set_reference_time(TemplateData& data, const PromptRequest& request, Measured measured) {
  const auto& reference = request.description.reference_time;
  const bool timed = request.base && request.base->record && score_of(*request.base->record);
  const bool shown =
      measured == Measured::Shown && reference && !timed && is_timed_like_candidates(*reference, request.target);
  data.set("has_eager_time", shown);
  if (!shown) return;
  const auto& graph_ns = reference->graph_ns;
  data.set("eager_time", format_time(reference->call_ns));
  data.set("has_eager_graph_time", graph_ns.has_value());
  data.set("eager_graph_time", graph_ns ? format_time(*graph_ns) : "");
}

}  // namespace

void set_step(TemplateData& data, const PromptRequest& request, const DataOptions& options) {
  set_form(data, request, options);
  set_recurrence(data, request, options);
  set_reference_time(data, request, options.measured);
}

}  // namespace v0
}  // namespace kernelgen
