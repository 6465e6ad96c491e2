#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner_protocol.h"
#include "sandbox_parts.h"

#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif

/* The scratch file system is built here and bound to its places afterwards. A fresh /proc covers it in the end. */
#define NEW_ROOT KGEN_SANDBOX_NEW_ROOT

enum { k_max_covered = 32 };

struct covered {
  char path[PATH_MAX]; /* resolved */
  char moved[64];
};

struct view {
  struct covered covered[k_max_covered];
  int count;
};

/* Before Linux 5.12, each mount is changed separately. Flags that an outer namespace locked must be repeated. */
static int remount_each_read_only(void) {
  FILE* table = fopen("/proc/self/mountinfo", "re");
  if (table == NULL) return -1;
  int answer = 0;
  char* line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, table) > 0) {
    char escaped[PATH_MAX];
    char options[512];
    if (sscanf(line, "%*d %*d %*s %*s %4095s %511s", escaped, options) != 2) continue;
    char path[PATH_MAX];
    size_t length = 0;
    for (const char* c = escaped; *c != '\0'; ++c) { /* \040 and friends */
      unsigned code;
      if (*c == '\\' && sscanf(c + 1, "%3o", &code) == 1) {
        path[length++] = (char)code;
        c += 3;
      } else {
        path[length++] = *c;
      }
    }
    path[length] = '\0';
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID;
    if (strstr(options, "nodev") != NULL) flags |= MS_NODEV;
    if (strstr(options, "noexec") != NULL) flags |= MS_NOEXEC;
    if (strstr(options, "noatime") != NULL) flags |= MS_NOATIME;
    if (strstr(options, "nodiratime") != NULL) flags |= MS_NODIRATIME;
    if (strstr(options, "relatime") != NULL) flags |= MS_RELATIME;
    /* Covered mounts cannot be reached by their path, so a missing path is safe; a refusal is not. */
    if (mount(NULL, path, NULL, flags, NULL) != 0 && errno != ENOENT && errno != EINVAL) answer = -1;
  }
  free(line);
  fclose(table);
  return answer;
}

int kgen_sandbox_make_read_only(const char* path) {
  struct mount_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (syscall(__NR_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attributes, sizeof attributes) == 0) return 0;
  return errno == ENOSYS ? remount_each_read_only() : -1;
}

static int touch(const char* path) {
  const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  return fd < 0 ? -1 : close(fd);
}

static int make_directories(char* path) {
  for (char* slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const int failed = mkdir(path, 0755) != 0 && errno != EEXIST;
    *slash = '/';
    if (failed) return -1;
  }
  return 0;
}

int kgen_sandbox_bind(const char* source, char* target) {
  struct stat info;
  if (stat(source, &info) != 0) return -1;
  if (make_directories(target) != 0) return -1;
  if (S_ISDIR(info.st_mode) ? (mkdir(target, 0755) != 0 && errno != EEXIST) : touch(target) != 0) return -1;
  return mount(source, target, NULL, MS_BIND | MS_REC, NULL);
}

static int bind_device(const char* path) {
  char target[PATH_MAX];
  if (strncmp(path, "/dev/", 5) != 0) return -1;
  if (snprintf(target, sizeof target, "%s%s", NEW_ROOT, path) >= (int)sizeof target) return -1;
  return kgen_sandbox_bind(path, target);
}

