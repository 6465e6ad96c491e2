#include "bench/extension_compiler.hpp"

#include <algorithm>
#include <filesystem>

#include "compile/cuda_toolkit.hpp"
#include "compile/hipcc.hpp"
#include "compile/toolchain.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// torch's first guess is a variable that hipcc itself does not know; its packages for Python bring a hipcc.
bool has_hipcc_for_torch(const std::string& python, const std::map<std::string, std::string>& environment) {
  if (const auto home = environment.find("ROCM_HOME"); home != environment.end() && !home->second.empty())
    return is_program(home->second + "/bin/hipcc");
  return is_program((std::filesystem::path(python).parent_path() / "hipcc").string());
}

}  // namespace

bool has_device_extension(std::string_view source) {
  static constexpr std::string_view k_signs[] = {"cuda_sources", ".cu\"", ".cu'", ".hip\"", ".hip'", "CUDAExtension"};
  return contains(source, "cpp_extension") &&
         std::any_of(std::begin(k_signs), std::end(k_signs),
                     [&](std::string_view sign) { return contains(source, sign); });
}

Result<void> find_extension_compiler(const Platform& platform, const std::string& python,
                                     const std::map<std::string, std::string>& environment) {
  Result<std::string> found = std::string();
  if (platform.compiler == DeviceCompiler::Nvcc)
    found = find_nvcc("", environment);
  else if (platform.compiler == DeviceCompiler::Hipcc && !has_hipcc_for_torch(python, environment))
    found = find_hipcc("", environment);
  if (found) return {};
  return Error{found.error().code, "the candidate builds a torch extension with kernels: " + found.error().message, {}};
}

}  // namespace v0
}  // namespace kernelgen
