#include "bench/cupti.hpp"

#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

std::filesystem::path find_cupti(const std::string& python, const std::map<std::string, std::string>& environment) {
  namespace fs = std::filesystem;
  const auto program = find_program(python, environment);
  if (!program) return {};
  // The program of a virtual environment is a link; the packages lie beside the link.
  const auto prefix = fs::path(*program).parent_path().parent_path();
  std::error_code error;
  for (const char* libraries : {"lib", "local/lib"})
    for (const auto& version : fs::directory_iterator(prefix / libraries, error)) {
      if (!version.path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const char* folder : {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib", "triton/backends/nvidia/lib/cupti"})
          for (const char* name : {"libcupti.so.13", "libcupti.so.12"})
            if (auto found = version.path() / packages / folder / name; fs::exists(found, error)) return found;
    }
  return {};
}

}  // namespace v0
}  // namespace kernelgen
