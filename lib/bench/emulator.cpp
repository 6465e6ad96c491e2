#include "bench/emulator.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_library_variable = "KGEN_ROCJITSU";
constexpr const char* k_config_variable = "KGEN_ROCJITSU_CONFIG";

Result<std::string> find_part(const std::map<std::string, std::string>& environment, const char* variable,
                              std::string_view what) {
  const auto named = environment.find(variable);
  if (named == environment.end() || named->second.empty())
    return Error{ErrorCode::MissingTool,
                 fmt::format("{} needs an emulator: set {} to {}", k_emulated_gpu, variable, what)};
  std::error_code error;
  auto path = fs::absolute(named->second, error);
  if (fs::is_regular_file(path, error)) return path.string();
  return Error{ErrorCode::MissingTool,
               fmt::format("{} is '{}', and there is no such file: set it to {}", variable, named->second, what)};
}

}  // namespace

Result<Emulator> find_emulator(const std::map<std::string, std::string>& environment) {
  KERNELGEN_TRY(auto library, find_part(environment, k_library_variable, "librocjitsu.so of AMD's rocjitsu"));
  KERNELGEN_TRY(auto config,
                find_part(environment, k_config_variable, "the configuration of a GPU, such as its gfx942_cdna3.json"));
  return Emulator{std::move(library), std::move(config)};
}

std::map<std::string, std::string> emulated_environment(std::map<std::string, std::string> environment,
                                                        const Emulator& emulator, const std::string& directory) {
  environment["LD_PRELOAD"] = emulator.library;
  environment["ROCJITSU_RUNTIME_DIR"] = directory;
  return environment;
}

Result<GpuFacts> read_emulated_gpu(const Emulator& emulator, GpuProbeOptions options, const GpuCatalog& catalog,
                                   ProcessRunner& runner, std::stop_token stop) {
  std::error_code ignored;
  KERNELGEN_TRY(const auto directory,
                TemporaryDirectory::create(fs::temp_directory_path(ignored), "kernelgen-emulator"));
  KERNELGEN_CHECK(write_file_atomic(directory.path() / "config_path", emulator.config + "\n"));
  options.environment = emulated_environment(std::move(options.environment), emulator, directory.path().string());
  options.cache_dir.clear();
  KERNELGEN_TRY(const auto reading, read_gpus(options, catalog, runner, std::move(stop)));
  const auto gpus = gpus_for(reading, "amd");
  if (!gpus.gpus.empty()) return gpus.gpus.front();
  return Error{
      ErrorCode::MissingDevice,
      fmt::format("the emulator shows no AMD GPU ({}): it needs ROCm's HIP (libamdhip64.so), of a version that "
                  "knows the architecture of {}",
                  gpus.reason, emulator.config)};
}

}  // namespace v0
}  // namespace kernelgen
