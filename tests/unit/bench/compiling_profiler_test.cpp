#include <kernelgen/bench/compiling_profiler.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// A compiler that accepts sources with the text "fine" and names /built/ID as the artifact.
class FakeCompiler final : public KernelCompiler {
 public:
  [[nodiscard]] bool supports(Target) const override { return true; }
  Result<CompileKey> key(const CompileRequest&, std::stop_token) override { return CompileKey{}; }
  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token) override {
    if (request.candidate.source == "no compiler") return Error{ErrorCode::MissingTool, "there is no nvcc", {}};
    if (request.candidate.source != "fine")
      return CompileOutcome(CompileFailed{{OutcomeKind::Compile, "type", "line 1: not fine"}, {}});
    Compiled compiled;
    compiled.artifact.path = "/built/fine.so";
    return CompileOutcome(std::move(compiled));
  }
};

/// A profiler that returns the artifact of its request as the device.
class EchoProfiler final : public Profiler {
 public:
  Result<Profile> profile(const ProfileRequest& request, std::stop_token) override {
    Profile profile;
    profile.device = request.artifact.empty() ? "no artifact" : request.artifact;
    return profile;
  }
};

Result<Profile> profile(const std::optional<Candidate>& candidate, const std::string& artifact = "") {
  const auto profiler =
      make_compiling_profiler(std::make_unique<EchoProfiler>(), std::make_unique<FakeCompiler>()).value();
  ProfileRequest request;
  request.candidate = candidate;
  request.artifact = artifact;
  return profiler->profile(request, {});
}

}  // namespace

TEST_CASE("a native candidate is built before it is profiled", "[bench][compiling_profiler]") {
  CHECK(profile(make_candidate(Target::Cuda, "fine"))->device == "/built/fine.so");
}

TEST_CASE("what is built already, is no native candidate or the reference goes through",
          "[bench][compiling_profiler]") {
  CHECK(profile(make_candidate(Target::Cuda, "anything"), "/mine.so")->device == "/mine.so");
  CHECK(profile(make_candidate(Target::Triton, "anything"))->device == "no artifact");
  CHECK(profile(std::nullopt)->device == "no artifact");
}

TEST_CASE("what does not compile is a profile that is not there", "[bench][compiling_profiler]") {
  const auto taken = profile(make_candidate(Target::Cuda, "broken"));
  REQUIRE(taken);
  REQUIRE(taken->unavailable);
  CHECK(taken->unavailable->reason == "it does not compile: compile:type: line 1: not fine");
}

TEST_CASE("a compiler that is missing is an error", "[bench][compiling_profiler]") {
  CHECK(profile(make_candidate(Target::Cuda, "no compiler")).error().code == ErrorCode::MissingTool);
}

TEST_CASE("a compiling profiler needs both of its parts", "[bench][compiling_profiler]") {
  CHECK(make_compiling_profiler(nullptr, std::make_unique<FakeCompiler>()).error().code == ErrorCode::InvalidArgument);
  CHECK(make_compiling_profiler(std::make_unique<EchoProfiler>(), nullptr).error().code == ErrorCode::InvalidArgument);
}
