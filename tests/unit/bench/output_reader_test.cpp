#include "bench/output_reader.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/catch.hpp"
#include "support/unique_fd.hpp"

using namespace kernelgen;

namespace {

constexpr std::size_t k_output_page = 4096;

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// An arena of two pages of '.', seen through its descriptor.
struct Arena {
  UniqueFd fd{::memfd_create("arena", MFD_CLOEXEC)};

  Arena() {
    const std::string dots(2 * k_output_page, '.');
    REQUIRE(::pwrite(fd.get(), dots.data(), dots.size(), 0) == static_cast<ssize_t>(dots.size()));
  }
  [[nodiscard]] std::string content() const {
    std::string text(2 * k_output_page, '\0');
    REQUIRE(::pread(fd.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    return text;
  }
  [[nodiscard]] OutputReader reader(std::vector<ByteRange> outputs) const {
    return OutputReader::map({.exchange_fd = fd.get(), .exchange_bytes = 2 * k_output_page, .outputs = std::move(outputs)})
        .value();
  }
};

/// Two pages, of which the second cannot be accessed.
struct HalfReadable {
  void* memory = ::mmap(nullptr, 2 * k_output_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  HalfReadable() {
    std::memset(memory, 'h', k_output_page);
    REQUIRE(::mprotect(static_cast<char*>(memory) + k_output_page, k_output_page, PROT_NONE) == 0);
  }
  HalfReadable(const HalfReadable&) = delete;
  HalfReadable& operator=(const HalfReadable&) = delete;
  ~HalfReadable() { ::munmap(memory, 2 * k_output_page); }
};

}  // namespace

TEST_CASE("outputs are read to their places and nowhere else", "[bench][output_reader]") {
  const Arena arena;
  const auto reader = arena.reader({{100, 5}, {k_output_page, 3}, {200, 0}});
  const std::string first = "first, and more", second = "2nd, and more";
  CHECK(reader.bytes() == 8);
  REQUIRE(reader.read(::getpid(), 0,
                      std::vector{address_of(first.data()), address_of(second.data()), std::uint64_t{0}}) == 0);
  auto expected = std::string(2 * k_output_page, '.');
  expected.replace(100, 5, "first").replace(k_output_page, 3, "2nd");
  CHECK(arena.content() == expected);
}

TEST_CASE("hostile addresses of outputs are refused, and nothing outside of the output changes",
          "[bench][output_reader]") {
  const Arena arena;
  const auto reader = arena.reader({{k_output_page - 64, 128}});
  const HalfReadable half;
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0}, ~std::uint64_t{0} - 63, std::uint64_t{1} << 63,
        address_of(half.memory) + k_output_page, address_of(half.memory) + k_output_page - 64}) {
    INFO(address);
    CHECK(reader.read(::getpid(), 0, std::vector{address}) == EFAULT);
  }
  const auto content = arena.content();
  CHECK(content.find_first_not_of('.') >= k_output_page - 64);
  CHECK(std::all_of(content.begin() + k_output_page + 64, content.end(), [](char byte) { return byte == '.'; }));
}

TEST_CASE("there is one address for each output", "[bench][output_reader]") {
  const Arena arena;
  const auto reader = arena.reader({{0, 4}, {64, 4}});
  const std::uint64_t address = address_of(&reader);
  CHECK(reader.read(::getpid(), 0, {}) == EINVAL);
  CHECK(reader.read(::getpid(), 0, std::vector{address, address, address}) == EINVAL);
  CHECK(arena.content() == std::string(2 * k_output_page, '.'));
}

TEST_CASE("outputs of a process that is gone", "[bench][output_reader]") {
  const Arena arena;
  const auto reader = arena.reader({{0, 4}});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(reader.read(child, 0, std::vector{address_of(&reader)}) == ESRCH);
}

TEST_CASE("outputs outside of the arena are not mapped", "[bench][output_reader]") {
  const Arena arena;
  const auto map = [&](std::vector<ByteRange> outputs, int slots = 1, std::uint64_t slot_bytes = 0) {
    return OutputReader::map({.exchange_fd = arena.fd.get(),
                              .exchange_bytes = 2 * k_output_page,
                              .outputs = std::move(outputs),
                              .slots = slots,
                              .slot_bytes = slot_bytes});
  };
  CHECK_FALSE(map({{2 * k_output_page, 1}}));
  CHECK_FALSE(map({{~std::uint64_t{0}, 2}}));
  CHECK(map({{0, 8}}, 2, k_output_page));
  CHECK_FALSE(map({{k_output_page, 8}}, 2, k_output_page));
  CHECK_FALSE(map({{0, 8}}, 2, ~std::uint64_t{0}));
  CHECK_FALSE(OutputReader::map({.exchange_bytes = 2 * k_output_page}));
}

TEST_CASE("outputs of a series go to slots in a row, and after the last to the first", "[bench][output_reader]") {
  const Arena arena;
  const auto reader = OutputReader::map({.exchange_fd = arena.fd.get(),
                                         .exchange_bytes = 2 * k_output_page,
                                         .outputs = {{10, 1}, {20, 1}},
                                         .slots = 3,
                                         .slot_bytes = 100})
                          .value();
  const std::string text = "abcdef";
  std::vector<std::uint64_t> addresses;
  for (const char& letter : text) addresses.push_back(address_of(&letter));
  REQUIRE(reader.read(::getpid(), 2, addresses) == 0);
  const auto content = arena.content();
  CHECK(content.substr(210, 1) + content.substr(220, 1) + content.substr(10, 1) + content.substr(20, 1) +
            content.substr(110, 1) + content.substr(120, 1) ==
        text);
  addresses.pop_back();
  CHECK(reader.read(::getpid(), 0, addresses) == EINVAL);
  addresses.resize(8);
  CHECK(reader.read(::getpid(), 0, addresses) == EINVAL);
}
