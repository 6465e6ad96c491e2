#include <utility>

#include <kernelgen/flow/audit.hpp>
#include <kernelgen/report/audit_report.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "module.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

AuditObserver audit_observer_of(CallState& state, const nb::object& callback) {
  if (callback.is_none()) return {};
  return [&state, held = std::make_shared<Held>(callback)](const AuditStep& step) {
    call_back(state, [&]() -> nb::object {
      return held->get()(step.over, step.planned, std::string(step.name), step.repetition,
                         step.record != nullptr ? step.record->outcome.to_class() : std::string(), step.text);
    });
  };
}

class Auditing final : public Work {
 public:
  Auditing(CallState& state, const nb::object& judge, SolutionSources sources, AuditRequest request,
           const nb::object& observer)
      : sources_(std::move(sources)), request_(std::move(request)), observer_(audit_observer_of(state, observer)) {
    request_.make_benchmarker = benchmarkers_of(state, judge);
  }

  Result<void> run(CallState& state) override {
    auto found = find_solutions(sources_);
    if (!found) return std::move(found).error();
    request_.solutions = std::move(found->solutions);
    request_.unpaired = std::move(found->unpaired);
    notes_ = std::move(found->notes);
    auto report = run_audit(request_, observer_, state.stop_token());
    if (!report) return std::move(report).error();
    if (report->cancelled) return Error{ErrorCode::Cancelled, "the audit was stopped; its records stay"};
    json_ = audit_json(*report);
    return {};
  }
  nb::object result() override { return nb::make_tuple(json_, nb::cast(notes_)); }

 private:
  SolutionSources sources_;
  AuditRequest request_;
  AuditObserver observer_;
  std::vector<std::string> notes_;
  std::string json_;
};

Call start_audit(const nb::object& judge, const nb::dict& request, const nb::object& observer,
                 const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  SolutionSources sources;
  for (auto& path : find<std::vector<std::string>>(request, "paths").value_or(std::vector<std::string>{}))
    sources.paths.emplace_back(std::move(path));
  assign(request, "task", sources.task);
  assign(request, "kernelbench_dir", sources.locator.kernelbench_dir);
  sources.options = options_of(require<nb::dict>(request, "options"));
  AuditRequest audit;
  audit.records_directory = require<std::string>(request, "records_directory");
  assign(request, "times", audit.times);
  assign(request, "parallel", audit.parallel);
  assign(request, "margin", audit.rules.margin);
  assign(request, "any_device", audit.rules.any_device);
  if (audit.times < 1 || audit.parallel < 1)
    raise({ErrorCode::InvalidArgument, "options times and parallel are 1 or more"});
  if (!(audit.rules.margin >= 0)) raise({ErrorCode::InvalidArgument, "option margin is 0 or more"});
  auto work = std::make_unique<Auditing>(*state, judge, std::move(sources), std::move(audit), observer);
  return {std::move(state), std::move(work), on_done};
}

}  // namespace

void bind_audit(nb::module_& module) {
  module.def("start_audit", &start_audit, nb::arg("judge"), nb::arg("request"), nb::arg("observer").none(),
             nb::arg("on_done").none());
}

}  // namespace kernelgen_python
