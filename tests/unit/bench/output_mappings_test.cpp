#include "bench/output_mappings.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "bench/output_reader.hpp"
#include "support/catch.hpp"
#include "support/unique_fd.hpp"

using namespace kernelgen;

namespace {

constexpr std::uint64_t k_page_bytes = 4096;

// Lines that Linux 6.18 showed for a process with these mappings, and the pagemap entries of their pages after all of
// them were read.
constexpr std::string_view k_recorded_maps =
    R"(559157e60000-559157e61000 rw-p 00003000 fe:00 26723                      /usr/bin/python3.11
55916510a000-5591652bf000 rw-p 00000000 00:00 0                          [heap]
7f8ad7608000-7f8ad760c000 rw-s 00001000 00:01 39322                      /memfd:exchange (deleted)
7f8ad760c000-7f8ad7610000 rw-p 00000000 fe:00 2146447                    /tmp/an answer
7f8ad7610000-7f8ad7611000 r--s 00000000 fe:00 2146447                    /tmp/an answer
7f8ad7611000-7f8ad7612000 r--s 00000000 fe:00 2146447                    /tmp/an answer
7f8ad7612000-7f8ad7613000 r--s 00000000 fe:00 2146447                    /tmp/an answer
7f8ad7613000-7f8ad7614000 r--s 00000000 fe:00 2146447                    /tmp/an answer
7f8ad7614000-7f8ad7618000 rw-p 00000000 00:00 0 
7f8ad7618000-7f8ad761c000 rw-s 00000000 00:01 39323                      /dev/zero (deleted)
7f8ad777c000-7f8ad7780000 rw-p 00000000 00:00 0 
7ffd1b0b9000-7ffd1b0da000 rw-p 00000000 00:00 0                          [stack]
)";
using Entries = std::vector<std::uint64_t>;
const Entries k_private_pages{0x8100000000224d79, 0x8100000000261382, 0x810000000023faee, 0x8100000000155bcf};
const Entries k_zero_page(4, 0x8000000000003b34);
const Entries k_shared_pages{0xa10000000024b733, 0xa10000000021e6dc, 0xa100000000144091, 0xa1000000001440b9};
const Entries k_repeated_page(4, 0xa000000000263548);
const Entries k_half_written{0xa000000000263548, 0x8100000000144161, 0xa10000000026354a, 0xa10000000026354b};
const Entries k_swapped_pages(4, 0x4000000000001234);
const Entries k_never_read(4, 0);

MappedFile recorded_exchange() { return {.device = makedev(0, 1), .inode = 39322}; }

/// The name of the foreign mapping in four recorded pages; "own" if there is none.
std::string foreign_name(std::uint64_t address, const Entries& entries) {
  const auto found = find_foreign_mapping({address, 4 * k_page_bytes}, entries, parse_memory_mappings(k_recorded_maps),
                                          recorded_exchange());
  return found ? describe_mapping(*found) : "own";
}

std::uint64_t place_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// Four pages of this process, read or written.
class Pages {
 public:
  Pages(int sharing, int fd) : memory_(::mmap(nullptr, 4 * k_page_bytes, PROT_READ | PROT_WRITE, sharing, fd, 0)) {
    REQUIRE(memory_ != MAP_FAILED);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(memory_, 4 * k_page_bytes); }

  void write() const { std::memset(memory_, 'w', 4 * k_page_bytes); }
  /// What is found in them once they were read as the worker reads them.
  [[nodiscard]] std::optional<ForeignMemory> look(const MappedFile& exchange = {}) const {
    std::vector<std::byte> content(4 * k_page_bytes);
    REQUIRE(read_process_memory(::getpid(), place_of(memory_), content) == 0);
    const MemoryRange here{place_of(memory_), 4 * k_page_bytes};
    return find_foreign_memory(::getpid(), {&here, 1}, exchange);
  }
  [[nodiscard]] char* at(std::size_t page) const { return static_cast<char*>(memory_) + page * k_page_bytes; }

 private:
  void* memory_;
};

UniqueFd file_of_pages(std::size_t pages) {
  UniqueFd file(::memfd_create("pages", MFD_CLOEXEC));
  const std::string content(pages * k_page_bytes, 'f');
  REQUIRE(::write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  return file;
}

}  // namespace

TEST_CASE("mappings are read from the text of /proc", "[bench][output_mappings]") {
  const auto mappings = parse_memory_mappings(k_recorded_maps);
  REQUIRE(mappings.size() == 12);
  CHECK(mappings[2].begin == 0x7f8ad7608000);
  CHECK(mappings[2].end == 0x7f8ad760c000);
  CHECK(mappings[2].is_shared);
  CHECK(mappings[2].offset == k_page_bytes);
  CHECK(mappings[2].file == recorded_exchange());
  CHECK(mappings[3].name == "/tmp/an answer");
  CHECK_FALSE(mappings[3].is_shared);
  CHECK(mappings[8].name.empty());
  CHECK(mappings[8].file.inode == 0);
  CHECK(parse_memory_mappings("").empty());
  CHECK(parse_memory_mappings("nonsense\n7f-80\n7f-80 rw\n7f-80 rw-p 0 00:00\n").empty());
}

TEST_CASE("an output may lie in private memory without a file, and in no other", "[bench][output_mappings]") {
  constexpr std::uint64_t k_anonymous = 0x7f8ad7614000, k_zero = 0x7f8ad777c000, k_heap = 0x55916510a000;
  for (const auto address : {k_anonymous, k_zero, k_heap})
    for (const auto& entries : {k_private_pages, k_zero_page, k_swapped_pages, k_never_read})
      CHECK(foreign_name(address, entries) == "own");
  CHECK(foreign_name(0x7f8ad7618000, k_shared_pages) == "shared memory");
  CHECK(foreign_name(0x7f8ad7610000, k_repeated_page) == "the file /tmp/an answer");
}

