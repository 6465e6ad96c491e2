// Tests of whole verdicts on honest and hostile candidates, with a real worker, judge and runners. One warm worker
// serves all of them, so a candidate that damages it fails the next test.
//
// Tests with the tag [timed] look at times and have the machine for themselves. The others run beside other tests: what
// they reject is rejected at any load, and what they accept, they ask for without a time.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/bench/doctor.hpp>
#include <kernelgen/task/task_source.hpp>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

const std::filesystem::path k_here = std::filesystem::path(KERNELGEN_SOURCE_DIR) / "tests" / "verdicts";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::unique_ptr<Benchmarker> make_benchmarker() {
  const char* python = std::getenv("KGEN_PYTHON");
  auto installation = installation_at(KERNELGEN_BINARY_DIR);
  return make_worker_benchmarker(
             {.installation = installation.value(),
              .python = python == nullptr ? "python3" : python,
              .cache_dir = (std::filesystem::path(KERNELGEN_BINARY_DIR) / "verdicts-cache").string()})
      .value();
}

Benchmarker& benchmarker() {
  static const auto made = make_benchmarker();
  return *made;
}

EvaluationRequest request_for(const std::string& task, const std::string& candidate) {
  EvaluationRequest request;
  request.task = load_task_source((k_here.parent_path() / "tasks" / (task + ".py")).string(), {}).value();
  const auto source = read(k_here / "candidates" / candidate);
  const auto target = guess_target(candidate, source).value();
  request.candidate = make_candidate(target, guess_language(candidate, target), source);
  request.options.call_timeout = 3s;
  request.options.memory_limit = 1ULL << 30;
  // No test asks how fast a candidate is; a slow machine needs time for all comparisons.
  request.options.measure.max_relative_interval = 0.1;
  request.options.measure.deadline = 30s;
  return request;
}

EvaluationRequest untimed(EvaluationRequest request) {
  request.options.mode = EvaluationMode::CorrectnessOnly;
  return request;
}

EvaluationRecord record_of(const EvaluationRequest& request) {
  auto record = benchmarker().evaluate(request, {}, {});
  if (!record) FAIL(record.error().to_line());
  UNSCOPED_INFO(record->outcome.to_class() << ": " << record->outcome.message);
  return *std::move(record);
}

EvaluationRecord record_of(const std::string& task, const std::string& candidate) {
  return record_of(request_for(task, candidate));
}

std::string verdict(const std::string& task, const std::string& candidate) {
  return record_of(task, candidate).outcome.to_class();
}

/// Correct, or correct with clocks disturbed by a busy machine; never a wrong answer.
void check_accepted(const std::string& task, const std::string& candidate) {
  const auto record = record_of(task, candidate);
  CHECK((record.outcome.correct() || record.outcome.kind == OutcomeKind::Suspect));
  REQUIRE(record.timing);
  CHECK(record.timing->full_comparisons >= 44);
}

}  // namespace

