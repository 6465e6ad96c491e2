#include "exec/spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Boost.Process 1.81 uses these without including them.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/optional.hpp>
#include <boost/type_traits/decay.hpp>
#include <limits>
#include <memory>

#define BOOST_PROCESS_USE_STD_FS
#include <boost/process/v2/posix/vfork_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/version.hpp>
#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <optional>

#include "support/errno_error.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

namespace kernelgen {
inline namespace v0 {
namespace {

namespace process = boost::process::v2;
using boost::system::error_code;

/// A step of the child that can fail.
enum class Step : int { Descriptors, Limits, Directory, Execute };

struct Failure {
  Step step = Step::Execute;
  int error = 0;
};

/// Tells the parent which step failed. After a vfork it is in the parent's memory when the launcher returns. Otherwise
/// it comes through a pipe that closes when the program is executed, or later, where another thread forked meanwhile.
class FailureReport {
 public:
  /// The child's end gets a number of at least `lowest`, so that no inherited descriptor takes its place.
  Result<void> open(int lowest) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "cannot make a pipe");
    reading_.reset(ends[0]);
    const UniqueFd writing(ends[1]);
    writing_.reset(::fcntl(writing.get(), F_DUPFD_CLOEXEC, lowest));
    if (!writing_.valid()) return errno_error(errno, "cannot make a pipe");
    return {};
  }

  [[nodiscard]] int fd() const { return writing_.get(); }
  void set_step(Step step) { failure_.step = step; }

  /// The first initializer.
  template <class... Context>
  error_code on_exec_setup(const Context&...) {
    shares_memory_ = true;
    return {};
  }

  /// Boost.Process calls this in a child that did not become the program. Skips the exit handlers of the parent.
  template <class... Context>
  [[noreturn]] void on_exec_error(const Context&...) {
    failure_.error = errno;
    // A pipe takes a record of this size whole or not at all; a failure here cannot be reported.
    [[maybe_unused]] const ssize_t written = ::write(writing_.get(), &failure_, sizeof failure_);
    ::_exit(127);
  }

  /// In the parent: waits until the program is executed, or has failed.
  Result<std::optional<Failure>> read() {
    writing_.reset();
    if (shares_memory_) return failure_.error == 0 ? std::nullopt : std::optional(failure_);
    Failure failure;
    ssize_t count = 0;
    do {
      count = ::read(reading_.get(), &failure, sizeof failure);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return errno_error(errno, "cannot learn whether a program was started");
    return count == 0 ? std::nullopt : std::optional(failure);
  }

 private:
  UniqueFd reading_;
  UniqueFd writing_;
  Failure failure_;
  bool shares_memory_ = false;
};

/// An initializer of Boost.Process: an action of the child before it becomes the program. The action is false, with
/// errno, when it failed. It allocates nothing and takes no lock, because vfork is a fork under some sanitizers and
/// emulators, and another thread may have held the allocator's lock then.
template <class Action>
struct InChild {
  FailureReport& report;
  Step step;
  Action action;

  template <class... Context>
  error_code on_exec_setup(const Context&...) {
    if (action()) return {};
    report.set_step(step);
    return {errno, boost::system::system_category()};
  }
};

template <class Action>
InChild<Action> in_child(FailureReport& report, Step step, Action action) {
  return {report, step, action};
}

/// Makes the process the leader of a group, and has it killed when the thread that started it ends.
bool lead_group(pid_t parent, ParentDeath on_parent_death) {
  ::setpgid(0, 0);
  if (on_parent_death == ParentDeath::Ignore) return true;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before the line above
  return true;
}

/// Undoes what the caller ignores and blocks: with SIGPIPE ignored, `yes | head` does not end.
bool reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

/// Boost.Process closes what is not listed, too, but before 1.85 only above the highest number that is.
void close_others_on_exec() {
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  rlimit open_files{};
  ::getrlimit(RLIMIT_NOFILE, &open_files);
  const int last = static_cast<int>(std::min<rlim_t>(open_files.rlim_cur, 65'536));
  for (int fd = 3; fd < last; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// An inherited descriptor, and its copy above all numbers that the child gets.
struct PlacedDescriptor {
  InheritedDescriptor wanted;
  int moved = -1;
};

bool place_descriptors(std::vector<PlacedDescriptor>& descriptors, int first_free) {
  close_others_on_exec();
  // They are copied first, because 3 -> 4 and 4 -> 3 may both be wanted.
  for (auto& [wanted, moved] : descriptors)
    if ((moved = ::fcntl(wanted.parent, F_DUPFD_CLOEXEC, first_free)) < 0) return false;
  for (const auto& [wanted, moved] : descriptors)
    if (::dup2(moved, wanted.child) < 0) return false;
  return true;
}

struct Limit {
  int resource = 0;
  rlim_t value = 0;
};

/// The limits, or the caller's own hard limits where those are lower: raising them would be refused.
std::vector<Limit> limits_of(const ResourceLimits& wanted) {
  std::vector<Limit> limits;
  const auto add = [&](int resource, std::optional<std::uint64_t> value) {
    if (!value) return;
    rlimit now{};
    ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
    limits.push_back({resource, std::min<rlim_t>(*value, now.rlim_max)});
  };
  add(RLIMIT_AS, wanted.address_space_bytes);
  add(RLIMIT_FSIZE, wanted.file_size_bytes);
  add(RLIMIT_CPU, wanted.cpu_seconds);
  add(RLIMIT_CORE, wanted.core_bytes.value_or(0));
  return limits;
}

bool set_limits(const std::vector<Limit>& limits) {
  return std::all_of(limits.begin(), limits.end(), [](const Limit& limit) {
    const rlimit value{limit.value, limit.value};
    return ::setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &value) == 0;
  });
}

Error describe(const Failure& failure, const ChildRequest& request, const std::string& program) {
  const std::string what = "cannot run " + request.command.front();
  switch (failure.step) {
    case Step::Descriptors:
      return errno_error(failure.error, what + ": handing over descriptors");
    case Step::Limits:
      return errno_error(failure.error, what + ": setting resource limits");
    case Step::Directory:
      return errno_error(failure.error, what + " in directory " + request.working_directory);
    case Step::Execute:
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

Result<void> check_request(const ChildRequest& request, const std::vector<InheritedDescriptor>& descriptors) {
  if (request.command.empty() || request.command.front().empty())
    return Error{ErrorCode::InvalidArgument, "cannot run an empty command", {}};
  const auto invalid = [&](const std::string& reason) {
    return Error{ErrorCode::InvalidArgument, "cannot run " + request.command.front() + ": " + reason, {}};
  };
  for (const auto& argument : request.command)
    if (argument.find('\0') != std::string::npos) return invalid("zero byte in an argument");
  for (const auto& [name, value] : request.environment)
    if (name.empty() || (name + value).find('\0') != std::string::npos || name.find('=') != std::string::npos)
      return invalid("bad environment variable '" + name + "'");
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (descriptors[i].child < 0 || (j < i && descriptors[i].child == descriptors[j].child))
        return invalid("descriptor " + std::to_string(descriptors[i].child) + " cannot be given, or was given twice");
  return {};
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts) pointers.push_back(text.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts the program. The thread's signals are blocked meanwhile, because a handler of the caller must not run in the
/// child. The launcher keeps the pid; an error without a pid says that there is no process.
template <class... Initializers>
error_code launch(process::posix::vfork_launcher& launcher, const std::string& program, const char** arguments,
                  Initializers&&... initializers) {
  // The launcher asks for a context; no thread ever runs this one.
  boost::asio::io_context context(1);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  error_code error;
  try {
    launcher(context.get_executor(), error, std::filesystem::path(program), arguments, initializers...).detach();
  } catch (const std::exception&) {
    // Without a pidfd, as before Linux 5.3, Boost.Process has no handle for the process, which runs all the same.
    if (launcher.pid <= 0) error.assign(ENOMEM, boost::system::system_category());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace

Result<pid_t> spawn_process(const ChildRequest& request, const std::vector<InheritedDescriptor>& inherited) {
  KERNELGEN_CHECK(check_request(request, inherited));
  KERNELGEN_TRY(const auto program, find_program(request.command.front(), request.environment));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return errno_error(errno, "cannot open /dev/null");

  std::vector<PlacedDescriptor> descriptors;
  int first_free = 3;
  for (const auto& wanted : inherited) {
    descriptors.push_back({wanted});
    first_free = std::max(first_free, wanted.child + 1);
  }
  for (int standard = 0; standard < 3; ++standard)
    if (std::none_of(inherited.begin(), inherited.end(), [&](const auto& d) { return d.child == standard; }))
      descriptors.push_back({{null.get(), standard}});
  FailureReport report;
  KERNELGEN_CHECK(report.open(first_free));
  const auto limits = limits_of(request.limits);
  const auto& directory = request.working_directory;
  auto arguments = pointers_to(request.command);
  std::vector<std::string> variables;
  for (const auto& [name, value] : request.environment) variables.push_back(name + "=" + value);
  const auto environment = pointers_to(variables);

  process::posix::vfork_launcher launcher;
  launcher.env = environment.data();
  launcher.fd_whitelist.push_back(report.fd());
  for (const auto& descriptor : descriptors) launcher.fd_whitelist.push_back(descriptor.wanted.child);
  const error_code error =
      launch(launcher, program, arguments.data(), report,
             in_child(report, Step::Execute,
                      [&, parent = ::getpid()] { return lead_group(parent, request.parent_death) && reset_signals(); }),
             in_child(report, Step::Descriptors, [&] { return place_descriptors(descriptors, first_free); }),
             in_child(report, Step::Limits, [&] { return set_limits(limits); }),
             in_child(report, Step::Directory, [&] { return directory.empty() || ::chdir(directory.c_str()) == 0; }));
  if (launcher.pid <= 0)
    return Error{ErrorCode::Unavailable, errno_error(error.value(), "cannot run " + request.command.front()).message};

  auto failure = report.read();
  if (failure && !*failure) return launcher.pid;
  // Since 1.88, Boost.Process reaps a child that it knows to have failed.
  if (BOOST_VERSION < 108800 || !error) {
    ::kill(launcher.pid, SIGKILL);
    while (::waitpid(launcher.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (!failure) return std::move(failure).error();
  return describe(**failure, request, program);
}

}  // namespace v0
}  // namespace kernelgen
