// Preloaded into a program, it is a machine of a cluster that reaches its files over a network.
//
//   KGEN_TEST_ATTRIBUTES_S  so long (whole seconds) it keeps what it was told: the size and time of each file, and
//                           whether a name exists. As NFS does, it knows what the program itself changes, and asks
//                           anew for names once their directory is opened.
//   KGEN_TEST_CLOCK_S       so much its clock is ahead of the file server's; negative: behind.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { k_entries = 1 << 14, k_name = 256, k_ns_per_s = 1000000000 };

// What a directory said of a name, or a file of itself (without a name).
struct entry {
  dev_t device;
  ino_t inode;
  char name[k_name];
  long long asked_ns;
  int error;
  struct stat info;
};

static struct entry entries[k_entries];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static long long setting(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atoll(text);
}

static long long steady_ns(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * k_ns_per_s + now.tv_nsec;
}

static int is_fresh(const struct entry* entry) {
  return entry->asked_ns != 0 && steady_ns() - entry->asked_ns < setting("KGEN_TEST_ATTRIBUTES_S") * k_ns_per_s;
}

// The place of an entry; an older one that had it is forgotten.
static struct entry* find(dev_t device, ino_t inode, const char* name) {
  unsigned long hash = (unsigned long)device * 31 + (unsigned long)inode;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 131 + (unsigned char)*c;
  struct entry* entry = &entries[hash % k_entries];
  if (entry->device != device || entry->inode != inode || strcmp(entry->name, name) != 0) {
    memset(entry, 0, sizeof *entry);
    entry->device = device;
    entry->inode = inode;
    strcpy(entry->name, name);
  }
  return entry;
}

static int ask(int directory, const char* path, struct stat* info, int flags) {
  return (int)syscall(SYS_newfstatat, directory, path, info, flags);
}

// The directory of a path, and the last part of it. False where this does not keep them.
static int split(int directory, const char* path, struct stat* parent, char* name) {
  const char* slash = strrchr(path, '/');
  const char* last = slash == NULL ? path : slash + 1;
  if (strlen(last) >= k_name || *last == '\0' || strlen(path) >= 4096) return 0;
  strcpy(name, last);
  if (slash == NULL) return ask(directory, "", parent, AT_EMPTY_PATH) == 0;
  char folder[4096];
  memcpy(folder, path, (size_t)(slash + 1 - path));
  folder[slash + 1 - path] = '\0';
  return ask(directory, folder, parent, 0) == 0;
}

static int look(int directory, const char* path, struct stat* info, int flags) {
  struct stat parent;
  char name[k_name];
  if (setting("KGEN_TEST_ATTRIBUTES_S") == 0 || (flags & AT_EMPTY_PATH) != 0 || !split(directory, path, &parent, name))
    return ask(directory, path, info, flags);
  pthread_mutex_lock(&mutex);
  struct entry* known = find(parent.st_dev, parent.st_ino, name);
  if (!is_fresh(known)) {
    known->error = ask(directory, path, &known->info, flags) == 0 ? 0 : errno;
    known->asked_ns = steady_ns();
  }
  const int error = known->error;
  *info = known->info;
  if (error == 0 && S_ISREG(info->st_mode)) {
    struct entry* file = find(info->st_dev, info->st_ino, "");
    if (!is_fresh(file)) {
      file->info = *info;
      file->asked_ns = steady_ns();
    }
    info->st_size = file->info.st_size;
    info->st_mtim = file->info.st_mtim;
  }
  pthread_mutex_unlock(&mutex);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// A directory that is opened is asked for its names again.
static int opened(int fd) {
  struct stat info;
  if (fd < 0 || ask(fd, "", &info, AT_EMPTY_PATH) != 0 || !S_ISDIR(info.st_mode)) return fd;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < k_entries; ++i)
    if (entries[i].device == info.st_dev && entries[i].inode == info.st_ino && entries[i].name[0] != '\0')
      entries[i].asked_ns = 0;
  pthread_mutex_unlock(&mutex);
  return fd;
}

// Forgets a name, and the file that has it, because this program changes them.
static void forget(int directory, const char* path) {
  struct stat parent, info;
  char name[k_name];
  const int error = errno;
  pthread_mutex_lock(&mutex);
  if (split(directory, path, &parent, name)) find(parent.st_dev, parent.st_ino, name)->asked_ns = 0;
  if (ask(directory, path, &info, AT_SYMLINK_NOFOLLOW) == 0) find(info.st_dev, info.st_ino, "")->asked_ns = 0;
  pthread_mutex_unlock(&mutex);
  errno = error;
}

static void forget_file(int fd) {
  struct stat info;
  const int error = errno;
  pthread_mutex_lock(&mutex);
  if (ask(fd, "", &info, AT_EMPTY_PATH) == 0) find(info.st_dev, info.st_ino, "")->asked_ns = 0;
  pthread_mutex_unlock(&mutex);
  errno = error;
}

int stat(const char* restrict path, struct stat* restrict info) { return look(AT_FDCWD, path, info, 0); }

int lstat(const char* restrict path, struct stat* restrict info) {
  return look(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

int fstatat(int directory, const char* restrict path, struct stat* restrict info, int flags) {
  return look(directory, path, info, flags);
}

static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  if ((flags & O_ACCMODE) != O_RDONLY) forget(AT_FDCWD, path);
  return opened((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  if ((flags & O_ACCMODE) != O_RDONLY) forget(directory, path);
  return opened((int)syscall(SYS_openat, directory, path, flags, mode));
}

int close(int fd) {
  forget_file(fd);
  return (int)syscall(SYS_close, fd);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  forget(to_directory, to);
  const int result = (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, 0);
  forget(from_directory, from);
  forget(to_directory, to);
  return result;
}

int rename(const char* from, const char* to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int unlinkat(int directory, const char* path, int flags) {
  // Its number can be given to a new file.
  forget(directory, path);
  const int result = (int)syscall(SYS_unlinkat, directory, path, flags);
  forget(directory, path);
  return result;
}

int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }

int mkdirat(int directory, const char* path, mode_t mode) {
  const int result = (int)syscall(SYS_mkdirat, directory, path, mode);
  forget(directory, path);
  return result;
}

int mkdir(const char* path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int utimensat(int directory, const char* path, const struct timespec times[2], int flags) {
  const int result = (int)syscall(SYS_utimensat, directory, path, times, flags);
  forget(directory, path);
  return result;
}

int futimens(int fd, const struct timespec times[2]) {
  const int result = (int)syscall(SYS_utimensat, fd, NULL, times, 0);
  forget_file(fd);
  return result;
}

// What programs call that were compiled for large files; the same on this machine's kind.
int stat64(const char* restrict path, struct stat64* restrict info) __attribute__((alias("stat")));
int lstat64(const char* restrict path, struct stat64* restrict info) __attribute__((alias("lstat")));
int fstatat64(int directory, const char* restrict path, struct stat64* restrict info, int flags)
    __attribute__((alias("fstatat")));
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char* path, int flags, ...) __attribute__((alias("openat")));

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += setting("KGEN_TEST_CLOCK_S");
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  const int result = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return result;
}

time_t time(time_t* now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now != NULL) *now = exact.tv_sec;
  return exact.tv_sec;
}
