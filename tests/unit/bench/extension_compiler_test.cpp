#include "bench/extension_compiler.hpp"

#include <filesystem>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// A machine with programs in folders of its own, and nothing else on its PATH.
struct Machine {
  TemporaryDirectory root = TemporaryDirectory::create(fs::temp_directory_path(), "extension-").value();
  std::map<std::string, std::string> environment{{"PATH", root.path().string() + "/nowhere"}};

  [[nodiscard]] std::string path(const std::string& name) const { return (root.path() / name).string(); }
  void install(const std::string& name) const {
    make_directories((root.path() / name).parent_path()).value();
    write_file_atomic(path(name), "#!/bin/sh\n").value();
    fs::permissions(path(name), fs::perms::owner_all);
  }
  [[nodiscard]] Result<void> find(const std::string& vendor) const {
    return find_extension_compiler(platform_of(vendor), path("venv/bin/python"), environment);
  }
};

}  // namespace

TEST_CASE("only extensions with kernels need the compiler of a GPU", "[bench][extension]") {
  const std::string import = "from torch.utils.cpp_extension import load, load_inline\n";
  CHECK(has_device_extension(import + "load_inline('a', cpp_sources='', cuda_sources=SOURCE)"));
  CHECK(has_device_extension(import + "load('a', ['relu.cu'])"));
  CHECK(has_device_extension(import + "load('a', [\"relu.hip\"])"));
  CHECK_FALSE(has_device_extension(import + "load_inline('a', cpp_sources=SOURCE)"));
  CHECK_FALSE(has_device_extension("cuda_sources = 'relu.cu'"));
  CHECK_FALSE(has_device_extension(""));
}

TEST_CASE("hipcc is found where torch looks for it", "[bench][extension]") {
  // At its usual place hipcc is found on every machine.
  if (fs::exists("/opt/rocm/bin/hipcc")) return;
  Machine machine;
  const auto missing = machine.find("amd");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::MissingTool);
  CHECK(missing.error().message ==
        "the candidate builds a torch extension with kernels: there is no hipcc in ROCM_PATH, on the PATH or in "
        "/opt/rocm, and no amdclang++; install ROCm's HIP (Debian and Ubuntu: apt install hipcc) or set ROCM_PATH; triton "
        "kernels do not need it");
  machine.install("rocm/bin/hipcc");
  for (const char* name : {"ROCM_HOME", "ROCM_PATH", "HIP_PATH"}) {
    auto named = machine.environment;
    named[name] = machine.path("rocm");
    INFO(name);
    CHECK(find_extension_compiler(platform_of("amd"), "python3", named));
  }
  machine.environment["PATH"] = machine.path("rocm/bin");
  CHECK(machine.find("amd"));
}

TEST_CASE("hipcc is found beside the Python that judges", "[bench][extension]") {
  const Machine machine;
  machine.install("venv/bin/hipcc");
  CHECK(machine.find("amd"));
}

TEST_CASE("nvcc is missed where a GPU of its maker judges", "[bench][extension]") {
  if (fs::exists("/usr/local/cuda/bin/nvcc")) return;
  Machine machine;
  const auto missing = machine.find("nvidia");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::MissingTool);
  CHECK(missing.error().message.find("there is no nvcc in CUDA_HOME") != std::string::npos);
  machine.install("cuda/bin/nvcc");
  machine.environment["CUDA_HOME"] = machine.path("cuda");
  CHECK(machine.find("nvidia"));
  // The tests' device has no compiler of its own.
  CHECK(machine.find("fake"));
}
