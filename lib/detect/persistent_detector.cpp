#include <kernelgen/detect/persistent_detector.hpp>

#include <algorithm>
#include <boost/json.hpp>
#include <unordered_set>

#include "core/names.hpp"
#include "detect/calls.hpp"
#include "detect/function_flow.hpp"
#include "detect/structure.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace detect;

constexpr auto k_evidence_names = make_names<EvidenceKind>({
    {EvidenceKind::DeviceKernel, "device_kernel"},
    {EvidenceKind::DeviceFunction, "device_function"},
    {EvidenceKind::DeviceLoop, "device_loop"},
    {EvidenceKind::CarriedState, "carried_state"},
    {EvidenceKind::Launch, "launch"},
    {EvidenceKind::HostLoop, "host_loop"},
    {EvidenceKind::Barrier, "barrier"},
});

/// Names come from a text with arbitrary bytes.
std::string json_text(std::string_view text) { return sanitize_line(text, 1000); }

/// More deeply nested loops are skipped, which keeps the work linear in the length of the source.
constexpr int k_max_loop_depth = 12;
/// Total size of the analysed loops, each fact counted for every loop around it: several times the total of a megabyte
/// of kernels.
constexpr std::size_t k_max_work = 150'000;
/// Enough for any kernel; bounds the report for a hostile text.
constexpr std::size_t k_max_evidence = 500;

std::string quoted(std::string_view name) { return '\'' + std::string(name) + '\''; }

std::string loop_name(const Function& function, const Node& loop) {
  const auto& tokens = *function.tokens;
  if (loop.loop == LoopKind::DoWhile) return "do while";
  if (loop.loop == LoopKind::While) return "while";
  for (const auto& call : calls_in(tokens, loop.tokens))
    if (call.name == "static_range" || (call.name == "range" && call.first == "tl"))
      return "tl." + std::string(call.name);
  return "for";
}

class Inspector {
 public:
  Inspector(std::string_view source, Target target, bool all_options = false)
      : target_(target), s_(read_structure(source, target, all_options)) {}

  PersistenceReport run() && {
    for (const auto index : s_.callees_first) inspect_device(index);
    for (const auto& launch : s_.launches)
      add(EvidenceKind::Launch, launch.line, s_.functions[launch.kernel].name,
          quoted(s_.functions[launch.function].name) + " starts the kernel" +
              (launch.one_program ? " with a grid of one program." : "."));
    decide(find_launch_loops(s_, summaries_));
    const auto by_line = [](const auto& a, const auto& b) { return a.line < b.line; };
    std::stable_sort(report_.evidence.begin(), report_.evidence.end(), by_line);
    std::stable_sort(report_.warnings.begin(), report_.warnings.end(), by_line);
    return std::move(report_);
  }

 private:
  struct Found {
    std::size_t function;
    int loop_line;
    std::string name;
  };

  [[nodiscard]] bool is_full() const { return report_.evidence.size() >= k_max_evidence; }
  void add(EvidenceKind kind, int line, std::string_view name, std::string detail) {
    if (report_.evidence.size() < k_max_evidence)
      report_.evidence.push_back({kind, line, std::string(name), std::move(detail)});
  }
  void warn(int line, std::string_view name, std::string message) {
    if (report_.warnings.size() < k_max_evidence)
      report_.warnings.push_back({line, std::string(name), std::move(message)});
  }

  void inspect_device(std::size_t index) {
    const auto& function = s_.functions[index];
    const bool kernel = s_.function_kinds[index] == FunctionKind::Kernel;
    add(kernel ? EvidenceKind::DeviceKernel : EvidenceKind::DeviceFunction, function.line, function.name,
        kernel ? "Runs on the device." : "Called by code that runs on the device.");
    const auto barriers = find_barriers(function);
    bool synchronizes = false;
    for (const auto& barrier : barriers) {
      synchronizes = synchronizes || barrier.grid;
      add(EvidenceKind::Barrier, barrier.line, barrier.name,
          barrier.grid ? "Programs wait for each other." : "Threads of one block wait for each other.");
    }
    for (const auto callee : s_.calls[index])
      synchronizes = synchronizes || synchronizing_.count(s_.functions[callee].name) != 0;
    if (synchronizes) synchronizing_.insert(function.name);
    const FunctionFlow flow(function, summaries_);
    for (std::uint32_t node = 0; node < function.nodes.size(); ++node)
      if (function.nodes[node].kind == NodeKind::Loop) inspect_loop(index, flow, node, barriers);
    if (s_.recursive[index]) inspect_recursion(index, barriers);
    auto& summary = summaries_[function.name];
    const auto own = flow.summarize();
    summary.method = summary.method || own.method;
    summary.effects.insert(summary.effects.end(), own.effects.begin(), own.effects.end());
    constexpr std::size_t k_max_effects = 128;
    if (summary.effects.size() > k_max_effects) summary.effects.resize(k_max_effects);
  }

