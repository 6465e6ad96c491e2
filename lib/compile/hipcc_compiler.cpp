#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/content_files.hpp"
#include "compile/diagnostics.hpp"
#include "compile/hipcc.hpp"
#include "compile/kernel_resources.hpp"
#include "compile/sandboxed_compiler.hpp"
#include "compile/toolchain.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_resource_remark = "-Rpass-analysis=kernel-resource-usage";
constexpr const char* k_kittens_variable = "HIPKITTENS_ROOT";
/// The architectures for which HipKittens has tiles, and the macros that choose them.
constexpr std::pair<std::string_view, const char*> k_kittens_architectures[] = {{"gfx942", "-DKITTENS_CDNA3"},
                                                                                {"gfx950", "-DKITTENS_CDNA4"}};

/// A checkout of HipKittens.
struct Kittens {
  /// Empty: none is named.
  fs::path root;

  /// Its headers; empty without a root, of which the system makes no absolute path.
  [[nodiscard]] fs::path include() const {
    std::error_code error;
    return root.empty() ? fs::path() : fs::absolute(root, error) / "include";
  }
  /// The macro that chooses an architecture; null for one without tiles.
  [[nodiscard]] static const char* macro_of(std::string_view architecture) {
    for (const auto& [name, macro] : k_kittens_architectures)
      if (name == architecture) return macro;
    return nullptr;
  }
  /// Whether it can be used for this architecture.
  [[nodiscard]] Result<void> check(const std::string& architecture) const {
    if (macro_of(architecture) == nullptr)
      return Error{ErrorCode::UnsuitableDevice,
                   "HipKittens has no tiles for " + architecture +
                       ": hipkittens kernels are for gfx942 (CDNA 3) and gfx950 (CDNA 4); write a hip kernel instead",
                   {}};
    if (root.empty())
      return Error{ErrorCode::MissingTool,
                   std::string("no checkout of HipKittens is named: set ") + k_kittens_variable +
                       " to the root of one (git clone https://github.com/HazyResearch/HipKittens)",
                   {}};
    std::error_code error;
    if (fs::is_regular_file(include() / "kittens.cuh", error)) return {};
    return Error{ErrorCode::MissingTool,
                 "there is no include/kittens.cuh in '" + root.string() + "': set " + k_kittens_variable +
                     " to the root of a checkout of HipKittens",
                 {}};
  }
};

/// Environment variables that change what hipcc does.
const std::vector<std::string>& hipcc_variables() {
  static const std::vector<std::string> k_names{"ROCM_PATH",
                                                "HIP_PATH",
                                                "HIP_CLANG_PATH",
                                                "HIP_DEVICE_LIB_PATH",
                                                "DEVICE_LIB_PATH",
                                                "HIPCC_COMPILE_FLAGS_APPEND",
                                                "HIPCC_LINK_FLAGS_APPEND",
                                                "HSA_PATH"};
  return k_names;
}

class HipccToolset final : public Toolset {
 public:
  /// `kittens`: set for HipKittens candidates.
  HipccToolset(HipccCompilerOptions options, std::optional<Kittens> kittens, std::string hipcc, ProcessRunner& runner)
      : options_(std::move(options)),
        kittens_(std::move(kittens)),
        toolchain_(std::move(hipcc),
                   compiler_environment(options_.environment ? *options_.environment : current_environment(),
                                        hipcc_variables()),
                   runner) {}

