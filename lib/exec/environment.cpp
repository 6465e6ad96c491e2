#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <kernelgen/exec/process.hpp>

#include "support/text.hpp"

extern char** environ;

namespace kernelgen {
inline namespace v0 {
namespace {

/// The directories that execvp searches when there is no PATH.
constexpr std::string_view k_default_path = "/usr/local/bin:/usr/bin:/bin";

constexpr auto k_names = std::to_array<std::string_view>({
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "CC",
    "CXX",
    "CPATH",
    "LIBRARY_PATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "SOURCE_DATE_EPOCH",
    "HIPKITTENS_ROOT",
    "MAX_JOBS",
});

constexpr auto k_prefixes = std::to_array<std::string_view>({
    "LC_",      "CUDA_",   "NVIDIA_",    "NVCC_", "HIP_",   "ROCM_",   "ROCR_",     "HSA_",
    "GPU_",     "AMD_",    "OMP_",       "GOMP_", "KMP_",   "MKL_",    "OPENBLAS_", "TORCH_",
    "PYTORCH_", "TRITON_", "KERNELGEN_", "KGEN_", "SLURM_", "CCACHE_",
});

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

bool looks_secret(std::string_view name) {
  const std::string text = upper(name);
  for (const std::string_view part : {"SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY"})
    if (text.find(part) != std::string::npos) return true;
  for (const std::string_view part : split(text, '_'))
    for (const std::string_view word : {"KEY", "KEYS", "TOKEN", "TOKENS", "AUTH", "COOKIE", "PAT"})
      if (part == word) return true;
  return false;
}

bool is_allowed(std::string_view name) {
  return std::find(k_names.begin(), k_names.end(), name) != k_names.end() ||
         std::any_of(k_prefixes.begin(), k_prefixes.end(),
                     [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; });
}

}  // namespace

std::map<std::string, std::string> clean_environment(const std::map<std::string, std::string>& from) {
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : from)
    if (is_allowed(name) && !looks_secret(name)) kept.emplace(name, value);
  return kept;
}

std::map<std::string, std::string> current_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

Result<std::string> find_program(const std::string& name, const std::map<std::string, std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  const auto found = environment.find("PATH");
  const std::string path(found == environment.end() ? k_default_path : std::string_view(found->second));
  bool forbidden = false;
  for (const std::string_view directory : split(path, ':')) {
    // Relative entries would make the answer depend on the working directory.
    if (name.empty() || directory.empty() || directory.front() != '/') continue;
    std::string candidate = std::string(directory) + "/" + name;
    struct stat info {};
    if (::stat(candidate.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    forbidden = true;
  }
  if (forbidden)
    return Error{ErrorCode::PermissionDenied, "cannot run " + name + ": found on the PATH but not executable", {}};
  return Error{ErrorCode::MissingTool, "cannot run " + name + ": not found on the PATH (" + path + ")", {}};
}

}  // namespace v0
}  // namespace kernelgen
