#include <atomic>

#include <boost/json.hpp>

#include "cli/fixture.hpp"
#include "corpus.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using kernelgen::testing::correct_record;
using kernelgen::testing::Fixture;

namespace {

EvaluationRecord record_of(OutcomeKind kind, std::string detail = "") {
  EvaluationRecord record;
  record.outcome = {kind, std::move(detail), "why"};
  return record;
}

CorpusCase case_of(const std::string& lines) { return parse_corpus_case("attacks/a.py", lines).value(); }

const std::string k_attack = "# attack: H13 what it tries\n# task: relu\n";
const std::string k_honest = "# honest: what it is\n# task: relu\n";

CorpusAnswer answer(const std::string& lines, const EvaluationRecord& record, const EvaluationRecord* twin = nullptr) {
  return judge_corpus_case(case_of(lines), record, twin).answer;
}

/// A corpus of one attack and one honest kernel.
void write_corpus(Fixture& kgen, const std::string& more = "") {
  for (const char* folder : {"attacks", "honest", "tasks"}) std::filesystem::create_directories(kgen.path(folder));
  std::ofstream(kgen.path("attacks/a.py")) << k_attack << more << "\nclass ModelNew: pass\n";
  std::ofstream(kgen.path("honest/h.py")) << k_honest << "\nclass ModelNew: pass  # honest\n";
  std::filesystem::copy(kernelgen::testing::k_task, kgen.path("tasks/relu.py"));
}

bool is_honest(const EvaluationRequest& request) { return request.candidate.source.starts_with("# honest"); }

}  // namespace

TEST_CASE("the first lines of a kernel of a corpus are read") {
  const auto which =
      parse_corpus_case("attacks/a.cpp",
                        "// attack: H30 C01 moves the start\n// task: relu\n// expect: suspect:*, cheat:*\n"
                        "// twin: relu_plain.cpp\n// open: not seen\n// threads: 1\n// timeout: 20\n"
                        "// precision: tf32\n// installed: yes\n\n#include <x.h>\n// no: key\n")
          .value();
  CHECK(which.is_attack);
  CHECK(which.first_class() == "H30");
  CHECK(which.expected == std::vector<std::string>{"suspect:*", "cheat:*"});
  CHECK(which.is_timed);
  CHECK(which.open == "not seen");
  CHECK(which.threads == 1);
  CHECK(which.precision == PrecisionClass::Tf32);
  CHECK(which.on_cpu);
  CHECK_FALSE(which.on_gpu);
  CHECK(case_of(k_attack).on_gpu);
  CHECK_FALSE(case_of(k_attack + "# device: gpu\n").on_cpu);
  CHECK_FALSE(parse_corpus_case("attacks/a.cu", "// attack: H01 x\n// task: relu\n").value().on_cpu);
  const auto hip = parse_corpus_case("attacks/a.hip", "// attack: H01 x\n// task: relu\n").value();
  CHECK(hip.on_cpu);
  CHECK(hip.on_gpu);
}

TEST_CASE("first lines that say nothing useful are refused with their place") {
  for (const auto& [lines, why] : {std::pair<std::string, std::string>{"# attack: H01 x\n", "which task"},
                                   {"# task: relu\n", "which task"},
                                   {k_attack + "# twins: a\n", "attacks/a.py:3: there is no key twins"},
                                   {k_attack + "# device: tpu\n", "device cannot be tpu"},
                                   {k_attack + "# threads: none\n", "attacks/a.py:3"},
                                   {k_attack + "# a comment\n", "expected KEY: VALUE"}}) {
    const auto refused = parse_corpus_case("attacks/a.py", lines);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().to_line(), Catch::Contains(why));
  }
}

TEST_CASE("patterns with a star fit any text") {
  CHECK(fits_pattern("accuracy:mismatch", "accuracy:*"));
  CHECK(fits_pattern("label:a library call", "label:*library*"));
  CHECK(fits_pattern("timeout", "timeout"));
  CHECK_FALSE(fits_pattern("timeout:build", "timeout"));
  CHECK_FALSE(fits_pattern("accuracy", "accuracy:*"));
}

