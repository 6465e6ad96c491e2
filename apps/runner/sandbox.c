#define _GNU_SOURCE
#include "sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner_protocol.h"
#include "sandbox_parts.h"

static void write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  /* A failure shows later, as a namespace that cannot be used. */
  const ssize_t written = write(fd, text, strlen(text));
  (void)written;
  close(fd);
}

static void report(int status_fd, int what, int64_t value) {
  const struct kgen_status_record record = {KGEN_STATUS_MAGIC, what, value};
  ssize_t written;
  if (status_fd < 0) return;
  do {
    written = write(status_fd, &record, sizeof record);
  } while (written < 0 && errno == EINTR);
}

/* The caller keeps its user and group inside: files that it may read (a virtual environment in a private home) stay
 * readable. The read-only view prevents writing, the pid namespace prevents signals. Root becomes the unprivileged user
 * in the end. */
static uint32_t enter_namespaces(int* has_unprivileged) {
  static const struct {
    int flag;
    uint32_t bit;
  } others[] = {{CLONE_NEWNS, KGEN_ISOLATION_MOUNT},
                {CLONE_NEWPID, KGEN_ISOLATION_PID},
                {CLONE_NEWNET, KGEN_ISOLATION_NET},
                {CLONE_NEWIPC, KGEN_ISOLATION_IPC},
                {CLONE_NEWUTS, 0}};
  uint32_t isolation = geteuid() != 0 ? KGEN_ISOLATION_NOT_ROOT : 0;
  if (kgen_sandbox_enter_users(has_unprivileged) == 0) isolation |= KGEN_ISOLATION_USER;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
    if (unshare(others[i].flag) == 0) isolation |= others[i].bit;
  }
  return isolation;
}

/* A new network namespace has a loopback device that is switched off. Without it, programs in the sandbox cannot talk
 * to each other by address. */
static void start_loopback(void) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  struct ifreq device = {.ifr_name = "lo"};
  device.ifr_flags = IFF_UP | IFF_RUNNING;
  const int refused = ioctl(fd, SIOCSIFFLAGS, &device);
  (void)refused; /* the program says then what it misses */
  close(fd);
}

/* Becomes the unprivileged user as well, if asked to. Returns 1 if it did. */
static int drop_capabilities(int drops_user) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  prctl(PR_SET_SECUREBITS,
        SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const int is_unprivileged = drops_user && kgen_sandbox_become_unprivileged() == 0;
  syscall(__NR_capset, &header, none);
  return is_unprivileged;
}

static void limit(int resource, uint64_t value) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now) != 0) return;
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value) value = now.rlim_max;
  now.rlim_cur = now.rlim_max = value;
  setrlimit((__rlimit_resource_t)resource, &now);
}

static uint64_t mapped_bytes(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == NULL) return 0;
  if (fscanf(file, "%lu", &pages) != 1) pages = 0;
  fclose(file);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int is_kept(int fd, const struct kgen_sandbox_options* options, int besides) {
  if (fd == besides) return 1;
  for (size_t i = 0; i < options->keep_fd_count; ++i) {
    if (options->keep_fds[i] == fd) return 1;
  }
  return fd <= 2;
}

/* An inherited directory descriptor would lead past every covered path. */
static void close_others(const struct kgen_sandbox_options* options, int besides) {
  if (options->keep_fds == NULL) return;
  DIR* directory = opendir("/proc/self/fd");
  if (directory == NULL) {
    for (int fd = 3; fd < 65536; ++fd) {
      if (!is_kept(fd, options, besides)) close(fd);
    }
    return;
  }
  for (const struct dirent* entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    const int fd = atoi(entry->d_name);
    if (fd != dirfd(directory) && !is_kept(fd, options, besides)) close(fd);
  }
  closedir(directory);
}

/* Kills all processes that the runner left. As pid 1 that is everything else in the namespace; otherwise this process
 * is a subreaper, so that orphans become its children, and it repeats until there are none. */
static void kill_survivors(pid_t runner) {
  if (getpid() == 1) {
    kill(-1, SIGKILL);
    return;
  }
  kill(-runner, SIGKILL);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  for (int round = 0; round < 1000; ++round) {
    FILE* children = fopen(path, "re");
    if (children == NULL) return;
    int pid;
    int found = 0;
    while (fscanf(children, "%d", &pid) == 1) {
      found = 1;
      kill(pid, SIGKILL);
    }
    fclose(children);
    if (!found) return;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    usleep(200);
  }
}

