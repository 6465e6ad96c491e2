#include "profile/sanitizer_report.hpp"

#include <random>

#include "fuzz/sanitizer_fuzz.hpp"
#include "profile/sanitizers.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace kernelgen;
using kernelgen::testing::read_test_data;

namespace {

std::vector<SanitizerFinding> native(const std::string& file) {
  return read_native_findings(read_test_data("sanitizer/" + file), "candidate.cpp", "0a1b.so");
}

ComputeSanitizerReport compute(const std::string& file) {
  return read_compute_sanitizer(read_test_data("sanitizer/" + file));
}

}  // namespace

TEST_CASE("sanitizer report: a race has its line and what was done there", "[profile][sanitizer]") {
  const auto findings = native("thread_race.txt");
  REQUIRE(findings.size() == 1);
  const auto& [detail, found] = findings[0];
  CHECK(detail == "race");
  CHECK(found.severity == "error");
  CHECK(found.file == "candidate.cpp");
  CHECK((found.line == 11 || found.line == 12));
  CHECK(found.message.starts_with("data race: "));
  CHECK(found.message.find("of size 4") != std::string::npos);
  CHECK(found.message.find("0x") == std::string::npos);
}

TEST_CASE("sanitizer report: races of Python and torch are not the candidate's", "[profile][sanitizer]") {
  CHECK(native("thread_foreign.txt").empty());
}

TEST_CASE("sanitizer report: a frame without a line belongs to the candidate by its shared object",
          "[profile][sanitizer]") {
  const auto findings = read_native_findings(
      "WARNING: ThreadSanitizer: data race (pid=7)\n    #0 work <null> (0a1b.so+0x11f3)\nSUMMARY: x\n", "candidate.cpp",
      "0a1b.so");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].diagnostic.line == 0);
}

TEST_CASE("sanitizer report: an access past a tensor", "[profile][sanitizer]") {
  const auto findings = native("address_overflow.txt");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].detail == "memory");
  CHECK(findings[0].diagnostic.line == 10);
  CHECK(findings[0].diagnostic.message == "heap-buffer-overflow: READ of size 4");
}

TEST_CASE("sanitizer report: undefined operations, once for each line", "[profile][sanitizer]") {
  const auto findings = native("undefined.txt");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].detail == "undefined");
  CHECK(findings[0].diagnostic.line == 12);
  CHECK(findings[0].diagnostic.column == 17);
}

TEST_CASE("sanitizer report: compute-sanitizer's errors in kernels of the candidate's own", "[profile][sanitizer]") {
  const auto report = compute("memcheck.txt");
  CHECK(report.is_complete);
  REQUIRE(report.findings.size() == 1);
  const auto& [detail, found] = report.findings[0];
  CHECK(detail == "memory");
  CHECK(found.file == "candidate.cu");
  CHECK(found.line == 12);
  CHECK(found.message == "Invalid __global__ write of size 4 bytes in scale");
}

TEST_CASE("sanitizer report: racecheck's errors count, its warnings do not", "[profile][sanitizer]") {
  const auto report = compute("racecheck.txt");
  CHECK(report.is_complete);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].detail == "race");
  CHECK(report.findings[0].diagnostic.line == 25);
  CHECK(report.findings[0].diagnostic.message == "Race reported between Read access in softmax");
}

TEST_CASE("sanitizer report: initcheck and synccheck", "[profile][sanitizer]") {
  const auto init = compute("initcheck.txt");
  REQUIRE(init.findings.size() == 1);
  CHECK(init.findings[0].detail == "uninitialized");
  CHECK(init.findings[0].diagnostic.file == "candidate.py");
  const auto sync = compute("synccheck.txt");
  REQUIRE(sync.findings.size() == 1);
  CHECK(sync.findings[0].detail == "barrier");
  CHECK(sync.findings[0].diagnostic.line == 9);
}

TEST_CASE("sanitizer report: without a summary nothing is known", "[profile][sanitizer]") {
  CHECK_FALSE(read_compute_sanitizer("========= COMPUTE-SANITIZER\n").is_complete);
  CHECK_FALSE(read_compute_sanitizer("").is_complete);
}

TEST_CASE("sanitizer report: a driver that cannot start under the tool is not the candidate's failure",
          "[profile][sanitizer]") {
  const auto report = read_compute_sanitizer(
      "========= COMPUTE-SANITIZER\n"
      "RuntimeError: cuInit failed. Error 304: OS call failed or operation not supported on this OS\n"
      "========= Target application terminated before first instrumented API call\n"
      "========= Target application returned an error\n");
  CHECK_FALSE(report.is_complete);
  CHECK(report.findings.empty());
  CHECK(report.not_started == "CUDA error 304: OS call failed or operation not supported on this OS");
  CHECK(read_compute_sanitizer("========= Target application terminated before first instrumented API call\n")
            .not_started == "Target application terminated before first instrumented API call");
  CHECK(compute("memcheck.txt").not_started.empty());
}