  /// A function that calls itself once, with more than half of the work, is a loop over its parameters.
  void inspect_recursion(std::size_t index, const std::vector<BarrierSite>& barriers) {
    const auto loop = as_loop(s_.functions[index]);
    if (!loop) return;
    const FunctionFlow flow(*loop, summaries_);
    const auto state = flow.carried_by(0);
    if (!state) return;
    const bool synchronizes =
        std::any_of(barriers.begin(), barriers.end(), [](const BarrierSite& site) { return site.grid; });
    report_state(index, *loop, flow, 0, *state, synchronizes);
  }

  void inspect_loop(std::size_t index, const FunctionFlow& flow, std::uint32_t node,
                    const std::vector<BarrierSite>& barriers) {
    const auto& function = s_.functions[index];
    const auto& loop = function.nodes[node];
    if (!is_full())
      add(EvidenceKind::DeviceLoop, loop.line, loop_name(function, loop),
          "A loop inside " + quoted(function.name) + ".");
    if (loop.depth >= k_max_loop_depth || flow.is_short(node) || flow.is_geometric(node)) return;
    const auto work = flow.facts_in(node);
    if (work > work_left_) return;
    work_left_ -= work;
    const auto state = flow.carried_by(node);
    if (state) report_state(index, function, flow, node, *state, synchronizes_inside(index, node, barriers));
  }
  /// `function` has the loop `node` that carries `state`; `synchronizes`: all programs synchronize in it.
  void report_state(std::size_t index, const Function& function, const FunctionFlow& flow, std::uint32_t node,
                    const CarriedState& state, bool synchronizes) {
    const auto line = function.nodes[node].line;
    const auto unique = flow.name(state.name);
    const std::string name(unique.substr(0, unique.find(k_scope_mark)));
    found_.push_back({index, line, name});
    if (is_full()) return;
    add(EvidenceKind::CarriedState, state.line, name,
        "The loop in line " + std::to_string(line) + " makes it from its value of the iteration before.");
    if (target_ == Target::Cpp) return;
    if (state.serial_loop)
      warn(function.nodes[*state.serial_loop].line, "serial_hidden",
           "This loop goes over the units of " + quoted(name) + " one after the other inside the time loop of line " +
               std::to_string(line) + "; compute them in parallel: by the lanes of a block, or by the threads of it.");
    if (state.shared_by_programs && flow.is_parameter(state.name) && !synchronizes)
      warn(state.line, "unsynchronized_state",
           "Programs read parts of " + quoted(name) + " that other programs write in the loop of line " +
               std::to_string(line) +
               ", and nothing makes them wait: let one program own all units of its rows, or "
               "let all programs meet at a grid barrier every step and keep two copies of the state.");
  }

  [[nodiscard]] bool synchronizes_inside(std::size_t index, std::uint32_t loop,
                                         const std::vector<BarrierSite>& barriers) const {
    const auto& function = s_.functions[index];
    const auto last = function.nodes[loop].last;
    for (const auto& barrier : barriers)
      if (barrier.grid && barrier.node >= loop && barrier.node < last) return true;
    for (auto node = loop; node < last; ++node)
      for (const auto& call : calls_in(*function.tokens, function.nodes[node].tokens))
        if (synchronizing_.count(call.name) != 0) return true;
    return false;
  }

