#include "support/sample_record.hpp"

#include <limits>

namespace kernelgen::testing {
namespace {

using namespace std::chrono_literals;

TaskDescription sample_task() {
  TaskDescription task;
  task.name = "gru_hidden";
  task.content_id = "aa11";
  task.level = TaskLevel::Network;
  task.mode = ModuleMode::Train;
  task.randomness = ForwardRandomness::Traced;
  task.inputs = {{"x", DType::Float32, {512, 10, 128}, {1280, 128, 1}}};
  task.parameters = {{"gru.weight_ih_l0", DType::Float32, {768, 128}, {128, 1}}};
  task.buffers = {{"norm.num_batches_tracked", DType::Int64, {}, {}}};
  task.attributes = {{"h0", DType::BFloat16, {6, 10, 256}, {2560, 256, 1}}};
  task.draws = {{"draws[0]", DType::Float32, {6, 10, 256}, {2560, 256, 1}}};
  task.outputs = {{"output", DType::Float32, {6, 10, 256}, {2560, 256, 1}}};
  task.scalars = {{"dropout", "float", "0.0"}, {"bias", "none", "None"}};
  task.mutated_inputs = {"x"};
  task.mutated_buffers = {"norm.num_batches_tracked"};
  task.labels = {"shrunk: seq_len 512 -> 16"};
  task.reference_time = ReferenceTime{.call_ns = 31'000'000, .graph_ns = 6'670'000, .on_gpu = true};
  task.facts = TaskFacts{.operations = {{"gru", 1, {{512, 10, 128}, {6, 10, 256}}, {{512, 10, 256}}, "float32"}},
                         .unlisted_operations = 3,
                         .product_flops = 22'649'241'600,
                         .other_flops = 15'360,
                         .input_bytes = 2'621'440,
                         .state_bytes = 393'224,
                         .output_bytes = 61'440,
                         .families = {OperationFamily::Gemm, OperationFamily::Pooling},
                         .recurrence = RecurrenceFact{.kind = RecurrenceKind::Gru,
                                                      .layers = 6,
                                                      .directions = 1,
                                                      .steps = 512,
                                                      .hidden_size = 256,
                                                      .returns = OutputRequirement::FinalStateOnly},
                         .least_flops = 22'649'241'600,
                         .least_read_bytes = std::nullopt};
  return task;
}

TimingReport sample_timing() {
  TimingReport timing;
  timing.options = MeasureOptions{.max_samples = 4, .warmup_calls = 2};
  timing.reference_alone_before_ns = {4'000'000, 4'100'000, 4'050'000};
  timing.reference_ns = {4'020'000, 4'080'000};
  timing.candidate_ns = {2'000'000, 2'010'000, 1'990'000, 2'005'000};
  timing.host_ns = {2'050'000, 2'060'000, 2'040'000, 2'055'000};
  timing.reference_alone_after_ns = {4'060'000};
  timing.memory_floor = MemoryFloor{.read_bytes = 1'048'576, .written_bytes = 4096, .bytes_per_second = 4e12};
  timing.replayed_series = ReplayedSeries{.calls = 64,
                                          .host_ns = {900'000, 880'000},
                                          .overhead_ns = 320'000,
                                          .looseness_ns = 1'250,
                                          .least_call_ns = 7'750,
                                          .least_replay_ns = 8'550};
  timing.separate_calls = SeparateCalls{.reference_ns = {4'200'000, 4'150'000},
                                        .candidate_ns = {2'100'000, 2'075'000},
                                        .host_ns = {2'300'000, 2'280'000},
                                        .speedup = {2.0, 1.98, 2.02}};
  timing.reference_median_ns = 4'050'000;
  timing.candidate_median_ns = 2'002'500;
  timing.speedup_call = {2.0225, 2.01, 2.035};
  timing.speedup_device = Ratio{1.5, 1.4, 1.6};
  timing.speedup_device_reason = "no device clock";
  timing.stop_reason = StopReason::MaxSamples;
  timing.full_comparisons = 44;
  timing.sampled_comparisons = 356;
  timing.discarded = 3;
  timing.prepare_ns = 1'500'000;
  timing.first_call_ns = 9'000'000;
  return timing;
}

}  // namespace

EvaluationRecord full_record() {
  EvaluationRecord record;
  record.id = "0123456789abcdef";
  record.started = "2025-03-01T12:34:56Z";
  record.task_name = "gru_hidden";
  record.task_content_id = "aa11";
  record.candidate_id = "bb22";
  record.target = Target::Cpp;
  record.precision = PrecisionClass::Strict;
  record.outcome = {OutcomeKind::Accuracy, "mismatch", "output: 3 of 15360 elements off, worst 0.25 at [0, 1, 2]"};
  record.labels = {"non-standard tolerance", "algebraic"};
  record.task = sample_task();
  record.compile = CompileReport{{"c++", "-O3", "kernel.cpp"},
                                 {{"warning", "kernel.cpp", 3, 7, "unused variable \"n\"", "int n = 0;"}},
                                 "kernel.cpp:3:7: warning: unused variable\n",
                                 true,
                                 170ms,
                                 "miss",
                                 "full",
                                 {{"gru(float const*, float*)", 96, 8, 16, 24, 4096, 400, 1}}};
  record.tolerance = {1e-3, 1e-4, 4, false};
  record.cases = {
      {"own",
       18'446'744'073'709'551'615U,
       1,
       1,
       {OutcomeKind::Correct, "", ""},
       {{"output", 1e-6, 1e-8, 0.02, 2e-7, 1.5e-7, true}}},
      {"negate",
       7,
       2,
       2,
       {OutcomeKind::Accuracy, "mismatch", "worst 0.25"},
       {{"output", std::numeric_limits<double>::infinity(), 0.5, 2500, std::nullopt, std::nullopt, false}}}};
  record.weights = WeightReport{{"gru.weight_ih_l0"}, {"gru.bias"}, {"h0"}, {"norm.weight"}};
  record.timing = sample_timing();
  record.compiled_for = {{.architecture = "gfx942",
                          .kernels = {{.name = "gate[BLOCK=64, num_warps=4]",
                                       .registers = 150,
                                       .stack_bytes = 24,
                                       .scalar_registers = 78,
                                       .spilled_scalar_registers = 2,
                                       .accumulation_registers = 16,
                                       .occupancy = 3,
                                       .dynamic_shared_bytes = 8192}},
                          .failure = {}},
                         {.architecture = "gfx1100",
                          .kernels = {},
                          .failure = Outcome{OutcomeKind::Compile, "triton", "gate: CompilationError: at 3:4"}}};
  record.environment = {"0.1.0", "cpu: a CPU, 2 cores", "", "6.1.0", "g++ 12.2.0", "3.11.7", "2.13.0", "3.5.0", 2,
                        "full"};
  record.phases = {{"compile", 171.5}, {"correctness", 42.25}, {"timing", 900}};
  return record;
}

}  // namespace kernelgen::testing