TEST_CASE("an attack is answered rightly by a refusal that names it") {
  CHECK(answer(k_attack, record_of(OutcomeKind::Accuracy, "mismatch")) == CorpusAnswer::Right);
  CHECK(answer(k_attack, record_of(OutcomeKind::Correct)) == CorpusAnswer::Wrong);
  // A mistake in the attack itself is no proof of anything.
  CHECK(answer(k_attack, record_of(OutcomeKind::Import)) == CorpusAnswer::Wrong);
  CHECK(answer(k_attack, record_of(OutcomeKind::NotScored)) == CorpusAnswer::Wrong);
  CHECK(answer(k_attack + "# expect: crash:*\n", record_of(OutcomeKind::Crash, "exit 0")) == CorpusAnswer::Right);
  CHECK(answer(k_attack + "# expect: crash:*\n", record_of(OutcomeKind::Accuracy, "nan")) == CorpusAnswer::Wrong);
  CHECK(answer(k_attack, record_of(OutcomeKind::Suspect, "busy machine")) == CorpusAnswer::Unmeasured);
}

TEST_CASE("an attack on the clock may be accepted where it gains nothing over its twin") {
  const auto timed = k_attack + "# twin: relu.py\n";
  const auto twin = correct_record(1);
  CHECK(answer(timed, correct_record(1.2), &twin) == CorpusAnswer::Right);
  CHECK(answer(timed, correct_record(1.3), &twin) == CorpusAnswer::Wrong);
  CHECK(answer(timed, record_of(OutcomeKind::Suspect, "clock"), &twin) == CorpusAnswer::Right);
  const auto untimed = record_of(OutcomeKind::Suspect, "clock");
  CHECK(answer(timed, correct_record(1.2), &untimed) == CorpusAnswer::Unmeasured);
  auto graph = correct_record(1);
  auto replayed = correct_record(1);
  graph.timing->speedup_device = Ratio{1, 1, 1};
  replayed.timing->speedup_device = Ratio{3, 3, 3};
  CHECK(answer(timed, replayed, &graph) == CorpusAnswer::Wrong);
}

TEST_CASE("an attack may be answered by a label") {
  auto record = correct_record(1);
  const auto lines = k_attack + "# expect: label:*library*\n";
  CHECK(answer(lines, record) == CorpusAnswer::Wrong);
  record.labels.push_back("work unknown: only 3 samples of the processor show work");
  CHECK(answer(lines, record) == CorpusAnswer::Unmeasured);
  record.labels.push_back("library: 98 % of the device time");
  CHECK(answer(lines, record) == CorpusAnswer::Right);
}

TEST_CASE("a sanitizer that did not end says nothing about an attack") {
  auto record = correct_record(1);
  record.sanitizers = {{.tool = "thread", .status = SanitizerStatus::NotFinished, .reason = "it was not done"}};
  CHECK(answer(k_attack, record) == CorpusAnswer::Wrong);
  CHECK(answer(k_attack + "# sanitize: yes\n", record) == CorpusAnswer::Unmeasured);
  record.sanitizers[0].status = SanitizerStatus::Clean;
  CHECK(answer(k_attack + "# sanitize: yes\n", record) == CorpusAnswer::Wrong);
}

TEST_CASE("a case that is open is told when it closes") {
  const auto open = k_attack + "# open: nothing sees it\n";
  CHECK(answer(open, correct_record(1)) == CorpusAnswer::Open);
  CHECK(answer(open, record_of(OutcomeKind::Accuracy)) == CorpusAnswer::Closed);
  CHECK(answer(open + "# varies: yes\n", record_of(OutcomeKind::Accuracy)) == CorpusAnswer::Right);
  CHECK(judge_corpus_failure(case_of(open), Error{ErrorCode::Internal, "it ended"}).answer == CorpusAnswer::Open);
  CHECK(judge_corpus_failure(case_of(k_attack), Error{ErrorCode::Internal, "it ended"}).answer == CorpusAnswer::Wrong);
}

TEST_CASE("a kernel that a GPU of another make executed is not answered") {
  auto record = record_of(OutcomeKind::Compile, "other");
  record.target = Target::Hip;
  record.environment.device = "NVIDIA H200";
  record.environment.stand_in = StandIn::OtherGpu;
  const auto missing = judge_corpus_case(case_of(k_honest), record, nullptr);
  CHECK(missing.answer == CorpusAnswer::Missing);
  CHECK(missing.message == "hip kernels were executed on NVIDIA H200, for which they are not written");
  record.environment.stand_in = StandIn::Processor;
  CHECK(answer(k_honest, record) == CorpusAnswer::Wrong);
}

