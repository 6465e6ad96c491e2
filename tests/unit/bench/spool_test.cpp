#include "bench/spool.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/bench/spool.hpp>

#include "bench/protocol.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

EvaluationRequest spool_request(const std::string& source = "// a kernel") {
  EvaluationRequest request;
  request.task.name = "relu";
  request.task.path = "somewhere/relu.py";
  request.task.text = "import torch";
  request.candidate = make_candidate(Target::Cpp, source);
  return request;
}

/// A benchmarker that runs until it is stopped, like a long measurement.
class Endless final : public Benchmarker {
 public:
  Result<EvaluationRecord> evaluate(const EvaluationRequest&, const ProgressCallback&, std::stop_token stop) override {
    started = true;
    while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    return Error{ErrorCode::Cancelled, "cancelled"};
  }
  Result<TaskDescription> describe(const TaskSource&, const EvaluationOptions&, std::stop_token) override {
    return Error{ErrorCode::Internal, "not asked for"};
  }
  void wait_started() const {
    while (!started) std::this_thread::sleep_for(1ms);
  }
  std::atomic<bool> started{false};
};

/// A benchmarker that answers only once two requests run at the same time.
class Pair final : public Benchmarker {
 public:
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback&,
                                    std::stop_token) override {
    ++arrived;
    while (arrived < 2) std::this_thread::sleep_for(1ms);
    EvaluationRecord record;
    record.candidate_id = request.candidate.id;
    record.task_name = request.task.name;
    return record;
  }
  Result<TaskDescription> describe(const TaskSource&, const EvaluationOptions&, std::stop_token) override {
    return Error{ErrorCode::Internal, "not asked for"};
  }
  std::atomic<int> arrived{0};
};

/// A spool directory with a client's and a worker's end.
class Spool {
 public:
  [[nodiscard]] fs::path directory() const { return scratch_.path() / "spool"; }

  [[nodiscard]] std::unique_ptr<Benchmarker> client(Waiting waiting,
                                                    std::optional<std::chrono::milliseconds> timeout = {}) const {
    return make_spool_benchmarker({.directory = directory(), .waiting = waiting, .poll = 2ms, .timeout = timeout})
        .value();
  }
  [[nodiscard]] Result<EvaluationRecord> evaluate(Waiting waiting = Waiting::Return) const {
    return client(waiting)->evaluate(spool_request(), {}, {});
  }
  /// Leaves a request, without waiting for its record.
  [[nodiscard]] std::string leave_request() const {
    const auto pending = evaluate();
    REQUIRE_FALSE(pending);
    CHECK(pending.error().code == ErrorCode::Pending);
    return only(".request.json");
  }

  [[nodiscard]] Result<void> serve(Benchmarker& benchmarker, SpoolMode mode = SpoolMode::Once,
                                   const std::stop_token& stop = {}) {
    return serve_spool(
        benchmarker,
        {.directory = directory(),
         .mode = mode,
         .poll = 2ms,
         .lease = lease,
         .on_answer = [this](const std::string&, const std::string& summary) { summaries.push_back(summary); }},
        stop);
  }

  [[nodiscard]] std::vector<std::string> names(const std::string& part) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory()))
      if (entry.path().filename().string().find(part) != std::string::npos)
        names.push_back(entry.path().filename().string());
    return names;
  }
  [[nodiscard]] std::string only(const std::string& part) const {
    const auto found = names(part);
    REQUIRE(found.size() == 1);
    return found.front();
  }
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories(directory());
    std::ofstream(directory() / name) << content;
  }
  [[nodiscard]] Message result(const std::string& id) const {
    return parse_message(read_file(directory() / (id + ".result.json")).value()).value();
  }

  std::chrono::milliseconds lease = 60s;
  std::vector<std::string> summaries;

 private:
  TemporaryDirectory scratch_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-spool-").value();
};

Result<EvaluationRecord> correct(const EvaluationRequest&) {
  EvaluationRecord record;
  record.id = "verdict";
  return record;
}

}  // namespace

