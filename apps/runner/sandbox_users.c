/* The user that the processes of the sandbox run as. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner_protocol.h"
#include "sandbox_parts.h"

static int write_text(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t written = write(fd, text, strlen(text));
  close(fd);
  return written == (ssize_t)strlen(text) ? 0 : -1;
}

/* Maps two numbers, of users or of groups, to themselves in a process's user namespace. */
static int map_two(pid_t process, const char* kind, unsigned first, unsigned second) {
  char path[64];
  char map[64];
  snprintf(path, sizeof path, "/proc/%d/%s_map", (int)process, kind);
  snprintf(map, sizeof map, "%u %u 1\n%u %u 1\n", first, first, second, second);
  return write_text(path, map);
}

/* It shares all memory with its parent, errno as well, and writes to none of it. */
static int sleep_until_killed(void* unused) {
  (void)unused;
  while (pause() != 0) { /* a signal with a handler interrupts it */
  }
  return 0;
}

/* A process that enters a new user namespace by itself may map its own user only. So another one is made in a new
 * namespace, which the caller, from outside, maps two users in, and then enters. It shares the caller's memory, because
 * copying the page tables of a process that has imported torch takes 10 ms. Returns 0, or -1. */
static int enter_with_unprivileged(void) {
  static _Alignas(16) char stack[16384];
  char path[64];
  const pid_t holder = clone(sleep_until_killed, stack + sizeof stack, CLONE_VM | CLONE_NEWUSER, NULL);
  if (holder < 0) return -1;
  const int mapped = map_two(holder, "uid", 0, KGEN_UNPRIVILEGED_USER) == 0 &&
                     map_two(holder, "gid", getegid(), KGEN_UNPRIVILEGED_USER) == 0;
  snprintf(path, sizeof path, "/proc/%d/ns/user", (int)holder);
  const int space = mapped ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  kill(holder, SIGKILL);
  while (waitpid(holder, NULL, __WALL) < 0 && errno == EINTR) {
  }
  const int entered = space >= 0 && setns(space, CLONE_NEWUSER) == 0;
  if (space >= 0) close(space);
  return entered ? 0 : -1;
}

/* The caller keeps its user and group in the namespace, and there are no others. */
static int enter_alone(void) {
  char map[64];
  const unsigned user = geteuid();
  const unsigned group = getegid();
  if (unshare(CLONE_NEWUSER) != 0) return -1;
  /* A failure shows later, as a namespace that cannot be used. */
  write_text("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1", user, user);
  write_text("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "%u %u 1", group, group);
  write_text("/proc/self/gid_map", map);
  return 0;
}

int kgen_sandbox_enter_users(int* has_unprivileged) {
  /* Root's further groups (disk, docker) would give access; other users may not drop theirs. */
  const int may_set_groups = setgroups(0, NULL) == 0;
  *has_unprivileged = may_set_groups && geteuid() == 0;
  if (*has_unprivileged && enter_with_unprivileged() == 0) return 0;
  if (enter_alone() != 0) return -1; /* without a namespace, every user is there */
  *has_unprivileged = 0;
  return 0;
}

/* Whether all users may do what the owner of a file may: read it, execute or enter it, or write to it if it is a
 * device.
 */
static int is_open_to_all(const char* path) {
  struct stat info;
  if (stat(path, &info) != 0) return 1; /* it is not in the view */
  const mode_t of_owner = info.st_mode & (S_ISCHR(info.st_mode) ? S_IRUSR | S_IWUSR : S_IRUSR | S_IXUSR);
  return (info.st_mode & (of_owner >> 6)) == of_owner >> 6;
}

static int are_open_to_all(const char* const* paths) {
  for (; paths != NULL && *paths != NULL; ++paths) {
    if (!is_open_to_all(*paths)) return 0;
  }
  return 1;
}

/* Gives a file or directory to the unprivileged user, with all that lies in it. Links are not followed. Returns 0, or
 * -1 where its file system refuses that. */
static int give(int parent, const char* name) {
  if (fchownat(parent, name, KGEN_UNPRIVILEGED_USER, KGEN_UNPRIVILEGED_USER, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0; /* a file */
  DIR* directory = fdopendir(fd);
  if (directory == NULL) {
    close(fd);
    return -1;
  }
  int answer = 0;
  for (const struct dirent* entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && give(fd, entry->d_name) != 0)
      answer = -1;
  }
  closedir(directory);
  return answer;
}

int kgen_sandbox_prepare_unprivileged(const struct kgen_sandbox_options* options) {
  const char* const* shown = options->only_paths != NULL ? options->only_paths : options->visible_paths;
  if (!are_open_to_all(shown) || !are_open_to_all(options->devices)) return 0;
  if (options->build_cache_directory != NULL && give(AT_FDCWD, KGEN_SANDBOX_BUILD_CACHE) != 0) return 0;
  return options->writable_directory == NULL || give(AT_FDCWD, options->writable_directory) == 0;
}

int kgen_sandbox_become_unprivileged(void) {
  return setresgid(KGEN_UNPRIVILEGED_USER, KGEN_UNPRIVILEGED_USER, KGEN_UNPRIVILEGED_USER) == 0 &&
                 setresuid(KGEN_UNPRIVILEGED_USER, KGEN_UNPRIVILEGED_USER, KGEN_UNPRIVILEGED_USER) == 0
             ? 0
             : -1;
}