TEST_CASE("rejected: right on the first call only", "[verdicts]") {
  const auto record = record_of("relu", "right_once.py");
  CHECK(record.outcome.to_class() == "accuracy:mismatch");
  CHECK_THAT(record.outcome.message, Catch::Contains("right on the first call"));
}
TEST_CASE("rejected: random weights of its own", "[verdicts]") {
  const auto record = record_of("linear", "own_weights.py");
  CHECK(record.outcome.to_class() == "weight_sync");
  CHECK_THAT(record.outcome.message, Catch::Contains("first.weight") && Catch::Contains("second.bias"));
}
TEST_CASE("rejected: what initial weights do not show", "[verdicts]") {
  CHECK(verdict("norm", "ignores_affine.py") == "accuracy:mismatch");
  CHECK(verdict("norm", "ignores_affine.cpp") == "accuracy:mismatch");
  CHECK_THAT(verdict("recurrent", "forgets_first_half.py"), Catch::EndsWith(":mismatch"));
  CHECK_THAT(verdict("recurrent", "ignores_first_state.py"), Catch::EndsWith(":mismatch"));
}
TEST_CASE("rejected: a softmax that overflows, and values that are clamped, every time", "[verdicts]") {
  for (int i = 0; i < 3; ++i) {
    CHECK_THAT(verdict("softmax", "softmax_without_maximum.py"), Catch::StartsWith("off_distribution:"));
    CHECK(verdict("relu", "clamps.py") == "off_distribution:mismatch");
  }
}
TEST_CASE("accepted with a label: NaN that is turned into 0", "[verdicts]") {
  const auto record = record_of(untimed(request_for("relu", "nan_to_zero.py")));
  CHECK(record.outcome.to_class() == "correct");
  const auto is_label = [](const std::string& label) { return label.rfind("differs on special values", 0) == 0; };
  CHECK(std::count_if(record.labels.begin(), record.labels.end(), is_label) == 1);
  const auto honest = record_of(untimed(request_for("relu", "right.py")));
  CHECK(honest.outcome.to_class() == "correct");
  CHECK(std::none_of(honest.labels.begin(), honest.labels.end(), is_label));
}
TEST_CASE("rejected: tensors that are missing, and make outputs wrong", "[verdicts]") {
  const auto record = record_of("norm", "lacks_affine.py");
  CHECK(record.outcome.to_class() == "weight_sync");
  CHECK_THAT(record.outcome.message, Catch::Contains("norm.weight, norm.bias"));
  CHECK(verdict("summed_linear", "prepared_otherwise.py") == "weight_sync");
}
TEST_CASE("accepted: tensors that are not parameters, or were summed up by the constructor", "[verdicts]") {
  CHECK(record_of(untimed(request_for("norm", "affine_in_buffers.py"))).outcome.to_class() == "correct");
  const auto record = record_of(untimed(request_for("summed_linear", "prepared_sum.py")));
  CHECK(record.outcome.to_class() == "correct");
  REQUIRE(record.weights);
  CHECK(record.weights->unmapped == std::vector<std::string>{"linear.weight", "linear.bias"});
  CHECK(std::any_of(record.labels.begin(), record.labels.end(),
                    [](const std::string& label) { return label.rfind("prepared weights", 0) == 0; }));
}
TEST_CASE("rejected: abort", "[verdicts]") {
  CHECK(verdict("relu", "aborts.py") == "crash:signal 6 (SIGABRT)");
  CHECK(verdict("relu", "aborts.cpp") == "crash:signal 6 (SIGABRT)");
}
TEST_CASE("rejected: forks and leaves", "[verdicts]") {
  CHECK(verdict("relu", "forks.py") == "crash:exit 0");
  CHECK(verdict("relu", "forks_and_leaves.cpp") == "cheat:process");
}
TEST_CASE("rejected: a process started after the first calls", "[verdicts]") {
  const auto record = record_of("relu", "starts_process_later.py");
  CHECK(record.outcome.to_class() == "cheat:process");
  CHECK_THAT(record.outcome.message, Catch::Contains("torch.compile"));
}
TEST_CASE("rejected: a process started by a candidate that took the seal out of its own process", "[verdicts]") {
  CHECK(verdict("relu", "escapes_seal.py") == "cheat:process");
}
TEST_CASE("rejected: processes that take more memory together than one may", "[verdicts]") {
  DoctorOptions options;
  options.installation = installation_at(KERNELGEN_BINARY_DIR);
  options.python = options.compiler = "/bin/false";
  const auto findings = examine_machine(options, *make_process_runner(), {}).value();
  const auto limit = std::find_if(findings.begin(), findings.end(),
                                  [](const DoctorFinding& finding) { return finding.name == "memory limit"; });
  REQUIRE(limit != findings.end());
  if (limit->status != DoctorStatus::Ok) {
    WARN(limit->detail);
    return;
  }
  auto request = untimed(request_for("relu", "memory_in_processes.py"));
  request.options.call_timeout = 30s;
  const auto outcome = record_of(request).outcome;
  CHECK(outcome.to_class() == "out_of_memory");
  CHECK_THAT(outcome.message, Catch::Contains("its processes and its files in memory together took more"));
}
TEST_CASE("rejected: a crash that is only told, at once", "[verdicts]") {
  const auto record = record_of("relu", "claims_crash.py");
  CHECK(record.outcome.to_class() == "crash:signal 11 (SIGSEGV)");
  CHECK_THAT(record.outcome.message, Catch::Contains("lie"));
  auto impossible = request_for("relu", "claims_crash.py");
  const std::string_view told = "SIGNAL = 11";
  const auto place = impossible.candidate.source.find(told);
  REQUIRE(place != std::string::npos);
  impossible.candidate =
      make_candidate(Target::Torch, impossible.candidate.source.replace(place, told.size(), "SIGNAL = 1 << 31"));
  CHECK(record_of(impossible).outcome.to_class() == "cheat:protocol");
}
TEST_CASE("rejected: a C++ exception", "[verdicts]") { CHECK(verdict("relu", "throws.cpp") == "launch:exception"); }
TEST_CASE("rejected: writes out of bounds, with the tensor named", "[verdicts]") {
  const auto record = record_of("relu", "out_of_bounds.cpp");
  CHECK(record.outcome.to_class() == "crash:signal 11 (SIGSEGV)");
  CHECK_THAT(record.outcome.message, Catch::Contains("output"));
}
TEST_CASE("a flood of 50 MB changes nothing", "[verdicts]") {
  CHECK(verdict("relu", "floods_wrong.py") == "accuracy:mismatch");
  CHECK(record_of(untimed(request_for("relu", "floods_right.py"))).outcome.to_class() == "correct");
}

