// Machines joined by files: a real `kgen worker --spool` and a client that only shares a directory with it.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/bench/launched_workers.hpp>
#include <kernelgen/bench/spool.hpp>
#include <kernelgen/task/task_source.hpp>

#include "exec/child.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const fs::path k_source = KERNELGEN_SOURCE_DIR;

class Spool {
 public:
  Spool() {
    request_.task = load_task_source((k_source / "examples/tasks/relu.py").string(), {}).value();
    request_.candidate = make_candidate(Target::Cpp, read_file(k_source / "examples/kernels/relu.cpp").value());
    // Without times, a busy machine changes nothing.
    request_.options.mode = EvaluationMode::CorrectnessOnly;
  }

  [[nodiscard]] ChildProcess start_worker(std::vector<std::string> more = {}) const {
    ChildRequest worker{.command = {KERNELGEN_KGEN, "worker", "--create", "--spool", directory().string(),
                                    "--cache-dir", (scratch_.path() / "cache").string()},
                        .environment = clean_environment(current_environment())};
    worker.command.insert(worker.command.end(), more.begin(), more.end());
    return ChildProcess::spawn(worker).value();
  }
  /// Serves the waiting requests and ends.
  [[nodiscard]] bool work_once() const {
    const auto status = start_worker({"--once"}).wait(std::chrono::steady_clock::now() + 120s);
    return status && status->success();
  }

  [[nodiscard]] Result<EvaluationRecord> evaluate() const {
    return make_spool_benchmarker({.directory = directory(), .waiting = Waiting::Return})
        .value()
        ->evaluate(request_, {}, {});
  }
  /// Checks the verdict of a real worker.
  void check_judged() const {
    const auto record = evaluate();
    if (!record) FAIL(record.error().to_line());
    UNSCOPED_INFO(record->outcome.message);
    CHECK(record->outcome.to_class() == "correct");
    CHECK(record->candidate_id == request_.candidate.id);
    CHECK_FALSE(record->cases.empty());
  }

  [[nodiscard]] std::optional<fs::path> file(const std::string& part) const {
    for (const auto& entry : fs::directory_iterator(directory()))
      if (entry.path().filename().string().find(part) != std::string::npos) return entry.path();
    return {};
  }
  [[nodiscard]] fs::path wait_for_claim() const {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < limit) {
      if (const auto claim = file(".claim.")) return *claim;
      std::this_thread::sleep_for(2ms);
    }
    FAIL("no worker claimed the request");
    return {};
  }

  /// Judges by workers that this process starts.
  [[nodiscard]] std::unique_ptr<Benchmarker> launched(std::function<void(const std::string&)> on_note) const {
    Installation installation;
    installation.worker = KERNELGEN_KGEN;
    return make_launched_workers({.installation = installation,
                                  .launches = {{.prefix = {"env"}, .count = 1}},
                                  .directory = directory(),
                                  .cache_dir = (scratch_.path() / "cache").string(),
                                  .lease = 5s,
                                  .first_pause = 10ms,
                                  .on_note = std::move(on_note)})
        .value();
  }
  [[nodiscard]] const EvaluationRequest& request() const { return request_; }

  [[nodiscard]] fs::path directory() const { return scratch_.path() / "spool"; }

 private:
  TemporaryDirectory scratch_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-spool-").value();
  EvaluationRequest request_;
};

}  // namespace

TEST_CASE("a worker that shares nothing but a directory judges a kernel, once", "[spool]") {
  const Spool spool;
  CHECK(spool.evaluate().error().code == ErrorCode::Pending);
  CHECK(spool.work_once());
  spool.check_judged();
  const auto id = spool.evaluate().value().id;
  CHECK(spool.work_once());
  CHECK(spool.evaluate().value().id == id);
}

TEST_CASE("the request of a worker that was killed on this machine is judged by the next one at once", "[spool]") {
  const Spool spool;
  CHECK(spool.evaluate().error().code == ErrorCode::Pending);
  fs::path claim;
  {
    auto worker = spool.start_worker();
    claim = spool.wait_for_claim();
    worker.kill_group();
    REQUIRE(worker.wait(std::chrono::steady_clock::now() + 10s));
  }
  REQUIRE(fs::exists(claim));
  CHECK(spool.evaluate().error().code == ErrorCode::Pending);
  CHECK(spool.work_once());
  CHECK_FALSE(fs::exists(claim));
  spool.check_judged();
}

TEST_CASE("a worker that is told to stop in mid-evaluation gives its request back", "[spool]") {
  const Spool spool;
  CHECK(spool.evaluate().error().code == ErrorCode::Pending);
  auto worker = spool.start_worker();
  [[maybe_unused]] const auto claim = spool.wait_for_claim();
  const auto status = worker.terminate(20s);
  REQUIRE(status);
  CHECK(status->to_line() == "exit 0");
  CHECK(spool.file(".request.json"));
  CHECK_FALSE(spool.file(".claim."));
  CHECK_FALSE(spool.file(".result.json"));
}

TEST_CASE("a node that vanishes is replaced, its work is taken over, and the record says so", "[spool]") {
  const Spool spool;
  std::vector<std::string> notes;
  const auto benchmarker = spool.launched([&](const std::string& line) { notes.push_back(line); });
  std::jthread killer([&] {
    // The worker and all it has started, as when a node loses its power.
    const auto claim = spool.wait_for_claim().filename().string();
    const auto holder = claim.substr(claim.rfind('.') + 1);
    const auto random = holder.rfind('-');
    const auto pid = holder.rfind('-', random - 1) + 1;
    ::kill(-std::stoi(holder.substr(pid, random - pid)), SIGKILL);
  });
  const auto record = benchmarker->evaluate(spool.request(), {}, {});
  killer.join();
  if (!record) FAIL(record.error().to_line());
  CHECK(record->outcome.to_class() == "correct");
  REQUIRE_FALSE(record->labels.empty());
  CHECK_THAT(record->labels.back(),
             Catch::StartsWith("judged again: worker ") && Catch::EndsWith(" stopped answering while judging it"));
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes.front(), Catch::StartsWith("worker 1 (env) ended (signal 9 (SIGKILL)"));
}
