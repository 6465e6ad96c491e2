#include <algorithm>
#include <array>

#include <kernelgen/flow/stages.hpp>
#include <kernelgen/prompt/knowledge_topics.hpp>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_set_size = 3;
/// An empty name ends a shorter set.
using SetNames = std::array<std::string_view, k_set_size>;

/// The stages of a kind of work, by how a target is written.
struct FamilyStages {
  KnowledgeTopic topic;
  /// Kernels for GPUs: native ones and Triton's.
  SetNames gpu;
  SetNames cpp;
  /// Calls of a library: what happens inside of one is not tuned.
  SetNames torch;
};

constexpr SetNames k_torch_batches{"grid_and_parallel", "memory_and_tuning"};
constexpr SetNames k_rows{"row_split", "row_passes", "memory_access"};

constexpr std::array<FamilyStages, 10> k_families{{
    {KnowledgeTopic::Network,
     {"network_fusion", "network_launches", "network_weights"},
     {"network_fusion", "network_weights", "block_tiling"},
     {"network_fusion", "network_launches", "network_weights"}},
    {KnowledgeTopic::Attention,
     {"attention_tiles", "attention_softmax", "advanced_memory"},
     {"attention_tiles", "attention_softmax", "memory_and_tuning"},
     k_torch_batches},
    {KnowledgeTopic::Convolution,
     {"window_tiles", "advanced_memory", "epilogue"},
     {"window_tiles", "memory_access", "epilogue"},
     {"memory_access", "epilogue"}},
    {KnowledgeTopic::Gemm,
     {"block_tiling", "advanced_memory", "epilogue"},
     {"block_tiling", "memory_access", "epilogue"},
     {"epilogue", "memory_and_tuning"}},
    {KnowledgeTopic::Scan,
     {"scan_passes", "scan_chunks", "memory_access"},
     {"scan_passes", "scan_chunks", "memory_access"},
     k_torch_batches},
    {KnowledgeTopic::Normalization,
     {"row_passes", "row_split", "memory_access"},
     {"row_passes", "row_split", "memory_access"},
     k_torch_batches},
    {KnowledgeTopic::Loss, k_rows, k_rows, k_torch_batches},
    {KnowledgeTopic::Reduction, k_rows, k_rows, k_torch_batches},
    {KnowledgeTopic::Pooling,
     {"memory_access", "loads_in_flight"},
     {"memory_access", "advanced_memory"},
     {"memory_and_tuning"}},
    {KnowledgeTopic::Elementwise,
     {"memory_access", "loads_in_flight"},
     {"memory_access", "advanced_memory"},
     {"memory_and_tuning"}},
}};

constexpr SetNames k_loop_in_kernel{"step_product", "step_exchange", "step_tail"};
constexpr SetNames k_loop_on_host{"step_launches", "step_product", "step_tail"};
constexpr SetNames k_loop_in_python{"step_launches", "memory_and_tuning"};

/// The stages where nothing is known.
constexpr SetNames k_general{"grid_and_parallel", "block_tiling", "memory_and_tuning"};

/// The kind of work that is tuned first; nothing where none is known.
std::optional<KnowledgeTopic> main_topic(const TaskDescription* task) {
  if (task == nullptr) return std::nullopt;
  const auto topics = knowledge_topics_of(*task);
  return topics.empty() ? std::nullopt : std::optional(topics.front());
}

const SetNames& set_of(KnowledgeTopic topic, Target target) {
  const auto found =
      std::find_if(k_families.begin(), k_families.end(), [&](const auto& family) { return family.topic == topic; });
  if (found == k_families.end()) return k_general;
  if (target == Target::Torch) return found->torch;
  return target == Target::Cpp ? found->cpp : found->gpu;
}

const SetNames& choose_set(const StageSubject& subject) {
  const auto topic = main_topic(subject.task);
  const bool is_known = subject.task != nullptr && subject.task->facts;
  const bool is_recurrent = subject.task != nullptr && subject.task->is_recurrent();
  const auto loop = subject.recurrence.value_or(Recurrence::Unknown);
  // A kernel may compute a recurrence without a loop over the steps: as a scan, as products.
  const bool has_loop = is_recurrent && (loop != Recurrence::NotRecurrent || !topic);
  if (has_loop || (!is_known && loop == Recurrence::Persistent)) {
    if (subject.target == Target::Torch) return k_loop_in_python;
    return loop == Recurrence::PerStep || loop == Recurrence::NotRecurrent ? k_loop_on_host : k_loop_in_kernel;
  }
  return topic ? set_of(*topic, subject.target) : k_general;
}

bool holds_stage(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error invalid_stages(std::string message) { return {ErrorCode::InvalidArgument, std::move(message), {}}; }

/// Adds the stages of a set, or the one stage of this name.
void add_named(std::vector<std::string>& names, std::string_view name) {
  for (const auto& set : stage_sets())
    if (set.name == name) return static_cast<void>(names.insert(names.end(), set.stages.begin(), set.stages.end()));
  names.emplace_back(name);
}

}  // namespace

const std::vector<StageSet>& stage_sets() {
  static const std::vector<StageSet> k_sets{
      {"three", {k_general.begin(), k_general.end()}},
      {"four", {"grid_and_parallel", "block_tiling", "memory_access", "advanced_memory"}}};
  return k_sets;
}

Result<std::vector<std::string>> choose_stages(std::string_view text) {
  text = trim(text);
  std::vector<std::string> names;
  if (text == "none") return names;
  while (true) {
    const auto comma = text.find(',');
    const auto name = trim(text.substr(0, comma));
    if (name.empty()) return invalid_stages("a stage has no name; stages are auto, three, four, none, or names: a,b,c");
    add_named(names, name);
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) != name) return invalid_stages("stage " + *name + " is there twice");
  return names;
}

std::vector<std::string> stages_for(const StageSubject& subject) {
  std::vector<std::string> names;
  for (const auto name : choose_set(subject))
    if (!name.empty()) names.emplace_back(name);
  return names;
}

std::vector<std::string> expand_stages(const std::vector<std::string>& names, const StageSubject& subject) {
  std::vector<std::string> expanded;
  const auto add = [&](const std::string& name) {
    if (!holds_stage(expanded, name)) expanded.push_back(name);
  };
  for (const auto& name : names) {
    if (name != k_auto_stages) add(name);
    if (name == k_auto_stages)
      for (const auto& chosen : stages_for(subject)) add(chosen);
  }
  return expanded;
}

std::size_t most_stages(const std::vector<std::string>& names) {
  return holds_stage(names, k_auto_stages) ? names.size() - 1 + k_set_size : names.size();
}

}  // namespace v0
}  // namespace kernelgen
