#include "support/sample_prompt.hpp"

#include <fstream>
#include <sstream>

#include "support/catch.hpp"

namespace kernelgen::testing {
namespace {

constexpr const char* k_kernel =
    "#include <kernelgen/abi.h>\n"
    "KGEN_EXPORT_ABI_VERSION\n"
    "KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }\n"
    "KGEN_API int kgen_run(void*, const kgen_run_args* args) { return hidden_sizes; }\n"
    "KGEN_API void kgen_destroy(void*) {}\n";

TensorSpec contiguous(const std::string& name, std::vector<std::int64_t> shape) {
  TensorSpec tensor{name, DType::Float32, std::move(shape), {}};
  tensor.strides.resize(tensor.shape.size());
  std::int64_t stride = 1;
  for (auto i = tensor.shape.size(); i-- > 0; stride *= tensor.shape[i]) tensor.strides[i] = stride;
  return tensor;
}

TaskDescription gru_description() {
  TaskDescription task;
  task.name = "gru_hidden";
  task.level = TaskLevel::Network;
  task.inputs = {contiguous("x", {96, 8, 64}), contiguous("h0", {3, 8, 96})};
  for (const std::string layer : {"l0", "l1", "l2"}) {
    task.parameters.push_back(contiguous("gru.weight_ih_" + layer, {288, layer == "l0" ? 64 : 96}));
    task.parameters.push_back(contiguous("gru.weight_hh_" + layer, {288, 96}));
    task.parameters.push_back(contiguous("gru.bias_ih_" + layer, {288}));
    task.parameters.push_back(contiguous("gru.bias_hh_" + layer, {288}));
  }
  task.outputs = {contiguous("output", {3, 8, 96})};
  task.scalars = {{"input_size", "int", "64"}, {"hidden_size", "int", "96"}, {"num_layers", "int", "3"}};
  task.facts.emplace().recurrence = RecurrenceFact{.kind = RecurrenceKind::Gru,
                                                   .layers = 3,
                                                   .directions = 1,
                                                   .steps = 96,
                                                   .hidden_size = 96,
                                                   .returns = OutputRequirement::FinalStateOnly};
  task.facts->product_flops = 240'648'192;
  task.facts->input_bytes = 205'824;
  task.facts->state_bytes = 633'600;
  task.facts->output_bytes = 9'216;
  return task;
}

std::string read_source(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  INFO(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Attempt correct_attempt(const std::string& id, const std::string& source, double speedup) {
  Attempt attempt{id, source, EvaluationRecord{}, ""};
  auto& timing = attempt.record->timing.emplace();
  timing.reference_median_ns = 9'200'000;
  timing.candidate_median_ns = 9'200'000 / speedup;
  timing.speedup_call = {speedup, speedup, speedup};
  timing.prepare_ns = 310'000;
  return attempt;
}

Attempt failed_attempt(const std::string& id, const std::string& source, const Outcome& outcome) {
  Attempt attempt{id, source, EvaluationRecord{}, ""};
  auto& record = *attempt.record;
  record.outcome = outcome;
  if (outcome.kind == OutcomeKind::Compile) {
    record.compile.emplace().diagnostics = {
        {"warning", "kernel.cpp", 4, 1, "unused parameter 'args'"},
        {"error", "kernel.cpp", 4, 65, "'hidden_sizes' was not declared in this scope; did you mean 'hidden_size'?"},
        {"note", "kernel.cpp", 1, 1, "in expansion of a macro"}};
  }
  if (outcome.kind == OutcomeKind::Accuracy)
    record.cases = {{.distribution = "own", .outcome = {}},
                    {.distribution = "negate",
                     .weight_set = 2,
                     .call = 3,
                     .outcome = outcome,
                     .outputs = {{"output", 0.75, 0.125, 1843.5, 0.5, 2e-7, false}}}};
  return attempt;
}

PromptRequest sample_prompt_request(PromptKind kind, Target target) {
  PromptRequest request;
  request.kind = kind;
  request.target = target;
  request.task.name = "gru_hidden";
  request.task.text = read_source(std::string(KERNELGEN_TEST_DATA) + "/../../examples/tasks/gru_hidden.py");
  request.description = gru_description();
  request.tolerance.max_rms_error_multiple = 256;
  request.threads = 2;
  request.device = {{"model", "Example Processor 9000"}, {"L2 cache", "1 MiB"}};
  if (kind == PromptKind::Seed) {
    request.variant = target == Target::Cpp ? "vectorized_packed" : "less_work";
    return request;
  }
  const Outcome broken{OutcomeKind::Compile, "undeclared_identifier", "'hidden_sizes' was not declared in this scope"};
  const Outcome wrong{OutcomeKind::Accuracy, "mismatch", "output is wrong by 1843 times what is allowed"};
  const bool fails = kind == PromptKind::Repair || kind == PromptKind::Reflect;
  request.base = !fails                       ? correct_attempt("seed1", k_kernel, 1.6)
                 : kind == PromptKind::Repair ? failed_attempt("seed1/repair1", k_kernel, broken)
                                              : failed_attempt("attempt1", k_kernel, wrong);
  request.history = {failed_attempt("seed1", "int x;\n", wrong), correct_attempt("seed2", "int y;\n", 1.25),
                     Attempt{"seed3", "", std::nullopt, "the reply is empty"}};
  if (kind == PromptKind::Optimize)
    request.analysis = Analysis{true,
                                "the recurrence takes 80 % of the time",
                                "recurrent product",
                                "wavefront over layers",
                                "1. Pack.\n2. One thread per layer.",
                                "2x",
                                "final_state_only"};
  if (kind == PromptKind::Crossover) request.second = correct_attempt("seed2", "int y;\n", 1.25);
  if (kind == PromptKind::Stage) request.variant = "block_tiling";
  return request;
}

}  // namespace kernelgen::testing
