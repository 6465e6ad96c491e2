// C functions of the support library that need no sandbox.

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "apps/runner/runner_support.h"
#include "driver.hpp"
#include "support/catch.hpp"

using namespace kgen_test;

namespace {

bool crashes(volatile char* address) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // not the test framework's handler
    *address = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

}  // namespace

TEST_CASE("exchange segments have guard pages on both sides", "[runner][support]") {
  const SharedMemory arena(16384);
  arena.data()[4096] = 'a';
  std::vector<kgen_segment> segments{{4096, 4096, nullptr}, {8192, 8192, nullptr}};
  void* handle = kgen_map_exchange(arena.fd(), segments.size(), segments.data());
  REQUIRE(handle != nullptr);
  for (const kgen_segment& segment : segments) {
    auto* begin = static_cast<char*>(segment.address);
    CHECK(crashes(begin - 1));
    CHECK_FALSE(crashes(begin + 1));
    CHECK_FALSE(crashes(begin + segment.bytes - 1));
    CHECK(crashes(begin + segment.bytes));
  }
  CHECK(static_cast<char*>(segments[0].address)[0] == 'a');
  static_cast<char*>(segments[1].address)[0] = 'b';
  CHECK(arena.data()[8192] == 'b');
  kgen_unmap_exchange(handle);
}

TEST_CASE("segments that are not made of pages are refused", "[runner][support]") {
  const SharedMemory arena(8192);
  for (kgen_segment segment : {kgen_segment{0, 0, nullptr}, kgen_segment{100, 4096, nullptr},
                               kgen_segment{0, 100, nullptr}, kgen_segment{0, ~std::uint64_t{4095}, nullptr}}) {
    CHECK(kgen_map_exchange(arena.fd(), 1, &segment) == nullptr);
    CHECK((errno == EINVAL || errno == ENOMEM));
  }
}

TEST_CASE("guarded memory is aligned and ends at a guard page", "[runner][support]") {
  for (std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{4096}, std::size_t{10000}}) {
    auto* memory = static_cast<char*>(kgen_map_guarded(bytes));
    REQUIRE(memory != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    std::memset(memory, 1, bytes);
    CHECK(crashes(memory + (bytes + 63) / 64 * 64));
    kgen_unmap_guarded(memory, bytes);
  }
  CHECK(kgen_map_guarded(~std::size_t{0}) == nullptr);
}

TEST_CASE("addresses are described by the nearest tensor", "[runner][support]") {
  alignas(64) static char memory[256];
  kgen_crash_reporter_clear();
  REQUIRE(kgen_crash_reporter_add(memory + 64, 100, "input 'x'") == 0);
  const auto describe = [](const void* address) {
    char text[256];
    kgen_describe_address(address, text, sizeof text);
    return std::string(text).substr(std::string(text).find(", ") + 2);
  };
  CHECK(describe(memory + 74) == "10 bytes into input 'x'");
  CHECK(describe(memory + 164) == "0 bytes past the end of input 'x'");
  CHECK(describe(memory + 60) == "4 bytes before the start of input 'x'");
  CHECK(describe(nullptr) == "a null pointer");
  CHECK(describe(reinterpret_cast<void*>(0x123456789000)) == "near no tensor");
  char tiny[8];
  kgen_describe_address(memory, tiny, sizeof tiny);
  CHECK(std::strlen(tiny) == 7);
  kgen_crash_reporter_clear();
}

TEST_CASE("flushed lines are read from memory again", "[runner][support]") {
  std::vector<char> block(1 << 20, 'x');
  kgen_flush_cache_lines(block.data(), block.size());
  kgen_flush_cache_lines(block.data() + 3, 1);
  kgen_flush_cache_lines(nullptr, 0);
  CHECK(block[12345] == 'x');
  const auto first = kgen_now_ns();
  CHECK(kgen_now_ns() >= first);
  CHECK(kgen_thread_count() == 1);
  CHECK(kgen_process_cpu_ns() > 0);
}