/* Builds a minimal device directory, because root could open a block device of the host. */
int kgen_sandbox_build_devices(const char* const* extra) {
  static const char* const always[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  if (mkdir(NEW_ROOT "/dev", 0755) != 0 || mkdir(NEW_ROOT "/dev/shm", 0755) != 0) return -1;
  if (chmod(NEW_ROOT "/dev/shm", 01777) != 0) return -1;
  for (size_t i = 0; i < sizeof always / sizeof always[0]; ++i) {
    if (access(always[i], F_OK) == 0 && bind_device(always[i]) != 0) return -1;
  }
  for (; extra != NULL && *extra != NULL; ++extra) {
    if (bind_device(*extra) != 0) return -1;
  }
  if (symlink("/proc/self/fd", NEW_ROOT "/dev/fd") != 0) return -1;
  if (symlink("/proc/self/fd/0", NEW_ROOT "/dev/stdin") != 0) return -1;
  if (symlink("/proc/self/fd/1", NEW_ROOT "/dev/stdout") != 0) return -1;
  return symlink("/proc/self/fd/2", NEW_ROOT "/dev/stderr");
}

int kgen_sandbox_is_below(const char* path, const char* directory) {
  const size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Remembers a directory to cover. A missing directory, or one inside a covered one, needs no cover. */
static int cover(struct view* view, const char* path) {
  char resolved[PATH_MAX];
  struct stat info;
  if (path == NULL || path[0] != '/' || realpath(path, resolved) == NULL) return 0;
  if (strcmp(resolved, "/") == 0 || kgen_sandbox_is_below(resolved, "/dev") || kgen_sandbox_is_below(resolved, "/proc"))
    return 0;
  if (stat(resolved, &info) != 0 || !S_ISDIR(info.st_mode)) return 0;
  for (int i = 0; i < view->count; ++i) {
    if (kgen_sandbox_is_below(resolved, view->covered[i].path)) return 0;
  }
  if (view->count == k_max_covered) return -1;
  struct covered* entry = &view->covered[view->count];
  memcpy(entry->path, resolved, strlen(resolved) + 1);
  snprintf(entry->moved, sizeof entry->moved, "%s/cover%d", NEW_ROOT, view->count);
  if (mkdir(entry->moved, 0755) != 0) return -1;
  if (chmod(entry->moved, 01777) != 0) return -1;
  ++view->count;
  return 0;
}

/* Makes a path below a covered directory visible again. A path that *is* covered stays covered. */
static int uncover(struct view* view, const char* path) {
  char resolved[PATH_MAX];
  char target[PATH_MAX + 64];
  if (path == NULL || path[0] != '/' || realpath(path, resolved) == NULL) return 0;
  for (int i = 0; i < view->count; ++i) {
    const struct covered* entry = &view->covered[i];
    if (!kgen_sandbox_is_below(resolved, entry->path) || strcmp(resolved, entry->path) == 0) continue;
    snprintf(target, sizeof target, "%s%s", entry->moved, resolved + strlen(entry->path));
    struct stat info;
    /* Already there: a directory above it was made visible before. */
    if (stat(target, &info) == 0 && stat(resolved, &info) == 0 && !S_ISDIR(info.st_mode)) return 0;
    return kgen_sandbox_bind(resolved, target);
  }
  return 0;
}

/* Binds the build cache into the private /tmp. */
static int bind_build_cache(const struct view* view, const char* directory) {
  char resolved[PATH_MAX];
  char target[PATH_MAX + 64];
  if (directory == NULL) return 0;
  if (directory[0] != '/' || realpath(directory, resolved) == NULL) return -1;
  for (int i = 0; i < view->count; ++i) {
    if (strcmp(view->covered[i].path, "/tmp") != 0) continue;
    snprintf(target, sizeof target, "%s%s", view->covered[i].moved, &KGEN_SANDBOX_BUILD_CACHE[strlen("/tmp")]);
    return kgen_sandbox_bind(resolved, target);
  }
  return -1;
}

static int build_scratch(const struct kgen_sandbox_options* options, struct view* view) {
  char size[96];
  const unsigned long long bytes = options->scratch_bytes != 0 ? options->scratch_bytes : 256ull << 20;
  snprintf(size, sizeof size, "size=%llu,nr_inodes=65536,mode=755", bytes);
  if (mount("kgen", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, size) != 0) return -1;
  if (kgen_sandbox_build_devices(options->devices) != 0) return -1;
  if (cover(view, "/tmp") != 0 || cover(view, "/var/tmp") != 0 || cover(view, getenv("HOME")) != 0) return -1;
  for (const char* const* path = options->hidden_paths; path != NULL && *path != NULL; ++path) {
    if (cover(view, *path) != 0) return -1;
  }
  for (const char* const* path = options->visible_paths; path != NULL && *path != NULL; ++path) {
    if (uncover(view, *path) != 0) return -1;
  }
  if (bind_build_cache(view, options->build_cache_directory) != 0) return -1;
  for (int i = 0; i < view->count; ++i) {
    if (mount(view->covered[i].moved, view->covered[i].path, NULL, MS_BIND | MS_REC, NULL) != 0) return -1;
  }
  if (options->build_cache_directory != NULL && kgen_sandbox_make_writable(KGEN_SANDBOX_BUILD_CACHE) != 0) return -1;
  return mount(NEW_ROOT "/dev", "/dev", NULL, MS_BIND | MS_REC, NULL);
}

int kgen_sandbox_mount_proc(const char* path) {
  /* Read-only, because root could change the whole machine through /proc/sys. Where the kernel allows, only the mount
   * is read-only, not the file system, because a part of it may have to become writable again. */
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("proc", path, "proc", flags, NULL) != 0) return mount("proc", path, "proc", flags | MS_RDONLY, NULL);
  if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) == 0) return 0;
  umount2(path, MNT_DETACH);
  return -1;
}

uint32_t kgen_sandbox_build_mounts(const struct kgen_sandbox_options* options, int own_pid_namespace) {
  uint32_t isolation = 0;
  struct view* view = calloc(1, sizeof *view);
  if (view == NULL) return 0;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && kgen_sandbox_make_read_only("/") == 0) {
    if (build_scratch(options, view) == 0) isolation |= KGEN_ISOLATION_MOUNT;
    umount2(NEW_ROOT, MNT_DETACH);
  }
  free(view);
  if (isolation != 0 && own_pid_namespace && kgen_sandbox_mount_proc("/proc") == 0) isolation |= KGEN_ISOLATION_PROC;
  return isolation;
}
