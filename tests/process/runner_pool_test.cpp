#include "bench/runner_pool.hpp"

#include <sys/prctl.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A Python that never comes to the end of its imports. It makes a file when it starts.
class EndlessImports {
 public:
  EndlessImports() {
    std::ofstream(python()) << "#!/bin/sh\n: > '" << started().string() << "'\nexec sleep 1000\n";
    fs::permissions(python(), fs::perms::owner_all);
  }
  [[nodiscard]] fs::path python() const { return directory_.path() / "python"; }
  void wait_for_start() const {
    while (!fs::exists(started())) std::this_thread::sleep_for(1ms);
  }

 private:
  [[nodiscard]] fs::path started() const { return directory_.path() / "started"; }

  TemporaryDirectory directory_ = TemporaryDirectory::create("/tmp", "kernelgen-runner-pool-").value();
};

std::unique_ptr<RunnerSource> pool_with(const EndlessImports& imports) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  RunnerPoolOptions options;
  options.installation.native_runner = KERNELGEN_RUNNER;
  options.python = imports.python().string();
  options.environment = {{"PATH", "/usr/bin:/bin"}};
  return make_runner_pool(std::move(options));
}

}  // namespace

TEST_CASE("neither native runners nor other evaluations wait while Python imports", "[process][runner_pool]") {
  const EndlessImports imports;
  const auto pool = pool_with(imports);
  std::stop_source stop;
  std::optional<ErrorCode> failed;
  std::atomic<bool> ended = false;
  std::thread waits([&] {
    if (auto runner = pool->take(RunnerKind::Python, stop.get_token()); !runner) failed = runner.error().code;
    ended = true;
  });
  imports.wait_for_start();
  CHECK(pool->take(RunnerKind::Native, {}));
  pool->prestart(RunnerKind::Python);
  CHECK_FALSE(ended);
  stop.request_stop();
  waits.join();
  CHECK(failed == ErrorCode::Cancelled);
}
