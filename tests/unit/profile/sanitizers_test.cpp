#include "profile/sanitizers.hpp"

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// Stands in for the sandbox, and keeps what it was asked to start.
class KeptRequests final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    requests.push_back(request);
    during();
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    return outcome;
  }
  std::vector<ProcessRequest> requests;
  std::function<void()> during = [] {};
};

struct WatchScene {
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "sanitizers-").value();
  fs::path work = directory.path() / "watch/work";
  Candidate candidate = make_candidate(Target::Torch, "import torch");
  KeptRequests processes;
  std::unique_ptr<Sanitizers> sanitizers =
      make_sanitizers({.installation = {}, .python = "/bin/true", .environment = {}}, processes);

  void shake() {
    SanitizeRequest request{.call = {.candidate = candidate}, .directory = directory.path() / "watch"};
    (void)sanitizers->run({.kind = SanitizerKind::Shaker, .name = "shaker"}, request, {});
  }
};

}  // namespace

TEST_CASE("what a candidate compiles for one tool is there for the next", "[profile][sanitizer]") {
  WatchScene scene;
  scene.processes.during = [&] {
    make_directories(scene.work / "torch/extension").value();
    write_file_atomic(scene.work / "torch/extension/extension.so", "built").value();
    write_file_atomic(scene.work / "torch/extension/lock", "").value();
    write_file_atomic(scene.work / "result.json", "{}").value();
  };
  scene.shake();
  bool had_result = true;
  bool had_lock = true;
  scene.processes.during = [&] {
    had_result = fs::exists(scene.work / "result.json");
    had_lock = fs::exists(scene.work / "torch/extension/lock");
  };
  scene.shake();
  REQUIRE(scene.processes.requests.size() == 2);
  for (const auto& request : scene.processes.requests)
    CHECK(request.environment.at("TORCH_EXTENSIONS_DIR") == (scene.work / "torch").string());
  CHECK(fs::exists(scene.work / "torch/extension/extension.so"));
  CHECK_FALSE(had_result);
  CHECK_FALSE(had_lock);
}

TEST_CASE("links that a watched candidate left lead to no other file", "[profile][sanitizer]") {
  WatchScene scene;
  const auto outside = scene.directory.path() / "outside";
  make_directories(outside / "theirs").value();
  write_file_atomic(outside / "theirs/lock", "").value();
  scene.processes.during = [&] { fs::create_directory_symlink(outside, scene.work / "torch"); };
  scene.shake();
  scene.processes.during = [] {};
  scene.shake();
  CHECK(fs::exists(outside / "theirs/lock"));
}
