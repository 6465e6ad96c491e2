// A target of your own: a language of one expression, and its compiler.     09_custom_target TASK.py

#include <iostream>

#include <kernelgen/kernelgen.hpp>

using namespace kernelgen;

/// Compiles "x < 0 ? 0 : x" to a shared object with the kernel ABI, by way of C++.
class ExpressionCompiler final : public KernelCompiler {
 public:
  ExpressionCompiler(Target target, std::unique_ptr<KernelCompiler> cpp) : target_(target), cpp_(std::move(cpp)) {}

  bool supports(Target target) const override { return target == target_; }
  Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) override {
    return cpp_->key(translate(request), std::move(stop));
  }
  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override {
    return cpp_->compile(translate(request), std::move(stop));
  }

 private:
  static CompileRequest translate(CompileRequest request) {
    request.candidate = make_candidate(Target::Cpp, R"(#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}
KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* in = static_cast<const float*>(args->inputs.items[0]->data);
  auto* out = static_cast<float*>(args->outputs.items[0]->data);
  for (uint64_t i = 0; i < args->inputs.items[0]->element_count; ++i) {
    const float x = in[i];
    out[i] = )" + request.candidate.source + ";\n  }\n  return 0;\n}\n");
    return request;
  }

  Target target_;
  std::unique_ptr<KernelCompiler> cpp_;
};

int main(int argc, char** argv) try {
  if (argc != 2) return 64;
  const auto target = register_target({.name = "expression",
                                       .file_extension = ".expr",
                                       .prompt_text = "Write one C expression of the element `float x`."})
                          .value();
  const auto processes = make_process_runner();
  const LocalCompilerOptions local{.installation = find_installation().value(), .cache_dir = "custom-target"};
  const auto compiler = std::make_shared<ExpressionCompiler>(target, make_local_compiler(local, *processes).value());
  const auto judge = open_local_judge({.compilers = {compiler}}).value();
  const auto task = load_task_source(argv[1]).value();
  const auto record = judge->evaluate({task, make_candidate(target, "x < 0 ? 0 : x")}, {}, {}).value();
  std::cout << to_string(record.target) << ": " << record.outcome.to_class() << ' ' << record.outcome.message << '\n';
  return record.outcome.correct() ? 0 : 2;
} catch (const BadResult& bad) {
  std::cerr << bad.error().to_line() << '\n';
  return 1;
}