TEST_CASE("sanitizer report: the failure in a result", "[profile][sanitizer]") {
  CHECK(read_failure(R"({"calls": 3})").empty());
  CHECK(read_failure(R"({"failure": {"kind": "launch", "message": "no device"}})") == "no device");
  CHECK(read_failure(R"({"failure": 3})") == "its result cannot be read");
  CHECK(read_failure("no JSON") == "its result cannot be read");
}

TEST_CASE("sanitizer report: random bytes and mutated reports keep the promises", "[profile][sanitizer][fuzz]") {
  std::mt19937 random(7);
  for (const char* file :
       {"thread_race.txt", "address_overflow.txt", "undefined.txt", "memcheck.txt", "racecheck.txt"}) {
    const auto original = read_test_data(std::string("sanitizer/") + file);
    for (int i = 0; i < 300; ++i) {
      auto text = original;
      for (int changes = 0; changes < 8 && !text.empty(); ++changes) {
        const auto at = random() % text.size();
        if (changes % 2 == 0)
          text[at] = static_cast<char>(random());
        else
          text.erase(at, random() % 40);
      }
      fuzz_sanitizer(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
  }
  SUCCEED();
}

TEST_CASE("sanitizer tools: each target has those that see its code", "[profile][sanitizer]") {
  const auto names = [](Target target, const char* vendor) {
    std::string all;
    for (const auto& tool : sanitizer_tools(target, vendor == nullptr ? nullptr : &platform_of(vendor)))
      all += tool.name + ' ';
    return all;
  };
  CHECK(names(Target::Cpp, nullptr) == "shaker thread address ");
  CHECK(names(Target::Torch, nullptr) == "shaker ");
  CHECK(names(Target::Triton, nullptr).empty());
  CHECK(names(Target::Triton, "nvidia") == "shaker memcheck racecheck synccheck initcheck ");
  CHECK(names(Target::Cuda, "nvidia") == names(Target::Triton, "nvidia"));
  CHECK(names(Target::Hip, "amd") == "shaker ");
}

TEST_CASE("shaken: calls that disagree are a finding", "[profile][sanitizer]") {
  const auto right = read_shaken(R"({"schema":1,"calls":900,"wrong":0,"worst":0.0,"output":""})");
  REQUIRE(right);
  CHECK((right->findings.empty() && right->skipped.empty()));
  const auto wrong = read_shaken(R"({"schema":1,"calls":900,"wrong":3,"worst":17.25,"output":"output"})");
  REQUIRE(wrong);
  REQUIRE(wrong->findings.size() == 1);
  CHECK(wrong->findings[0].detail == "unstable");
  CHECK(wrong->findings[0].diagnostic.message.starts_with("3 of 900 calls with equal inputs gave another output"));
  const auto skipped = read_shaken(R"({"schema":1,"skipped":"it is random"})");
  REQUIRE(skipped);
  CHECK(skipped->skipped == "it is random");
}

TEST_CASE("shaken: a failure, and a result that is none", "[profile][sanitizer]") {
  const auto failed = read_shaken(R"({"schema":1,"failure":{"code":"candidate","message":"kgen_run failed"}})");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "kgen_run failed");
  for (const char* text : {"", "[]", "{}", R"({"calls":3,"wrong":4,"worst":0})", R"({"calls":"many","wrong":0})"})
    CHECK_FALSE(read_shaken(text));
}

TEST_CASE("sanitizer tools: an OpenMP construct whose order is unknown is found", "[profile][sanitizer]") {
  using namespace std::string_literals;
  CHECK_FALSE(find_unordered_openmp("\0GOMP_parallel\0GOMP_loop_nonmonotonic_dynamic_next\0GOMP_4.0\0"s));
  CHECK(find_unordered_openmp("\0GOMP_parallel\0GOMP_taskloop\0"s) == "GOMP_taskloop");
  CHECK(find_unordered_openmp("\0GOMP_loop_doacross_static_start\0"s) == "GOMP_loop_doacross_static_start");
  CHECK_FALSE(find_unordered_openmp("a text about GOMP_taskloop"));
  CHECK_FALSE(find_unordered_openmp(""));
}
