#include "bench/build_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "support/catch.hpp"
#include "support/random_id.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

struct Directory {
  fs::path path = fs::temp_directory_path() / ("kernelgen-builds-" + random_id());
  ~Directory() { fs::remove_all(path); }
};

void build(const BuildCache& place, const std::string& name) {
  fs::create_directories(place.path() / "kept");
  std::ofstream(place.path() / "kept" / name) << "machine code";
}

bool has(const BuildCache& place, const std::string& name) { return fs::exists(place.path() / "kept" / name); }

}  // namespace

TEST_CASE("the builds of a candidate come back to it, and to no other one", "[bench][build_cache]") {
  const Directory directory;
  {
    auto place = BuildCache::make(directory.path).value();
    place->restore("one", ::geteuid());
    build(*place, "kernel.cubin");
    CHECK_FALSE(BuildCache::is_kept(directory.path, "one"));
    place->keep();
    CHECK_FALSE(has(*place, "kernel.cubin"));
    CHECK(BuildCache::is_kept(directory.path, "one"));
  }
  auto other = BuildCache::make(directory.path).value();
  other->restore("two", ::geteuid());
  CHECK_FALSE(has(*other, "kernel.cubin"));
  auto same = BuildCache::make(directory.path).value();
  same->restore("one", ::geteuid());
  CHECK(has(*same, "kernel.cubin"));
}

TEST_CASE("builds of another user do not come back, because a runner could not replace them", "[bench][build_cache]") {
  const Directory directory;
  {
    auto place = BuildCache::make(directory.path).value();
    place->restore("one", ::geteuid());
    build(*place, "kernel.cubin");
    place->keep();
  }
  auto place = BuildCache::make(directory.path).value();
  place->restore("one", ::geteuid() + 1);
  CHECK_FALSE(has(*place, "kernel.cubin"));
  CHECK_FALSE(BuildCache::is_kept(directory.path, "one"));
}

TEST_CASE("building anew takes no kept builds away", "[bench][build_cache]") {
  const Directory directory;
  auto before = BuildCache::make(directory.path).value();
  before->restore("one", ::geteuid());
  build(*before, "kernel.cubin");
  before->keep();
  auto anew = BuildCache::make(directory.path).value();
  anew->start("one");
  CHECK_FALSE(has(*anew, "kernel.cubin"));
  CHECK(BuildCache::is_kept(directory.path, "one"));
  build(*anew, "kernel.cubin");
  anew->keep();
  CHECK(BuildCache::is_kept(directory.path, "one"));
}

TEST_CASE("two runners of one candidate do not disturb each other", "[bench][build_cache]") {
  const Directory directory;
  auto first = BuildCache::make(directory.path).value();
  auto second = BuildCache::make(directory.path).value();
  for (auto* place : {first.get(), second.get()}) {
    place->restore("one", ::geteuid());
    build(*place, "kernel.cubin");
  }
  first->keep();
  second->keep();
  auto third = BuildCache::make(directory.path).value();
  third->restore("one", ::geteuid());
  CHECK(has(*third, "kernel.cubin"));
}

