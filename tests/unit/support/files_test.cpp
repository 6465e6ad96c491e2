#include "support/files.hpp"

#include <sys/stat.h>

#include <string>

#include "support/catch.hpp"
#include "support/file_size_limit.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

TemporaryDirectory scratch() {
  return TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
}

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a file is written whole and read back", "[support][files]") {
  auto directory = scratch();
  const auto path = directory.path() / "file";
  REQUIRE(write_file_atomic(path, "one"));
  REQUIRE(write_file_atomic(path, "two", {.mode = 0444, .durability = Durability::Rename}));
  CHECK(read_file(path).value() == "two");
  CHECK(entries(directory.path()) == 1);
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0444);
}

TEST_CASE("a full disk is NoSpace and leaves the old file alone", "[support][files]") {
  auto directory = scratch();
  const auto path = directory.path() / "file";
  REQUIRE(write_file_atomic(path, "old"));
  {
    FileSizeLimit full(4096);
    const auto written = write_file_atomic(path, std::string(10'000, 'x'));
    REQUIRE_FALSE(written);
    Error error = Result<void>(written).error();
    CHECK(error.code == ErrorCode::NoSpace);
    CHECK(error.message.find(path.string()) != std::string::npos);
  }
  CHECK(read_file(path).value() == "old");
  CHECK(entries(directory.path()) == 1);
}

TEST_CASE("reading what cannot be read says why", "[support][files]") {
  auto directory = scratch();
  CHECK(read_file(directory.path() / "none").error().code == ErrorCode::NotFound);
  CHECK(read_file(directory.path()).error().code == ErrorCode::InvalidArgument);
  const auto path = directory.path() / "file";
  REQUIRE(write_file_atomic(path, "12345"));
  CHECK(read_file(path, 5).value() == "12345");
  CHECK(read_file(path, 4).error().code == ErrorCode::InvalidArgument);
  CHECK(read_file(path / "below").error().code == ErrorCode::NotFound);
}

TEST_CASE("writing where nothing can be written says why", "[support][files]") {
  auto directory = scratch();
  const auto path = directory.path() / "none" / "file";
  auto written = write_file_atomic(path, "x");
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::NotFound);
  CHECK(written.error().message == "cannot write " + path.string() + ": No such file or directory");
}

TEST_CASE("directories are made with their parents", "[support][files]") {
  auto directory = scratch();
  const auto path = directory.path() / "a" / "b";
  CHECK(make_directories(path));
  CHECK(make_directories(path));
  REQUIRE(write_file_atomic(path / "file", "x"));
  CHECK_FALSE(make_directories(path / "file" / "c"));
  CHECK_FALSE(make_directories(path / "file"));
}

TEST_CASE("a temporary directory takes its content along", "[support][files]") {
  fs::path path;
  {
    auto directory = scratch();
    path = directory.path();
    REQUIRE(write_file_atomic(path / "file", "x", {.mode = 0400}));
    auto moved = std::move(directory);
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
}