void kgen_hand_over(int socket, int fd) {
  char byte = 0;
  struct iovec data = {&byte, 1};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  memset(&control, 0, sizeof control);
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  (void)sent;
}

int kgen_take_over(int socket) {
  char byte;
  struct iovec data = {&byte, 1};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  int fd = -1;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

static _Noreturn void end_all(pid_t runner, int status_fd, int wait_status) {
  kill_survivors(runner);
  report(status_fd, KGEN_SUPERVISOR_ENDED, wait_status);
  _exit(0);
}

/* Reads the signals that have arrived. Returns 1 if the worker's seal is among them. */
static int read_signals(int signal_fd) {
  struct signalfd_siginfo info;
  int seals = 0;
  while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == KGEN_SEAL_SIGNAL) seals = 1;
  }
  return seals;
}

/* listener: the kernel asks on it before a process starts; -1: it does not. */
static _Noreturn void supervise(pid_t runner, int status_fd, int signal_fd, int listener) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  /* This process must not keep the control socket, the arena or the caller's pipes open. */
  for (int fd = 0; fd < 3; ++fd) close(fd);
  const int kept[] = {status_fd, signal_fd};
  const struct kgen_sandbox_options only_ours = {.struct_size = sizeof only_ours, .keep_fds = kept, .keep_fd_count = 2};
  close_others(&only_ours, listener);
  /* poll() skips descriptors below 0. */
  struct pollfd watched[3] = {{signal_fd, POLLIN, 0}, {status_fd, 0, 0}, {listener, POLLIN, 0}};
  int sealed = 0;
  for (;;) {
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended == runner) end_all(runner, status_fd, status);
    }
    if (poll(watched, 3, -1) < 0 && errno != EINTR) break;
    if ((watched[2].revents & POLLIN) != 0 && kgen_sandbox_answer(listener, sealed)) end_all(runner, status_fd, SIGSYS);
    if ((watched[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) watched[2].fd = -1;
    if (watched[0].revents != 0 && read_signals(signal_fd)) {
      sealed = 1;
      report(status_fd, KGEN_SUPERVISOR_SEALED, listener >= 0);
    }
    if (status_fd >= 0 && (watched[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) break;
  }
  kill_survivors(runner);
  _exit(1);
}

/* Makes this process's own threads writable in the read-only /proc, because CUDA's driver does not start when it cannot
 * name its threads. Where this is refused, opening the device fails with a message. */
static void open_own_threads(void) {
  if (mount("/proc/self/task", "/proc/self/task", NULL, MS_BIND, NULL) == 0)
    kgen_sandbox_make_writable("/proc/self/task");
}

static enum kgen_sandbox_use use_of(const struct kgen_sandbox_options* options, int own_pids) {
  if (options->sockets_at_first == 0) return KGEN_SANDBOX_HOST;
  /* Without a pid namespace, a tool could read other processes. */
  return options->watching_tool != 0 && own_pids ? KGEN_SANDBOX_TOOL : KGEN_SANDBOX_DEVICE;
}

/* Sets the signal for the parent's death. */
static void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(1); /* it ended before the signal was set */
}

static void become_runner(pid_t supervisor, int status_fd, const struct kgen_sandbox_options* options,
                          uint32_t* isolation, int drops_user, int watch_socket) {
  const int own_pids = (*isolation & KGEN_ISOLATION_PID) != 0;
  die_with(supervisor);
  setpgid(0, 0);
  if (status_fd >= 0) close(status_fd);
  close_others(options, watch_socket);
  const int own_files = (*isolation & KGEN_ISOLATION_MOUNT) != 0;
  const char* scratch = options->writable_directory;
  if (scratch == NULL) scratch = own_files ? "/tmp" : NULL;
  if (own_files) setenv("HOME", "/tmp", 1);
  if (scratch != NULL) setenv("TMPDIR", scratch, 1);
  if (chdir(scratch != NULL ? scratch : "/") != 0) _exit(1);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, options->max_files != 0 ? options->max_files : 1024);
  /* Kernels before 5.14 count a user's processes over all namespaces; this is far above any honest need. */
  limit(RLIMIT_NPROC, 16384);
  if (options->address_space_bytes != 0) limit(RLIMIT_AS, mapped_bytes() + options->address_space_bytes);
  if (options->devices != NULL && options->devices[0] != NULL && (*isolation & KGEN_ISOLATION_PROC) != 0)
    open_own_threads();
  const int is_unprivileged = drop_capabilities(drops_user);
  if (drops_user && !is_unprivileged)
    _exit(1); /* the directories that it may write to belong to the unprivileged user now */
  if (is_unprivileged) *isolation |= KGEN_ISOLATION_NOT_ROOT | KGEN_ISOLATION_OTHER_USER;
  die_with(supervisor); /* becoming another user has cleared it */
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if ((!own_files || !own_pids) && kgen_sandbox_restrict_access(options, own_files) == 0)
    *isolation |= KGEN_ISOLATION_LANDLOCK;
  /* Another user, or dropped capabilities in a user namespace, may have cleared it; /proc/self would then belong to the
   * overflow user.
   */
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const int filtered = kgen_sandbox_install_filter(own_pids, use_of(options, own_pids)) == 0;
  if (watch_socket >= 0) {
    const int listener = filtered ? kgen_sandbox_watch_processes() : -1;
    if (listener >= 0) {
      kgen_hand_over(watch_socket, listener);
      close(listener);
      *isolation |= KGEN_ISOLATION_SEAL;
    }
    close(watch_socket);
  }
  const int walled = options->sockets_at_first != 0 || kgen_sandbox_driver_started() == 0;
  if (filtered && walled) *isolation |= KGEN_ISOLATION_SECCOMP;
}

