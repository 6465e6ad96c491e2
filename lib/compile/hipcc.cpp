#include "compile/hipcc.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "compile/diagnostics.hpp"
#include "compile/toolchain.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using RocmRelease = std::pair<int, int>;

/// AMD's release notes of these versions name the first devices with the architecture.
constexpr std::pair<std::string_view, RocmRelease> k_oldest_rocm[] = {
    {"gfx942", {6, 0}}, {"gfx950", {7, 0}}, {"gfx1100", {5, 7}}, {"gfx1200", {6, 4}}, {"gfx1201", {6, 4}},
};

std::string release_text(const RocmRelease& release) { return fmt::format("{}.{}", release.first, release.second); }

/// {6, 3} at the beginning of "6.3.42131".
RocmRelease read_release(std::string_view text) {
  RocmRelease release{0, 0};
  const auto* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, release.first);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.')
    std::from_chars(major.ptr + 1, end, release.second);
  return release;
}

std::string newer_rocm(std::string_view architecture) {
  const auto oldest = oldest_rocm_for(architecture);
  return oldest ? fmt::format("set ROCM_PATH to ROCm {} or newer", release_text(*oldest))
                : "set ROCM_PATH to a newer ROCm";
}

/// The folders in which a compiler may be, besides those of the PATH: the user's first.
std::vector<std::string> rocm_folders(const std::map<std::string, std::string>& environment, bool is_clang) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& root) {
    folders.push_back(root + "/bin/");
    if (is_clang) folders.insert(folders.end(), {root + "/llvm/bin/", root + "/lib/llvm/bin/"});
  };
  for (const char* name : {"ROCM_PATH", "HIP_PATH"})
    if (const auto found = environment.find(name); found != environment.end() && !found->second.empty())
      add(found->second);
  return folders;
}

}  // namespace

Result<std::string> find_hipcc(const std::string& named, const std::map<std::string, std::string>& environment) {
  if (!named.empty()) return find_program(named, environment);
  for (const char* name : {"hipcc", "amdclang++"}) {
    const bool is_clang = is_amdclang(name);
    for (const auto& folder : rocm_folders(environment, is_clang))
      if (auto path = folder + name; is_program(path)) return path;
    if (auto found = find_program(name, environment)) return found;
    for (const auto& folder : rocm_folders({{"ROCM_PATH", "/opt/rocm"}}, is_clang))
      if (auto path = folder + name; is_program(path)) return path;
  }
  return Error{
      ErrorCode::MissingTool,
      "there is no hipcc in ROCM_PATH, on the PATH or in /opt/rocm, and no amdclang++; install ROCm's HIP (Debian and "
      "Ubuntu: apt install hipcc) or set ROCM_PATH; triton kernels do not need it",
      {}};
}

bool is_amdclang(std::string_view compiler) {
  return std::filesystem::path(compiler).filename().string().starts_with("amdclang++");
}

bool is_gfx_name(std::string_view architecture) {
  constexpr std::string_view k_prefix = "gfx";
  if (!architecture.starts_with(k_prefix)) return false;
  architecture.remove_prefix(k_prefix.size());
  return architecture.size() >= 3 && architecture.size() <= 5 &&
         architecture.find_first_not_of("0123456789abcdef") == architecture.npos;
}

RocmRelease parse_rocm_release(std::string_view version) {
  // "HIP version: 6.3.42131-fa1d09cbd"; "AMD clang version 18.0.0git (https://... roc-6.3.0 24455 ...)".
  for (const std::string_view before : {"HIP version: ", "roc-"})
    if (const auto at = version.find(before); at != version.npos) {
      const auto release = read_release(version.substr(at + before.size()));
      if (release.first > 0) return release;
    }
  return {0, 0};
}

std::optional<RocmRelease> oldest_rocm_for(std::string_view architecture) {
  for (const auto& [name, release] : k_oldest_rocm)
    if (name == architecture) return release;
  return std::nullopt;
}

std::vector<std::string> hipcc_check(const std::string& compiler, const std::string& architecture) {
  return {compiler, "-###", "-x", "hip", "--offload-arch=" + architecture, "-c", "/dev/null", "-o", "/dev/null"};
}

std::optional<PlatformProblem> explain_hipcc(std::string_view log, std::string_view architecture) {
  for (const auto& one : parse_diagnostics(log)) {
    const std::string_view said = one.message;
    if (one.line != 0 || one.severity != "error") continue;
    if (contains(said, "invalid target ID") || contains(said, "unsupported HIP gpu architecture"))
      return PlatformProblem{fmt::format("this ROCm does not know {}", architecture), newer_rocm(architecture)};
    if (contains(said, "cannot find ROCm device library for ABI"))
      return PlatformProblem{"its device libraries are older than the compiler",
                             "install both from one ROCm, or set HIP_DEVICE_LIB_PATH to the folder of newer ones"};
    if (contains(said, "cannot find ROCm device library for"))
      return PlatformProblem{fmt::format("it has no device library for {}", architecture), newer_rocm(architecture)};
    if (contains(said, "cannot find ROCm device library"))
      return PlatformProblem{"it has no device libraries",
                             "install them (Debian and Ubuntu: apt install rocm-device-libs), or set "
                             "HIP_DEVICE_LIB_PATH to their folder"};
    for (const std::string_view words :
         {"cannot find HIP runtime", "unable to find library -lamdhip64", "cannot find -lamdhip64"})
      if (contains(said, words))
        return PlatformProblem{std::string(words),
                               "install all of ROCm's HIP (Debian and Ubuntu: apt install libamdhip64-dev)"};
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
