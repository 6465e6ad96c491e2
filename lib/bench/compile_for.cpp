#include "bench/compile_for.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include <kernelgen/platform/platform.hpp>

#include "bench/verdict.hpp"
#include "compile/kernel_resources.hpp"
#include "core/json_codec.hpp"
#include "device/gpu_json.hpp"
#include "support/json_text.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr std::uint64_t k_list_bytes = std::uint64_t{4} << 20;
constexpr std::size_t k_max_listed_kernels = 256;
constexpr std::size_t k_max_listed_name = 300;
constexpr std::size_t k_max_failure = 2000;
constexpr std::uint64_t k_max_shared_bytes = std::uint64_t{1} << 40;

/// One line of a builder's list: what a kernel needs, or why it was refused.
struct ListedKernel {
  std::string kernel;
  std::uint64_t dynamic_shared_bytes = 0;
  std::string code;
  std::string error;
};
BOOST_DESCRIBE_STRUCT(ListedKernel, (), (kernel, dynamic_shared_bytes, code, error))

void add_failure(ArchitectureReport& report, Outcome failure) {
  if (report.failure) return;
  failure.message = sanitize_line(failure.message, k_max_failure);
  report.failure = std::move(failure);
}

Outcome refusal_of(const ListedKernel& listed) {
  auto outcome = outcome_of_reply({.status = RunnerStatus::Exception, .text = listed.error}, RunnerStep::CompileFor);
  outcome.message = fmt::format("{}: {}", listed.kernel, listed.error);
  return outcome;
}

}  // namespace

Result<std::vector<GpuFacts>> choose_architectures(const GpuCatalog& catalog,
                                                   const std::vector<std::string>& architectures) {
  std::vector<GpuFacts> possible;
  std::vector<std::string> names;
  for (const auto& model : catalog) {
    const auto& name = model.facts.architecture;
    if (!platform_of(model.facts.vendor).has_code_metadata ||
        std::find(names.begin(), names.end(), name) != names.end())
      continue;
    possible.push_back(model.facts);
    names.push_back(name);
  }
  std::vector<GpuFacts> chosen;
  for (const auto& asked : architectures) {
    const auto is_asked = [&](const GpuFacts& gpu) { return gpu.architecture == asked; };
    const auto found = std::find_if(possible.begin(), possible.end(), is_asked);
    if (found == possible.end())
      return Error{ErrorCode::InvalidArgument, fmt::format("cannot compile for the architecture '{}'; take some of {}",
                                                           sanitize_line(asked, k_max_listed_name), join(names, ", "))};
    if (std::none_of(chosen.begin(), chosen.end(), is_asked)) chosen.push_back(*found);
  }
  return chosen;
}

ArchitectureReport read_kernel_list(std::string_view list) {
  ArchitectureReport report;
  for (const auto line : split_lines(list)) {
    if (line.empty()) continue;
    const auto parsed = parse_json(line);
    auto listed = parsed ? from_value<ListedKernel>(*parsed) : Result<ListedKernel>(parsed.error());
    auto kernels = listed ? parse_amdgpu_metadata(listed->code) : std::vector<KernelResources>();
    if (!listed || (kernels.size() != 1 && listed->error.empty())) {
      add_failure(report, {OutcomeKind::Cheat, "protocol", "its process listed something that is no kernel"});
      continue;
    }
    if (!listed->error.empty()) {
      add_failure(report, refusal_of(*listed));
      continue;
    }
    if (report.kernels.size() == k_max_listed_kernels) break;
    auto& kernel = report.kernels.emplace_back(std::move(kernels.front()));
    kernel.name = sanitize_line(listed->kernel, k_max_listed_name);
    kernel.dynamic_shared_bytes = std::min(listed->dynamic_shared_bytes, k_max_shared_bytes);
  }
  return report;
}

void add_end(ArchitectureReport& report, const RunnerAnswer& answer, const EvaluationOptions& options) {
  if (const auto* reply = std::get_if<RunnerReply>(&answer)) {
    auto outcome = outcome_of_reply(*reply, RunnerStep::CompileFor);
    if (outcome.correct()) return;
    // Without a device, forward() can be followed up to the first number that it needs.
    if (reply->status == RunnerStatus::Exception) outcome.message += "; kernels that are launched later are missing";
    return add_failure(report, std::move(outcome));
  }
  auto limits = options;
  limits.call_timeout = options.build_timeout;
  add_failure(report, outcome_of_death(std::get<RunnerDeath>(answer), RunnerStep::CompileFor, limits));
}

Result<ArchitectureReport> compile_for(const GpuFacts& gpu, const CompileForRequest& request, RunnerSource& runners,
                                       SharedMemorySource& memory, std::stop_token stop) {
  KERNELGEN_TRY(const auto code, memory.open_file(request.artifact));
  KERNELGEN_TRY(const auto job, memory.publish("kernelgen-job", request.job));
  KERNELGEN_TRY(const auto facts, memory.publish("kernelgen-facts", json::serialize(to_value(gpu))));
  KERNELGEN_TRY(const auto list, memory.allocate("kernelgen-kernels", k_list_bytes));
  CompileForJob asked;
  asked.description_fd = job->fd();
  asked.code_fd = code->fd();
  asked.builds_key = sha256_hex(fmt::format("{}\narchitecture {}\n", request.builds_key, gpu.architecture));
  asked.memory_limit = request.options.memory_limit;
  asked.facts_fd = facts->fd();
  asked.list_fd = list->fd();
  asked.list_bytes = k_list_bytes;
  // Triton compiles within Python's own process, so all of the time is the compiler's.
  const StepLimits limits{.call = request.options.build_timeout, .build = request.options.build_timeout};
  KERNELGEN_TRY(const auto answer, runners.compile_for(asked, limits, std::move(stop)));
  KERNELGEN_TRY(const auto text, list->text());
  auto report = read_kernel_list(text);
  report.architecture = gpu.architecture;
  add_end(report, answer, request.options);
  return report;
}

}  // namespace v0
}  // namespace kernelgen
