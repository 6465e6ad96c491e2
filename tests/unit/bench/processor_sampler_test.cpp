#include "bench/processor_sampler.hpp"

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

constexpr std::uint64_t k_page = 0x1000;

/// Python at 1, libc at 3, torch at 5, own code at 7, and memory that no file fills at 9.
std::vector<CodeMapping> mappings() {
  const auto at = [](std::uint64_t page, const char* path) {
    return CodeMapping{page * k_page, (page + 1) * k_page, path};
  };
  return {at(1, "/usr/bin/python3.11"), at(3, "/usr/lib/x86_64-linux-gnu/libc.so.6"),
          at(5, "/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"), at(7, "/tmp/builds/mine.so"),
          at(9, "")};
}

std::vector<std::string> names(const std::vector<ProcessorSample>& samples) {
  std::vector<std::string> found;
  for (const auto& activity : activities_of(samples, mappings(), 0, 100)) found.push_back(activity.name);
  return found;
}

ProcessorSample sample(std::uint64_t page, std::vector<std::uint64_t> callers = {}, std::int64_t at_ns = 50) {
  ProcessorSample made;
  made.at_ns = at_ns;
  made.instruction = page * k_page + 8;
  for (const auto caller : callers) made.stack.push_back(caller * k_page + 16);
  return made;
}

}  // namespace

TEST_CASE("a sample belongs to the object that works", "[bench][processor_sampler]") {
  CHECK(names({sample(5)}) == std::vector<std::string>{"libtorch_cpu.so"});
  CHECK(names({sample(7)}) == std::vector<std::string>{"own code"});
  // The interpreter's time does not count.
  CHECK(names({sample(1, {7})}).empty());
  // libc works for its caller; data on the stack is no caller.
  CHECK(names({sample(3, {100, 0, 3, 5, 7})}) == std::vector<std::string>{"libtorch_cpu.so"});
  CHECK(names({sample(3, {7, 5})}) == std::vector<std::string>{"own code"});
  CHECK(names({sample(3, {1, 5})}).empty());
  CHECK(names({sample(3)}).empty());
  // Code that a library generated is the library's, and other code that was generated the candidate's.
  CHECK(names({sample(9, {9, 5})}) == std::vector<std::string>{"libtorch_cpu.so"});
  CHECK(names({sample(9, {1, 5})}) == std::vector<std::string>{"own code"});
  CHECK(names({sample(42, {7})}).empty());
  // Outside of the calls the runner works.
  CHECK(names({sample(5, {}, -1), sample(5, {}, 101)}).empty());
}