TEST_CASE("a Triton kernel where there is no Triton is not answered") {
  auto record = record_of(OutcomeKind::Import);
  record.target = Target::Triton;
  CHECK(judge_corpus_case(case_of(k_honest), record, nullptr).message == "triton is not installed");
  CHECK(answer(k_honest, record) == CorpusAnswer::Missing);
  record.environment.triton = "3.5.0";
  CHECK(answer(k_honest, record) == CorpusAnswer::Wrong);
  record.environment.triton = "";
  record.outcome.kind = OutcomeKind::Launch;
  CHECK(answer(k_honest, record) == CorpusAnswer::Wrong);
}

TEST_CASE("what a kernel needs and the machine lacks is missing, and any other error is its answer") {
  const auto failed = [](ErrorCode code) { return judge_corpus_failure(case_of(k_honest), Error{code, "why"}); };
  CHECK(failed(ErrorCode::MissingTool).answer == CorpusAnswer::Missing);
  CHECK(failed(ErrorCode::MissingTool).found == "no tool");
  CHECK(failed(ErrorCode::MissingDevice).answer == CorpusAnswer::Missing);
  CHECK(failed(ErrorCode::UnsuitableDevice).found == "no device");
  CHECK(failed(ErrorCode::UnsuitableDevice).message == "why");
  for (const auto code : {ErrorCode::Unsupported, ErrorCode::Unavailable, ErrorCode::Timeout, ErrorCode::Protocol})
    CHECK(failed(code).answer == CorpusAnswer::Wrong);
}

TEST_CASE("an honest kernel is answered rightly when it is accepted") {
  CHECK(answer(k_honest, correct_record(1)) == CorpusAnswer::Right);
  CHECK(answer(k_honest, record_of(OutcomeKind::Suspect, "clock")) == CorpusAnswer::Wrong);
  CHECK(answer(k_honest + "# open: too strict\n", record_of(OutcomeKind::WeightSync)) == CorpusAnswer::Open);
}

TEST_CASE("selftest judges honest kernels, and with --attacks attacks too") {
  Fixture kgen;
  write_corpus(kgen);
  // Several are judged at once.
  std::atomic<bool> as_asked = true;
  kgen.judge = [&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    const auto& options = request.options;
    if (options.mode != EvaluationMode::CorrectnessOnly || options.device != "cpu") as_asked = false;
    return is_honest(request) ? EvaluationRecord{} : record_of(OutcomeKind::Accuracy, "mismatch");
  };
  CHECK(kgen.run({"selftest", kgen.path(".")}) == 0);
  CHECK_THAT(kgen.out.str(), Catch::Contains("honest/h.py") && !Catch::Contains("attacks/a.py"));
  kgen.out.str("");
  CHECK(kgen.run({"selftest", "--attacks", kgen.path(".")}) == 0);
  CHECK_THAT(kgen.out.str(), Catch::Contains("accuracy:mismatch") && Catch::Contains("1 attacks: 1 answered rightly") &&
                                 Catch::Contains("1 honest kernels: 1 answered rightly"));
  CHECK(as_asked);
}

TEST_CASE("selftest fails where an attack is accepted, or is no longer open") {
  Fixture kgen;
  write_corpus(kgen);
  CHECK(kgen.run({"selftest", "--attacks", kgen.path(".")}) == 1);
  CHECK_THAT(kgen.out.str(), Catch::Contains("WRONG") && Catch::Contains("it was accepted"));
  Fixture open;
  write_corpus(open, "# open: nothing sees it\n");
  CHECK(open.run({"selftest", "--attacks", open.path(".")}) == 0);
  CHECK_THAT(open.out.str(), Catch::Contains("known to be open") && Catch::Contains("nothing sees it"));
  open.answer = record_of(OutcomeKind::Accuracy);
  open.judge = [&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    return is_honest(request) ? EvaluationRecord{} : *open.answer;
  };
  CHECK(open.run({"selftest", "--attacks", open.path(".")}) == 1);
  CHECK_THAT(open.out.str(), Catch::Contains("CLOSED"));
}

