#include "support/directory_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "support/random_id.hpp"
#include "support/unique_fd.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

struct Directory {
  fs::path path = fs::temp_directory_path() / ("kernelgen-tree-" + random_id());
  Directory() { fs::create_directories(path); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { remove_tree(path); }
};

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

/// Makes directories in each other, deeper than a path can name.
void make_levels(const fs::path& top, int levels) {
  UniqueFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    REQUIRE(::mkdirat(at.get(), "level", 0755) == 0);
    at.reset(::openat(at.get(), "level", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(at.valid());
  }
}

}  // namespace

TEST_CASE("a tree's size is that of its files", "[support][directory_tree]") {
  const Directory directory;
  fs::create_directories(directory.path / "a" / "b");
  CHECK(measure_tree(directory.path).bytes == 0);
  fs::resize_file((write(directory.path / "a" / "b" / "one", ""), directory.path / "a" / "b" / "one"), 1u << 20);
  fs::resize_file((write(directory.path / "two", ""), directory.path / "two"), 2u << 20);
  const auto size = measure_tree(directory.path);
  CHECK(size.bytes == 3u << 20);
  CHECK(size.is_complete);
  CHECK(size.is_plain);
}

TEST_CASE("room beyond the end of a file counts", "[support][directory_tree]") {
  const Directory directory;
  const UniqueFd file(::open((directory.path / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  // Not all file systems can reserve room.
  if (::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, 1 << 20) == 0)
    CHECK(measure_tree(directory.path).bytes >= 1u << 20);
}

TEST_CASE("links are not followed, and make a tree no plain one", "[support][directory_tree]") {
  const Directory directory, other;
  write(other.path / "file", std::string(1000, 'x'));
  SECTION("to a directory") { fs::create_directory_symlink(other.path, directory.path / "link"); }
  SECTION("to itself") { fs::create_directory_symlink(directory.path, directory.path / "link"); }
  SECTION("to nothing") { fs::create_symlink("/nowhere", directory.path / "link"); }
  SECTION("a FIFO") { REQUIRE(::mkfifo((directory.path / "link").c_str(), 0600) == 0); }
  const auto size = measure_tree(directory.path);
  CHECK(size.bytes == 0);
  CHECK(size.is_complete);
  CHECK_FALSE(size.is_plain);
  remove_tree(directory.path);
  CHECK_FALSE(fs::exists(directory.path));
  CHECK(fs::exists(other.path / "file"));
}

TEST_CASE("what is no directory has no size, and is removed", "[support][directory_tree]") {
  const Directory directory, other;
  write(other.path / "file", "text");
  const auto path = directory.path / "it";
  CHECK_FALSE(measure_tree(path).is_complete);
  SECTION("a link to a directory") { fs::create_directory_symlink(other.path, path); }
  SECTION("a file") { write(path, "text"); }
  SECTION("a FIFO") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  CHECK_FALSE(measure_tree(path).is_complete);
  CHECK(measure_tree(path).bytes == 0);
  remove_tree(path);
  CHECK_FALSE(fs::exists(fs::symlink_status(path)));
  CHECK(fs::exists(other.path / "file"));
}

TEST_CASE("a tree beyond the limits is not walked to its end", "[support][directory_tree]") {
  const Directory directory;
  for (int i = 0; i < 20; ++i) write(directory.path / std::to_string(i), "x");
  CHECK(measure_tree(directory.path, {.entries = 20}).is_complete);
  CHECK_FALSE(measure_tree(directory.path, {.entries = 19}).is_complete);
  const Directory deep;
  make_levels(deep.path, 3);
  CHECK(measure_tree(deep.path, {.depth = 3}).is_complete);
  CHECK_FALSE(measure_tree(deep.path, {.depth = 2}).is_complete);
}

TEST_CASE("a tree that is deeper than any path is removed", "[support][directory_tree]") {
  const Directory directory;
  make_levels(directory.path, 3000);
  CHECK_FALSE(measure_tree(directory.path).is_complete);
  remove_tree(directory.path);
  CHECK_FALSE(fs::exists(directory.path));
}

TEST_CASE("a tree with modes that keep its owner out is removed", "[support][directory_tree]") {
  const Directory directory;
  fs::create_directories(directory.path / "closed" / "inside");
  write(directory.path / "closed" / "inside" / "file", "text");
  fs::permissions(directory.path / "closed" / "inside", fs::perms::none);
  fs::permissions(directory.path / "closed", fs::perms::owner_read);
  // Root may read everything.
  CHECK(measure_tree(directory.path).is_complete == (::geteuid() == 0));
  remove_tree(directory.path);
  CHECK_FALSE(fs::exists(directory.path));
}

TEST_CASE("removing what is not there is fine", "[support][directory_tree]") {
  remove_tree("/nowhere/at/all");
  remove_tree("");
}
