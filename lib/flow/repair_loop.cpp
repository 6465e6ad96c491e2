#include <kernelgen/flow/repair_loop.hpp>

#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

FlowRequest flow_request(const RepairRequest& request) {
  FlowRequest flow;
  flow.task = request.task;
  flow.target = request.candidate.target;
  flow.evaluation = request.evaluation;
  flow.device = request.device;
  flow.max_prompt_tokens = request.max_prompt_tokens;
  flow.request_timeout = request.request_timeout;
  flow.goal = 0;
  flow.parallel_requests = 1;
  return flow;
}

}  // namespace

RepairLoop::RepairLoop(const Backends& backends, RepairOptions options)
    : backends_(backends), options_(std::move(options)) {}

Result<FlowOutcome> RepairLoop::run(const RepairRequest& request, const FlowObserver& observer, std::stop_token stop) {
  ActionResult start;
  start.action.id = "start";
  start.status = ActionStatus::Evaluated;
  start.candidate = request.candidate;
  start.recurrence = backends_.detector.inspect(request.candidate.source, request.candidate.target).verdict;
  start.record = request.record;
  if (!start.record) {
    auto record = backends_.benchmarker.evaluate({request.task, request.candidate, request.evaluation}, {}, stop);
    if (!record) return std::move(record).error();
    start.record = *std::move(record);
  }
  auto flow = flow_request(request);
  flow.known.push_back(std::move(start));
  const auto policy = make_repair_policy(options_);
  const auto journal = make_memory_journal([] { return std::chrono::system_clock::now(); });
  return run_flow(flow, *policy, backends_, *journal, observer, stop);
}

}  // namespace v0
}  // namespace kernelgen
