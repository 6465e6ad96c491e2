/**
 * \file
 * kgen-sandbox: runs a program, usually a compiler, in the sandbox of the runners, with a file system that contains
 * only a toolchain and one writable directory.
 *
 *   kgen-sandbox --report FILE [--directory DIR] [--read PATH]... [--hide DIR]... [--view runner] [--device NODE]...
 *                [--] [PROGRAM ARGUMENT...]
 *
 * Ends as the program ended: with its exit status, or by its signal. Nothing that it started outlives this process. The
 * program runs at low priority (nice 10). --view runner: it sees what runners see, with the paths of --read. --device:
 * it and the processes that it starts may use these nodes of a GPU, and sockets in a network of their own.
 *
 * FILE ("-": standard output) gets one line before the program starts: "isolation BITS" (KGEN_ISOLATION_*), or "failed
 * sandbox ERRNO" or "failed exec ERRNO"; the exit status is 127 then. Without a program it only reports.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner_protocol.h"
#include "sandbox_parts.h"

/* The report of the sandboxed side before it turns into the program. */
struct fact {
  uint32_t failed; /* 0; 1: the sandbox; 2: the program */
  uint32_t value;  /* isolation bits, or errno */
};

struct command {
  const char* report;
  struct kgen_sandbox_options options;
  char** program;
};

/* A tool that watches a candidate keeps what it knows in files. */
enum { k_scratch_bytes = 1 << 30, k_device_files = 65536 };

static int parse(int argc, char** argv, struct command* command) {
  /* One entry for each argument is more than enough; the lists end with NULL. */
  size_t only_count = 0;
  while (kgen_sandbox_system_paths[only_count] != NULL) ++only_count;
  const char** only = calloc((size_t)argc + only_count + 1, sizeof *only);
  const char** hidden = calloc((size_t)argc + 1, sizeof *hidden);
  const char** devices = calloc((size_t)argc + 1, sizeof *devices);
  if (only == NULL || hidden == NULL || devices == NULL) return -1;
  memcpy(only, kgen_sandbox_system_paths, only_count * sizeof *only);
  size_t hidden_count = 0;
  size_t device_count = 0;
  memset(command, 0, sizeof *command);
  command->options.struct_size = sizeof command->options;
  command->options.only_paths = only;
  command->options.hidden_paths = hidden;
  int runner_view = 0;
  int at = 1;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    const char* name = argv[at];
    if (strcmp(name, "--") == 0) {
      ++at;
      break;
    }
    if (at + 1 == argc) return -1;
    if (strcmp(name, "--report") == 0)
      command->report = argv[at + 1];
    else if (strcmp(name, "--directory") == 0)
      command->options.writable_directory = argv[at + 1];
    else if (strcmp(name, "--read") == 0)
      only[only_count++] = argv[at + 1];
    else if (strcmp(name, "--hide") == 0)
      hidden[hidden_count++] = argv[at + 1];
    else if (strcmp(name, "--device") == 0)
      devices[device_count++] = argv[at + 1];
    else if (strcmp(name, "--view") == 0 && strcmp(argv[at + 1], "runner") == 0)
      runner_view = 1;
    else
      return -1;
  }
  if (runner_view) {
    command->options.only_paths = NULL;
    command->options.visible_paths = only;
    command->options.scratch_bytes = k_scratch_bytes;
  }
  if (device_count > 0) {
    command->options.devices = devices;
    command->options.max_files = k_device_files;
    command->options.sockets_at_first = 1;
    command->options.loopback = 1;
    command->options.watching_tool = 1;
  }
  command->program = argv + at;
  return command->report == NULL ? -1 : 0;
}

static void tell(int fd, struct fact fact) {
  ssize_t written;
  do {
    written = write(fd, &fact, sizeof fact);
  } while (written < 0 && errno == EINTR);
}

static _Noreturn void enter_and_run(const struct command* command, int status_fd, int fact_fd) {
  struct kgen_sandbox_options options = command->options;
  options.keep_fds = &fact_fd;
  options.keep_fd_count = 1;
  uint32_t isolation = 0;
  const int refused = kgen_sandbox_enter(status_fd, &options, &isolation);
  if (refused != 0) {
    tell(fact_fd, (struct fact){1, (uint32_t)-refused});
    _exit(127);
  }
  /* Sockets stay possible, and must not lead out. */
  if (options.sockets_at_first != 0 && (isolation & KGEN_ISOLATION_NET) == 0) {
    tell(fact_fd, (struct fact){1, EPERM});
    _exit(127);
  }
  tell(fact_fd, (struct fact){0, isolation});
  if (command->program[0] == NULL) _exit(0);
  execv(command->program[0], command->program);
  tell(fact_fd, (struct fact){2, (uint32_t)errno});
  _exit(127);
}