TEST_CASE("a private mapping of a file is the process's own only where it was written", "[bench][output_mappings]") {
  constexpr std::uint64_t k_private_file = 0x7f8ad760c000;
  CHECK(foreign_name(k_private_file, k_private_pages) == "own");
  CHECK(foreign_name(k_private_file, k_swapped_pages) == "own");
  CHECK(foreign_name(k_private_file, k_half_written) == "the file /tmp/an answer");
  CHECK(foreign_name(k_private_file, k_never_read) == "the file /tmp/an answer");
  // Where the system has no pagemap, the mapping decides.
  CHECK(foreign_name(k_private_file, {}) == "the file /tmp/an answer");
  CHECK(foreign_name(0x55916510a000, {}) == "own");
}

TEST_CASE("an output may be a view of an input, in the order of the exchange memory", "[bench][output_mappings]") {
  CHECK(foreign_name(0x7f8ad7608000, k_shared_pages) == "own");
  const std::string own_order =
      "1000-3000 rw-s 00001000 00:01 39322  /memfd:exchange\n"
      "3000-5000 rw-s 00003000 00:01 39322  /memfd:exchange\n";
  const std::string same_twice =
      "1000-3000 rw-s 00001000 00:01 39322  /memfd:exchange\n"
      "3000-5000 rw-s 00001000 00:01 39322  /memfd:exchange\n";
  const MemoryRange range{0x1000, 4 * k_page_bytes};
  CHECK_FALSE(find_foreign_mapping(range, k_shared_pages, parse_memory_mappings(own_order), recorded_exchange()));
  CHECK(find_foreign_mapping(range, k_shared_pages, parse_memory_mappings(same_twice), recorded_exchange()));
  // The same inode of another file system.
  CHECK(find_foreign_mapping(range, k_shared_pages, parse_memory_mappings(own_order), {makedev(0, 2), 39322}));
}

TEST_CASE("memory that no mapping explains is foreign", "[bench][output_mappings]") {
  CHECK(foreign_name(0x7f8ad7700000, k_private_pages) == "own");
  CHECK(foreign_name(0x7f8ad7700000, k_shared_pages) == "the mapping [unknown]");
}

TEST_CASE("only the pages of an output count", "[bench][output_mappings]") {
  const auto mappings = parse_memory_mappings(k_recorded_maps);
  // From the end of a file's mapping into the memory after it.
  const MemoryRange behind{0x7f8ad7614000, 1};
  CHECK_FALSE(find_foreign_mapping(behind, k_private_pages, mappings, recorded_exchange()));
  const MemoryRange across{0x7f8ad7614000 - 1, 2};
  CHECK(find_foreign_mapping(across, Entries{k_repeated_page[0], k_private_pages[0]}, mappings, recorded_exchange()));
  const MemoryRange nothing{0x7f8ad7610000, 0};
  CHECK_FALSE(find_foreign_mapping(nothing, {}, mappings, recorded_exchange()));
}

TEST_CASE("the kernel tells a process's own pages from others", "[bench][output_mappings]") {
  const auto file = file_of_pages(4);
  SECTION("private memory, written or not") {
    const Pages pages(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    CHECK_FALSE(pages.look());
    pages.write();
    CHECK_FALSE(pages.look());
  }
  SECTION("shared memory without a file") {
    const Pages pages(MAP_SHARED | MAP_ANONYMOUS, -1);
    pages.write();
    REQUIRE(pages.look());
    CHECK(describe_mapping(pages.look()->mapping) == "shared memory");
  }
  SECTION("a shared file") {
    const Pages pages(MAP_SHARED, file.get());
    pages.write();
    REQUIRE(pages.look());
    CHECK(describe_mapping(pages.look()->mapping).starts_with("the file /memfd:pages"));
    CHECK_FALSE(pages.look(mapped_file_of(file.get())));
  }
  SECTION("a private file becomes the process's own by writing") {
    const Pages pages(MAP_PRIVATE, file.get());
    CHECK(pages.look());
    std::memset(pages.at(0), 'w', 3 * k_page_bytes);
    CHECK(pages.look());
    std::memset(pages.at(3), 'w', 1);
    CHECK_FALSE(pages.look());
  }
  SECTION("one page of a file for all pages") {
    const Pages pages(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    pages.write();
    for (const std::size_t page : {1u, 2u, 3u})
      REQUIRE(::mmap(pages.at(page), k_page_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file.get(), 0) == pages.at(page));
    CHECK(pages.look());
    CHECK(pages.look(mapped_file_of(file.get())));
  }
}

TEST_CASE("the output that lies in foreign memory is named", "[bench][output_mappings]") {
  const auto exchange = file_of_pages(4);
  const auto reader =
      OutputReader::map(
          {.exchange_fd = exchange.get(), .exchange_bytes = 4 * k_page_bytes, .outputs = {{0, 8}, {64, 8}}})
          .value();
  const Pages own(MAP_PRIVATE | MAP_ANONYMOUS, -1), shared(MAP_SHARED | MAP_ANONYMOUS, -1);
  const std::vector good{place_of(own.at(0)), place_of(own.at(1))};
  const std::vector bad{place_of(own.at(0)), place_of(shared.at(1))};
  REQUIRE(reader.read(::getpid(), 0, good) == 0);
  CHECK_FALSE(reader.find_foreign_memory(::getpid(), good));
  REQUIRE(reader.read(::getpid(), 0, bad) == 0);
  CHECK(reader.find_foreign_memory(::getpid(), bad) == "output 1 lies in shared memory");
}
