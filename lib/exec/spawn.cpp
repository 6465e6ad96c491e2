#include "exec/spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include "support/errno_error.hpp"
#include "support/try.hpp"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

namespace kernelgen {
inline namespace v0 {
namespace {

/// Where the child was when it gave up. Travels through a pipe with the errno.
enum class Stage : int { Descriptors, Limits, Directory, Execute };

struct Failure {
  Stage stage = Stage::Execute;
  int error = 0;
};

struct Limit {
  int resource = 0;
  rlim_t value = 0;
};

/// Everything the child needs, made before the fork: other threads may hold the allocator's locks then.
struct Plan {
  std::string program;
  std::vector<const char*> argv;
  std::vector<std::string> environment_text;
  std::vector<const char*> environment;
  std::string directory;
  std::vector<Limit> limits;
  std::vector<InheritedDescriptor> descriptors;
  std::vector<int> moved;
  int first_free = 3;
  int error_fd = -1;
  pid_t parent = 0;
  bool die_with_parent = true;
};

[[noreturn]] void give_up(const Plan& plan, Stage stage) {
  const Failure failure{stage, errno};
  // A pipe takes a record of this size whole or not at all; nobody could be told about a failure here.
  [[maybe_unused]] const ssize_t written = ::write(plan.error_fd, &failure, sizeof failure);
  ::_exit(127);
}

void close_the_rest_on_exec() {
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  rlimit open_files{};
  ::getrlimit(RLIMIT_NOFILE, &open_files);
  const int last = static_cast<int>(std::min<rlim_t>(open_files.rlim_cur, 65'536));
  for (int fd = 3; fd < last; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// The caller's ignored and blocked signals are its own business: SIGPIPE ignored breaks `yes | head` in a child.
void reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void place_descriptors(Plan& plan) {
  // First out of each other's way, then to their places: 3 -> 4 and 4 -> 3 may both be wanted.
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    plan.moved[i] = ::fcntl(plan.descriptors[i].parent, F_DUPFD_CLOEXEC, plan.first_free);
    if (plan.moved[i] < 0) give_up(plan, Stage::Descriptors);
  }
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i)
    if (::dup2(plan.moved[i], plan.descriptors[i].child) < 0) give_up(plan, Stage::Descriptors);
}

/// Runs in the child, after fork. Never returns and never allocates.
[[noreturn]] void become(Plan& plan) {
  ::setpgid(0, 0);
  if (plan.die_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) ::_exit(127);  // it died before the line above
  }
  reset_signals();
  close_the_rest_on_exec();
  place_descriptors(plan);
  for (const Limit& limit : plan.limits) {
    const rlimit value{limit.value, limit.value};
    if (::setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &value) != 0) give_up(plan, Stage::Limits);
  }
  if (!plan.directory.empty() && ::chdir(plan.directory.c_str()) != 0) give_up(plan, Stage::Directory);
  ::execve(plan.program.c_str(), const_cast<char* const*>(plan.argv.data()),
           const_cast<char* const*>(plan.environment.data()));
  give_up(plan, Stage::Execute);
}

/// The limit, or the caller's own hard limit where that is lower: raising it would be refused.
void add_limit(Plan& plan, int resource, std::optional<std::uint64_t> value) {
  if (!value) return;
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
  plan.limits.push_back({resource, std::min<rlim_t>(*value, now.rlim_max)});
}

Plan make_plan(const ChildRequest& request, std::string program, std::vector<InheritedDescriptor> descriptors) {
  Plan plan;
  plan.program = std::move(program);
  for (const auto& argument : request.command) plan.argv.push_back(argument.c_str());
  plan.argv.push_back(nullptr);
  for (const auto& [name, value] : request.environment) plan.environment_text.push_back(name + "=" + value);
  for (const auto& text : plan.environment_text) plan.environment.push_back(text.c_str());
  plan.environment.push_back(nullptr);
  plan.directory = request.working_directory;
  add_limit(plan, RLIMIT_AS, request.limits.address_space_bytes);
  add_limit(plan, RLIMIT_FSIZE, request.limits.file_size_bytes);
  add_limit(plan, RLIMIT_CPU, request.limits.cpu_seconds);
  add_limit(plan, RLIMIT_CORE, request.limits.core_bytes.value_or(0));
  plan.descriptors = std::move(descriptors);
  plan.moved.resize(plan.descriptors.size());
  for (const auto& descriptor : plan.descriptors) plan.first_free = std::max(plan.first_free, descriptor.child + 1);
  plan.parent = ::getpid();
  plan.die_with_parent = request.parent_death == ParentDeath::Kill;
  return plan;
}

Error describe(const Failure& failure, const ChildRequest& request, const std::string& program) {
  const std::string what = "cannot run " + request.command.front();
  switch (failure.stage) {
    case Stage::Descriptors:
      return errno_error(failure.error, what + ": handing over descriptors");
    case Stage::Limits:
      return errno_error(failure.error, what + ": setting resource limits");
    case Stage::Directory:
      return errno_error(failure.error, what + " in directory " + request.working_directory);
    case Stage::Execute:
      break;
  }
  if (failure.error == ENOENT && ::access(program.c_str(), F_OK) == 0)
    return {ErrorCode::MissingTool, what + ": the interpreter or loader that " + program + " asks for is missing", {}};
  if (failure.error == ENOENT || failure.error == ENOTDIR)
    return {ErrorCode::MissingTool, what + ": no such program", {}};
  if (failure.error == ENOEXEC)
    return {ErrorCode::MissingTool, what + ": " + program + " is not a program for this machine", {}};
  return errno_error(failure.error, what);
}

Result<Failure> read_failure(int fd) {
  Failure failure{Stage::Execute, 0};
  ssize_t count = 0;
  do {
    count = ::read(fd, &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno_error(errno, "cannot learn whether a program was started");
  if (count == 0) failure.error = 0;
  return failure;
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<void> check_request(const ChildRequest& request, const std::vector<InheritedDescriptor>& descriptors) {
  if (request.command.empty() || request.command.front().empty())
    return Error{ErrorCode::InvalidArgument, "cannot run an empty command", {}};
  for (const auto& argument : request.command)
    if (argument.find('\0') != std::string::npos)
      return Error{
          ErrorCode::InvalidArgument, "cannot run " + request.command.front() + ": zero byte in an argument", {}};
  for (const auto& [name, value] : request.environment)
    if (name.empty() || (name + value).find('\0') != std::string::npos || name.find('=') != std::string::npos)
      return Error{ErrorCode::InvalidArgument,
                   "cannot run " + request.command.front() + ": bad environment variable '" + name + "'",
                   {}};
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (descriptors[i].child < 0 || (j < i && descriptors[i].child == descriptors[j].child))
        return Error{ErrorCode::InvalidArgument,
                     "cannot run " + request.command.front() + ": descriptor " + std::to_string(descriptors[i].child) +
                         " cannot be given, or was given twice",
                     {}};
  return {};
}

/// Not through Boost.Process v2, whose launcher (1.81) allocates between fork and exec, which hung the child of a
/// threaded parent in one run of a hundred; it also leaves open the descriptors between its whitelisted ones, runs the
/// parent's atexit handlers when exec fails, and may overwrite its error pipe with an inherited descriptor.
Result<pid_t> fork_child(Plan& plan, const std::string& name) {
  // The caller's signal handlers must not run in the child: they would find a half of their world.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become(plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid > 0) return pid;
  return Error{ErrorCode::Unavailable, errno_error(error, "cannot run " + name).message, {}};
}

}  // namespace

Result<Spawned> spawn_process(const ChildRequest& request, const std::vector<InheritedDescriptor>& inherited) {
  KERNELGEN_CHECK(check_request(request, inherited));
  KERNELGEN_TRY(auto program, find_program(request.command.front(), request.environment));

  auto descriptors = inherited;
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return errno_error(errno, "cannot open /dev/null");
  for (int standard = 0; standard < 3; ++standard)
    if (std::none_of(inherited.begin(), inherited.end(), [&](const auto& d) { return d.child == standard; }))
      descriptors.push_back({null.get(), standard});

  Plan plan = make_plan(request, std::move(program), std::move(descriptors));
  int pipe_ends[2] = {-1, -1};
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return errno_error(errno, "cannot make a pipe");
  UniqueFd reading(pipe_ends[0]);
  UniqueFd writing(pipe_ends[1]);
  // Above every number that the child will be given.
  UniqueFd high(::fcntl(writing.get(), F_DUPFD_CLOEXEC, plan.first_free));
  if (!high.valid()) return errno_error(errno, "cannot make a pipe");
  writing.reset();
  plan.error_fd = high.get();

  KERNELGEN_TRY(const pid_t pid, fork_child(plan, request.command.front()));
  high.reset();
  // In parent and child, so that whoever comes first may already rely on it. Fails harmlessly after the exec.
  ::setpgid(pid, pid);
  auto failure = read_failure(reading.get());
  if (!failure || failure->error != 0) {
    ::kill(pid, SIGKILL);
    reap(pid);
    if (!failure) return std::move(failure).error();
    return describe(*failure, request, plan.program);
  }
  Spawned spawned;
  spawned.pid = pid;
  spawned.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return spawned;
}

}  // namespace v0
}  // namespace kernelgen