/* Reports until the other side has turned into the program, or is gone. */
static void report_facts(int report_fd, int fact_fd) {
  struct fact last = {1, ECHILD};
  struct fact one;
  ssize_t got;
  while ((got = read(fact_fd, &one, sizeof one)) != 0) {
    if (got == (ssize_t)sizeof one) last = one;
    if (got < 0 && errno != EINTR) break;
  }
  static const char* const k_names[] = {"isolation", "failed sandbox", "failed exec"};
  dprintf(report_fd, "%s %u\n", k_names[last.failed < 3 ? last.failed : 1], last.value);
}

/* The wait status of the program; -1 when it is unknown. *asked is the signal that asked us to end. */
static int watch(int status_fd, int signal_fd, int* asked) {
  int ended = -1;
  for (;;) {
    struct pollfd watched[2] = {{status_fd, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return ended;
    }
    if (watched[1].revents != 0) {
      struct signalfd_siginfo info;
      if (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) *asked = (int)info.ssi_signo;
      return ended;
    }
    struct kgen_status_record record;
    const ssize_t got = read(status_fd, &record, sizeof record);
    if (got < 0 && errno == EINTR) continue;
    if (got != (ssize_t)sizeof record) return ended; /* the supervisor has gone */
    if (record.magic == KGEN_STATUS_MAGIC && record.what == KGEN_SUPERVISOR_ENDED) ended = (int)record.value;
  }
}

static _Noreturn void end_by(int number) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none); /* a core dump of this process would be useless */
  signal(number, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  raise(number);
  _exit(128 + number);
}

#if defined(__SANITIZE_ADDRESS__)
/* The leak checker cannot inspect its process through the new root, and would end this process with an error. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }
#endif

/* Programs run at low priority: what is measured at the same time goes first. */
enum { k_niceness = 10 };

int main(int argc, char** argv) {
  static struct command command; /* its lists are reachable to the end */
  if (parse(argc, argv, &command) != 0) {
    fputs(
        "usage: kgen-sandbox --report FILE [--directory DIR] [--read PATH]... [--hide DIR]... [--view runner]\n"
        "                    [--device NODE]... [--] [PROGRAM ...]\n",
        stderr);
    return 64;
  }
  const int report_fd = strcmp(command.report, "-") == 0
                            ? fcntl(1, F_DUPFD_CLOEXEC, 3)
                            : open(command.report, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  int status[2];
  int facts[2];
  if (report_fd < 0 || pipe2(status, O_CLOEXEC) != 0 || pipe2(facts, O_CLOEXEC) != 0) {
    fprintf(stderr, "kgen-sandbox: %s: %s\n", command.report, strerror(errno));
    return 127;
  }
  setpriority(PRIO_PROCESS, 0, k_niceness);
  /* The supervisor becomes our child; once it has been reaped, nothing is left. */
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  sigset_t asking;
  sigset_t before;
  sigemptyset(&asking);
  sigaddset(&asking, SIGTERM);
  sigaddset(&asking, SIGINT);
  sigaddset(&asking, SIGHUP);
  sigprocmask(SIG_BLOCK, &asking, &before);
  const int signal_fd = signalfd(-1, &asking, SFD_CLOEXEC);
  const pid_t child = signal_fd < 0 ? -1 : fork();
  if (child < 0) {
    dprintf(report_fd, "failed sandbox %d\n", errno);
    return 127;
  }
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(status[0]);
    enter_and_run(&command, status[1], facts[1]);
  }
  close(status[1]);
  close(facts[1]);
  report_facts(report_fd, facts[0]);
  int asked = 0;
  const int ended = watch(status[0], signal_fd, &asked);
  close(status[0]); /* a supervisor that still runs now ends everything */
  while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
  }
  if (asked != 0) end_by(asked);
  if (ended >= 0 && WIFSIGNALED(ended)) end_by(WTERMSIG(ended));
  return ended >= 0 && WIFEXITED(ended) ? WEXITSTATUS(ended) : 127;
}
