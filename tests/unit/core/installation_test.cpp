#include <kernelgen/core/installation.hpp>

#include <fstream>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

const char* const k_parts[] = {"bin/kgen",
                               "libexec/kernelgen/kgen-runner",
                               "libexec/kernelgen/libkgen_runner_support.so",
                               "libexec/kernelgen/kgen-sandbox",
                               "libexec/kernelgen/kgen-gpu",
                               "share/kernelgen/python/kernelgen_judge/__main__.py",
                               "share/kernelgen/python/kernelgen_runner/__main__.py",
                               "share/kernelgen/prompts/seed.mustache",
                               "share/kernelgen/abi/kernelgen/abi.h",
                               "share/kernelgen/devices/gpus.json",
                               "share/kernelgen/selftest/attacks/one.py",
                               "share/kernelgen/hip_cpu/hip/hip_runtime.h",
                               "share/kernelgen/hip_cuda/hip/hip_runtime.h",
                               "share/kernelgen/report/page.html"};

TemporaryDirectory make_installation() {
  auto prefix = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-prefix-").value();
  for (const char* part : k_parts) {
    fs::create_directories((prefix.path() / part).parent_path());
    std::ofstream(prefix.path() / part) << '\n';
  }
  return prefix;
}

}  // namespace

TEST_CASE("the parts of an installation are found below its prefix", "[core][installation]") {
  const auto prefix = make_installation();
  const auto found = installation_at(prefix.path());
  REQUIRE(found);
  CHECK(found->worker == prefix.path() / "bin/kgen");
  CHECK(found->native_runner == prefix.path() / "libexec/kernelgen/kgen-runner");
  CHECK(found->prompts_dir == prefix.path() / "share/kernelgen/prompts");
  CHECK(found->sandbox == prefix.path() / "libexec/kernelgen/kgen-sandbox");
  CHECK(found->abi_dir == prefix.path() / "share/kernelgen/abi");
  CHECK(found->gpu_probe == prefix.path() / "libexec/kernelgen/kgen-gpu");
  CHECK(found->devices_dir == prefix.path() / "share/kernelgen/devices");
  CHECK(found->selftest_dir == prefix.path() / "share/kernelgen/selftest");
  CHECK(found->hip_cpu_dir == prefix.path() / "share/kernelgen/hip_cpu");
  CHECK(found->hip_cuda_dir == prefix.path() / "share/kernelgen/hip_cuda");
  CHECK(found->report_dir == prefix.path() / "share/kernelgen/report");
}

TEST_CASE("a missing part of an installation is named", "[core][installation]") {
  for (const char* part : k_parts) {
    const auto prefix = make_installation();
    // Of these, the directory is looked for.
    const auto name = fs::path(part).filename();
    const auto missing = name == "__main__.py" || name == "one.py" ? fs::path(part).parent_path() : fs::path(part);
    fs::remove_all(prefix.path() / missing);
    const auto found = installation_at(prefix.path());
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::MissingTool);
    CHECK(found.error().message.find(missing.string()) != std::string::npos);
  }
}

TEST_CASE("the build tree is an installation", "[core][installation]") {
  // Parts that this build did not make are named with the searched prefix.
  const auto found = find_installation();
  const std::string where = found ? found->worker.string() : found.error().message;
  CHECK(where.find(KERNELGEN_BINARY_DIR) != std::string::npos);
}
