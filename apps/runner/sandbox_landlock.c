#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox_parts.h"

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

/* <linux/landlock.h> is newer than the oldest supported headers, and lacks the later members there. */
struct ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};

struct rule {
  uint64_t allowed;
  int32_t directory;
} __attribute__((packed));

enum {
  k_version_request = 1,
  k_path_rule = 1,
  k_execute = 1 << 0,
  k_write_file = 1 << 1,
  k_read_file = 1 << 2,
  k_read_directory = 1 << 3,
  k_first_version = (1 << 13) - 1,
  k_refer = 1 << 13,    /* since version 2 */
  k_truncate = 1 << 14, /* since version 3 */
  k_abstract_sockets_and_signals = 3,
};

struct access {
  int ruleset;
  uint64_t handled;
};

/* Paths that do not exist need no rule. */
static int allow(const struct access* access, const char* path, uint64_t allowed) {
  struct stat info;
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == EACCES ? 0 : -1;
  if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) allowed &= k_execute | k_write_file | k_read_file | k_truncate;
  const struct rule rule = {allowed & access->handled, fd};
  const long answer = syscall(__NR_landlock_add_rule, access->ruleset, k_path_rule, &rule, 0);
  close(fd);
  return answer == 0 ? 0 : -1;
}

static int allow_reading(const struct access* access, const char* const* paths) {
  for (; paths != NULL && *paths != NULL; ++paths) {
    if (allow(access, *paths, k_execute | k_read_file | k_read_directory) != 0) return -1;
  }
  return 0;
}

static int add_rules(const struct access* access, const struct kgen_sandbox_options* options, int own_files) {
  static const char* const k_kernel_paths[] = {"/proc", "/sys", NULL};
  static const char* const k_scratch[] = {"/tmp", "/var/tmp", "/dev", NULL};
  if (own_files) return allow(access, "/", access->handled);
  if (options->only_paths != NULL) {
    if (allow_reading(access, options->only_paths) != 0) return -1;
  } else if (allow_reading(access, kgen_sandbox_system_paths) != 0 ||
             allow_reading(access, kgen_sandbox_runner_paths) != 0 ||
             allow_reading(access, options->visible_paths) != 0) {
    return -1;
  }
  if (allow_reading(access, k_kernel_paths) != 0) return -1;
  for (const char* const* path = k_scratch; *path != NULL; ++path) {
    if (allow(access, *path, access->handled) != 0) return -1;
  }
  const char* const writable[] = {options->writable_directory, options->build_cache_directory};
  for (int i = 0; i < 2; ++i) {
    if (writable[i] != NULL && allow(access, writable[i], access->handled) != 0) return -1;
  }
  return 0;
}

int kgen_sandbox_restrict_access(const struct kgen_sandbox_options* options, int own_files) {
  const long version = syscall(__NR_landlock_create_ruleset, NULL, 0, k_version_request);
  if (version < 1) return -1;
  struct ruleset wanted = {.files = k_first_version};
  if (version >= 2) wanted.files |= k_refer;
  if (version >= 3) wanted.files |= k_truncate;
  if (version >= 6) wanted.scoped = k_abstract_sockets_and_signals;
  const size_t size = version >= 6 ? sizeof wanted : sizeof wanted.files;
  const struct access access = {(int)syscall(__NR_landlock_create_ruleset, &wanted, size, 0), wanted.files};
  if (access.ruleset < 0) return -1;
  int answer = add_rules(&access, options, own_files);
  if (answer == 0 && syscall(__NR_landlock_restrict_self, access.ruleset, 0) != 0) answer = -1;
  close(access.ruleset);
  return answer;
}
