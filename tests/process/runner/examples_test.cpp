// The example kernels and the page that shows one of them.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "driver.hpp"
#include "support/catch.hpp"

using namespace kgen_test;

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("every example kernel loads, and says what it misses", "[runner][examples]") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KGEN_TEST_EXAMPLE_KERNELS)) {
    if (entry.path().extension() != ".so") continue;
    ++count;
    INFO(entry.path());
    Runner runner;
    const int code = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    const SharedMemory job{std::string_view("kgen-job 1\nthreads 2\narena 4096\nend\n")};
    const SharedMemory arena(4096);
    REQUIRE(runner.load_code({job.fd(), arena.fd()}, code)->status == KGEN_STATUS_OK);
    close(code);
    const auto reply = runner.ask(KGEN_OP_PREPARE, {1});
    REQUIRE(reply);
    CHECK(reply->status == KGEN_STATUS_FAILED);
    CHECK_FALSE(text_of(*reply).empty());
  }
  CHECK(count == 16);
}

TEST_CASE("the ABI page shows the example as it is", "[runner][examples]") {
  const std::filesystem::path source = KERNELGEN_SOURCE_DIR;
  std::string kernel = read_file(source / "examples/kernels/layernorm.c");
  REQUIRE_FALSE(kernel.empty());
  CHECK(read_file(source / "docs/abi.md").find(kernel) != std::string::npos);
}
