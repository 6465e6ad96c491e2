// Compilers and targets of the embedding program, judged by a real worker: what they build is checked like what the
// worker builds.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include <kernelgen/bench/local_judge.hpp>
#include <kernelgen/bench/spool.hpp>
#include <kernelgen/compile/local_compiler.hpp>
#include <kernelgen/detect/persistent_detector.hpp>
#include <kernelgen/flow/repair_loop.hpp>
#include <kernelgen/llm/scripted_client.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/task/task_source.hpp>

#include "core/target_registry.hpp"
#include "exec/child.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const fs::path k_source = KERNELGEN_SOURCE_DIR;
const fs::path k_cache = fs::path(KERNELGEN_BINARY_DIR) / "custom-target-cache";

/// Turns sources into C++ and compiles that, or answers in another way.
class ScriptedCompiler final : public KernelCompiler {
 public:
  using Translate = std::function<std::string(const std::string& source)>;
  ScriptedCompiler(Target target, Translate translate) : target_(target), translate_(std::move(translate)) {
    LocalCompilerOptions options{.installation = installation_at(KERNELGEN_BINARY_DIR).value(),
                                 .cache_dir = k_cache / "client"};
    cpp_ = make_local_compiler(options, *processes_).value();
  }

  bool supports(Target target) const override { return target == target_; }
  Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) override {
    return cpp_->key(translated(request), std::move(stop));
  }
  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override {
    if (request.candidate.source == "throws") throw std::runtime_error("no licence");
    if (request.candidate.source == "no ELF") {
      std::ofstream(k_cache / "bytes") << "these bytes are no shared object";
      Compiled compiled;
      compiled.artifact.path = (k_cache / "bytes").string();
      return CompileOutcome(compiled);
    }
    return cpp_->compile(translated(request), std::move(stop));
  }

 private:
  [[nodiscard]] CompileRequest translated(CompileRequest request) const {
    request.candidate = make_candidate(Target::Cpp, translate_(request.candidate.source));
    return request;
  }

  Target target_;
  Translate translate_;
  std::unique_ptr<ProcessRunner> processes_ = make_process_runner();
  std::unique_ptr<KernelCompiler> cpp_;
};

std::string kernel_of(const std::string& expression) {
  return "#include <kernelgen/abi.h>\nKGEN_EXPORT_ABI_VERSION\n"
         "KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }\n"
         "KGEN_API void kgen_destroy(void*) {}\n"
         "KGEN_API int kgen_run(void*, const kgen_run_args* args) {\n"
         "  const auto* in = static_cast<const float*>(args->inputs.items[0]->data);\n"
         "  auto* out = static_cast<float*>(args->outputs.items[0]->data);\n"
         "  for (uint64_t i = 0; i < args->inputs.items[0]->element_count; ++i) {\n    const float x = in[i];\n"
         "    out[i] = " +
         expression + ";\n  }\n  return 0;\n}\n";
}

Target expression_target() {
  static const auto target = register_target({.name = "expr",
                                              .file_extension = ".expr",
                                              .prompt_text = "Write one C expression of the element `float x`."})
                                 .value();
  return target;
}

std::unique_ptr<Benchmarker> judge_with(std::vector<std::shared_ptr<KernelCompiler>> compilers) {
  fs::create_directories(k_cache);
  return open_local_judge({.installation = installation_at(KERNELGEN_BINARY_DIR).value(),
                           .cache_dir = k_cache,
                           .compilers = std::move(compilers)})
      .value();
}

/// One worker for all tests, so that a candidate that damages it fails the next test.
Benchmarker& judge() {
  static const auto made = judge_with({std::make_shared<ScriptedCompiler>(expression_target(), kernel_of)});
  return *made;
}

EvaluationRequest request_for(Target target, const std::string& source) {
  EvaluationRequest request;
  request.task = load_task_source((k_source / "examples/tasks/relu.py").string(), {}).value();
  request.candidate = make_candidate(target, source);
  request.options.mode = EvaluationMode::CorrectnessOnly;
  return request;
}