TEST_CASE("bad candidates: empty, prose, no ModelNew, an import that fails", "[verdicts]") {
  CHECK(verdict("relu", "empty.py") == "interface");
  CHECK(verdict("relu", "prose.py") == "syntax");
  CHECK(verdict("relu", "no_model.py") == "interface");
  CHECK(verdict("relu", "bad_import.py") == "import");
  CHECK_THAT(verdict("relu", "syntax.cpp"), Catch::StartsWith("compile:"));
}
TEST_CASE("bad candidates: exits while it is loaded", "[verdicts]") {
  CHECK(verdict("relu", "exits_when_loaded.cpp") == "crash:exit 3");
}

TEST_CASE("accepted: the plain answer, in Python and in C++", "[verdicts][timed]") {
  check_accepted("relu", "right.py");
  check_accepted("relu", "right.cpp");
}
TEST_CASE("accepted: a process of the candidate's that crashes, where the candidate copes with it",
          "[verdicts][timed]") {
  check_accepted("relu", "child_crashes.py");
}
TEST_CASE("accepted: threads of the candidate's own", "[verdicts][timed]") { check_accepted("relu", "own_threads.py"); }
TEST_CASE("a C candidate is compiled as C, and as C++ it is refused", "[verdicts][timed]") {
  check_accepted("relu", "only_c.c");
  auto as_cpp = request_for("relu", "only_c.c");
  as_cpp.candidate = make_candidate(Target::Cpp, as_cpp.candidate.source);
  CHECK(record_of(as_cpp).outcome.kind == OutcomeKind::Compile);
  auto as_c = request_for("relu", "right.cpp");
  as_c.candidate = make_candidate(Target::Cpp, Language::C, as_c.candidate.source);
  const auto refused = record_of(as_c);
  CHECK(refused.outcome.kind == OutcomeKind::Compile);
  CHECK(refused.language == Language::C);
}

TEST_CASE("accepted: a candidate that builds for longer than a call may take", "[verdicts][build]") {
  for (const char* candidate : {"builds_for_seconds.py", "builds_at_first.py"}) {
    INFO(candidate);
    auto request = untimed(request_for("relu", candidate));
    request.options.call_timeout = 4s;
    CHECK(record_of(request).outcome.to_class() == "correct");
  }
}
TEST_CASE("accepted: an extension of torch's, built while it is imported", "[verdicts][build]") {
  auto request = untimed(request_for("relu", "load_inline.py"));
  // On a busy machine, what it imports and reads before its compiler works takes seconds, and compilers give way to
  // everything else that runs.
  request.options.call_timeout = 60s;
  request.options.build_timeout = 1200s;
  CHECK(record_of(request).outcome.to_class() == "correct");
}

TEST_CASE("rejected: a build that hangs, at its own limit", "[verdicts][build]") {
  auto request = request_for("relu", "build_hangs.py");
  request.options.call_timeout = 2s;
  request.options.build_timeout = 5s;
  const auto working = record_of(request);
  CHECK(working.outcome.to_class() == "timeout:build");
  CHECK_THAT(working.outcome.message, Catch::Contains("5.0 s"));
  // The build is not cached, so the next evaluation does not hang in the runner, which occupies the device.
  const auto again = record_of(request);
  CHECK(again.outcome.to_class() == "timeout:build");
  CHECK(again.phases.back().name == "build ahead");
  request = request_for("relu", "build_sleeps.py");
  request.options.call_timeout = 2s;
  CHECK(record_of(request).outcome.to_class() == "timeout:build");
}