TEST_CASE("a request left in a spool is judged and its result found", "[bench][spool]") {
  Spool spool;
  const auto name = spool.leave_request();
  CHECK_THAT(name, Catch::StartsWith("evaluate-"));
  FakeBenchmarker judge(correct);
  CHECK(spool.serve(judge));
  CHECK(spool.summaries == std::vector<std::string>{"correct"});
  CHECK(spool.evaluate().value().id == "verdict");
  REQUIRE(judge.requests().size() == 1);
  CHECK(judge.requests().front().candidate.source == "// a kernel");
  CHECK(judge.requests().front().task.path.empty());
}

TEST_CASE("the same request is never judged twice, not even once the request was tidied away", "[bench][spool]") {
  Spool spool;
  const auto name = spool.leave_request();
  FakeBenchmarker judge(correct);
  CHECK(spool.serve(judge));
  fs::remove(spool.directory() / name);
  CHECK(spool.evaluate().value().id == "verdict");
  CHECK(spool.evaluate().value().id == "verdict");
  CHECK(spool.serve(judge));
  CHECK(judge.requests().size() == 1);
}

TEST_CASE("requests that differ have names that differ", "[bench][spool]") {
  Spool spool;
  const auto client = spool.client(Waiting::Return);
  auto request = spool_request();
  CHECK_FALSE(client->evaluate(request, {}, {}));
  // Members that are not sent make no difference.
  request.task.path = "elsewhere/relu.py";
  CHECK_FALSE(client->evaluate(request, {}, {}));
  CHECK(spool.names(".request.json").size() == 1);
  request.options.threads = 3;
  CHECK_FALSE(client->evaluate(request, {}, {}));
  CHECK_FALSE(client->evaluate(spool_request("// another"), {}, {}));
  CHECK_FALSE(client->describe(request.task, request.options, {}));
  CHECK(spool.names(".request.json").size() == 4);
}

TEST_CASE("a task is described over a spool", "[bench][spool]") {
  Spool spool;
  const auto client = spool.client(Waiting::Return);
  const auto task = spool_request().task;
  CHECK(client->describe(task, {}, {}).error().code == ErrorCode::Pending);
  FakeBenchmarker judge(correct);
  CHECK(spool.serve(judge));
  CHECK(client->describe(task, {}, {}).value().name == "relu");
  CHECK(spool.summaries == std::vector<std::string>{"description"});
}

TEST_CASE("a client that waits gets the record from a worker that serves", "[bench][spool]") {
  Spool spool;
  std::stop_source stop;
  FakeBenchmarker judge(correct);
  Result<void> served = Error{};
  {
    std::jthread worker([&] { served = spool.serve(judge, SpoolMode::UntilStopped, stop.get_token()); });
    std::vector<std::string> phases;
    const auto progress = [&](const EvaluationProgress& now) { phases.push_back(now.phase); };
    const auto record = spool.client(Waiting::Wait)->evaluate(spool_request(), progress, {});
    stop.request_stop();
    CHECK(record.has_value());
    REQUIRE_FALSE(phases.empty());
    CHECK(phases.front() == "queue");
  }
  CHECK(served);
}

TEST_CASE("one request is prepared while another one is measured", "[bench][spool]") {
  Spool spool;
  const auto client = spool.client(Waiting::Return);
  for (const auto* source : {"// one", "// two"}) CHECK_FALSE(client->evaluate(spool_request(source), {}, {}));
  Pair pair;
  CHECK(spool.serve(pair));
  for (const auto* source : {"// one", "// two"}) CHECK(client->evaluate(spool_request(source), {}, {}));
}

TEST_CASE("an empty spool is served at once", "[bench][spool]") {
  Spool spool;
  FakeBenchmarker judge(correct);
  CHECK(spool.serve(judge));
  CHECK(judge.requests().empty());
}

TEST_CASE("a worker's error is handed over once and then tried again", "[bench][spool]") {
  Spool spool;
  (void)spool.leave_request();
  FakeBenchmarker failing([](const EvaluationRequest&) -> Result<EvaluationRecord> {
    return Error{ErrorCode::MissingTool, "no torch", {"judging"}};
  });
  CHECK(spool.serve(failing));
  CHECK(spool.summaries == std::vector<std::string>{"error: judging: no torch"});
  const auto failed = spool.evaluate();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::MissingTool);
  CHECK(failed.error().to_line() == "judging: no torch");
  // The request has not been made again yet.
  CHECK(spool.names(".request.json").empty());
  CHECK(spool.evaluate().error().code == ErrorCode::Pending);
  FakeBenchmarker judge(correct);
  CHECK(spool.serve(judge));
  CHECK(spool.evaluate().value().id == "verdict");
}