EvaluationRecord record_of(Benchmarker& benchmarker, const EvaluationRequest& request) {
  auto record = benchmarker.evaluate(request, {}, {});
  if (!record) FAIL(record.error().to_line());
  UNSCOPED_INFO(record->outcome.to_class() << ": " << record->outcome.message);
  return *std::move(record);
}

bool is_labelled(const EvaluationRecord& record) {
  return std::any_of(record.labels.begin(), record.labels.end(),
                     [](const std::string& label) { return label.starts_with("custom-compiler: "); });
}

}  // namespace

TEST_CASE("a correct kernel of a custom target is correct, with all steps of a verdict", "[custom_target]") {
  auto request = request_for(expression_target(), "x < 0 ? 0 : x");
  request.options.mode = EvaluationMode::Full;
  request.options.measure.deadline = 10s;
  const auto record = record_of(judge(), request);
  CHECK((record.outcome.correct() || record.outcome.kind == OutcomeKind::Suspect));
  CHECK(record.target == expression_target());
  CHECK(record.language == Language::Custom);
  CHECK(record.candidate_id == request.candidate.id);
  CHECK(is_labelled(record));
  CHECK(record.compile.value().isolation != "");
  CHECK(record.environment.isolation != "");
  CHECK(record.cases.size() > 6);
  REQUIRE(record.timing);
  CHECK(record.timing->full_comparisons >= 44);
}

TEST_CASE("a wrong kernel of a custom target is wrong", "[custom_target]") {
  CHECK(record_of(judge(), request_for(expression_target(), "x")).outcome.to_class() == "accuracy:mismatch");
}

TEST_CASE("a kernel of a custom target is repaired by a model, with verdicts of the worker", "[custom_target]") {
  const auto& prompts_dir = installation_at(KERNELGEN_BINARY_DIR).value().prompts_dir;
  const auto prompts = make_prompt_builder({.directory = prompts_dir}).value();
  const auto detector = make_persistent_detector();
  ScriptedLLMClient model({ScriptedLLMClient::reply("```expr\nx > 1 ? x : 0\n```"),
                           ScriptedLLMClient::reply("```expr\nx < 0 ? 0 : x\n```")});
  const auto request = request_for(expression_target(), "y");
  RepairLoop loop({model, *prompts, judge(), *detector}, {.max_attempts = 3});
  const auto outcome =
      loop.run({.task = request.task, .candidate = request.candidate, .evaluation = request.options}, {}, {});
  if (outcome.error) FAIL(outcome.error->to_line());
  CHECK(outcome.history.at("start").record.value().outcome.kind == OutcomeKind::Compile);
  CHECK(outcome.history.at("start/repair1").record.value().outcome.kind == OutcomeKind::Accuracy);
  CHECK(outcome.best == "start/repair2");
}

TEST_CASE("a source that a custom compiler refuses has its outcome and its report", "[custom_target]") {
  const auto record = record_of(judge(), request_for(expression_target(), "y"));
  CHECK(record.outcome.to_class() == "compile:undeclared_identifier");
  REQUIRE(record.compile);
  CHECK_FALSE(record.compile->diagnostics.empty());
  CHECK(is_labelled(record));
}

TEST_CASE("bytes that are no shared object are told as such, and harm nothing", "[custom_target]") {
  const auto record = record_of(judge(), request_for(expression_target(), "no ELF"));
  CHECK(record.outcome.kind == OutcomeKind::Import);
  CHECK(record_of(judge(), request_for(expression_target(), "x < 0 ? 0 : x")).outcome.correct());
}

TEST_CASE("an exception of a custom compiler ends one evaluation", "[custom_target]") {
  const auto failed = judge().evaluate(request_for(expression_target(), "throws"), {}, {});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::Internal);
  CHECK(record_of(judge(), request_for(expression_target(), "x < 0 ? 0 : x")).outcome.correct());
}