TEST_CASE("accepted: packed weights drawn in the same order", "[verdicts][timed]") {
  check_accepted("linear", "packed_weights.py");
}
TEST_CASE("accepted: torch.compile, and other processes that end with the first call", "[verdicts][torch_compile]") {
  for (const auto* candidate : {"compiled_linear.py", "starts_processes_at_first.py"}) {
    const std::string name = candidate;
    auto request = untimed(request_for(name == "compiled_linear.py" ? "linear" : "relu", name));
    // The compiler of torch.compile is loaded, in the candidate's own process, and starts another one.
    request.options.call_timeout = 120s;
    // Compilers give way to everything else that runs.
    request.options.build_timeout = 1200s;
    CHECK(record_of(request).outcome.to_class() == "correct");
  }
}
TEST_CASE("accepted: Kahan summation", "[verdicts][timed]") { check_accepted("long_sum", "kahan.py"); }
TEST_CASE("accepted: another order of summation", "[verdicts][timed]") {
  check_accepted("long_sum", "sequential_sum.py");
}
TEST_CASE("accepted: a dictionary named cache, try/except ImportError, pass, in place on its own buffer",
          "[verdicts][timed]") {
  check_accepted("relu", "honest_words.py");
}

TEST_CASE("Triton under its interpreter: right or wrong, and never a time", "[verdicts]") {
  const auto right = record_of("relu", "triton_relu.py");
  if (right.environment.triton.empty()) {
    CHECK(right.outcome.to_class() == "import");
    return;
  }
  CHECK(right.outcome.correct());
  CHECK_FALSE(right.timing);
  CHECK_THAT(right.labels.at(0), Catch::StartsWith("interpreter"));
  CHECK(verdict("relu", "triton_wrong.py") == "accuracy:mismatch");
}

TEST_CASE("a correct candidate is compared with torch.compile, which is timed once for a machine",
          "[verdicts][timed]") {
  auto request = request_for("big_relu", "right.cpp");
  request.options.baselines.kinds = {BaselineKind::Compile};
  const auto compiled = [](const EvaluationRecord& record) -> std::optional<BaselineReport> {
    CHECK((record.outcome.correct() || record.outcome.kind == OutcomeKind::Suspect));
    if (!record.outcome.correct()) return std::nullopt;
    REQUIRE(record.timing);
    REQUIRE(record.timing->baselines.size() == 1);
    const auto& baseline = record.timing->baselines.front();
    UNSCOPED_INFO(baseline.reason);
    CHECK((baseline.speedup.has_value() || baseline.reason.find("other work") == 0));
    return baseline;
  };
  const auto first = compiled(record_of(request));
  // A second worker, which knows only the contents of the cache.
  const auto another = make_benchmarker();
  const auto record = another->evaluate(request, {}, {});
  REQUIRE(record);
  const auto second = compiled(*record);
  if (first && first->speedup && second) CHECK(second->samples_ns == first->samples_ns);
}

TEST_CASE("a worker that is killed in mid-evaluation is replaced", "[verdicts]") {
  auto own = make_worker_benchmarker(
                 {.installation = installation_at(KERNELGEN_BINARY_DIR).value(),
                  .launch_prefix = {"sh", "-c",
                                    "echo $$ > '" KERNELGEN_BINARY_DIR "/verdicts-worker.pid'; exec \"$0\" \"$@\""},
                  .python = std::getenv("KGEN_PYTHON") ? std::getenv("KGEN_PYTHON") : "python3",
                  .cache_dir = KERNELGEN_BINARY_DIR "/verdicts-cache"})
                 .value();
  bool killed = false;
  const auto kill_once = [&](const EvaluationProgress& progress) {
    if (progress.phase != "correctness" || killed) return;
    killed = true;
    REQUIRE(std::system("kill -KILL $(cat '" KERNELGEN_BINARY_DIR "/verdicts-worker.pid')") == 0);
  };
  const auto broken = own->evaluate(request_for("relu", "right.cpp"), kill_once, {});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::Unavailable);
  CHECK_THAT(broken.error().message, Catch::Contains("SIGKILL"));
  const auto next = own->evaluate(request_for("relu", "zeros.py"), {}, {});
  REQUIRE(next);
  CHECK(next->outcome.to_class() == "accuracy:mismatch");
}

/// The class of a verdict, or the error.
std::future<std::string> begin_verdict(const std::string& task, const std::string& candidate, std::stop_token stop) {
  return std::async(std::launch::async, [stop, request = request_for(task, candidate)] {
    const auto record = benchmarker().evaluate(request, {}, stop);
    return record ? record->outcome.to_class() : record.error().to_line();
  });
}

/// Waits until the deadline, then stops the rest and fails the test.
void await(const std::vector<std::future<std::string>>& verdicts, std::chrono::seconds patience,
           std::stop_source& stop) {
  for (const auto& waiting : verdicts)
    if (waiting.wait_for(patience) != std::future_status::ready) stop.request_stop();
  CHECK_FALSE(stop.stop_requested());
}

