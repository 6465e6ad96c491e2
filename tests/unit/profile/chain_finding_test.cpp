// A chain of dependent steps within a kernel: time and cycles of a step, and no advice that does not fit it.
#include "profile/chain_finding.hpp"

#include <algorithm>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

KernelProfile counted_kernel(std::string name, double duration_ns, std::int64_t launches,
                             std::vector<Metric> metrics = {}) {
  KernelProfile made;
  made.function = name;
  made.origin = origin_of_kernel(name);
  made.name = std::move(name);
  made.duration_ns = duration_ns;
  made.launches = launches;
  made.counted_launches = metrics.empty() ? 0 : 1;
  made.metrics = std::move(metrics);
  return made;
}

/// The counters of a persistent kernel: 96 blocks with one multiprocessor each.
std::vector<Metric> persistent_counters() {
  return {{"grid_blocks", 96, "block"},   {"dram_throughput_pct", 2, "%"}, {"sm_throughput_pct", 35, "%"},
          {"occupancy_pct", 12, "%"},     {"block_threads", 256, ""},      {"shared_bytes_per_block", 200'000, "byte"},
          {"stall_barrier_pct", 22, "%"}, {"stall_memory_pct", 38, "%"}};
}

Profile profile_with_kernels(std::vector<KernelProfile> kernels) {
  Profile profile;
  for (const auto& one : kernels) profile.call_ns += one.duration_ns;
  profile.kernels = std::move(kernels);
  return profile;
}

GpuFacts chain_gpu() {
  GpuFacts gpu;
  gpu.vendor = "nvidia";
  gpu.multiprocessors = 132;
  gpu.clock_khz = 1'980'000;
  gpu.shared_bytes_per_block = 49'152;
  gpu.shared_bytes_per_block_optin = 232'448;
  return gpu;
}

const StepChain k_chain{.steps = 517, .floor_ns = 327'500};

std::vector<std::string> finding_names(const std::vector<ProfileFinding>& findings) {
  std::vector<std::string> names;
  for (const auto& finding : findings) names.push_back(finding.name);
  return names;
}
using FindingNames = std::vector<std::string>;

std::string finding_message(const std::vector<ProfileFinding>& findings, std::string_view name) {
  for (const auto& finding : findings)
    if (finding.name == name) return finding.message;
  return "no " + std::string(name);
}

/// A GRU of one layer and 512 steps.
TaskDescription two_layer_gru() {
  TaskDescription task;
  task.parameters = {{"gru.weight_ih_l0", DType::Float32, {768, 128}, {}},
                     {"gru.weight_hh_l0", DType::Float32, {768, 256}, {}},
                     {"gru.weight_ih_l1", DType::Float32, {768, 256}, {}},
                     {"gru.weight_hh_l1", DType::Float32, {768, 256}, {}}};
  task.facts.emplace().recurrence =
      RecurrenceFact{.kind = RecurrenceKind::Gru, .layers = 2, .steps = 512, .returns = {}};
  return task;
}

Headroom headroom_by(std::string bound) {
  return {.bound = std::move(bound), .floor_ns = 1000, .time_ns = 2000, .ratio = 2, .sentence = {}};
}

}  // namespace

TEST_CASE("a chain is told its cycles for each step, and is not to be split finer", "[profile][findings][chain]") {
  const auto profile = profile_with_kernels({counted_kernel("gru", 1.31e6, 1, persistent_counters())});
  const auto found = find_bottlenecks(profile, chain_gpu(), k_chain);
  CHECK(finding_names(found) == FindingNames{"chain", "stalls"});
  CHECK(
      finding_message(found, "chain") ==
      "gru: 517 dependent steps in 1 launch of 96 blocks, 2.53 us or 5017 cycles at 1980 MHz for each, 4.00 times the "
      "least possible of 0.63 us: shorten the exchange of a step (flags or sends in place of barriers, work that needs "
      "no state meanwhile) and spread its product (weights in registers, every warp at it); more blocks help only "
      "where they save more product than their exchange costs");
  // The same counters of a kernel that is no chain.
  const auto other = find_bottlenecks(profile, chain_gpu());
  CHECK(finding_names(other) == FindingNames{"few_blocks", "shared_memory_use", "stalls"});
  CHECK(finding_message(other, "few_blocks") ==
        "gru: 96 blocks on 132 multiprocessors: 27 % of the device has nothing to do; split the work finer");
}

TEST_CASE("what is not known of a chain is left out", "[profile][findings][chain]") {
  const auto profile = profile_with_kernels({counted_kernel("gru", 517'000, 6)});
  const auto found = find_bottlenecks(profile, std::nullopt, StepChain{.steps = 517, .floor_ns = {}});
  CHECK_THAT(finding_message(found, "chain"),
             Catch::StartsWith("gru: 517 dependent steps in 6 launches, 1.00 us for each: shorten the exchange"));
}

TEST_CASE("what limits a chain beside its steps is still told", "[profile][findings][chain]") {
  auto counters = persistent_counters();
  counters.push_back({"shared_conflict_pct", 30, "%"});
  counters[2].value = 70;
  const auto found =
      find_bottlenecks(profile_with_kernels({counted_kernel("gru", 1.31e6, 1, counters)}), chain_gpu(), k_chain);
  CHECK(finding_message(found, "compute_bound") != "no compute_bound");
  CHECK(finding_message(found, "bank_conflicts") != "no bank_conflicts");
}

TEST_CASE("a chain near its floor comes after what costs more", "[profile][findings][chain]") {
  auto counters = persistent_counters();
  counters.push_back({"sectors_per_load", 32, "sector"});
  const auto profile = profile_with_kernels({counted_kernel("gru", 350'000, 1, counters)});
  CHECK(finding_names(find_bottlenecks(profile, chain_gpu(), k_chain)) ==
        FindingNames{"uncoalesced", "chain", "stalls"});
}

TEST_CASE("the kernels of a chain are the longest own one and those that are as long", "[profile][findings][chain]") {
  const auto names = [](const Profile& profile) {
    FindingNames found;
    for (const auto* one : chain_kernels(profile, k_chain)) found.push_back(one->function);
    return found;
  };
  CHECK(names(profile_with_kernels({counted_kernel("forward", 600e3, 1), counted_kernel("backward", 580e3, 1),
                                    counted_kernel("gates", 90e3, 1)})) == FindingNames{"forward", "backward"});
  // Libraries prepare inputs, and what is launched in each step is no chain of its own.
  CHECK(names(profile_with_kernels({counted_kernel("ampere_sgemm_128x64_tn", 900e3, 1),
                                    counted_kernel("step", 800e3, 517), counted_kernel("gru", 700e3, 1)})) ==
        FindingNames{"gru"});
  CHECK(names(profile_with_kernels({counted_kernel("step", 800e3, 517)})).empty());
  CHECK(names({}).empty());
  CHECK(find_bottlenecks({}, chain_gpu(), k_chain).empty());
}

TEST_CASE("kernels of a chain that overlap count the time in which they ran", "[profile][findings][chain]") {
  auto profile = profile_with_kernels({counted_kernel("forward", 517'000, 1), counted_kernel("backward", 517'000, 1)});
  CHECK_THAT(finding_message(find_bottlenecks(profile, {}, k_chain), "chain"),
             Catch::Contains("in 2 launches, 2.00 us for each"));
  profile.span_ns = 600'000;
  CHECK_THAT(finding_message(find_bottlenecks(profile, {}, k_chain), "chain"),
             Catch::Contains("in 2 launches, 1.16 us for each"));
  // A span that is shorter than a kernel is no time of its own.
  profile.span_ns = 1;
  CHECK_THAT(finding_message(find_bottlenecks(profile, {}, k_chain), "chain"),
             Catch::Contains("in 2 launches, 1.00 us for each"));
}

TEST_CASE("a chain is what the detector and the task say together", "[profile][findings][chain]") {
  const auto chain = step_chain_of(two_layer_gru(), Recurrence::Persistent, headroom_by("chain"));
  REQUIRE(chain);
  // Two layers as a wavefront.
  CHECK(chain->steps == 513);
  CHECK(chain->floor_ns == 1000);
  // An empty kernel is no floor of a step.
  CHECK_FALSE(step_chain_of(two_layer_gru(), Recurrence::Persistent, headroom_by("launch"))->floor_ns);
  CHECK_FALSE(step_chain_of(two_layer_gru(), Recurrence::Persistent, {})->floor_ns);
  for (const auto other : {Recurrence::PerStep, Recurrence::NotRecurrent, Recurrence::Unknown})
    CHECK_FALSE(step_chain_of(two_layer_gru(), other, {}));
  CHECK_FALSE(step_chain_of({}, Recurrence::Persistent, {}));
  // A loop without layers of torch.nn.
  auto loop = two_layer_gru();
  loop.parameters.clear();
  CHECK(step_chain_of(loop, Recurrence::Persistent, {})->steps == 512);
  loop.facts->recurrence->steps = 1;
  CHECK_FALSE(step_chain_of(loop, Recurrence::Persistent, {}));
}

TEST_CASE("what warps wait for is told of the three longest kernels", "[profile][findings]") {
  const auto waits = [](const char* name, double ns, double memory, double barrier) {
    return counted_kernel(name, ns, 1, {{"stall_memory_pct", memory, "%"}, {"stall_barrier_pct", barrier, "%"}});
  };
  const auto profile = profile_with_kernels(
      {waits("a", 50e3, 25, 60), waits("b", 30e3, 5, 5), waits("c", 20e3, 40, 0), waits("d", 10e3, 90, 0)});
  auto gpu = chain_gpu();
  CHECK(stall_finding(profile, gpu)->message ==
        "of the warps wait, in the longest kernels: a 60 % for a barrier, 25 % for memory; c 40 % for memory");
  gpu.vendor = "amd";
  CHECK_THAT(stall_finding(profile, gpu)->message, Catch::StartsWith("of the wavefronts wait"));
  CHECK_FALSE(stall_finding(profile_with_kernels({counted_kernel("a", 1, 1)}), gpu));
  CHECK_FALSE(stall_finding({}, gpu));
}

TEST_CASE("what warps wait for does not push out other findings of a stage", "[profile][findings]") {
  auto counters = persistent_counters();
  counters.push_back({"shared_conflict_pct", 30, "%"});
  counters.push_back({"sectors_per_load", 32, "sector"});
  const auto profile = profile_with_kernels({counted_kernel("gru", 1.31e6, 1, counters)});
  CHECK(finding_names(findings_for_stage(profile, "step_exchange", chain_gpu(), TaskLevel::Unknown, k_chain)) ==
        FindingNames{"roofline", "stalls", "chain", "uncoalesced", "bank_conflicts"});
}
