#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner_protocol.h"
#include "sandbox_parts.h"

#define NEW_ROOT KGEN_SANDBOX_NEW_ROOT

const char* const kgen_sandbox_system_paths[] = {"/usr",
                                                 "/bin",
                                                 "/sbin",
                                                 "/lib",
                                                 "/lib32",
                                                 "/lib64",
                                                 "/libx32",
                                                 "/opt",
                                                 "/nix/store",
                                                 "/gnu/store",
                                                 "/etc/alternatives",
                                                 "/etc/ld.so.cache",
                                                 "/etc/ld.so.conf",
                                                 "/etc/ld.so.conf.d",
                                                 NULL};

/* Libraries count processors in /sys, ask for the user's name, and look for drivers in the last ones. */
const char* const kgen_sandbox_runner_paths[] = {
    "/sys",           "/etc/passwd",        "/etc/group",  "/etc/nsswitch.conf",
    "/etc/localtime", "/run/opengl-driver", "/etc/OpenCL", NULL};

/* The kernel's own limit before ELOOP. */
enum { k_max_links = 40 };

static int stage_path(const char* path, char out[PATH_MAX]) {
  return snprintf(out, PATH_MAX, "%s%s", NEW_ROOT, path) < PATH_MAX ? 0 : -1;
}

static int is_same_file(const char* one, const char* other) {
  struct stat first;
  struct stat second;
  return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

/* Copies a symbolic link to the new root and sets `next` to the path that it leads to. */
static int repeat_link(const char* link, const char* rest, char next[PATH_MAX]) {
  char target[PATH_MAX];
  char staged[PATH_MAX];
  const ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0 || stage_path(link, staged) != 0) return -1;
  target[length] = '\0';
  if (symlink(target, staged) != 0 && errno != EEXIST) return -1;
  const int parent = (int)(strrchr(link, '/') - link);
  const int made = target[0] == '/' ? snprintf(next, PATH_MAX, "%s/%s", target, rest)
                                    : snprintf(next, PATH_MAX, "%.*s/%s/%s", parent, link, target, rest);
  return made < PATH_MAX ? 0 : -1;
}

/* Walks path from the root, creating its directories in the new root. 0: `walked` is the path to bind, without links.
 * 1: a link was found, go on with `next`. 2: there is no such file. -1: it failed. */
static int walk(const char* path, char walked[PATH_MAX], char next[PATH_MAX]) {
  char staged[PATH_MAX];
  struct stat info;
  size_t length = 0;
  walked[0] = '\0';
  for (const char* at = path; *at != '\0';) {
    const size_t size = strcspn(at, "/");
    const char* rest = at + size + strspn(at + size, "/");
    if (size == 2 && at[0] == '.' && at[1] == '.') { /* without links before it, the parent is the text before it */
      while (length > 0 && walked[--length] != '/') {
      }
      walked[length] = '\0';
    } else if (size > 0 && !(size == 1 && at[0] == '.')) {
      if (length + size + 2 > PATH_MAX) return -1;
      walked[length++] = '/';
      memcpy(walked + length, at, size);
      length += size;
      walked[length] = '\0';
      if (lstat(walked, &info) != 0) return 2;
      if (S_ISLNK(info.st_mode)) return repeat_link(walked, rest, next) == 0 ? 1 : -1;
      if (stage_path(walked, staged) != 0) return -1;
      if (*rest != '\0' && mkdir(staged, 0755) != 0 && errno != EEXIST) return -1;
    }
    at = rest;
  }
  return 0;
}

/* Binds a path at its own place, with every symbolic link on the way. */
static int expose(const char* path) {
  char walked[PATH_MAX];
  char next[PATH_MAX];
  char staged[PATH_MAX];
  char now[PATH_MAX];
  if (path[0] != '/' || strlen(path) >= sizeof now) return 0;
  memcpy(now, path, strlen(path) + 1);
  for (int links = 0; links < k_max_links; ++links) {
    const int answer = walk(now, walked, next);
    if (answer == 2) return 0;
    if (answer < 0) return -1;
    if (answer == 1) {
      memcpy(now, next, strlen(next) + 1);
      continue;
    }
    /* The whole file system is no toolchain, and neither are the paths of the new root. */
    if (walked[0] == '\0' || kgen_sandbox_is_below(walked, "/proc") || kgen_sandbox_is_below(walked, "/dev")) return 0;
    if (stage_path(walked, staged) != 0) return -1;
    return is_same_file(walked, staged) ? 0 : kgen_sandbox_bind(walked, staged);
  }
  return 0;
}

