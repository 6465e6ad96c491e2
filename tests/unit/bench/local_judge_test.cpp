#include <kernelgen/bench/local_judge.hpp>

#include <filesystem>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// Options that need nothing of this machine.
class LocalScene {
 public:
  LocalScene() {
    options.installation.emplace().worker = "/opt/kernelgen/bin/kgen";
    options.python = python();
    options.cache_dir = root() / "cache" / "kernelgen";
  }
  [[nodiscard]] fs::path root() const { return directory_.path(); }
  [[nodiscard]] Error refusal() const {
    const auto judge = open_local_judge(options);
    REQUIRE_FALSE(judge);
    return judge.error();
  }

  LocalJudgeOptions options;

 private:
  [[nodiscard]] std::string python() const {
    write_file_atomic(root() / "python", "").value();
    return root() / "python";
  }

  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "judge-").value();
};

}  // namespace

TEST_CASE("a local judge is opened without starting anything, and has its cache directory", "[bench][local_judge]") {
  const LocalScene scene;
  // The worker does not exist; the first evaluation would start it.
  CHECK(open_local_judge(scene.options));
  CHECK(fs::is_directory(scene.options.cache_dir));
}

TEST_CASE("a local judge that lacks something says what, and what to do", "[bench][local_judge]") {
  LocalScene scene;
  scene.options.python = "/no/such/python";
  CHECK(scene.refusal().code == ErrorCode::MissingTool);
  CHECK(scene.refusal().message ==
        "there is no /no/such/python; set KGEN_PYTHON, or LocalJudgeOptions::python, to a Python that has torch");
  scene.options.python = "no-such-python";
  CHECK_THAT(scene.refusal().message, Catch::StartsWith("cannot run no-such-python: not found on the PATH") &&
                                          Catch::Contains("; set KGEN_PYTHON, or "));
  LocalScene unwritable;
  write_file_atomic(unwritable.root() / "file", "").value();
  unwritable.options.cache_dir = unwritable.root() / "file" / "cache";
  CHECK_THAT(unwritable.refusal().to_line(), Catch::StartsWith("making the cache directory: ") &&
                                                 Catch::Contains(unwritable.options.cache_dir.string()));
}

TEST_CASE("the cache directory is that of the XDG specification", "[bench][local_judge]") {
  CHECK(default_cache_dir({{"HOME", "/home/u"}}).value() == "/home/u/.cache/kernelgen");
  CHECK(default_cache_dir({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/cache"}}).value() == "/cache/kernelgen");
  CHECK(default_cache_dir({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "relative"}}).value() == "/home/u/.cache/kernelgen");
  CHECK(default_cache_dir({{"XDG_CACHE_HOME", "/cache"}}).value() == "/cache/kernelgen");
  const auto none = default_cache_dir({{"HOME", ""}});
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "no cache directory: neither XDG_CACHE_HOME nor HOME is set");
}
