#include "report/journal_tail.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

class Tailed {
 public:
  void append(const std::string& text) const { std::ofstream(file(), std::ios::app) << text; }
  void replace(const std::string& text) const {
    std::ofstream(directory_.path() / "new") << text;
    fs::rename(directory_.path() / "new", file());
  }
  [[nodiscard]] fs::path file() const { return directory_.path() / "events.jsonl"; }

  Result<TailChange> read(std::uint64_t max_bytes = 1u << 20) {
    return tail.read(
        max_bytes, [this] { lines.clear(); }, [this](std::string_view line) { lines.emplace_back(line); });
  }

  std::vector<std::string> lines;

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "tail-").value();

 public:
  JournalTail tail{file()};
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a journal is read on where the last look ended", "[report][monitor]") {
  Tailed tailed;
  CHECK(tailed.read().error().code == ErrorCode::NotFound);
  tailed.append("one\ntwo\n");
  CHECK(tailed.read().value() == TailChange::Lines);
  CHECK(tailed.lines == Lines{"one", "two"});
  CHECK(tailed.read().value() == TailChange::None);
  tailed.append("three\n\n");
  CHECK(tailed.read().value() == TailChange::Lines);
  CHECK(tailed.lines == Lines{"one", "two", "three", ""});
  CHECK(tailed.tail.at_end());
  CHECK(tailed.tail.unread() == 0);
}

TEST_CASE("a torn last line is read when it is whole, and not when its writer cuts it off", "[report][monitor]") {
  Tailed tailed;
  tailed.append("one\nto");
  CHECK(tailed.read().value() == TailChange::Lines);
  CHECK(tailed.read().value() == TailChange::None);
  tailed.append("rn\n");
  CHECK(tailed.read().value() == TailChange::Lines);
  CHECK(tailed.lines == Lines{"one", "torn"});
  tailed.append("half a li");
  CHECK(tailed.read().value() == TailChange::None);
  fs::resize_file(tailed.file(), 9);
  tailed.append("a whole line\n");
  CHECK(tailed.read().value() == TailChange::Lines);
  CHECK(tailed.lines == Lines{"one", "torn", "a whole line"});
}

TEST_CASE("another journal in the place of the first one is read from its start", "[report][monitor]") {
  Tailed tailed;
  tailed.append("one\ntwo\n");
  REQUIRE(tailed.read());
  SECTION("by rename") {
    tailed.replace("ONE\nTWO\nTHREE\n");
    CHECK(tailed.read().value() == TailChange::Restarted);
    CHECK(tailed.lines == Lines{"ONE", "TWO", "THREE"});
  }
  SECTION("shorter, in the same file") {
    fs::resize_file(tailed.file(), 4);
    CHECK(tailed.read().value() == TailChange::Restarted);
    CHECK(tailed.lines == Lines{"one"});
  }
  SECTION("longer, in the same file") {
    fs::resize_file(tailed.file(), 0);
    tailed.append("six\nten\nmore\n");
    CHECK(tailed.read().value() == TailChange::Restarted);
    CHECK(tailed.lines == Lines{"six", "ten", "more"});
  }
  SECTION("empty") {
    tailed.replace("");
    CHECK(tailed.read().value() == TailChange::Restarted);
    CHECK(tailed.lines.empty());
  }
  SECTION("after it was away") {
    fs::remove(tailed.file());
    CHECK(tailed.read().error().code == ErrorCode::NotFound);
    tailed.append("one\ntwo\nthree\n");
    REQUIRE(tailed.read());
    CHECK(tailed.lines == Lines{"one", "two", "three"});
  }
}

TEST_CASE("a look reads a bounded part, and the next one goes on", "[report][monitor]") {
  Tailed tailed;
  const std::string line(100'000, 'x');
  for (int i = 0; i < 60; ++i) tailed.append(line + '\n');
  CHECK(tailed.read(1).value() == TailChange::Lines);
  CHECK(tailed.lines.size() < 20);
  CHECK_FALSE(tailed.tail.at_end());
  CHECK(tailed.tail.unread() > 4'000'000);
  while (!tailed.tail.at_end()) REQUIRE(tailed.read(1));
  CHECK(tailed.lines == Lines(60, line));
}

TEST_CASE("what is no journal is not read", "[report][monitor]") {
  Tailed tailed;
  SECTION("a directory") {
    fs::create_directory(tailed.file());
    CHECK(tailed.read().error().code == ErrorCode::InvalidArgument);
  }
  SECTION("a link") {
    fs::create_symlink("/etc/passwd", tailed.file());
    CHECK_FALSE(tailed.read());
    CHECK(tailed.lines.empty());
  }
}
