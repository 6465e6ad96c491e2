// Profiles that a worker takes, asked for through a spool directory.
#include <kernelgen/bench/remote_profiler.hpp>

#include <filesystem>
#include <functional>
#include <thread>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/bench/spool.hpp>

#include "bench/profiling.hpp"
#include "bench/protocol.hpp"
#include "bench/spool.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A worker's benchmarker that answers requests for profiles.
class ProfilingWorker final : public Benchmarker, public ProfilingBenchmarker {
 public:
  using Answer = std::function<Result<Profile>(const RemoteProfileRequest&)>;
  explicit ProfilingWorker(Answer answer) : answer_(std::move(answer)) {}
  Result<EvaluationRecord> evaluate(const EvaluationRequest&, const ProgressCallback&, std::stop_token) override {
    return Error{ErrorCode::Internal, "not asked for"};
  }
  Result<TaskDescription> describe(const TaskSource&, const EvaluationOptions&, std::stop_token) override {
    return Error{ErrorCode::Internal, "not asked for"};
  }
  Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token) override {
    requests.push_back(request);
    return answer_(request);
  }
  std::vector<RemoteProfileRequest> requests;

 private:
  Answer answer_;
};

Profile profile_of_worker() {
  Profile profile;
  profile.source = "ncu";
  profile.device = "NVIDIA H200";
  profile.call_ns = 2000;
  profile.kernels = {{"mine(float*)", "mine", KernelOrigin::Own, 1, 1500, 1, {{"grid_blocks", 96, "block"}}}};
  return profile;
}

ProfileRequest wanted_profile() {
  ProfileRequest request;
  request.task.name = "relu";
  request.task.text = "import torch";
  request.candidate = make_candidate(Target::Cuda, "// a kernel");
  request.precision = PrecisionClass::Tf32;
  request.shrink = {{"rows", 4}};
  request.counters = Counters::None;
  request.metric_set = "full";
  return request;
}

/// A spool directory with a client that profiles through it.
struct ProfileSpool {
  Result<Profile> profile(const ProfileRequest& request = wanted_profile()) {
    const auto client = make_spool_benchmarker({.directory = directory(), .waiting = Waiting::Return, .poll = 2ms});
    const auto profiler = make_remote_profiler(**client, {.device = "nvidia:1"});
    REQUIRE(profiler);
    return (*profiler)->profile(request, {});
  }
  void serve(Benchmarker& worker) {
    REQUIRE(serve_spool(worker, {.directory = directory(), .mode = SpoolMode::Once, .poll = 2ms, .on_answer = {}}, {}));
  }
  /// Asks, lets a worker answer, and asks again.
  Result<Profile> profile_at(Benchmarker& worker) {
    const auto pending = profile();
    REQUIRE_FALSE(pending);
    CHECK(pending.error().code == ErrorCode::Pending);
    serve(worker);
    return profile();
  }
  [[nodiscard]] fs::path directory() const { return scratch.path() / "spool"; }

  TemporaryDirectory scratch = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-profiles-").value();
};

}  // namespace

TEST_CASE("a profile is asked for through a spool, and comes back", "[bench][profile]") {
  ProfileSpool spool;
  ProfilingWorker worker([](const RemoteProfileRequest&) -> Result<Profile> { return profile_of_worker(); });
  const auto profile = spool.profile_at(worker);
  REQUIRE(profile);
  CHECK(to_json(*profile) == to_json(profile_of_worker()));
  REQUIRE(worker.requests.size() == 1);
  const auto& asked = worker.requests[0];
  CHECK(asked.what.candidate.source == "// a kernel");
  CHECK(asked.what.candidate.target == Target::Cuda);
  CHECK(asked.what.task.text == "import torch");
  CHECK(asked.what.options.device == "nvidia:1");
  CHECK(asked.what.options.precision == PrecisionClass::Tf32);
  CHECK(asked.what.options.shrink == wanted_profile().shrink);
  CHECK(asked.counters == Counters::None);
  CHECK(asked.metric_set == "full");
  // A resumed search finds it.
  REQUIRE(spool.profile());
  spool.serve(worker);
  CHECK(worker.requests.size() == 1);
}

TEST_CASE("a worker of an earlier version takes no profiles, and says so", "[bench][profile]") {
  ProfileSpool spool;
  FakeBenchmarker old([](const EvaluationRequest&) -> Result<EvaluationRecord> { return EvaluationRecord{}; });
  const auto profile = spool.profile_at(old);
  REQUIRE(profile);
  REQUIRE(profile->unavailable);
  CHECK(profile->unavailable->reason == "the worker takes no profiles: this worker takes no profiles");
  CHECK(profile->unavailable->remedy == "install this version of kernelgen where the worker runs");
}

TEST_CASE("what could not be profiled is asked for again", "[bench][profile]") {
  ProfileSpool spool;
  bool works = false;
  ProfilingWorker worker([&](const RemoteProfileRequest&) -> Result<Profile> {
    return works ? profile_of_worker() : unavailable_profile("no torch", "install it");
  });
  const auto failed = spool.profile_at(worker);
  REQUIRE(failed);
  REQUIRE(failed->unavailable);
  CHECK(failed->unavailable->reason == "no torch");
  works = true;
  const auto profile = spool.profile_at(worker);
  REQUIRE(profile);
  CHECK_FALSE(profile->unavailable);
}

TEST_CASE("the error of a profile is that of the worker", "[bench][profile]") {
  ProfileSpool spool;
  ProfilingWorker worker([](const RemoteProfileRequest&) -> Result<Profile> {
    return Error{ErrorCode::MissingDevice, "no GPU"};
  });
  const auto profile = spool.profile_at(worker);
  REQUIRE_FALSE(profile);
  CHECK(profile.error().code == ErrorCode::MissingDevice);
  CHECK(profile.error().message == "no GPU");
}

TEST_CASE("a profile elsewhere needs workers and a candidate", "[bench][profile]") {
  FakeBenchmarker here([](const EvaluationRequest&) -> Result<EvaluationRecord> { return EvaluationRecord{}; });
  CHECK(make_remote_profiler(here, {}).error().code == ErrorCode::InvalidArgument);
  ProfileSpool spool;
  auto request = wanted_profile();
  request.candidate.reset();
  const auto refused = spool.profile(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("a request for a profile has defaults, and one that is none is an error", "[bench][protocol]") {
  const auto read = [](const std::string& members) { return parse_message(R"({"type":"profile",)" + members + "}"); };
  const auto plain = read(R"("id":3,"request":{})");
  REQUIRE(plain);
  CHECK(std::get<ProfileMessage>(*plain).id == 3);
  CHECK(std::get<ProfileMessage>(*plain).request.counters == Counters::Read);
  CHECK(std::get<ProfileMessage>(*plain).request.metric_set == "brief");
  for (const auto* bad : {R"("request":{})", R"("id":3)", R"("id":3,"request":{},"counters":"all")",
                          R"("id":3,"request":{},"metric_set":7)"})
    CHECK(read(bad).error().code == ErrorCode::Protocol);
  for (const auto* bad :
       {R"({"type":"profiled","id":3})", R"({"type":"profiled","id":3,"profile":{}})",
        R"({"type":"profiled","id":3,"profile":{"schema":7}})", R"({"type":"profiled","profile":{"schema":1}})"})
    CHECK(parse_message(bad).error().code == ErrorCode::Protocol);
}
