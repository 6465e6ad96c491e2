#include "bench/baselines.hpp"

#include <filesystem>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// Answers the requests for a compiled reference; no other request is made.
class CompilingJudge final : public Judge {
 public:
  std::string reason;
  /// By timing: what it says, and the part of its second in which it waited for a processor.
  std::vector<std::chrono::milliseconds> waits{0ms};
  int timings = 0;

  Result<std::string> compile_reference(const CompileReferenceRequest&, std::stop_token) override { return reason; }
  Result<ReferenceSamples> time_compiled(const SamplingLimits&, std::stop_token) override {
    const auto waited = waits.at(static_cast<std::size_t>(timings++));
    time_.waiting += waited;
    time_.running += 1s - waited;
    return ReferenceSamples{{1000 * timings}, ""};
  }
  std::optional<ProcessorTime> processor_time() const override { return time_; }

  Result<TaskDescription> load(const JudgeTask&, std::stop_token) override { return Error{}; }
  Result<Admission> admit(const std::optional<std::string>&, std::stop_token) override { return Error{}; }
  Result<ExchangeLayout> layout() override { return Error{}; }
  Result<std::optional<DeviceArena>> attach(const SharedMemory&) override { return Error{}; }
  Result<WeightDraw> use_weights(int) override { return Error{}; }
  Result<StateMatch> match_state(int, const SharedMemory&) override { return Error{}; }
  Result<PreparedCall> prepare_call(const CallRequest&) override { return Error{}; }
  Result<CheckResult> check(CheckMode, const std::optional<CallRequest>&) override { return Error{}; }
  Result<std::optional<DeviceUse>> device_use() override { return Error{}; }
  Result<ReferenceSamples> time_reference(CallMode, const SamplingLimits&) override { return Error{}; }

 private:
  ProcessorTime time_;
};

}  // namespace

TEST_CASE("a compiled reference is timed once on an idle machine", "[bench][baselines]") {
  CompilingJudge judge;
  const auto baseline = time_compiled_reference(judge, {}, {}, {});
  REQUIRE(baseline);
  CHECK(baseline->samples_ns == std::vector<std::int64_t>{1000});
  CHECK(judge.timings == 1);
}

TEST_CASE("a timing that other work disturbed is repeated", "[bench][baselines]") {
  CompilingJudge judge;
  judge.waits = {400ms, 20ms};
  const auto baseline = time_compiled_reference(judge, {}, {}, {});
  REQUIRE(baseline);
  CHECK(baseline->samples_ns == std::vector<std::int64_t>{2000});
}

TEST_CASE("a machine that stays busy gives no time", "[bench][baselines]") {
  CompilingJudge judge;
  judge.waits = {400ms, 300ms, 350ms};
  const auto baseline = time_compiled_reference(judge, {}, {}, {});
  REQUIRE_FALSE(baseline);
  CHECK(baseline.error().code == ErrorCode::Busy);
  CHECK_THAT(baseline.error().message, Catch::Contains("35 % of its time"));
}

TEST_CASE("what cannot be compiled is not timed", "[bench][baselines]") {
  CompilingJudge judge;
  judge.reason = "forward() draws random numbers";
  const auto baseline = time_compiled_reference(judge, {}, {}, {});
  REQUIRE(baseline);
  CHECK(baseline->reason == judge.reason);
  CHECK(judge.timings == 0);
}

TEST_CASE("times are found again under the same key only", "[bench][baselines]") {
  const auto scratch = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-baselines-").value();
  const BaselineStore store((scratch.path() / "below" / "baselines").string());
  CHECK_FALSE(store.find("torch 2.9\n"));
  store.keep("torch 2.9\n", {{3, 1, 2}, ""});
  const auto other = BaselineStore((scratch.path() / "below" / "baselines").string());
  REQUIRE(other.find("torch 2.9\n"));
  CHECK(other.find("torch 2.9\n")->samples_ns == std::vector<std::int64_t>{3, 1, 2});
  CHECK_FALSE(other.find("torch 2.8\n"));
}

TEST_CASE("what failed is not kept, and a file that is no baseline not believed", "[bench][baselines]") {
  const auto scratch = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-baselines-").value();
  const BaselineStore store(scratch.path().string());
  store.keep("key", {{}, "no compiler"});
  CHECK(fs::is_empty(scratch.path()));
  const auto file = scratch.path() / (sha256_hex("key") + ".json");
  for (const char* text : {"", "{", "[]", R"({"key":"key","samples_ns":"many"})", R"({"key":"key","samples_ns":[]})",
                           R"({"key":"another","samples_ns":[5]})"}) {
    REQUIRE(write_file_atomic(file, text));
    CHECK_FALSE(store.find("key"));
  }
  REQUIRE(write_file_atomic(file, R"({"key":"key","samples_ns":[5]})"));
  CHECK(store.find("key"));
}

TEST_CASE("without a directory nothing is kept", "[bench][baselines]") {
  const BaselineStore store("");
  store.keep("key", {{5}, ""});
  CHECK_FALSE(store.find("key"));
}
