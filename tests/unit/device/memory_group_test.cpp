#include "device/memory_group.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/unique_fd.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t k_limit = std::uint64_t{64} << 20;
constexpr std::size_t k_block = 1u << 20;

class FakeGroups {
 public:
  explicit FakeGroups(const std::map<std::string, std::string>& files)
      : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {
    for (const auto& [name, text] : files) {
      make_directories((path() / name).parent_path()).value();
      write_file_atomic(path() / name, text).value();
    }
  }
  [[nodiscard]] fs::path path() const { return directory_.path(); }
  [[nodiscard]] std::string refusal() const {
    const auto made = MemoryGroup::make(k_limit, path());
    return made ? "" : made.error().message;
  }

 private:
  TemporaryDirectory directory_;
};

bool write_blocks(int file, std::uint64_t bytes) {
  const std::vector<char> block(k_block, 'x');
  for (std::uint64_t done = 0; done < bytes; done += k_block)
    if (::write(file, block.data(), k_block) != static_cast<ssize_t>(k_block)) return false;
  return true;
}

/// Runs `work` in a process in the group. Returns its wait status.
int run_in(const MemoryGroup& group, bool (*work)()) {
  std::array<int, 2> ready{};
  REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    if (::read(ready[0], &byte, 1) != 1) ::_exit(3);
    ::_exit(work() ? 0 : 1);
  }
  REQUIRE(group.add(child).has_value());
  REQUIRE(::write(ready[1], "x", 1) == 1);
  ::close(ready[0]);
  ::close(ready[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

bool takes_little() { return write_blocks(::memfd_create("little", 0), k_limit / 2); }
bool takes_anonymous_files() { return write_blocks(::memfd_create("much", 0), 2 * k_limit); }
bool takes_unlinked_files() {
  const int file = ::open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
  return write_blocks(file, 2 * k_limit);
}
/// Each of them stays below the limit of the address space that the first one has.
bool takes_memory_in_several_processes() {
  constexpr int k_processes = 4;
  for (int i = 0; i < k_processes; ++i) {
    if (::fork() != 0) continue;
    static_cast<void>(takes_little());
    ::pause();
  }
  int status = 0;
  ::wait(&status);
  ::kill(0, SIGKILL);
  return false;
}

}  // namespace

TEST_CASE("where no group can be made, the reason is told", "[device][memory_group]") {
  const auto own = std::to_string(::getpid()) + "\n";
  std::map<std::string, std::string> files;
  CHECK(FakeGroups(files).refusal() == "there are no control groups");
  files["proc/self/cgroup"] = "0::/job\n";
  CHECK(FakeGroups(files).refusal() == "the control group of this process is not mounted");
  files["sys/fs/cgroup/job/cgroup.procs"] = "1\n";
  CHECK(FakeGroups(files).refusal() == "the control group of this process is not mounted");
  files["sys/fs/cgroup/job/cgroup.procs"] = own;
  files["sys/fs/cgroup/job/cgroup.controllers"] = "cpu pids\n";
  CHECK_THAT(FakeGroups(files).refusal(), Catch::EndsWith("job does not control memory"));
  files["sys/fs/cgroup/job/cgroup.controllers"] = "cpu memory pids\n";
  files["sys/fs/cgroup/job/cgroup.subtree_control"] = "memory\n";
  const FakeGroups groups(files);
  // A new group has no control files here, and nothing of it stays.
  CHECK_THAT(groups.refusal(), Catch::Contains("cannot write 67108864 to "));
  for (const auto& entry : fs::directory_iterator(groups.path() / "sys/fs/cgroup/job")) CHECK(entry.is_regular_file());
}

TEST_CASE("a group is made beside the own one where that escapes no limit", "[device][memory_group]") {
  std::map<std::string, std::string> files{
      {"proc/self/cgroup", "0::/slice/scope\n"},
      {"sys/fs/cgroup/slice/cgroup.subtree_control", "memory pids\n"},
      {"sys/fs/cgroup/slice/scope/cgroup.procs", std::to_string(::getpid()) + "\n"},
      {"sys/fs/cgroup/slice/scope/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/slice/scope/memory.max", "max\n"},
      {"sys/fs/cgroup/slice/scope/cpuset.cpus", "\n"},
  };
  CHECK_THAT(FakeGroups(files).refusal(),
             Catch::Contains("cannot write 67108864 to ") && Catch::Contains("/sys/fs/cgroup/slice/kernelgen-"));
  for (const auto& [name, limit] : std::map<std::string, std::string>{
           {"cpu.max", "200000 100000\n"}, {"memory.max", "1\n"}, {"cpuset.cpus", "0\n"}}) {
    auto limited = files;
    limited["sys/fs/cgroup/slice/scope/" + name] = limit;
    CHECK_THAT(FakeGroups(limited).refusal(), Catch::EndsWith("scope does not control memory"));
  }
}

TEST_CASE("the reason of the hierarchy of memory is told where there are two", "[device][memory_group]") {
  CHECK_THAT(FakeGroups({{"proc/self/cgroup", "4:memory:/job\n0::/job\n"},
                         {"sys/fs/cgroup/memory/job/cgroup.procs", std::to_string(::getpid()) + "\n"}})
                 .refusal(),
             Catch::Contains("cannot write 67108864 to ") &&
                 Catch::EndsWith("memory.limit_in_bytes: No such file or directory"));
}

TEST_CASE("groups of workers that were killed are removed, and those in use stay", "[device][memory_group]") {
  const FakeGroups groups({{"proc/self/cgroup", "4:memory:/job\n"},
                           {"sys/fs/cgroup/memory/job/cgroup.procs", std::to_string(::getpid()) + "\n"}});
  const auto job = groups.path() / "sys/fs/cgroup/memory/job";
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const char* name : {"kernelgen-killed", "kernelgen-used", "kernelgen-new", "another"})
    fs::create_directory(job / name);
  const UniqueFd lock(::open((job / "kernelgen-used").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(try_lock(lock.get(), "a group").value());
  for (const char* name : {"kernelgen-killed", "kernelgen-used", "another"}) fs::last_write_time(job / name, long_ago);
  CHECK_FALSE(groups.refusal().empty());
  CHECK_FALSE(fs::exists(job / "kernelgen-killed"));
  for (const char* name : {"kernelgen-used", "kernelgen-new", "another"}) CHECK(fs::exists(job / name));
}

TEST_CASE("a group limits all memory of its processes together", "[device][memory_group]") {
  const auto group = MemoryGroup::make(k_limit);
  if (!group) {
    WARN("this machine lets this process make no group: " << group.error().message);
    return;
  }
  CHECK_FALSE(group->has_run_out());
  CHECK(run_in(*group, takes_little) == 0);
  CHECK_FALSE(group->has_run_out());
  SECTION("anonymous files") { CHECK(WTERMSIG(run_in(*group, takes_anonymous_files)) == SIGKILL); }
  SECTION("files in memory without a name") { CHECK(WTERMSIG(run_in(*group, takes_unlinked_files)) == SIGKILL); }
  SECTION("many processes") {
    CHECK_FALSE(WIFEXITED(run_in(*group, [] {
      ::setpgid(0, 0);
      return takes_memory_in_several_processes();
    })));
  }
  CHECK(group->has_run_out());
}
