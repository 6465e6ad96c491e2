// Tests of how ROCm's compilers are found, and of what their messages mean. The messages are those of Debian's
// hipcc 5.2 and clang 15, unless something else is said.
#include "compile/hipcc.hpp"

#include <algorithm>
#include <filesystem>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

struct Rocm {
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "rocm-").value();
  std::map<std::string, std::string> environment{{"PATH", (directory.path() / "path").string()},
                                                 {"ROCM_PATH", (directory.path() / "rocm").string()}};

  std::string install(const std::string& name) {
    const auto path = directory.path() / name;
    make_directories(path.parent_path()).value();
    write_file_atomic(path, name, {.mode = 0755}).value();
    return path.string();
  }
  [[nodiscard]] std::string found() const {
    const auto path = find_hipcc("", environment);
    return path ? *path : path.error().message;
  }
};

}  // namespace

TEST_CASE("amdclang++ is taken where there is no hipcc", "[compile][hipcc]") {
  Rocm rocm;
  if (fs::exists("/opt/rocm")) SUCCEED("this machine has a ROCm, which is found at last");
  const auto llvm = rocm.install("rocm/lib/llvm/bin/amdclang++");
  CHECK(rocm.found() == llvm);
  const auto clang = rocm.install("rocm/bin/amdclang++");
  CHECK(rocm.found() == clang);
  const auto on_path = rocm.install("path/hipcc");
  CHECK(rocm.found() == on_path);
  const auto hipcc = rocm.install("rocm/bin/hipcc");
  CHECK(rocm.found() == hipcc);
  CHECK(find_hipcc(clang, rocm.environment).value() == clang);
  CHECK(is_amdclang(clang));
  CHECK(is_amdclang("/opt/rocm/bin/amdclang++-18"));
  CHECK_FALSE(is_amdclang(hipcc));
}

TEST_CASE("the version of ROCm is read from what its compilers print", "[compile][hipcc]") {
  const std::pair<const char*, std::pair<int, int>> cases[] = {
      {"HIP version: 5.2.21153-0\nDebian clang version 15.0.6\n", {5, 2}},
      // The forms of AMD's own packages, from their documentation.
      {"HIP version: 6.3.42131-fa1d09cbd\nAMD clang version 18.0.0git (https://github.com/RadeonOpenCompute/"
       "llvm-project roc-6.3.0 24455 f24aa3b4a91f6ee2fcd15629ba0b49fa545d8d6b)\n",
       {6, 3}},
      {"AMD clang version 17.0.0 (https://github.com/RadeonOpenCompute/llvm-project roc-6.0.2 24012 af27734e)\n",
       {6, 0}},
      {"Debian clang version 15.0.6\n", {0, 0}},
      {"HIP version: unknown\n", {0, 0}},
      {"", {0, 0}}};
  for (const auto& [said, release] : cases) {
    INFO(said);
    CHECK(parse_rocm_release(said) == release);
  }
}

TEST_CASE("what a compiler of ROCm lacks is told from its messages", "[compile][hipcc]") {
  const auto explain = [](const std::string& log, const char* architecture) {
    const auto problem = explain_hipcc(log, architecture);
    return problem ? problem->what + "; " + problem->remedy : std::string("nothing");
  };
  const std::string unknown =
      "clang: error: invalid target ID 'gfx950'; format is a processor name followed by an optional colon-delimited "
      "list "
      "of features followed by an enable/disable sign (e.g., 'gfx908:sramecc+:xnack-')\n";
  CHECK(explain(unknown, "gfx950") == "this ROCm does not know gfx950; set ROCM_PATH to ROCm 7.0 or newer");
  CHECK(explain(unknown, "gfx1299") == "this ROCm does not know gfx1299; set ROCM_PATH to a newer ROCm");
  // clang 11 and earlier.
  CHECK(explain("clang: error: unsupported HIP gpu architecture: gfx942\n", "gfx942") ==
        "this ROCm does not know gfx942; set ROCM_PATH to ROCm 6.0 or newer");
  CHECK_THAT(explain("clang: error: cannot find ROCm device library; provide its path via '--rocm-path' or "
                     "'--rocm-device-lib-path', or pass '-nogpulib' to build without ROCm device library\n",
                     "gfx90a"),
             Catch::Contains("it has no device libraries; install them") && Catch::Contains("rocm-device-libs"));
  CHECK(explain("clang: error: cannot find ROCm device library for gfx1201; provide its path via '--rocm-path'\n",
                "gfx1201") == "it has no device library for gfx1201; set ROCM_PATH to ROCm 6.4 or newer");
  CHECK_THAT(explain("clang: error: cannot find ROCm device library for ABI version 5; provide its path\n", "gfx90a"),
             Catch::StartsWith("its device libraries are older than the compiler"));
  CHECK_THAT(explain("clang: error: cannot find HIP runtime; provide its path via '--rocm-path'\n", "gfx90a"),
             Catch::StartsWith("cannot find HIP runtime; install all of ROCm's HIP"));
  CHECK(explain("candidate.hip:1:1: error: unknown type name 'invalid'\n", "gfx90a") == "nothing");
}

TEST_CASE("a candidate cannot say that something is missing", "[compile][hipcc]") {
  CHECK_FALSE(explain_hipcc("candidate.hip:1:2: error: cannot find ROCm device library\n", "gfx90a"));
  CHECK_FALSE(explain_hipcc("candidate.hip:1:2: warning: invalid target ID\n1 warning generated.\n", "gfx90a"));
}

TEST_CASE("whether a compiler can compile for a device is asked without compiling", "[compile][hipcc]") {
  const auto command = hipcc_check("/usr/bin/hipcc", "gfx90a");
  CHECK(command.front() == "/usr/bin/hipcc");
  CHECK(command.at(1) == "-###");
  CHECK(std::find(command.begin(), command.end(), "--offload-arch=gfx90a") != command.end());
}
