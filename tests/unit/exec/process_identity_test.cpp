#include "exec/process_identity.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// The identity of a process that ends at once.
std::string identity_of_ended(bool waited_for) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto identity = process_identity();
    ::_exit(::write(ends[1], identity.data(), identity.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string identity(200, '\0');
  const auto size = ::read(ends[0], identity.data(), identity.size());
  ::close(ends[0]);
  REQUIRE(size > 0);
  identity.resize(static_cast<std::size_t>(size));
  siginfo_t end{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT) == 0);
  if (waited_for) ::waitpid(child, nullptr, 0);
  return identity;
}

}  // namespace

TEST_CASE("a process that lives has not ended", "[exec][identity]") {
  const auto identity = process_identity();
  REQUIRE_FALSE(identity.empty());
  CHECK_FALSE(has_certainly_ended(identity));
}

TEST_CASE("a process that has ended is known by its identity", "[exec][identity]") {
  CHECK(has_certainly_ended(identity_of_ended(true)));
  const auto zombie = identity_of_ended(false);
  CHECK(has_certainly_ended(zombie));
  while (::waitpid(-1, nullptr, 0) > 0) continue;
}

TEST_CASE("a process number that was given to another process is no sign of life", "[exec][identity]") {
  auto identity = process_identity();
  identity.back() = identity.back() == '1' ? '2' : '1';
  CHECK(has_certainly_ended(identity));
}

TEST_CASE("nothing is known of processes elsewhere", "[exec][identity]") {
  auto elsewhere = process_identity();
  elsewhere.front() = elsewhere.front() == 'a' ? 'b' : 'a';
  for (const auto& identity : {elsewhere, std::string(), std::string("pid 1"), elsewhere.substr(1)})
    CHECK_FALSE(has_certainly_ended(identity));
  const auto own = process_identity();
  for (const auto* tail : {"", " x", " 0 1", " -1 5", " 99999999999999 5"})
    CHECK_FALSE(has_certainly_ended(own.substr(0, own.find(']') + 1) + tail));
}
