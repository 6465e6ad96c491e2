#include "device/cgroups.hpp"

#include <filesystem>
#include <map>
#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// A root directory with the given files in it.
class FakeRoot {
 public:
  explicit FakeRoot(const std::map<std::string, std::string>& files)
      : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {
    for (const auto& [name, text] : files) {
      make_directories((path() / name).parent_path()).value();
      write_file_atomic(path() / name, text).value();
    }
  }
  [[nodiscard]] fs::path path() const { return directory_.path(); }
  [[nodiscard]] std::uint64_t available() const { return available_memory(path()); }

 private:
  TemporaryDirectory directory_;
};

using Files = std::map<std::string, std::string>;

const std::string k_meminfo = "MemTotal:       16000000 kB\nMemFree:  1000 kB\nMemAvailable:   8000000 kB\n";
constexpr std::uint64_t k_machine = std::uint64_t{8'000'000} << 10;

}  // namespace

TEST_CASE("available memory is that of the machine, files that can be dropped included", "[device][cgroups]") {
  CHECK(FakeRoot(Files{{"proc/meminfo", k_meminfo}}).available() == k_machine);
  CHECK(FakeRoot(Files{{"proc/meminfo", "MemTotal: 1 kB\n"}}).available() == 0);
  CHECK(FakeRoot(Files()).available() == 0);
  CHECK(available_memory() > 0);
}

TEST_CASE("a group that has less memory left decides", "[device][cgroups]") {
  const std::string job = "sys/fs/cgroup/user.slice/job/";
  Files files{{"proc/meminfo", k_meminfo},
              {"proc/self/cgroup", "0::/user.slice/job\n"},
              {job + "memory.max", "4000000\n"},
              {job + "memory.current", "3000000\n"},
              {job + "memory.stat", "anon 5\ninactive_file 500000\nfile 9\n"}};
  CHECK(FakeRoot(files).available() == 1'500'000);
  SECTION("the group above it has even less") {
    files["sys/fs/cgroup/user.slice/memory.max"] = "4000000\n";
    files["sys/fs/cgroup/user.slice/memory.current"] = "3900000\n";
    CHECK(FakeRoot(files).available() == 100'000);
  }
  SECTION("it has no limit") {
    files[job + "memory.max"] = "max\n";
    CHECK(FakeRoot(files).available() == k_machine);
  }
  SECTION("more is used than allowed") {
    files[job + "memory.current"] = "9000000\n";
    CHECK(FakeRoot(files).available() == 0);
  }
}

TEST_CASE("groups of version 1 count as well", "[device][cgroups]") {
  const FakeRoot root(Files{{"proc/meminfo", k_meminfo},
                            {"proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n"},
                            {"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "2000000\n"},
                            {"sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "500000\n"}});
  CHECK(root.available() == 1'500'000);
  const auto memory = cgroup_hierarchies(root.path(), "memory");
  REQUIRE(memory.size() == 2);
  CHECK_FALSE(memory[0].is_unified);
  CHECK(memory[0].directories.front() == root.path() / "sys/fs/cgroup/memory/a/b");
  CHECK(memory[0].directories.back() == root.path() / "sys/fs/cgroup/memory");
  CHECK(memory[1].is_unified);
  CHECK(cgroup_hierarchies(root.path(), "cpu").size() == 2);
  CHECK(cgroup_hierarchies(root.path(), "pids").size() == 1);
}