  void decide(const std::vector<LaunchLoop>& launch_loops) {
    for (const auto& loop : launch_loops)
      add(EvidenceKind::HostLoop, loop.line, loop.through,
          "The host starts kernels in every iteration, through " + quoted(loop.through) +
              (loop.carries ? ", and the next one takes what this one makes." : ", each independent of the others."));
    const auto carried =
        std::find_if(launch_loops.begin(), launch_loops.end(), [](const LaunchLoop& loop) { return loop.carries; });
    const bool kernels =
        std::find(s_.function_kinds.begin(), s_.function_kinds.end(), FunctionKind::Kernel) != s_.function_kinds.end();
    if (!kernels) {
      report_.reason = target_ == Target::Cpp ? "There is no function kgen_run." : "No device kernel was found.";
      return;
    }
    if (!found_.empty()) {
      // Kernels come after their callees, and the loops of a function from the outside to the inside.
      const auto& first = *std::find_if(found_.begin(), found_.end(),
                                        [&](const Found& found) { return found.function == found_.back().function; });
      report_.verdict = Recurrence::Persistent;
      report_.reason = "The loop in line " + std::to_string(first.loop_line) + ", inside device function " +
                       quoted(s_.functions[first.function].name) + ", carries the state " + quoted(first.name) + '.';
      warn_single_programs();
    } else if (carried != launch_loops.end()) {
      report_.verdict = Recurrence::PerStep;
      report_.reason = "The host loop in line " + std::to_string(carried->line) +
                       " starts kernels in every iteration, and no kernel carries state through a loop of its own.";
    } else {
      report_.verdict = Recurrence::NotRecurrent;
      report_.reason = "No loop carries recurrent state, on the device or around a launch.";
    }
  }

  void warn_single_programs() {
    for (const auto& launch : s_.launches)
      if (launch.one_program)
        warn(launch.line, "single_program",
             "The grid of " + quoted(s_.functions[launch.kernel].name) +
                 " is one program, so one multiprocessor works and all others idle: split the batch, or the hidden "
                 "units with a grid barrier every step, over more programs.");
  }

  Target target_;
  Structure s_;
  Summaries summaries_;
  std::unordered_set<std::string_view> synchronizing_;  // functions in which programs synchronize
  std::vector<Found> found_;
  std::size_t work_left_ = k_max_work;
  PersistenceReport report_;
};

class StructuralDetector final : public PersistentDetector {
 public:
  [[nodiscard]] PersistenceReport inspect(std::string_view source, Target target) const override {
    if (!is_built_in(target))
      return {.reason = "The detector does not read the language of target " + std::string(to_string(target)) + '.'};
    const bool has_two_ends = source.find("\r\n") != source.npos;
    return has_two_ends ? inspect_lines(with_plain_ends(source), target) : inspect_lines(source, target);
  }

 private:
  static PersistenceReport inspect_lines(std::string_view source, Target target) {
    auto report = Inspector(source, target).run();
    if (report.verdict != Recurrence::Unknown || (target != Target::Cuda && target != Target::Hip)) return report;
    // The kernel may be there with an option of the compiler.
    auto other = Inspector(source, target, true).run();
    return other.verdict == Recurrence::Unknown ? report : other;
  }

  /// The text with "\n" for every "\r\n", so that a line that goes on after a backslash is one in either form.
  static std::string with_plain_ends(std::string_view source) {
    std::string text;
    for (std::size_t at = 0; at < source.size(); ++at)
      if (source.substr(at, 2) != "\r\n") text += source[at];
    return text;
  }
};

}  // namespace

std::string_view to_string(EvidenceKind kind) { return k_evidence_names.name(kind); }

std::string to_json(const PersistenceReport& report) {
  boost::json::array evidence;
  for (const auto& item : report.evidence)
    evidence.push_back({{"kind", to_string(item.kind)},
                        {"line", item.line},
                        {"name", json_text(item.name)},
                        {"detail", json_text(item.detail)}});
  boost::json::array warnings;
  for (const auto& item : report.warnings)
    warnings.push_back({{"line", item.line}, {"name", item.name}, {"message", json_text(item.message)}});
  return to_pretty_json(boost::json::object{{"verdict", to_string(report.verdict)},
                                            {"reason", json_text(report.reason)},
                                            {"evidence", std::move(evidence)},
                                            {"warnings", std::move(warnings)}});
}

std::unique_ptr<PersistentDetector> make_persistent_detector() { return std::make_unique<StructuralDetector>(); }

}  // namespace v0
}  // namespace kernelgen