int kgen_sandbox_enter(int status_fd, const struct kgen_sandbox_options* options, uint32_t* isolation) {
  struct kgen_sandbox_options chosen;
  memset(&chosen, 0, sizeof chosen);
  memcpy(&chosen, options, options->struct_size < sizeof chosen ? options->struct_size : sizeof chosen);
  /* A zygote's child is closed to others, and its /proc/self/uid_map to itself then. */
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  /* Set before /proc becomes read-only. When memory runs out, the kernel kills the candidate first. */
  write_file("/proc/self/oom_score_adj", "1000");
  int has_unprivileged = 0;
  uint32_t isolation_bits = enter_namespaces(&has_unprivileged);
  if (chosen.loopback != 0 && (isolation_bits & KGEN_ISOLATION_NET) != 0) start_loopback();
  sigset_t child;
  sigset_t before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigaddset(&child, KGEN_SEAL_SIGNAL);
  sigprocmask(SIG_BLOCK, &child, &before);
  signal(SIGCHLD, SIG_DFL);

  const pid_t supervisor = fork();
  if (supervisor < 0) return -errno;
  if (supervisor > 0) {
    /* Leave the process group before we end: the process that reaps us may kill the rest of the group. */
    setpgid(supervisor, supervisor);
    report(status_fd, KGEN_SUPERVISOR_STARTED, supervisor);
    _exit(0);
  }
  setsid();
  signal(SIGPIPE, SIG_IGN); /* the reader of the status pipe may be gone */
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  int drops_user = 0;
  if ((isolation_bits & KGEN_ISOLATION_MOUNT) != 0) {
    isolation_bits &= ~(uint32_t)KGEN_ISOLATION_MOUNT;
    const int own_pids = (isolation_bits & KGEN_ISOLATION_PID) != 0;
    const mode_t mask = umask(022); /* the view is for all users */
    isolation_bits |= kgen_sandbox_build_root(&chosen, own_pids);
    umask(mask);
    /* Without a view of its own, that user may be stopped on the way to a path. */
    drops_user =
        has_unprivileged && (isolation_bits & KGEN_ISOLATION_MOUNT) != 0 && kgen_sandbox_prepare_unprivileged(&chosen);
  }
  const int signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  int watch[2] = {-1, -1};
  if (chosen.watch_processes != 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, watch) != 0) _exit(1);
  const pid_t self = getpid();
  const pid_t runner = signal_fd < 0 ? -1 : fork();
  if (runner < 0) _exit(1);
  if (runner > 0) {
    close(watch[1]);
    supervise(runner, status_fd, signal_fd, watch[0] < 0 ? -1 : kgen_take_over(watch[0]));
  }
  close(signal_fd);
  if (watch[0] >= 0) close(watch[0]);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  become_runner(self, status_fd, &chosen, &isolation_bits, drops_user, watch[1]);
  if (isolation != NULL) *isolation = isolation_bits;
  return 0;
}
