// A program that misbehaves on purpose. Usage: misbehave MODE [ARGUMENT]

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

void sleep_for_ever() {
  while (true) ::pause();
}

void write_text(int fd, const std::string& text) {
  if (::write(fd, text.data(), text.size()) < 0) std::_Exit(9);
}

int ignore_term() {
  std::signal(SIGTERM, SIG_IGN);
  write_text(1, "ready\n");
  sleep_for_ever();
  return 0;
}

int flood(long bytes) {
  const std::string block(1 << 16, 'x');
  for (long written = 0; written < bytes; written += static_cast<long>(block.size())) {
    write_text(1, block);
    write_text(2, block);
  }
  return 0;
}

/// Leaves a child that holds the pipes; with `leave_group`, the child is not in the process group either.
int leave_child(bool leave_group) {
  if (::fork() == 0) {
    if (leave_group) ::setsid();
    std::signal(SIGTERM, SIG_IGN);
    // Longer than any test waits, and short enough that no process outlives the tests for long.
    ::alarm(20);
    sleep_for_ever();
  }
  write_text(1, "left\n");
  return 0;
}

/// Prints the pid of a child in this process group, which ignores TERM.
int child_pid() {
  int ready[2];
  if (::pipe(ready) != 0) return 9;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_IGN);
    write_text(ready[1], "x");
    ::close(0), ::close(1), ::close(2);
    sleep_for_ever();
  }
  char byte = 0;
  if (::read(ready[0], &byte, 1) != 1) return 9;
  write_text(1, std::to_string(child) + "\n");
  return 0;
}

/// Ends the first thread only.
int outlive() {
  std::thread(sleep_for_ever).detach();
  ::pthread_exit(nullptr);
}

int echo() {
  std::string line;
  std::cout << std::cin.rdbuf() << std::flush;
  return 0;
}

int list_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return 9;
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(directory)) std::cout << fd << "\n";
  }
  ::closedir(directory);
  return 0;
}

int show_limits() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_CORE}) {
    rlimit limit{};
    ::getrlimit(resource, &limit);
    std::cout << (limit.rlim_cur == RLIM_INFINITY ? std::string("none") : std::to_string(limit.rlim_cur)) << "\n";
  }
  return 0;
}

int show_signals() {
  struct sigaction action {};
  ::sigaction(SIGPIPE, nullptr, &action);
  sigset_t blocked;
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  std::cout << (action.sa_handler == SIG_DFL ? "default" : "changed") << " "
            << (::sigismember(&blocked, SIGUSR1) != 0 ? "blocked" : "open") << "\n";
  return 0;
}

/// Answers each byte on a descriptor with its successor, until the other side closes.
int serve(int fd) {
  char byte = 0;
  while (::read(fd, &byte, 1) == 1) {
    ++byte;
    if (::write(fd, &byte, 1) != 1) return 9;
  }
  return 5;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::string argument = argc > 2 ? argv[2] : "0";
  const long number = std::atol(argument.c_str());
  if (mode == "exit") return static_cast<int>(number);
  if (mode == "ignore-term") return ignore_term();
  if (mode == "sleep") sleep_for_ever();
  if (mode == "flood") return flood(number);
  if (mode == "leave-child") return leave_child(false);
  if (mode == "leave-daemon") return leave_child(true);
  if (mode == "child-pid") return child_pid();
  if (mode == "outlive") return outlive();
  if (mode == "echo") return echo();
  if (mode == "close-stdin") return ::close(0), ::usleep(100'000), 0;
  if (mode == "kill-self") return std::raise(static_cast<int>(number)), 0;
  if (mode == "stop-self") return std::raise(SIGSTOP), sleep_for_ever(), 0;
  if (mode == "descriptors") return list_descriptors();
  if (mode == "limits") return show_limits();
  if (mode == "signals") return show_signals();
  if (mode == "serve") return serve(static_cast<int>(number));
  if (mode == "pid") return std::cout << ::getpid() << " " << ::getpgrp() << "\n", 0;
  if (mode == "argv0") return std::cout << argv[0] << "\n", 0;
  if (mode == "both") return write_text(1, "out"), write_text(2, "err"), 0;
  if (mode == "allocate") return std::vector<char>(static_cast<std::size_t>(number)).size() == 0;
  if (mode == "environment") {
    for (char** entry = environ; *entry != nullptr; ++entry) std::cout << *entry << "\n";
    return 0;
  }
  std::cerr << "unknown mode\n";
  return 64;
}
