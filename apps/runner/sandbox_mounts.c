#define _GNU_SOURCE
#include <dirent.h>
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

#define NEW_ROOT KGEN_SANDBOX_NEW_ROOT

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

static const unsigned long k_proc_flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

/* Makes everything in a /proc read-only but the directories of processes. They belong to processes of the sandbox, and
 * CUDA's driver does not start in one that cannot write the names of its threads there. */
static int protect_proc(const char* path) {
  DIR* directory = opendir(path);
  if (directory == NULL) return -1;
  int answer = 0;
  for (const struct dirent* entry = readdir(directory); answer == 0 && entry != NULL; entry = readdir(directory)) {
    const char first = entry->d_name[0];
    char inside[PATH_MAX];
    struct stat info;
    if (first == '.' || (first >= '0' && first <= '9')) continue;
    if (snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) >= (int)sizeof inside) answer = -1;
    /* Links lead to the directory of a process. */
    if (answer != 0 || lstat(inside, &info) != 0 || S_ISLNK(info.st_mode)) continue;
    if (mount(inside, inside, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, inside, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | k_proc_flags, NULL) != 0)
      answer = -1;
  }
  closedir(directory);
  return answer;
}

int kgen_sandbox_mount_proc(const char* path, int writable_processes) {
  /* Read-only, because root could change the whole machine through /proc/sys. Where the kernel allows, only the mount
   * is read-only, not the file system, because a part of it may have to become writable again. */
  if (mount("proc", path, "proc", k_proc_flags, NULL) != 0)
    return mount("proc", path, "proc", k_proc_flags | MS_RDONLY, NULL);
  if (writable_processes && protect_proc(path) == 0) return 0;
  if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | k_proc_flags, NULL) == 0) return 0;
  umount2(path, MNT_DETACH);
  return -1;
}