/* Covers a directory that an exposed one contains with an empty one; paths exposed inside of it are bound again. */
static int cover_path(const char* path, const char* const* exposed) {
  char staged[PATH_MAX];
  char resolved[PATH_MAX];
  struct stat info;
  if (stage_path(path, staged) != 0) return -1;
  if (stat(staged, &info) != 0 || !S_ISDIR(info.st_mode)) return 0;
  if (mount("kgen", staged, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,nr_inodes=1024,mode=755") != 0) return -1;
  for (; *exposed != NULL; ++exposed) {
    if (realpath(*exposed, resolved) == NULL || !kgen_sandbox_is_below(resolved, path)) continue;
    if (expose(*exposed) != 0) return -1;
  }
  return 0;
}

static int by_length(const void* one, const void* other) {
  const size_t first = strlen(*(const char* const*)one);
  const size_t second = strlen(*(const char* const*)other);
  return (first > second) - (first < second);
}

/* Outer directories first: an inner one may cover paths that an outer one has bound again. */
static int cover_all(const char* const* hidden, const char* const* exposed) {
  size_t count = 1;
  while (hidden != NULL && hidden[count - 1] != NULL) ++count;
  char** resolved = calloc(count, sizeof *resolved);
  if (resolved == NULL) return -1;
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const char* path = i + 1 == count ? getenv("HOME") : hidden[i];
    char* real = path == NULL || path[0] != '/' ? NULL : realpath(path, NULL);
    if (real == NULL) continue;
    /* System accounts have their home in /usr/sbin and the like; no other account has it in /usr. */
    if (strcmp(real, "/") == 0 || kgen_sandbox_is_below(real, "/usr"))
      free(real);
    else
      resolved[kept++] = real;
  }
  qsort(resolved, kept, sizeof *resolved, by_length);
  int answer = 0;
  for (size_t i = 0; i < kept; ++i) {
    if (answer == 0) answer = cover_path(resolved[i], exposed);
    free(resolved[i]);
  }
  free(resolved);
  return answer;
}

/* Removes the read-only flag of a mount. Its other flags may be locked and are repeated. */
int kgen_sandbox_make_writable(const char* path) {
  struct statvfs info;
  if (statvfs(path, &info) != 0) return -1;
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV;
  if ((info.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if ((info.f_flag & ST_NOATIME) != 0) flags |= MS_NOATIME;
  if ((info.f_flag & ST_NODIRATIME) != 0) flags |= MS_NODIRATIME;
  if ((info.f_flag & ST_RELATIME) != 0) flags |= MS_RELATIME;
  return mount(NULL, path, NULL, flags, NULL);
}

static int expose_list(const char* const* paths) {
  for (; paths != NULL && *paths != NULL; ++paths) {
    if (expose(*paths) != 0) return -1;
  }
  return 0;
}

static int expose_all(const struct kgen_sandbox_options* options) {
  if (options->only_paths != NULL) {
    return expose_list(options->only_paths) != 0 ? -1 : cover_all(options->hidden_paths, options->only_paths);
  }
  if (expose_list(kgen_sandbox_system_paths) != 0 || expose_list(kgen_sandbox_runner_paths) != 0) return -1;
  static const char* const k_nothing[] = {NULL};
  const char* const* visible = options->visible_paths != NULL ? options->visible_paths : k_nothing;
  return expose_list(visible) != 0 ? -1 : cover_all(options->hidden_paths, visible);
}

/* Gives another place a part of the scratch space in /tmp. */
static int share_scratch(const char* part, char* place) {
  if (mkdir(part, 0755) != 0 || chmod(part, 01777) != 0) return -1;
  return kgen_sandbox_bind(part, place);
}

static int build(const struct kgen_sandbox_options* options) {
  char size[96];
  const unsigned long long bytes = options->scratch_bytes != 0 ? options->scratch_bytes : 256ull << 20;
  snprintf(size, sizeof size, "size=%llu,nr_inodes=65536,mode=1777", bytes);
  if (mount("kgen", NEW_ROOT, "tmpfs", MS_NOSUID, "size=4m,nr_inodes=16384,mode=755") != 0) return -1;
  if (kgen_sandbox_build_devices(options->devices) != 0) return -1;
  if (mkdir(NEW_ROOT "/proc", 0755) != 0 || mkdir(NEW_ROOT "/tmp", 0755) != 0) return -1;
  if (mount("kgen", NEW_ROOT "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, size) != 0) return -1;
  char shared_memory[] = NEW_ROOT "/dev/shm";
  char more_scratch[] = NEW_ROOT "/var/tmp";
  const int runner = options->only_paths == NULL;
  if (runner && share_scratch(NEW_ROOT "/tmp/.shm", shared_memory) != 0) return -1;
  if (runner && share_scratch(NEW_ROOT "/tmp/.var", more_scratch) != 0) return -1;
  if (expose_all(options) != 0) return -1;
  char staged[PATH_MAX] = "";
  char builds[] = NEW_ROOT KGEN_SANDBOX_BUILD_CACHE;
  if (options->build_cache_directory != NULL && kgen_sandbox_bind(options->build_cache_directory, builds) != 0)
    return -1;
  if (options->writable_directory != NULL) {
    char resolved[PATH_MAX];
    if (realpath(options->writable_directory, resolved) == NULL || stage_path(resolved, staged) != 0) return -1;
    if (kgen_sandbox_bind(resolved, staged) != 0 || expose(options->writable_directory) != 0) return -1;
  }
  if (kgen_sandbox_make_read_only(NEW_ROOT) != 0 || kgen_sandbox_make_writable(NEW_ROOT "/tmp") != 0) return -1;
  if (runner && (kgen_sandbox_make_writable(shared_memory) != 0 || kgen_sandbox_make_writable(more_scratch) != 0))
    return -1;
  if (options->build_cache_directory != NULL && kgen_sandbox_make_writable(builds) != 0) return -1;
  return staged[0] == '\0' ? 0 : kgen_sandbox_make_writable(staged);
}

uint32_t kgen_sandbox_build_root(const struct kgen_sandbox_options* options, int own_pid_namespace) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 0;
  uint32_t isolation = KGEN_ISOLATION_MOUNT;
  int built = build(options);
  if (built == 0 && own_pid_namespace && kgen_sandbox_mount_proc(NEW_ROOT "/proc", options->watching_tool != 0) == 0)
    isolation |= KGEN_ISOLATION_PROC;
  /* The old root is then mounted over the new one, and is unmounted. */
  if (built == 0 && (chdir(NEW_ROOT) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)) built = -1;
  if (built == 0) return umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 ? isolation : 0;
  umount2(NEW_ROOT, MNT_DETACH);
  return 0;
}
