#include "exec/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/unique_fd.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

ChildRequest misbehave(const std::string& mode, const std::string& argument = "") {
  ChildRequest request;
  request.command = {KERNELGEN_MISBEHAVE, mode, argument};
  return request;
}

auto in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

Pair make_pair_of_sockets() {
  int ends[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

char ask(int fd, char byte) {
  REQUIRE(::send(fd, &byte, 1, MSG_NOSIGNAL) == 1);
  char answer = 0;
  REQUIRE(::recv(fd, &answer, 1, 0) == 1);
  return answer;
}

}  // namespace

TEST_CASE("a child talks over the descriptor it was given and leaves on end of file", "[exec][child]") {
  auto sockets = make_pair_of_sockets();
  auto child = ChildProcess::spawn(misbehave("serve", "3"), {{sockets.theirs.get(), 3}}).value();
  sockets.theirs.reset();
  CHECK_FALSE(child.poll_exit());
  CHECK(ask(sockets.ours.get(), 'a') == 'b');
  CHECK_FALSE(child.wait(in(10ms)));
  sockets.ours.reset();
  const auto status = child.wait(in(10s));
  REQUIRE(status);
  CHECK(status->exit_code == 5);
  CHECK(child.poll_exit() == status);
}

TEST_CASE("inherited descriptors may swap their numbers", "[exec][child]") {
  auto first = make_pair_of_sockets();
  auto second = make_pair_of_sockets();
  const int a = first.theirs.get();
  const int b = second.theirs.get();
  auto child = ChildProcess::spawn(misbehave("serve", std::to_string(b)), {{a, b}, {b, a}}).value();
  CHECK(ask(first.ours.get(), 'x') == 'y');
}

TEST_CASE("a child has no other descriptors", "[exec][child]") {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);  // not close-on-exec on purpose
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  auto child = ChildProcess::spawn(misbehave("descriptors"), {{writing.get(), 1}, {writing.get(), 40}}).value();
  writing.reset();
  CHECK(read_all(reading.get(), 1000, "pipe").value() == "0\n1\n2\n40\n");
  CHECK(child.wait(in(10s))->success());
}

TEST_CASE("the pidfd becomes readable at the end", "[exec][child]") {
  auto child = ChildProcess::spawn(misbehave("kill-self", std::to_string(SIGUSR1))).value();
  const auto pidfd = child.pidfd();
  if (!pidfd) return;  // an old kernel
  pollfd watched{*pidfd, POLLIN, 0};
  CHECK(::poll(&watched, 1, 10'000) == 1);
  const auto status = child.poll_exit();
  REQUIRE(status);
  CHECK(status->signal == SIGUSR1);
  CHECK(status->to_line() == "signal 10 (SIGUSR1)");
}

TEST_CASE("terminate asks first and kills then", "[exec][child]") {
  auto polite = ChildProcess::spawn(misbehave("sleep")).value();
  CHECK(polite.terminate(10s)->signal == SIGTERM);
  int ends[2] = {-1, -1};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  auto stubborn = ChildProcess::spawn(misbehave("ignore-term"), {{writing.get(), 1}}).value();
  char byte = 0;
  REQUIRE(::read(reading.get(), &byte, 1) == 1);
  CHECK(stubborn.terminate(50ms)->signal == SIGKILL);
  CHECK(stubborn.terminate(50ms)->signal == SIGKILL);
}

TEST_CASE("the destructor kills and reaps", "[exec][child]") {
  int pid = 0;
  {
    auto child = ChildProcess::spawn(misbehave("ignore-term")).value();
    pid = child.pid();
    auto moved = std::move(child);
    CHECK(moved.pid() == pid);
  }
  CHECK(::waitpid(pid, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("assigning to a child ends the old one", "[exec][child]") {
  auto child = ChildProcess::spawn(misbehave("sleep")).value();
  const int first = child.pid();
  child = ChildProcess::spawn(misbehave("sleep")).value();
  CHECK(::waitpid(first, nullptr, WNOHANG) == -1);
  child.kill_group();
  CHECK(child.wait(in(10s))->signal == SIGKILL);
}

TEST_CASE("a child dies with the thread that started it, unless told otherwise", "[exec][child]") {
  std::optional<ChildProcess> mortal;
  std::optional<ChildProcess> surviving;
  std::thread([&] {
    mortal.emplace(ChildProcess::spawn(misbehave("sleep")).value());
    auto request = misbehave("sleep");
    request.parent_death = ParentDeath::Ignore;
    surviving.emplace(ChildProcess::spawn(request).value());
  }).join();
  const auto status = mortal->wait(in(10s));
  REQUIRE(status);
  CHECK(status->signal == SIGKILL);
  CHECK_FALSE(surviving->wait(in(50ms)));
}

TEST_CASE("a child that cannot start is an error, not a child", "[exec][child]") {
  ChildRequest request;
  request.command = {"/no/such/program"};
  CHECK(ChildProcess::spawn(request).error().code == ErrorCode::MissingTool);
  request.command = {KERNELGEN_MISBEHAVE, "exit"};
  request.working_directory = "/no/such";
  CHECK(ChildProcess::spawn(request).error().code == ErrorCode::NotFound);
  request.working_directory.clear();
  auto closed = ChildProcess::spawn(request, {{12345, 3}});
  REQUIRE_FALSE(closed.has_value());
  CHECK(closed.error().message.find("handing over descriptors") != std::string::npos);
  CHECK(ChildProcess::spawn(request, {{0, 3}, {1, 3}}).error().code == ErrorCode::InvalidArgument);
  siginfo_t info{};
  CHECK(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -1);
}