TEST_CASE("a compiler of one's own for cpp leaves nothing behind for the worker's", "[custom_target]") {
  const auto relu = kernel_of("x < 0 ? 0 : x");
  const auto zeros = std::make_shared<ScriptedCompiler>(Target::Cpp, [](const std::string&) { return kernel_of("0"); });
  const auto custom = judge_with({zeros});
  const auto request = request_for(Target::Cpp, relu);
  const auto by_custom = record_of(*custom, request);
  CHECK(by_custom.outcome.to_class() == "accuracy:mismatch");
  CHECK(is_labelled(by_custom));
  // The other way round, too: the worker's cache has the source now.
  for (int round = 0; round < 2; ++round) {
    const auto by_worker = record_of(judge(), request);
    CHECK(by_worker.outcome.correct());
    CHECK_FALSE(is_labelled(by_worker));
  }
  CHECK(record_of(*custom, request).outcome.to_class() == "accuracy:mismatch");
}

TEST_CASE("a Python target needs no compiler, and its module is judged like any other", "[custom_target]") {
  const auto target =
      register_target({.name = "pydsl", .artifact = ArtifactKind::PythonModule, .device = TargetDevice::Any}).value();
  const auto module_of = [](const std::string& result) {
    return "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return " + result + "\n";
  };
  auto request = request_for(target, module_of("torch.clamp(x, min=0)"));
  request.options.device = "cpu";
  CHECK(record_of(judge(), request).outcome.correct());
  request.candidate = make_candidate(target, module_of("x"));
  CHECK(record_of(judge(), request).outcome.kind == OutcomeKind::Accuracy);
}

TEST_CASE("a custom target for GPUs is judged on a GPU, and nowhere else", "[custom_target]") {
  // Kernels of the fake device are host code.
  const auto target = register_target({.name = "gpu-expr", .device = TargetDevice::Gpu}).value();
  const char* python = std::getenv("KGEN_PYTHON");
  const auto judge_with_gpu =
      make_worker_benchmarker({.installation = installation_at(KERNELGEN_BINARY_DIR).value(),
                               .launch_prefix = {"env", "LD_LIBRARY_PATH=" KERNELGEN_FAKE_CUDA},
                               .python = python == nullptr ? "python3" : python,
                               .cache_dir = k_cache.string(),
                               .compilers = {std::make_shared<ScriptedCompiler>(target, kernel_of)}})
          .value();
  auto request = request_for(target, "x < 0 ? 0 : x");
  request.task.text.replace(request.task.text.find("columns = 7168"), 14, "columns = 64");
  const auto record = record_of(*judge_with_gpu, request);
  CHECK(record.outcome.correct());
  CHECK_FALSE(record.environment.device_uuid.empty());
  request.candidate = make_candidate(target, "x");
  CHECK(record_of(*judge_with_gpu, request).outcome.to_class() == "accuracy:mismatch");
  request.options.device = "cpu";
  const auto refused = judge_with_gpu->evaluate(request, {}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "gpu-expr kernels need a GPU, not the cpu");
}

TEST_CASE("a worker answers Unsupported for a target that comes without an artifact", "[custom_target]") {
  const auto scratch = TemporaryDirectory::create(fs::temp_directory_path(), "custom-target-").value();
  const auto spool = scratch.path() / "spool";
  const auto client = make_spool_benchmarker({.directory = spool, .waiting = Waiting::Return}).value();
  const auto request = request_for(TargetRegistry::of_process().find_or_name("unregistered").value(), "source");
  const auto pending = client->evaluate(request, {}, {});
  REQUIRE_FALSE(pending);
  CHECK(pending.error().code == ErrorCode::Pending);
  ChildRequest worker{.command = {KERNELGEN_KGEN, "worker", "--create", "--once", "--spool", spool.string(),
                                  "--cache-dir", k_cache.string()},
                      .environment = clean_environment(current_environment())};
  REQUIRE(ChildProcess::spawn(worker).value().wait(std::chrono::steady_clock::now() + 120s));
  const auto answer = client->evaluate(request, {}, {});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::Unsupported);
  CHECK_THAT(answer.error().message, Catch::Contains("target unregistered is none of kernelgen's"));
}
