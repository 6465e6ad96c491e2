#include <kernelgen/bench/launched_workers.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/bench/spool.hpp>

#include "bench/spool.hpp"
#include "bench/spool_heartbeat.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A spool directory with one request in it.
class LeftRequest {
 public:
  LeftRequest() {
    request.task.name = "relu";
    request.task.text = "import torch";
    request.candidate = make_candidate(Target::Cpp, "// a kernel");
    CHECK(ask().error().code == ErrorCode::Pending);
    for (const auto& entry : fs::directory_iterator(directory())) id = entry.path().filename().string();
    id = id.substr(0, id.find(".request"));
  }
  [[nodiscard]] fs::path directory() const { return scratch_.path() / "spool"; }
  [[nodiscard]] Result<EvaluationRecord> ask() const {
    return make_spool_benchmarker({.directory = directory(), .waiting = Waiting::Return})
        .value()
        ->evaluate(request, {}, {});
  }
  void mark_lost(const std::string& holder) const { std::ofstream(directory() / (id + ".expired." + holder)).close(); }
  [[nodiscard]] Result<void> serve(Benchmarker& judge, SpoolWorkerOptions options = {}) {
    options.directory = directory();
    options.poll = 2ms;
    options.on_answer = [this](const std::string&, const std::string& summary) { summaries.push_back(summary); };
    return serve_spool(judge, options, {});
  }
  [[nodiscard]] Result<void> serve_once(Benchmarker& judge) { return serve(judge, {.mode = SpoolMode::Once}); }

  EvaluationRequest request;
  std::string id;
  std::vector<std::string> summaries;

 private:
  TemporaryDirectory scratch_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-launched-").value();
};

Result<EvaluationRecord> measured(const EvaluationRequest&) { return EvaluationRecord{}; }

}  // namespace

TEST_CASE("a command that starts workers may begin with their number", "[bench][launched]") {
  const auto one = parse_worker_launch("ssh 'node 1'").value();
  CHECK(one.prefix == std::vector<std::string>{"ssh", "node 1"});
  CHECK(one.count == 1);
  for (const char* text : {"8 x srun -n1", "8x srun -n1"}) {
    const auto eight = parse_worker_launch(text).value();
    CHECK(eight.prefix == std::vector<std::string>{"srun", "-n1"});
    CHECK(eight.count == 8);
  }
  // A program may have such a name.
  CHECK(parse_worker_launch("x").value().prefix == std::vector<std::string>{"x"});
  CHECK(parse_worker_launch("8 srun").value().prefix == std::vector<std::string>{"8", "srun"});
  for (const char* text : {"", " ", "8 x", "8x", "0 x env", "1025 x env", "99999999999999999999 x env", "ssh 'node"})
    CHECK(parse_worker_launch(text).error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("launched workers that cannot be are refused", "[bench][launched]") {
  const LeftRequest left;
  LaunchedWorkersOptions options{.directory = left.directory()};
  CHECK(make_launched_workers(options).error().code == ErrorCode::InvalidArgument);
  options.installation.worker = "/bin/true";
  CHECK(make_launched_workers(options).error().code == ErrorCode::InvalidArgument);
  options.launches = {{.prefix = {"no-such-program"}}};
  CHECK(make_launched_workers(options).error().code == ErrorCode::MissingTool);
  options.launches = {{.prefix = {"env"}, .count = 0}};
  CHECK(make_launched_workers(options).error().code == ErrorCode::InvalidArgument);
  options.launches = {{.prefix = {"env"}, .count = 1024}, {.prefix = {"env"}}};
  CHECK(make_launched_workers(options).error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("a record tells which workers were lost before it", "[bench][spool]") {
  LeftRequest left;
  left.mark_lost("a-1");
  left.mark_lost("b-2");
  FakeBenchmarker judge(measured);
  CHECK(left.serve_once(judge));
  CHECK(left.ask().value().labels ==
        std::vector<std::string>{"judged again: workers a-1 and b-2 stopped answering while judging it"});
  REQUIRE(left.summaries.size() == 1);
  CHECK_THAT(left.summaries.front(), Catch::EndsWith(", judged again after workers a-1 and b-2"));
}

TEST_CASE("a request that three workers were lost with gets an error, and a new attempt when it is asked again",
          "[bench][spool]") {
  LeftRequest left;
  for (const char* holder : {"a-1", "b-2", "c-3"}) left.mark_lost(holder);
  FakeBenchmarker judge(measured);
  CHECK(left.serve_once(judge));
  CHECK(judge.requests().empty());
  const auto refused = left.ask();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unavailable);
  CHECK_THAT(refused.error().message, Catch::StartsWith("workers a-1 and b-2 and c-3 stopped answering"));
  CHECK(left.ask().error().code == ErrorCode::Pending);
  CHECK(left.serve_once(judge));
  CHECK(left.ask().value().labels.empty());
}

TEST_CASE("a verdict of a busy machine is handed over once, and measured again", "[bench][spool]") {
  LeftRequest left;
  FakeBenchmarker busy([](const EvaluationRequest&) {
    EvaluationRecord record;
    record.outcome.kind = OutcomeKind::Suspect;
    return Result<EvaluationRecord>(record);
  });
  CHECK(left.serve_once(busy));
  CHECK(left.ask().value().outcome.kind == OutcomeKind::Suspect);
  CHECK(left.ask().error().code == ErrorCode::Pending);
  CHECK(left.serve_once(busy));
  CHECK(busy.requests().size() == 2);
}

TEST_CASE("a worker ends when it was idle for too long", "[bench][spool]") {
  LeftRequest left;
  FakeBenchmarker judge(measured);
  CHECK(left.serve(judge, {.idle_limit = 30ms}));
  CHECK(left.summaries.size() == 1);
}

TEST_CASE("a worker ends with its client, whether that removes its heartbeat or is killed", "[bench][spool]") {
  LeftRequest left;
  FakeBenchmarker judge(measured);
  CHECK(left.serve(judge, {.client = "gone"}));
  std::ofstream(left.directory() / client_heartbeat_name("killed")).close();
  const auto began = std::chrono::steady_clock::now();
  CHECK(left.serve(judge, {.lease = 50ms, .client = "killed"}));
  CHECK(std::chrono::steady_clock::now() - began >= 50ms);
  CHECK(left.serve(judge, {.client = "../other"}).error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("a client's heartbeat is renewed and removed with it", "[bench][spool]") {
  const LeftRequest left;
  auto heartbeat = ClientHeartbeat::begin(left.directory(), 40ms).value();
  const auto file = left.directory() / client_heartbeat_name(heartbeat->name());
  const auto first = fs::last_write_time(file);
  while (fs::last_write_time(file) == first) ::usleep(1000);
  fs::remove(file);
  while (!fs::exists(file)) ::usleep(1000);
  heartbeat.reset();
  CHECK_FALSE(fs::exists(file));
}