  [[nodiscard]] std::string name() const override { return options_.hipcc.empty() ? "hipcc" : options_.hipcc; }
  [[nodiscard]] Target target() const override { return kittens_ ? Target::Hipkittens : Target::Hip; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const override {
    return toolchain_.environment();
  }
  [[nodiscard]] std::vector<std::string> flags(const CompileRequest& request) const override {
    auto flags = options_.flags;
    flags.push_back("--offload-arch=" + options_.architecture);
    if (const auto* macro = kittens_ ? Kittens::macro_of(options_.architecture) : nullptr)
      flags.insert(flags.end(), {macro, "-I" + kittens_->include().string()});
    flags.insert(flags.end(), request.extra_flags.begin(), request.extra_flags.end());
    return flags;
  }
  [[nodiscard]] Result<std::string> locate() const override {
    if (kittens_) KERNELGEN_CHECK(kittens_->check(options_.architecture));
    return find_hipcc(options_.hipcc, environment());
  }
  [[nodiscard]] std::vector<std::string> command_line(const std::string& driver, const std::vector<std::string>& flags,
                                                      const std::string& source,
                                                      const std::string& output) const override {
    std::vector<std::string> command{driver};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(),
                   {"-x", "hip", "-shared", "-fPIC", "-fno-color-diagnostics", "-ferror-limit=50",
                    // What each kernel needs, for the report.
                    std::string(k_resource_remark), "-I", fs::absolute(options_.abi_dir).string(), source, "-o", output,
                    // This reports undefined symbols here instead of when the candidate is loaded.
                    "-Wl,-z,defs"});
    if (is_amdclang(driver)) command.emplace_back("--hip-link");
    return command;
  }
  /// A toolkit is a folder with bin/hipcc, and with its compiler in lib/llvm or llvm, where amdclang++ leads.
  [[nodiscard]] Result<std::vector<std::string>> toolchain_paths(const std::string& driver, std::stop_token) override {
    std::error_code error;
    const auto real = fs::canonical(driver, error);
    auto root = (error ? fs::path(driver) : real).parent_path().parent_path();
    if (root.filename() == "llvm") root = root.parent_path();
    if (root.filename() == "lib" && is_amdclang(driver)) root = root.parent_path();
    std::vector<std::string> paths{root.string()};
    if (kittens_) paths.push_back(kittens_->include().string());
    return paths;
  }
  [[nodiscard]] Result<std::map<std::string, std::string>> key_values(const std::vector<std::string>& flags,
                                                                      std::stop_token stop) override {
    if (kittens_) KERNELGEN_CHECK(kittens_->check(options_.architecture));
    KERNELGEN_TRY(const auto facts, toolchain_.facts(flags, std::move(stop)));
    auto values = facts.key_values("hip.");
    values["flags.resolved"] = facts.resolved_flags;
    if (kittens_) {
      KERNELGEN_TRY(values["hipkittens.headers"], digest_of_folder(kittens_->include()));
    }
    return values;
  }
  void read_log(CompileReport& report) const override {
    report.diagnostics = parse_diagnostics(report.log);
    std::erase_if(report.diagnostics, [](const auto& one) { return contains(one.message, k_resource_remark); });
    report.kernels = parse_amdgpu_resources(report.log);
  }
  [[nodiscard]] std::optional<Error> missing_part(const CompileReport& report) const override {
    if (const auto problem = explain_hipcc(report.log, options_.architecture))
      return Error{ErrorCode::MissingTool, fmt::format("{}: {}; {}", name(), problem->what, problem->remedy), {}};
    if (!kittens_) return std::nullopt;
    // Branches of HipKittens differ in the architectures for which they have headers.
    for (const auto& one : report.diagnostics)
      if (one.severity.ends_with("error") && one.file.starts_with(kittens_->include().string()) &&
          contains(one.message, "file not found"))
        return Error{ErrorCode::MissingTool,
                     "the checkout of HipKittens at " + kittens_->root.string() + " has no headers for " +
                         options_.architecture + " (" + one.message + "); check out the branch that has them",
                     {}};
    return std::nullopt;
  }

 private:
  HipccCompilerOptions options_;
  std::optional<Kittens> kittens_;
  Toolchain toolchain_;
};

Result<std::unique_ptr<KernelCompiler>> make_compiler(HipccCompilerOptions options, std::optional<Kittens> kittens,
                                                      ProcessRunner& runner) {
  if (!is_gfx_name(options.architecture))
    return Error{ErrorCode::InvalidArgument,
                 "'" + options.architecture + "' is no architecture that hipcc compiles for; they look like gfx90a",
                 {}};
  const auto environment = options.environment ? *options.environment : current_environment();
  // Where it is missing, the compiler says so when it is used.
  auto hipcc = find_hipcc(options.hipcc, environment);
  BuildPlaces places{options.abi_dir, options.output_dir, options.sandbox, options.toolchain_paths};
  return make_sandboxed_compiler(
      std::make_unique<HipccToolset>(std::move(options), std::move(kittens),
                                     hipcc ? *std::move(hipcc) : std::string("hipcc"), runner),
      std::move(places), runner);
}

}  // namespace

Result<std::unique_ptr<KernelCompiler>> make_hipcc_compiler(HipccCompilerOptions options, ProcessRunner& runner) {
  return make_compiler(std::move(options), std::nullopt, runner);
}

Result<std::unique_ptr<KernelCompiler>> make_hipkittens_compiler(HipkittensCompilerOptions options,
                                                                 ProcessRunner& runner) {
  if (options.root.empty()) {
    const auto environment = options.hip.environment ? *options.hip.environment : current_environment();
    if (const auto named = environment.find(k_kittens_variable); named != environment.end())
      options.root = named->second;
  }
  return make_compiler(std::move(options.hip), Kittens{options.root}, runner);
}

}  // namespace v0
}  // namespace kernelgen
