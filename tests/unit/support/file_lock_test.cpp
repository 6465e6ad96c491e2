#include "support/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

class Scratch {
 public:
  [[nodiscard]] fs::path file() const { return directory_.path() / ".lock"; }
  [[nodiscard]] LockFileRequest request(std::chrono::milliseconds wait = 0ms) const {
    return {.file = file(), .resource = "the run in x", .advice = "wait until it ends", .wait = wait};
  }
  [[nodiscard]] UniqueFd open() const { return UniqueFd(::open(file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)); }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-lock-").value();
};

}  // namespace

TEST_CASE("a lock excludes others until it is released", "[support][file_lock]") {
  Scratch scratch;
  const auto one = scratch.open();
  const auto two = scratch.open();
  CHECK(try_lock(one.get(), "x").value());
  CHECK_FALSE(try_lock(two.get(), "x").value());
  CHECK_FALSE(try_lock(two.get(), "x", LockKind::Shared).value());
  unlock(one.get());
  CHECK(try_lock(one.get(), "x", LockKind::Shared).value());
  CHECK(try_lock(two.get(), "x", LockKind::Shared).value());
  CHECK(try_lock(-1, "x").error().message.find("cannot lock x") == 0);
}

TEST_CASE("a lock is waited for, up to a deadline and a stop", "[support][file_lock]") {
  Scratch scratch;
  auto one = scratch.open();
  const auto two = scratch.open();
  REQUIRE(try_lock(one.get(), "x").value());
  const auto now = std::chrono::steady_clock::now;
  CHECK_FALSE(wait_for_lock(two.get(), "x", now() + 20ms, {}).value());
  std::stop_source stop;
  stop.request_stop();
  CHECK(wait_for_lock(two.get(), "x", now() + 1h, stop.get_token()).error().code == ErrorCode::Cancelled);
  auto waiting = std::async(std::launch::async, [&] { return wait_for_lock(two.get(), "x", now() + 1h, {}).value(); });
  one.reset();
  CHECK(waiting.get());
}

TEST_CASE("a lock file says which process holds it, since when, and what to do", "[support][file_lock]") {
  Scratch scratch;
  auto held = LockFile::acquire(scratch.request());
  REQUIRE(held);
  const auto text = read_file(scratch.file()).value();
  const auto holder = read_lock_holder(text);
  REQUIRE(holder);
  CHECK(holder->pid == ::getpid());
  CHECK_FALSE(holder->host.empty());
  CHECK(holder->since.back() == 'Z');
  const auto refused = LockFile::acquire(scratch.request());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Busy);
  CHECK(refused.error().message == "the run in x is in use by another kgen (process " + std::to_string(::getpid()) +
                                       " on " + holder->host + ", since " + holder->since + "); wait until it ends");
  auto waiting = std::async(std::launch::async, [&] { return LockFile::acquire(scratch.request(1h)).has_value(); });
  { const auto released = *std::move(held); }
  CHECK(waiting.get());
}

TEST_CASE("a lock file that says nothing is locked all the same", "[support][file_lock]") {
  Scratch scratch;
  const auto silent = scratch.open();
  REQUIRE(try_lock(silent.get(), "x").value());
  CHECK(LockFile::acquire(scratch.request()).error().message ==
        "the run in x is in use by another kgen; wait until it ends");
  for (const char* text : {"", "pid\n", "pid 7\n", "pid x\nhost h\nsince s\n", "pid -7\nhost h\nsince s\n"})
    CHECK_FALSE(read_lock_holder(text));
}

TEST_CASE("a free lock names no holder", "[support][file_lock]") {
  Scratch scratch;
  REQUIRE(LockFile::acquire(scratch.request()));
  CHECK(fs::file_size(scratch.file()) == 0);
}
