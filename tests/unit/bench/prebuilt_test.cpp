// Compilers of the embedding program: what reaches the worker, and what happens when they misbehave.

#include "bench/prebuilt.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

#include "bench/protocol.hpp"
#include "core/target_registry.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/sleep.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

/// A compiler for one target that answers with the result of a function.
class ScriptedCompiler final : public KernelCompiler {
 public:
  using Answer = std::function<Result<CompileOutcome>(const CompileRequest&, std::stop_token)>;
  ScriptedCompiler(Target target, Answer answer) : target_(target), answer_(std::move(answer)) {}

  bool supports(Target target) const override { return target == target_; }
  Result<CompileKey> key(const CompileRequest&, std::stop_token) override { return CompileKey{"scripted", "aa11"}; }
  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override {
    return answer_(request, std::move(stop));
  }

 private:
  Target target_;
  Answer answer_;
};

Target native_target() {
  static const auto target = register_target({.name = "prebuilt-native"}).value();
  return target;
}

Result<std::optional<Prebuilt>> built(ScriptedCompiler::Answer answer, std::stop_token stop = {},
                                      std::chrono::milliseconds timeout = 60s) {
  EvaluationRequest request;
  request.candidate = make_candidate(native_target(), "source");
  request.options.build_timeout = timeout;
  return build_on_client({std::make_shared<ScriptedCompiler>(native_target(), std::move(answer))}, request, stop);
}

Result<CompileOutcome> compiled_to(const std::filesystem::path& path, const std::string& bytes) {
  REQUIRE(write_file_atomic(path, bytes));
  Compiled compiled;
  compiled.artifact.path = path.string();
  compiled.report.log = "a warning";
  return CompileOutcome(compiled);
}

}  // namespace

TEST_CASE("the worker gets what a custom compiler built, with its key and its report", "[bench][prebuilt]") {
  const auto scratch = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "prebuilt-").value();
  const auto prebuilt = built([&](const CompileRequest& request, std::stop_token) {
    CHECK(request.candidate.source == "source");
    CHECK(request.timeout == 60s);
    return compiled_to(scratch.path() / "a.so", "bytes");
  });
  REQUIRE(prebuilt.value());
  CHECK((*prebuilt)->bytes == "bytes");
  CHECK((*prebuilt)->report.log == "a warning");
  CHECK((*prebuilt)->artifact == ArtifactKind::SharedObject);
  CHECK(label_of(**prebuilt) == "custom-compiler: aa11");
  CHECK(check_prebuilt(**prebuilt, native_target()));
}