TEST_CASE("candidates for one task that come at once wait for each other, and each gets its verdict", "[verdicts]") {
  // An evaluation with the task's judge waits for exclusive use of the device, so one that waits for this judge must
  // not share the device meanwhile.
  std::stop_source stop;
  std::vector<std::future<std::string>> verdicts;
  for (const char* candidate : {"right.cpp", "zeros.py", "constant.py", "echo.py"})
    verdicts.push_back(begin_verdict("relu", candidate, stop.get_token()));
  await(verdicts, 120s, stop);
  const auto right = verdicts[0].get();
  CHECK((right == "correct" || right.starts_with("suspect:")));
  for (std::size_t i = 1; i < verdicts.size(); ++i) CHECK(verdicts[i].get() == "accuracy:mismatch");
}

TEST_CASE("candidates for several tasks that come at once, and one that does not wait for its turn", "[verdicts]") {
  std::stop_source all, one;
  std::vector<std::future<std::string>> verdicts;
  for (int i = 0; i < 2; ++i)
    for (const char* task : {"relu", "gelu", "linear"})
      verdicts.push_back(begin_verdict(task, "empty.py", all.get_token()));
  verdicts.push_back(begin_verdict("relu", "zeros.py", all.get_token()));
  verdicts.push_back(begin_verdict("spread", "empty.py", one.get_token()));
  one.request_stop();
  await(verdicts, 180s, all);
  for (std::size_t i = 0; i < 6; ++i) CHECK(verdicts[i].get() == "interface");
  CHECK(verdicts[6].get() == "accuracy:mismatch");
  CHECK_THAT(verdicts[7].get(), Catch::StartsWith("cancelled"));
}

TEST_CASE("a compilation that hangs ends at its limit, and others are judged meanwhile", "[verdicts][build]") {
  // A compiler that never ends for sources with this word.
  const std::filesystem::path folder = std::filesystem::path(KERNELGEN_BINARY_DIR) / "hanging-compiler" / "bin";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "c++") << "#!/bin/sh\ngrep -qs HANGS candidate.cpp && while :; do sleep 1; done\n"
                                   "exec /usr/bin/c++ \"$@\"\n";
  std::filesystem::permissions(folder / "c++", std::filesystem::perms::owner_all);
  const auto own =
      make_worker_benchmarker({.installation = installation_at(KERNELGEN_BINARY_DIR).value(),
                               .launch_prefix = {"env", "PATH=" + folder.string() + ":/usr/bin:/bin"},
                               .python = std::getenv("KGEN_PYTHON") ? std::getenv("KGEN_PYTHON") : "python3",
                               .cache_dir = KERNELGEN_BINARY_DIR "/verdicts-cache"})
          .value();
  std::stop_source stop;
  const auto verdict_of = [&](const EvaluationRequest& request, std::stop_token token = {}) {
    const auto record = own->evaluate(request, {}, token);
    return record ? record->outcome.to_class() : record.error().to_line();
  };
  auto hanging = request_for("relu", "right.cpp");
  // Longer than the slowest machine takes for the others.
  hanging.options.build_timeout = 600s;
  hanging.candidate = make_candidate(Target::Cpp, "// HANGS\n" + hanging.candidate.source);
  auto first = std::async(std::launch::async, [&] { return verdict_of(hanging, stop.get_token()); });
  // One of these waits for the end of the build's patience; all end before the build does.
  for (const char* candidate : {"right.cpp", "zeros.py"}) {
    const auto found = verdict_of(request_for("relu", candidate));
    CHECK((found == "accuracy:mismatch" || found == "correct" || found.starts_with("suspect:")));
    CHECK(first.wait_for(0s) == std::future_status::timeout);
  }
  stop.request_stop();
  CHECK_THAT(first.get(), Catch::StartsWith("cancelled"));
  hanging.options.build_timeout = 2s;
  CHECK(verdict_of(hanging) == "timeout:build");
  CHECK(verdict_of(request_for("relu", "zeros.py")) == "accuracy:mismatch");
}

TEST_CASE("a cancelled evaluation returns soon and leaves the worker usable", "[verdicts]") {
  std::stop_source stop;
  const auto cancel = [&](const EvaluationProgress& progress) {
    if (progress.phase == "correctness") stop.request_stop();
  };
  auto request = request_for("relu", "loops.cpp");
  request.options.call_timeout = 60s;
  const auto start = std::chrono::steady_clock::now();
  const auto cancelled = benchmarker().evaluate(request, cancel, stop.get_token());
  REQUIRE_FALSE(cancelled);
  CHECK(cancelled.error().code == ErrorCode::Cancelled);
  CHECK(std::chrono::steady_clock::now() - start < 30s);
  CHECK(verdict("relu", "zeros.py") == "accuracy:mismatch");
}