TEST_CASE("the place of a runner goes with it", "[bench][build_cache]") {
  const Directory directory;
  fs::path path;
  {
    auto place = BuildCache::make(directory.path).value();
    path = place->path();
    build(*place, "kernel.cubin");
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("what is too large is not kept", "[bench][build_cache]") {
  const Directory directory;
  auto place = BuildCache::make(directory.path).value();
  place->restore("one", ::geteuid());
  build(*place, "huge");
  fs::resize_file(place->path() / "kept" / "huge", 300u << 20);
  place->keep();
  CHECK(fs::is_empty(directory.path / "kept"));
}

TEST_CASE("builds with links or special files are not kept, and nothing behind a link changes",
          "[bench][build_cache]") {
  const Directory directory, outside;
  fs::create_directories(outside.path / "below");
  std::ofstream(outside.path / "below" / "secret") << "a file of somebody else's";
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(24);
  fs::last_write_time(outside.path, long_ago);
  {
    auto place = BuildCache::make(directory.path).value();
    place->restore("one", ::geteuid());
    build(*place, "kernel.cubin");
    const auto kept = place->path() / "kept";
    SECTION("a link to a directory among the builds") { fs::create_directory_symlink(outside.path, kept / "link"); }
    SECTION("a link to a file") { fs::create_symlink(outside.path / "below" / "secret", kept / "link"); }
    SECTION("a hard link") { fs::create_hard_link(outside.path / "below" / "secret", kept / "link"); }
    SECTION("a FIFO") { REQUIRE(::mkfifo((kept / "fifo").c_str(), 0600) == 0); }
    SECTION("a link in the place of all builds") {
      fs::remove_all(kept);
      fs::create_directory_symlink(outside.path, kept);
    }
    SECTION("a FIFO in the place of all builds") {
      fs::remove_all(kept);
      REQUIRE(::mkfifo(kept.c_str(), 0600) == 0);
    }
    CHECK_FALSE(place->is_too_large());
    place->keep();
  }
  CHECK(fs::is_empty(directory.path / "kept"));
  CHECK(fs::is_empty(directory.path / "places"));
  CHECK_FALSE(BuildCache::is_kept(directory.path, "one"));
  CHECK(fs::file_size(outside.path / "below" / "secret") == 25);
  CHECK(fs::last_write_time(outside.path) == long_ago);
}

TEST_CASE("a link in the store is no kept build", "[bench][build_cache]") {
  const Directory directory, outside;
  fs::create_directories(outside.path / "below");
  auto place = BuildCache::make(directory.path).value();
  fs::create_directory_symlink(outside.path, directory.path / "kept" / "one");
  CHECK_FALSE(BuildCache::is_kept(directory.path, "one"));
  place->restore("one", ::geteuid());
  CHECK_FALSE(fs::exists(fs::symlink_status(place->path() / "kept")));
}

TEST_CASE("all that a candidate writes beside its builds counts", "[bench][build_cache]") {
  const Directory directory;
  auto place = BuildCache::make(directory.path).value();
  place->start("one");
  std::ofstream(place->path() / "beside") << "";
  fs::resize_file(place->path() / "beside", (std::uintmax_t{2} << 30) + 1);
  CHECK(place->is_too_large());
}

TEST_CASE("places of workers that were killed are removed, and no others", "[bench][build_cache]") {
  const Directory directory;
  const auto living = BuildCache::make(directory.path).value();
  const auto orphan = directory.path / "places" / "orphan";
  const auto unborn = directory.path / "places" / "unborn";
  fs::create_directories(orphan / "kept");
  fs::create_directories(unborn);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(orphan, long_ago);
  fs::last_write_time(living->path(), long_ago);

  const auto next = BuildCache::make(directory.path).value();
  CHECK_FALSE(fs::exists(orphan));
  CHECK(fs::exists(unborn));
  CHECK(fs::exists(living->path()));
}

TEST_CASE("builds are too large above 2 GiB, and are not kept then", "[bench][build_cache]") {
  const Directory directory;
  auto place = BuildCache::make(directory.path).value();
  place->start("one");
  CHECK_FALSE(place->is_too_large());
  build(*place, "kernel.cubin");
  CHECK_FALSE(place->is_too_large());
  fs::create_directories(place->path() / "kept" / "below");
  build(*place, "below/temporary");
  // A sparse file: it takes no room on the disk.
  fs::resize_file(place->path() / "kept" / "below" / "temporary", (std::uintmax_t{2} << 30) + 1);
  CHECK(place->is_too_large());
  place->keep();
  CHECK_FALSE(BuildCache::is_kept(directory.path, "one"));
}

TEST_CASE("builds of all candidates together take 8 GiB, and the oldest go first", "[bench][build_cache]") {
  const Directory directory;
  for (int i = 0; i < 34; ++i) {
    auto place = BuildCache::make(directory.path).value();
    place->start(std::to_string(i));
    build(*place, "kernel.so");
    fs::resize_file(place->path() / "kept" / "kernel.so", 256u << 20);
    place->keep();
  }
  CHECK_FALSE(BuildCache::is_kept(directory.path, "0"));
  CHECK_FALSE(BuildCache::is_kept(directory.path, "1"));
  CHECK(BuildCache::is_kept(directory.path, "2"));
  CHECK(BuildCache::is_kept(directory.path, "33"));
}
