#include "compile/cuda_toolkit.hpp"

#include <charconv>
#include <filesystem>

#include "compile/toolchain.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// The default place of a toolkit, where NVIDIA's packages put it.
constexpr const char* k_usual_nvcc = "/usr/local/cuda/bin/nvcc";

/// The files that are part of an artifact or produce it: the name in the key, and paths below the root, of which the
/// first existing one counts.
struct Part {
  const char* name;
  std::vector<const char*> places;
};

const std::vector<Part>& parts() {
  static const std::vector<Part> k_parts{
      {"cuda.cicc", {"nvvm/bin/cicc"}},
      {"cuda.cudafe", {"bin/cudafe++"}},
      {"cuda.fatbinary", {"bin/fatbinary"}},
      {"cuda.nvcc", {"bin/nvcc"}},
      {"cuda.profile", {"bin/nvcc.profile"}},
      {"cuda.ptxas", {"bin/ptxas"}},
      {"cuda.library.device", {"nvvm/libdevice/libdevice.10.bc"}},
      {"cuda.library.devrt", {"lib64/libcudadevrt.a", "targets/x86_64-linux/lib/libcudadevrt.a", "lib/libcudadevrt.a"}},
      {"cuda.library.runtime",
       {"lib64/libcudart_static.a", "targets/x86_64-linux/lib/libcudart_static.a", "lib/libcudart_static.a"}},
      // A package that changes another header changes the version in one of these too.
      {"cuda.header.api", {"include/cuda_runtime_api.h", "targets/x86_64-linux/include/cuda_runtime_api.h"}},
      {"cuda.header.driver", {"include/cuda.h", "targets/x86_64-linux/include/cuda.h"}},
      {"cuda.header.std",
       {"include/cccl/cuda/std/__cccl/version.h", "include/cuda/std/__cccl/version.h",
        "include/cuda/std/detail/__config"}},
  };
  return k_parts;
}

/// The program of the first line "#$ PROGRAM ARGUMENTS" that is no variable.
std::string first_program(std::string_view dry_run) {
  for (auto line : split_lines(dry_run)) {
    if (line.substr(0, 3) != "#$ ") continue;
    line.remove_prefix(3);
    auto word = line.substr(0, line.find(' '));
    if (word.find('=') != word.npos) continue;
    if (word.size() > 2 && word.front() == '"' && word.back() == '"') word = word.substr(1, word.size() - 2);
    return std::string(word);
  }
  return {};
}

}  // namespace

Result<std::string> find_nvcc(const std::string& named, const std::map<std::string, std::string>& environment) {
  if (!named.empty()) return find_program(named, environment);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto found = environment.find(name); found != environment.end() && !found->second.empty())
      if (auto path = found->second + "/bin/nvcc"; is_program(path)) return path;
  if (auto found = find_program("nvcc", environment)) return found;
  if (is_program(k_usual_nvcc)) return std::string(k_usual_nvcc);
  return Error{ErrorCode::MissingTool,
               "there is no nvcc in CUDA_HOME, on the PATH or in /usr/local/cuda; install the CUDA toolkit (Debian and "
               "Ubuntu: apt install nvidia-cuda-toolkit) or set CUDA_HOME; triton kernels do not need it",
               {}};
}

std::pair<int, int> parse_cuda_release(std::string_view version) {
  constexpr std::string_view k_release = "release ";
  const auto at = version.find(k_release);
  if (at == version.npos) return {0, 0};
  const char* const end = version.data() + version.size();
  std::pair<int, int> release{0, 0};
  const auto major = std::from_chars(version.data() + at + k_release.size(), end, release.first);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.')
    std::from_chars(major.ptr + 1, end, release.second);
  return release;
}

std::map<std::string, std::string> parse_nvcc_variables(std::string_view dry_run) {
  std::map<std::string, std::string> variables;
  for (auto line : split_lines(dry_run)) {
    if (line.substr(0, 3) != "#$ ") continue;
    line.remove_prefix(3);
    const auto equals = line.find('=');
    if (equals == line.npos || line.substr(0, equals).find_first_of(" \"") != std::string_view::npos) continue;
    variables[std::string(line.substr(0, equals))] = trim(line.substr(equals + 1));
  }
  return variables;
}

Result<CudaToolkitFacts> CudaToolkit::ask(const std::string& nvcc, std::vector<std::string>& files,
                                          std::stop_token stop) const {
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), nvcc);
    return runner_.run({.command = std::move(arguments),
                        .environment = environment_,
                        .timeout = std::chrono::seconds(20),
                        .max_output_bytes = 1u << 20},
                       stop);
  };
  CudaToolkitFacts facts;
  files.push_back(nvcc);
  KERNELGEN_TRY(facts.digests["cuda.driver"], sha256_file(nvcc));
  KERNELGEN_TRY(const auto version, run({"--version"}));
  if (version.timed_out) return Error{ErrorCode::Timeout, nvcc + " --version: " + version.to_line(), {}};
  facts.release = parse_cuda_release(version.standard_output);
  facts.version = "unknown";
  for (const auto line : split_lines(version.standard_output))
    if (line.find("release ") != line.npos) facts.version = sanitize_line(line, 300);

  KERNELGEN_TRY(const auto dry, run({"--dryrun", "-E", "-x", "cu", "/dev/null"}));
  facts.host_compiler = first_program(dry.standard_error);
  const auto variables = parse_nvcc_variables(dry.standard_error);
  const auto top = variables.find("TOP");
  std::error_code error;
  const auto root = top == variables.end() ? fs::path() : fs::canonical(top->second, error);
  if (root.empty() || error) return facts;
  facts.root = root.string();
  for (const auto& part : parts())
    for (const char* place : part.places) {
      const std::string path = (root / place).string();
      const auto digest = sha256_file(path);
      if (!digest) continue;
      facts.digests[part.name] = *digest;
      files.push_back(path);
      break;
    }
  return facts;
}

Result<CudaToolkitFacts> CudaToolkit::facts(std::stop_token stop) {
  KERNELGEN_TRY(const auto nvcc, locate());
  {
    const std::lock_guard lock(mutex_);
    if (!stamp_.empty() && !files_.empty() && files_.front() == nvcc && file_stamp(files_) == stamp_)
      return remembered_;
  }
  // The lock is released meanwhile, so that a program that hangs does not block other requests.
  std::vector<std::string> files;
  KERNELGEN_TRY(auto facts, ask(nvcc, files, std::move(stop)));
  const std::lock_guard lock(mutex_);
  stamp_ = file_stamp(files);
  files_ = std::move(files);
  remembered_ = facts;
  return facts;
}

}  // namespace v0
}  // namespace kernelgen
