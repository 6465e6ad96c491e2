// Makes a results directory as a campaign leaves it, from scripted journals: a search of several kinds of attempts for
// each task, with codes, compiler messages, timings, analyses and profiles of usual lengths. Equal arguments give equal
// files.
//
//   make_results DIR TASKS ATTEMPTS KERNEL.cpp
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <kernelgen/store/event.hpp>

#include "support/clock.hpp"

using namespace kernelgen;

namespace {

struct Kind {
  const char* name;
  TaskLevel level;
  OperationFamily family;
  const char* operation;
};
constexpr std::array k_kinds{
    Kind{"Matmul", TaskLevel::SingleOperator, OperationFamily::Gemm, "matmul"},
    Kind{"Softmax", TaskLevel::SingleOperator, OperationFamily::Reduction, "softmax"},
    Kind{"Conv2d_ReLU_BiasAdd", TaskLevel::Fusion, OperationFamily::Convolution, "conv2d"},
    Kind{"LayerNorm_GELU", TaskLevel::Fusion, OperationFamily::Normalization, "layer_norm"},
    Kind{"MinGPTCausalAttention", TaskLevel::Network, OperationFamily::Attention, "scaled_dot_product_attention"}};

struct Failure {
  OutcomeKind kind;
  const char* detail;
  const char* message;
};
const std::array k_failures{
    Failure{OutcomeKind::Compile, "undeclared",
            "candidate.cpp:41:17: error: 'tile_width' was not declared in this scope"},
    Failure{OutcomeKind::Accuracy, "mismatch",
            "output: 812 of 65536 elements differ, worst 0.31 at [3, 17]; allowed 1e-4"},
    Failure{OutcomeKind::Accuracy, "nan", "output: 14 elements are nan where the reference is finite"},
    Failure{OutcomeKind::Timeout, "", "the call did not end within 10 s"},
    Failure{OutcomeKind::OffDistribution, "", "right on the task's own inputs, wrong on 'negate'"},
    Failure{OutcomeKind::Crash, "signal 11 (SIGSEGV)", "the runner died in the first call"}};

/// One run: its events, and what the attempts so far came to.
class Script {
 public:
  Script(int index, std::string kernel)
      : kind_(k_kinds[index % k_kinds.size()]), engine_(index), kernel_(std::move(kernel)) {
    // Some tasks are solved at once, some never.
    difficulty_ = index % 9 == 8 ? 1 : 0.25 + draw(0.6);
    RunStarted started;
    started.kernelgen_version = "0.1.0";
    started.task.name = std::to_string(index + 1) + '_' + kind_.name;
    started.task.path = "KernelBench/level" + std::to_string(index % 3 + 1) + '/' + started.task.name + ".py";
    started.task.level = kind_.level;
    started.task.text =
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n";
    started.policy = "hybrid";
    started.model = index % 2 == 0 ? "openai gpt-5" : "openai gpt-5-mini";
    started.options = {{"goal", "1"}, {"max-requests", "20"}, {"precision", "strict"}};
    name_ = started.task.name;
    add(std::move(started));
    describe();
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  void attempt(int number) {
    Action action;
    action.kind = number == 1                            ? PromptKind::Seed
                  : number % 6 == 0                      ? PromptKind::Analysis
                  : !analysis_.empty() && number % 6 < 3 ? PromptKind::Optimize
                  : last_failed_ && number % 5 != 0      ? PromptKind::Repair
                                                         : PromptKind::Seed;
    if (action.kind == PromptKind::Analysis && best_.empty()) action.kind = PromptKind::Seed;
    if (action.kind == PromptKind::Repair) action.base = last_;
    if (action.kind == PromptKind::Analysis || action.kind == PromptKind::Optimize) action.base = best_;
    if (action.kind == PromptKind::Optimize) action.analysis = analysis_;
    action.id =
        (action.base.empty() ? "" : action.base + '/') + std::string(to_string(action.kind)) + std::to_string(number);
    add(ActionIssued{number, action, {.kind = action.kind, .text = std::string(6000, 'p')}});
    add(RequestSent{number});
    const auto tokens = static_cast<std::int64_t>(1500 + draw(2000));
    add(ReplyArrived{number,
                     {.text = kernel_,
                      .usage = {.input_tokens = tokens, .output_tokens = 2 * tokens},
                      .model = "gpt-5-2025",
                      .latency = std::chrono::milliseconds(4000 + static_cast<int>(draw(20000)))},
                     1e-5 * static_cast<double>(tokens),
                     "api.openai.com"});
    finish(number, action);
  }

  void end() {
    add(RunFinished{best_score_ > 1 ? "score " + std::to_string(best_score_) + " >= 1" : "no further action",
                    best_score_ > 1});
  }

  void write(const std::filesystem::path& directory) const {
    std::filesystem::create_directories(directory);
    std::ofstream file(directory / "events.jsonl");
    for (const auto& event : events_) file << to_json(event) << '\n';
  }

 private:
  double draw(double below) { return below * static_cast<double>(engine_() >> 11U) * 0x1p-53; }

  void add(EventBody body) {
    using namespace std::chrono;
    events_.push_back(
        {utc_iso8601(sys_days(2026y / March / 1) + 7s * static_cast<int>(events_.size())), std::move(body)});
  }

  void describe() {
    TaskDescribed described;
    described.description.name = name_;
    described.description.inputs = {{"x", DType::Float32, {16, 1024, 1024}, {1048576, 1024, 1}}};
    described.description.outputs = {{"output", DType::Float32, {16, 1024, 1024}, {1048576, 1024, 1}}};
    auto& facts = described.description.facts.emplace();
    facts.families = {kind_.family};
    facts.operations = {{kind_.operation, 1, {{16, 1024, 1024}}, {{16, 1024, 1024}}, "float32"}};
    facts.product_flops = 34'359'738'368;
    facts.input_bytes = facts.output_bytes = 67'108'864;
    described.device = {{"device", "NVIDIA H100 80GB HBM3"}, {"bandwidth", "3.0 TB/s"}};
    add(std::move(described));
  }

  void finish(int number, const Action& action) {
    ActionResult result;
    result.action = action;
    result.number = number;
    if (action.kind == PromptKind::Analysis) {
      result.status = ActionStatus::Analyzed;
      result.analysis = Analysis{.reason = "Each row is read three times.",
                                 .bottleneck = "memory traffic",
                                 .method = "one pass with a running maximum",
                                 .plan = "Keep the row in registers.",
                                 .expected_speedup = "about 2x"};
      analysis_ = action.id;
      add(ActionFinished{std::move(result)});
      return;
    }
    last_ = action.id;
    if (draw(1) < 0.05) {
      last_failed_ = true;
      result.status = ActionStatus::NoCode;
      result.message = "no code block has kgen_run";
      add(ActionFinished{std::move(result)});
      return;
    }
    result.status = ActionStatus::Evaluated;
    result.candidate = make_candidate(Target::Cpp, changed_kernel(number));
    result.record = judge();
    last_failed_ = !result.record->outcome.correct();
    const auto score = result.score();
    const bool is_better = score && *score > best_score_;
    if (score && number % 4 == 0) result.profile = profile();
    add(ActionFinished{std::move(result)});
    if (!is_better) return;
    best_score_ = *score;
    best_ = action.id;
    add(BestChanged{action.id});
  }

  /// The kernel with a head of its own and a few other lines, as a model changes a kernel.
  std::string changed_kernel(int number) {
    std::string text = "// Attempt " + std::to_string(number) + ": " + name_ +
                       "\nconstexpr int k_tile = " + std::to_string(8 << (number % 4)) + ";\n" + kernel_;
    for (int change = 0; change < 6; ++change) {
      const auto place = text.find('\n', static_cast<std::size_t>(draw(static_cast<double>(text.size() - 1))));
      if (place != text.npos)
        text.insert(place + 1, "  // variant " + std::to_string(static_cast<int>(draw(1000))) + '\n');
    }
    return text;
  }

  EvaluationRecord judge() {
    EvaluationRecord record;
    record.task_name = name_;
    record.environment = {.kernelgen_version = "0.1.0",
                          .device = "NVIDIA H100 80GB HBM3",
                          .compiler = "g++ 12.2.0",
                          .python = "3.11",
                          .torch = "2.9.0",
                          .threads = 2,
                          .isolation = "full"};
    record.phases = {{"compile", 1800 + draw(900)}, {"correctness", 420 + draw(200)}, {"timing", 900 + draw(500)}};
    auto& compile = record.compile.emplace();
    compile.command = {"g++", "-O3", "candidate.cpp"};
    compile.duration = std::chrono::milliseconds(1800);
    compile.cache = "miss";
    if (draw(1) < difficulty_) {
      const auto& failure = k_failures[static_cast<std::size_t>(draw(k_failures.size()))];
      record.outcome = {failure.kind, failure.detail, failure.message};
    }
    if (record.outcome.kind == OutcomeKind::Compile) {
      compile.diagnostics = {{"error", "candidate.cpp", 41, 17, "'tile_width' was not declared in this scope", "x"},
                             {"note", "candidate.cpp", 12, 1, "'k_tile' declared here", "x"}};
      for (int line = 0; line < 20; ++line)
        compile.log += "candidate.cpp:41:17: error: 'tile_width' was not declared\n";
      return record;
    }
    for (int number = 0; number < 12; ++number)
      record.cases.push_back({number % 2 == 0 ? "own" : "negate",
                              static_cast<std::uint64_t>(number),
                              number / 6 + 1,
                              number % 3 + 1,
                              number == 11 ? record.outcome : Outcome{},
                              {{"output", 1e-6, 1e-7, 0.1 + draw(0.5), {}, {}, true}}});
    if (record.outcome.correct()) record.timing = timing();
    return record;
  }

  TimingReport timing() {
    TimingReport report;
    const double score = (0.3 + draw(0.6) + draw(0.6)) * (1.6 - difficulty_), kernel = 2e6 + draw(4e6);
    report.speedup_call = {score, score * 0.97, score * 1.03};
    report.candidate_median_ns = kernel;
    report.reference_median_ns = kernel * score;
    for (int sample = 0; sample < 100; ++sample) {
      report.reference_ns.push_back(static_cast<std::int64_t>(kernel * score + draw(1e5)));
      report.candidate_ns.push_back(static_cast<std::int64_t>(kernel + draw(1e5)));
      report.host_ns.push_back(static_cast<std::int64_t>(kernel + draw(2e5)));
    }
    report.first_call_ns = static_cast<std::int64_t>(kernel * 3);
    report.baselines = {{BaselineKind::Compile, {}, kernel * score * 0.8, score * 0.8, ""},
                        {BaselineKind::CompileMaxAutotune, {}, {}, {}, "the build took longer than 120 s"}};
    return report;
  }

  Profile profile() {
    Profile profile;
    profile.source = "ncu";
    profile.device = "NVIDIA H100 80GB HBM3";
    profile.call_ns = 2.4e6;
    profile.span_ns = 2.2e6;
    profile.kernels = {
        {"row_kernel(float*)", "row_kernel", KernelOrigin::Own, 1, 1.9e6, 1, {{"dram_throughput_pct", 71.2, "%"}}},
        {"fill", "fill", KernelOrigin::Copy, 2, 2e5, 0, {}}};
    return profile;
  }

  Kind kind_;
  std::mt19937_64 engine_;
  std::string kernel_, name_, last_, best_, analysis_;
  bool last_failed_ = false;
  double best_score_ = 0, difficulty_ = 0;
  std::vector<Event> events_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: make_results DIR TASKS ATTEMPTS KERNEL.cpp\n");
    return 64;
  }
  std::ifstream file(argv[4], std::ios::binary);
  const std::string kernel{std::istreambuf_iterator<char>(file), {}};
  if (kernel.empty()) {
    std::fprintf(stderr, "make_results: cannot read %s\n", argv[4]);
    return 66;
  }
  for (int task = 0; task < std::atoi(argv[2]); ++task) {
    Script script(task, kernel);
    for (int number = 1; number <= std::atoi(argv[3]); ++number) script.attempt(number);
    // Some searches go on.
    if (task % 25 != 24) script.end();
    script.write(std::filesystem::path(argv[1]) / script.name());
  }
  return 0;
}
