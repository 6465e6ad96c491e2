#include "compile/compiler_table.hpp"

#include <fmt/format.h>

#include "compile/content_files.hpp"
#include "support/sha256.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

class CompilerTable final : public KernelCompiler {
 public:
  explicit CompilerTable(std::vector<std::unique_ptr<KernelCompiler>> compilers) : compilers_(std::move(compilers)) {}

  bool supports(Target target) const override { return find(target) != nullptr; }
  Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) override {
    auto* compiler = find(request.candidate.target);
    return compiler == nullptr ? Result<CompileKey>(unsupported(request)) : compiler->key(request, std::move(stop));
  }
  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override {
    auto* compiler = find(request.candidate.target);
    return compiler == nullptr ? Result<CompileOutcome>(unsupported(request))
                               : compiler->compile(request, std::move(stop));
  }

 private:
  KernelCompiler* find(Target target) const {
    for (const auto& compiler : compilers_)
      if (compiler->supports(target)) return compiler.get();
    return nullptr;
  }
  static Error unsupported(const CompileRequest& request) {
    const auto target = request.candidate.target;
    if (is_built_in(target))
      return {ErrorCode::UnsuitableDevice,
              fmt::format("no compiler of this device takes the target {}", to_string(target))};
    return {ErrorCode::Unsupported, fmt::format("target {} cannot be evaluated by this version", to_string(target))};
  }

  std::vector<std::unique_ptr<KernelCompiler>> compilers_;
};

class PythonPublisher final : public KernelCompiler {
 public:
  explicit PythonPublisher(std::string directory) : directory_(std::move(directory)) {}

  bool supports(Target target) const override { return target == Target::Torch || target == Target::Triton; }

  Result<CompileKey> key(const CompileRequest& request, std::stop_token) override {
    CompileKey key{.text = fmt::format("format 1\nsource {}\n", sha256_hex(request.candidate.source))};
    key.digest = sha256_hex(key.text);
    return key;
  }

  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override {
    KERNELGEN_TRY(auto compile_key, key(request, std::move(stop)));
    KERNELGEN_TRY(const auto path, publish_content(directory_, request.candidate.source, ".py"));
    Compiled compiled;
    compiled.artifact = {request.candidate.id, request.candidate.target, path.string(), compile_key.digest};
    compiled.report.cache = "off (Python source)";
    return CompileOutcome(std::move(compiled));
  }

 private:
  std::string directory_;
};

}  // namespace

std::unique_ptr<KernelCompiler> make_compiler_table(std::vector<std::unique_ptr<KernelCompiler>> compilers) {
  return std::make_unique<CompilerTable>(std::move(compilers));
}

std::unique_ptr<KernelCompiler> make_python_publisher(std::string directory) {
  return std::make_unique<PythonPublisher>(std::move(directory));
}

}  // namespace v0
}  // namespace kernelgen