TEST_CASE("broken and hostile requests get an error and do not end the worker", "[bench][spool]") {
  const std::pair<std::string, ErrorCode> bodies[] = {
      {"", ErrorCode::Protocol},
      {"{", ErrorCode::Protocol},
      {R"({"type":"evaluate"})", ErrorCode::Protocol},
      {R"({"type":"evaluate","id":0,"request":7})", ErrorCode::Protocol},
      {R"({"type":"shutdown"})", ErrorCode::Unsupported},
      {R"({"type":"dance","id":1})", ErrorCode::Unsupported},
      {std::string(100'000, '['), ErrorCode::Protocol},
      {std::string("\0\xff\n", 3), ErrorCode::Protocol},
  };
  for (const auto& [body, code] : bodies) {
    Spool spool;
    spool.write("bad.request.json", body);
    FakeBenchmarker judge(correct);
    CHECK(spool.serve(judge));
    const auto answer = spool.result("bad");
    REQUIRE(std::holds_alternative<ErrorMessage>(answer));
    CHECK(std::get<ErrorMessage>(answer).error.code == code);
    CHECK(judge.requests().empty());
  }
}

TEST_CASE("a request that breaks the judge gets an error and does not end the worker", "[bench][spool]") {
  Spool spool;
  (void)spool.leave_request();
  FakeBenchmarker broken(
      [](const EvaluationRequest&) -> Result<EvaluationRecord> { throw std::runtime_error("a bug"); });
  CHECK(spool.serve(broken));
  const auto failed = spool.evaluate();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::Internal);
  CHECK_THAT(failed.error().message, Catch::Contains("a bug"));
}

TEST_CASE("a worker whose machine cannot judge leaves the requests to others", "[bench][spool]") {
  Spool spool;
  const auto name = spool.leave_request();
  FakeBenchmarker judge(correct);
  const auto check = [](const std::stop_token&) -> Result<void> { return Error{ErrorCode::MissingTool, "no torch"}; };
  for (const auto mode : {SpoolMode::Once, SpoolMode::UntilStopped}) {
    auto served = serve_spool(judge, {.directory = spool.directory(), .mode = mode}, {}, check);
    REQUIRE_FALSE(served);
    CHECK(served.error().code == ErrorCode::MissingTool);
  }
  CHECK(spool.only("evaluate-") == name);
  CHECK(judge.requests().empty());
}

TEST_CASE("a worker that is told to stop gives its request back", "[bench][spool]") {
  for (const auto mode : {SpoolMode::Once, SpoolMode::UntilStopped}) {
    Spool spool;
    const auto name = spool.leave_request();
    Endless judge;
    std::stop_source stop;
    std::jthread interruption([&] {
      judge.wait_started();
      stop.request_stop();
    });
    auto served = spool.serve(judge, mode, stop.get_token());
    if (mode == SpoolMode::UntilStopped)
      CHECK(served);
    else
      CHECK(served.error().code == ErrorCode::Cancelled);
    CHECK(spool.only("evaluate-") == name);
    CHECK(spool.summaries.empty());
  }
}

TEST_CASE("a client that is cancelled withdraws its request, and the worker stops judging it", "[bench][spool]") {
  Spool spool;
  spool.lease = 20ms;
  Endless judge;
  std::stop_source stop_worker;
  std::stop_source stop_client;
  std::jthread worker([&] { (void)spool.serve(judge, SpoolMode::UntilStopped, stop_worker.get_token()).has_value(); });
  std::jthread cancel([&] {
    judge.wait_started();
    stop_client.request_stop();
  });
  const auto record = spool.client(Waiting::Wait)->evaluate(spool_request(), {}, stop_client.get_token());
  CHECK(record.error().code == ErrorCode::Cancelled);
  CHECK(spool.names("evaluate-").empty());
  // The worker is free again when it answers another request.
  spool.write("next.request.json", "{");
  while (!fs::exists(spool.directory() / "next.result.json")) std::this_thread::sleep_for(1ms);
  stop_worker.request_stop();
}

TEST_CASE("the request of a worker that died is judged by the next one", "[bench][spool]") {
  Spool spool;
  const auto name = spool.leave_request();
  const auto id = name.substr(0, name.find('.'));
  const auto claim = spool.directory() / (id + ".claim.dead-1");
  fs::rename(spool.directory() / name, claim);
  FakeBenchmarker judge(correct);
  CHECK(spool.serve(judge));
  CHECK(judge.requests().empty());
  fs::last_write_time(claim, fs::last_write_time(claim) - 1h);
  CHECK(spool.serve(judge));
  CHECK(spool.evaluate().value().id == "verdict");
}

TEST_CASE("the lease of a long evaluation is renewed", "[bench][spool]") {
  Spool spool;
  spool.lease = 400ms;
  (void)spool.leave_request();
  Endless slow;
  std::stop_source stop;
  std::jthread worker([&] { (void)spool.serve(slow, SpoolMode::UntilStopped, stop.get_token()).has_value(); });
  slow.wait_started();
  const auto claim = spool.directory() / spool.only(".claim.");
  const auto claimed = fs::last_write_time(claim);
  while (fs::last_write_time(claim) == claimed) std::this_thread::sleep_for(1ms);
  stop.request_stop();
}

TEST_CASE("a result that answers something else is set aside and asked for again", "[bench][spool]") {
  EvaluationRecord other;
  other.candidate_id = "another candidate";
  other.task_name = "relu";
  for (const auto& text : {std::string("{\"type\":"), std::string(), to_json(Message(PingMessage{1})),
                           to_json(Message(RecordMessage{0, other}))}) {
    Spool spool;
    const auto name = spool.leave_request();
    spool.write(name.substr(0, name.find('.')) + ".result.json", text);
    const auto broken = spool.evaluate();
    REQUIRE_FALSE(broken);
    CHECK(broken.error().code == ErrorCode::Protocol);
    CHECK(spool.only(".result.json").find(".old-") != std::string::npos);
    FakeBenchmarker judge(correct);
    CHECK(spool.serve(judge));
    CHECK(spool.evaluate().value().id == "verdict");
  }
}

TEST_CASE("a record of a worker that does not know the policy for libraries is asked for again",
          "[bench][spool][library_use]") {
  Spool spool;
  auto request = spool_request();
  request.options.library_use = LibraryUse::OwnKernels;
  const auto evaluate = [&] { return spool.client(Waiting::Return)->evaluate(request, {}, {}); };
  CHECK(evaluate().error().code == ErrorCode::Pending);
  FakeBenchmarker old(correct);
  CHECK(spool.serve(old));
  const auto silent = evaluate();
  REQUIRE_FALSE(silent);
  CHECK_THAT(silent.error().message, Catch::Contains("own-kernels") && Catch::Contains("set aside"));
  CHECK(evaluate().error().code == ErrorCode::Pending);
  FakeBenchmarker knowing([](const EvaluationRequest&) {
    EvaluationRecord record;
    record.work.emplace();
    return Result<EvaluationRecord>(record);
  });
  CHECK(spool.serve(knowing));
  CHECK(evaluate());
}

TEST_CASE("an evaluation that takes too long is a timeout, and its request stays", "[bench][spool]") {
  Spool spool;
  const auto record = spool.client(Waiting::Wait, 10ms)->evaluate(spool_request(), {}, {});
  CHECK(record.error().code == ErrorCode::Timeout);
  CHECK(spool.names(".request.json").size() == 1);
}

TEST_CASE("spools that cannot be used are refused", "[bench][spool]") {
  Spool spool;
  FakeBenchmarker judge(correct);
  CHECK(make_spool_benchmarker({}).error().code == ErrorCode::InvalidArgument);
  CHECK(serve_spool(judge, {}, {}).error().code == ErrorCode::InvalidArgument);
  CHECK(serve_spool(judge, {.directory = spool.directory(), .jobs = 0}, {}).error().code == ErrorCode::InvalidArgument);
  spool.write("file", "");
  CHECK_FALSE(make_spool_benchmarker({.directory = spool.directory() / "file"}));
  CHECK_FALSE(serve_spool(judge, {.directory = spool.directory() / "file"}, {}));
}

TEST_CASE("a spool directory that vanishes ends both sides with an error", "[bench][spool]") {
  Spool spool;
  const auto client = spool.client(Waiting::Wait);
  FakeBenchmarker judge([&](const EvaluationRequest& request) {
    fs::rename(spool.directory(), spool.directory().string() + ".gone");
    return correct(request);
  });
  Result<void> served;
  std::jthread worker([&] { served = spool.serve(judge, SpoolMode::UntilStopped); });
  CHECK(client->evaluate(spool_request(), {}, {}).error().code == ErrorCode::NotFound);
  worker.join();
  REQUIRE_FALSE(served);
  CHECK(served.error().code == ErrorCode::NotFound);
}

TEST_CASE("a spool's status tells who serves it and what is judged since when", "[bench][spool]") {
  Spool spool;
  const auto name = spool.leave_request();
  auto status = inspect_spool(spool.directory()).value();
  CHECK(status.workers.empty());
  CHECK(status.waiting.size() == 1);

  Endless judge;
  std::stop_source stop;
  std::jthread worker([&] { CHECK(spool.serve(judge, SpoolMode::UntilStopped, stop.get_token())); });
  judge.wait_started();
  std::this_thread::sleep_for(30ms);
  status = inspect_spool(spool.directory()).value();
  REQUIRE(status.workers.size() == 1);
  CHECK(status.workers.front().pid == ::getpid());
  CHECK(status.workers.front().jobs == 2);
  CHECK(status.workers.front().serving > 0ms);
  CHECK(status.workers.front().silent < 10s);
  CHECK(status.waiting.empty());
  REQUIRE(status.judged.size() == 1);
  CHECK(name.find(status.judged.front().id) == 0);
  CHECK(status.judged.front().age > 0ms);
  stop.request_stop();
  worker.join();

  status = inspect_spool(spool.directory()).value();
  CHECK(status.workers.empty());
  CHECK(status.waiting.size() == 1);
  CHECK(spool.names(".worker.json").empty());
}

TEST_CASE("dead workers and abandoned requests are told apart from living ones, and cleaned by the next worker",
          "[bench][spool]") {
  Spool spool;
  const auto name = spool.leave_request();
  const auto id = name.substr(0, name.find(".request"));
  const auto hour_ago = [&](const std::string& file) {
    fs::last_write_time(spool.directory() / file, fs::last_write_time(spool.directory() / file) - 1h);
  };
  fs::rename(spool.directory() / name, spool.directory() / (id + ".claim.gone-1"));
  hour_ago(id + ".claim.gone-1");
  spool.write("gone-1.worker.json", R"({"schema": 1, "host": "node7", "pid": 12, "jobs": 2, "serving_ms": 5000})");
  hour_ago("gone-1.worker.json");
  spool.write("broken.worker.json", "{");
  const auto status = inspect_spool(spool.directory()).value();
  CHECK(status.workers.empty());
  REQUIRE(status.dead_workers.size() == 1);
  CHECK(status.dead_workers.front().host == "node7");
  CHECK(status.dead_workers.front().silent > 59min);
  REQUIRE(status.abandoned.size() == 1);
  CHECK(status.abandoned.front().holder == "gone-1");

  FakeBenchmarker judge(correct);
  CHECK(spool.serve(judge));
  CHECK(judge.requests().size() == 1);
  CHECK_FALSE(fs::exists(spool.directory() / "gone-1.worker.json"));
}

TEST_CASE("the status of what is no spool is an error, and makes no directory", "[bench][spool]") {
  Spool spool;
  const auto missing = inspect_spool(spool.directory());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK(missing.error().message == spool.directory().string() + " is not a spool: it does not exist");
  CHECK_FALSE(fs::exists(spool.directory()));
  spool.write("file", "x");
  CHECK(inspect_spool(spool.directory() / "file").error().code == ErrorCode::InvalidArgument);
}