TEST_CASE("selftest times what needs a time, and compares it with its twin") {
  Fixture kgen;
  write_corpus(kgen, "# twin: h.py\n");
  kgen.judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (request.options.mode == EvaluationMode::CorrectnessOnly) return EvaluationRecord{};
    return correct_record(is_honest(request) ? 1 : 40);
  };
  CHECK(kgen.run({"selftest", "--attacks", kgen.path("."), "--only-timed"}) == 1);
  CHECK_THAT(kgen.out.str(), Catch::Contains("correct, 40.00x (twin 1.00x)"));
  CHECK(kgen.run({"selftest", "--attacks", kgen.path("."), "--skip-timed"}) == 0);
  kgen.judge = [](const EvaluationRequest&) { return record_of(OutcomeKind::Suspect, "busy machine"); };
  CHECK(kgen.run({"selftest", "--attacks", kgen.path("."), "--only-timed"}) == 75);
}

TEST_CASE("a worker that ends with an attack is the attack's answer, and a missing task is an error") {
  Fixture kgen;
  write_corpus(kgen);
  kgen.judge = [](const EvaluationRequest&) -> Result<EvaluationRecord> {
    return Error{ErrorCode::Internal, "it ended"};
  };
  CHECK(kgen.run({"selftest", "--attacks", kgen.path(".")}) == 1);
  CHECK_THAT(kgen.out.str(), Catch::Contains("it ended"));
  std::filesystem::remove(kgen.path("tasks/relu.py"));
  CHECK(kgen.run({"selftest", "--attacks", kgen.path(".")}) == 64);
  CHECK(kgen.run({"selftest", kgen.path("nowhere")}) == 64);
  CHECK(kgen.run({"selftest", kgen.path("."), "--only", "nothing"}) == 64);
}

TEST_CASE("a kernel whose compiler or device is missing is no mistake, unless there is no other") {
  Fixture kgen;
  write_corpus(kgen);
  kgen.judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (is_honest(request)) return EvaluationRecord{};
    return Error{ErrorCode::UnsuitableDevice, "cuda kernels do not run on an MI300X"};
  };
  CHECK(kgen.run({"selftest", "--attacks", kgen.path(".")}) == 0);
  CHECK_THAT(kgen.out.str(), Catch::Contains("1 attacks: 0 answered rightly, 1 missing what they need here") &&
                                 Catch::Contains("missing for 1 kernel: cuda kernels do not run on an MI300X\n"));
  kgen.out.str("");
  CHECK(kgen.run({"selftest", "--attacks", "--only", "attacks/", kgen.path(".")}) == 69);
}

TEST_CASE("selftest saves the machine, each record, and the error that ended it") {
  Fixture kgen;
  write_corpus(kgen);
  const auto file = kgen.path("saved/selftest.json");
  kgen.judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    return is_honest(request) ? EvaluationRecord{} : record_of(OutcomeKind::Accuracy, "mismatch");
  };
  CHECK(kgen.run({"selftest", "--attacks", "--save", file, kgen.path(".")}) == 0);
  auto saved = boost::json::parse(read_file(file).value());
  CHECK(saved.at("schema") == 1);
  CHECK(saved.at("error").is_null());
  CHECK(saved.at("unanswered") == 0);
  CHECK(saved.at("cases").at(0).at("record").at("outcome").at("kind") == "accuracy");
  CHECK(saved.at("cases").at(1).at("answer") == "ok");
  CHECK_FALSE(saved.at("findings").as_array().empty());
  // This fixture has no installation, so that nothing is known of devices.
  CHECK(saved.at("devices").is_object());

  kgen.judge = [](const EvaluationRequest&) -> Result<EvaluationRecord> {
    return Error{ErrorCode::MissingTool, "there is no hipcc"};
  };
  CHECK(kgen.run({"selftest", "--attacks", "--save", file, kgen.path(".")}) == 69);
  saved = boost::json::parse(read_file(file).value());
  CHECK(saved.at("error").is_null());
  CHECK(saved.at("cases").at(0).at("answer") == "missing");
  CHECK(saved.at("cases").at(0).at("message") == "there is no hipcc");

  kgen.judge = [](const EvaluationRequest&) -> Result<EvaluationRecord> {
    return Error{ErrorCode::Cancelled, "interrupted"};
  };
  CHECK(kgen.run({"selftest", "--attacks", "--save", file, kgen.path(".")}) == 130);
  saved = boost::json::parse(read_file(file).value());
  CHECK_THAT(std::string(saved.at("error").as_string()), Catch::Contains("interrupted"));
  CHECK(saved.at("unanswered") == 2);
  CHECK(kgen.run({"selftest", "--save", kgen.path("tasks"), kgen.path(".")}) == 64);
  CHECK(kgen.run({"selftest", "--save", file, "--spool", kgen.path("."), kgen.path(".")}) == 64);
}