TEST_CASE("a refusal of a custom compiler keeps its class and its report", "[bench][prebuilt]") {
  const auto prebuilt = built([](const CompileRequest&, std::stop_token) {
    return Result<CompileOutcome>(
        CompileFailed{{OutcomeKind::Compile, "type", "no such type"}, {.log = std::string(300'000, 'x')}});
  });
  REQUIRE(prebuilt.value());
  CHECK((*prebuilt)->refusal.value().to_class() == "compile:type");
  CHECK((*prebuilt)->report.log.size() <= 256u << 10);
  CHECK((*prebuilt)->report.log_truncated);
  CHECK(check_prebuilt(**prebuilt, native_target()));
}

TEST_CASE("a custom compiler cannot say that a kernel is correct", "[bench][prebuilt]") {
  for (const auto kind : {OutcomeKind::Correct, OutcomeKind::NotScored, OutcomeKind::Suspect}) {
    const auto prebuilt = built([&](const CompileRequest&, std::stop_token) {
      return Result<CompileOutcome>(CompileFailed{{kind, "", ""}, {}});
    });
    REQUIRE_FALSE(prebuilt);
    CHECK(prebuilt.error().code == ErrorCode::Internal);
    CHECK(check_prebuilt({.refusal = Outcome{kind, "", ""}}, native_target()).error().code ==
          ErrorCode::InvalidArgument);
  }
}

TEST_CASE("an exception of a custom compiler is an error", "[bench][prebuilt]") {
  auto prebuilt = built(
      [](const CompileRequest&, std::stop_token) -> Result<CompileOutcome> { throw std::runtime_error("no licence"); });
  REQUIRE_FALSE(prebuilt);
  CHECK(prebuilt.error().code == ErrorCode::Internal);
  CHECK(prebuilt.error().message == "the custom compiler threw an exception: no licence");
  prebuilt = built([](const CompileRequest&, std::stop_token) -> Result<CompileOutcome> { throw 7; });
  REQUIRE_FALSE(prebuilt);
  CHECK(prebuilt.error().code == ErrorCode::Internal);
}

TEST_CASE("a custom compiler that hangs is stopped after build_timeout, which is an outcome", "[bench][prebuilt]") {
  const auto hangs = [](const CompileRequest&, std::stop_token stop) -> Result<CompileOutcome> {
    sleep_for(60s, stop);
    return Error{ErrorCode::Cancelled, "stopped"};
  };
  const auto prebuilt = built(hangs, {}, 20ms);
  REQUIRE(prebuilt.value());
  CHECK((*prebuilt)->refusal.value().to_class() == "timeout:build");

  std::stop_source source;
  const std::jthread canceller([&] {
    std::this_thread::sleep_for(20ms);
    source.request_stop();
  });
  const auto cancelled = built(hangs, source.get_token());
  REQUIRE_FALSE(cancelled);
  CHECK(cancelled.error().code == ErrorCode::Cancelled);
}

TEST_CASE("an artifact above the limit, or none, is told as such", "[bench][prebuilt]") {
  const auto scratch = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "prebuilt-").value();
  const auto path = scratch.path() / "large.so";
  const auto large = built([&](const CompileRequest&, std::stop_token) {
    auto outcome = compiled_to(path, "");
    std::filesystem::resize_file(path, k_max_prebuilt_bytes + 1);
    return outcome;
  });
  REQUIRE(large.value());
  CHECK((*large)->refusal.value().to_class() == "compile:other");
  CHECK_THAT((*large)->refusal->message, Catch::Contains("33554433 bytes"));

  const auto none = built([](const CompileRequest&, std::stop_token) { return Result<CompileOutcome>(Compiled{}); });
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().to_line(), Catch::Contains("reading the artifact of the custom compiler"));
}

TEST_CASE("the largest artifact fits into a message", "[bench][prebuilt]") {
  EvaluateMessage message;
  message.prebuilt.emplace().bytes.assign(k_max_prebuilt_bytes, '\0');
  CHECK(encode_message(message));
}

TEST_CASE("without a compiler the worker builds kernelgen's own targets, and a Python module is its own artifact",
          "[bench][prebuilt]") {
  EvaluationRequest request;
  request.candidate = make_candidate(Target::Cpp, "int x;");
  CHECK_FALSE(build_on_client({}, request, {}).value());
  const auto module =
      register_target({.name = "prebuilt-module", .artifact = ArtifactKind::PythonModule, .device = TargetDevice::Any});
  request.candidate = make_candidate(module.value(), "import torch");
  const auto prebuilt = build_on_client({nullptr}, request, {}).value();
  REQUIRE(prebuilt);
  CHECK(prebuilt->bytes == "import torch");
  CHECK(prebuilt->device == TargetDevice::Any);
  request.candidate = make_candidate(native_target(), "source");
  CHECK(build_on_client({}, request, {}).error().code == ErrorCode::Unsupported);
  request.candidate =
      make_candidate(TargetRegistry::of_process().find_or_name("prebuilt-unregistered").value(), "source");
  const auto unregistered = build_on_client({}, request, {});
  CHECK(unregistered.error().code == ErrorCode::Unsupported);
  CHECK_THAT(unregistered.error().message, Catch::Contains("prebuilt-unregistered is not registered"));
}

TEST_CASE("a worker refuses a prebuilt artifact that is none", "[bench][prebuilt]") {
  const auto refused = [](const Prebuilt& prebuilt, Target target = Target::Cpp) {
    const auto checked = check_prebuilt(prebuilt, target);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::InvalidArgument);
    return checked.error().message;
  };
  CHECK_THAT(refused({}), Catch::Contains("either the bytes of an artifact or a refusal"));
  CHECK_THAT(refused({.refusal = Outcome{OutcomeKind::Compile, "", ""}, .bytes = "x"}), Catch::Contains("either"));
  CHECK_THAT(refused({.artifact = ArtifactKind::PythonModule, .bytes = "x"}),
             Catch::Contains("target cpp takes a shared_object, not a python_module"));
  CHECK_THAT(refused({.bytes = "x"}, Target::Torch), Catch::Contains("not a shared_object"));
  CHECK_THAT(refused({.bytes = std::string(k_max_prebuilt_bytes + 1, 'x')}), Catch::Contains("33554433 bytes"));
}

TEST_CASE("prebuilt artifacts are published by content, apart from what a worker's compilers built",
          "[bench][prebuilt]") {
  const auto scratch = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "prebuilt-").value();
  const CompileRequest request{.candidate = make_candidate(Target::Cpp, "int x;")};
  std::vector<std::string> paths;
  for (const char* bytes : {"one", "two", "one"}) {
    const Prebuilt prebuilt{.key = "aa11", .bytes = bytes};
    const auto compiler = make_prebuilt_compiler(prebuilt, scratch.path().string());
    const auto outcome = compiler->compile(request, {}).value();
    paths.push_back(std::get<Compiled>(outcome).artifact.path);
    CHECK(read_file(paths.back()).value() == bytes);
  }
  CHECK(paths[0] == paths[2]);
  CHECK(paths[0] != paths[1]);
  // Equal keys of different compilers must not give a stored result to another request.
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "results"));
}