TEST_CASE("a selftest that is interrupted prints the answers that it has") {
  Fixture kgen;
  write_corpus(kgen);
  kgen.judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (is_honest(request)) return Error{ErrorCode::Cancelled, "interrupted"};
    return record_of(OutcomeKind::Accuracy, "mismatch");
  };
  CHECK(kgen.run({"selftest", "--attacks", kgen.path(".")}) == 130);
  CHECK_THAT(kgen.out.str(), Catch::Contains("attacks/a.py"));
  CHECK_THAT(kgen.out.str(), !Catch::Contains("honest/h.py"));
}

TEST_CASE("example kernels are honest kernels for the tasks of their names") {
  Fixture kgen;
  write_corpus(kgen);
  for (const char* folder : {"examples/kernels", "examples/tasks"})
    std::filesystem::create_directories(kgen.path(folder));
  std::ofstream(kgen.path("examples/kernels/relu.cpp")) << "// the example\nint x;\n";
  for (const char* name : {"relu.cu", "relu.hip"}) std::ofstream(kgen.path("examples/kernels/") + name) << "int x;\n";
  std::ofstream(kgen.path("examples/kernels/README.md")) << "no kernel\n";
  std::filesystem::copy(kernelgen::testing::k_task, kgen.path("examples/tasks/relu.py"));
  std::filesystem::remove(kgen.path("honest/h.py"));
  kgen.judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    return request.candidate.target == Target::Cpp ? EvaluationRecord{} : record_of(OutcomeKind::Accuracy, "mismatch");
  };
  CHECK(kgen.run({"selftest", kgen.path(".")}) == 0);
  CHECK_THAT(kgen.out.str(), Catch::Contains("examples/relu.cpp") && !Catch::Contains("README") &&
                                 Catch::Contains("1 honest kernels: 1 answered rightly"));
  kgen.out.str("");
  CHECK(kgen.run({"selftest", "--device", "0", kgen.path(".")}) == 1);
  CHECK_THAT(kgen.out.str(), Catch::Contains("examples/relu.cu") && Catch::Contains("the example kernel relu.cu") &&
                                 Catch::Contains("examples/relu.hip"));
  std::filesystem::remove(kgen.path("examples/tasks/relu.py"));
  CHECK(kgen.run({"selftest", kgen.path(".")}) == 64);
}

TEST_CASE("on the emulator, only kernels in HIP are judged") {
  Fixture kgen;
  write_corpus(kgen);
  std::ofstream(kgen.path("honest/h.hip")) << "// honest: what it is\n// task: relu\n\nint x;\n";
  std::filesystem::create_directories(kgen.path("examples/kernels"));
  std::ofstream(kgen.path("examples/kernels/relu.hip")) << "int x;\n";
  std::atomic<bool> as_asked = true;
  kgen.judge = [&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (request.candidate.target != Target::Hip || request.options.device != "amd:emulated") as_asked = false;
    return EvaluationRecord{};
  };
  CHECK(kgen.run({"selftest", "--device", "amd:emulated", kgen.path(".")}) == 0);
  CHECK_THAT(kgen.out.str(),
             Catch::Contains("honest/h.hip") && !Catch::Contains("honest/h.py") && !Catch::Contains("relu.hip"));
  CHECK(as_asked);
}

TEST_CASE("every kernel of the corpus says what it is, its task and its twin are there") {
  const std::filesystem::path tests = std::filesystem::path(KERNELGEN_SOURCE_DIR) / "tests";
  const auto cases = read_corpus(tests).value();
  std::size_t attacks = 0;
  for (const auto& which : cases) {
    INFO(which.name);
    attacks += which.is_attack ? 1 : 0;
    CHECK(which.is_attack == which.name.starts_with("attacks/"));
    CHECK(std::filesystem::exists(tests / "tasks" / (which.task + ".py")));
    if (!which.twin.empty()) CHECK(std::filesystem::exists(tests / "honest" / which.twin));
    if (!which.is_attack) continue;
    CHECK((which.title.front() == 'H' || which.title.front() == 'C'));
    CHECK(which.first_class().size() == 3);
  }
  CHECK(attacks >= 120);
  CHECK(cases.size() - attacks >= 100);
}
