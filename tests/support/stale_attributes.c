// Preloaded into a program, it is a network file system that caches attributes: for as long as the program runs, each
// file keeps the size and the time that it had when the program first looked.
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

enum { k_files = 4096, k_name = 512 };

static struct {
  char name[k_name];
  struct stat first;
} cache[k_files];
static int count = 0;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void make_stale(const char* path, struct stat* info) {
  if (!S_ISREG(info->st_mode) || strlen(path) >= k_name) return;
  pthread_mutex_lock(&mutex);
  int i = 0;
  while (i < count && strcmp(cache[i].name, path) != 0) ++i;
  if (i < count) {
    info->st_size = cache[i].first.st_size;
    info->st_mtim = cache[i].first.st_mtim;
  } else if (count < k_files) {
    strcpy(cache[count].name, path);
    cache[count++].first = *info;
  }
  pthread_mutex_unlock(&mutex);
}

int stat(const char* restrict path, struct stat* restrict info) {
  const int result = fstatat(AT_FDCWD, path, info, 0);
  if (result == 0) make_stale(path, info);
  return result;
}

int lstat(const char* restrict path, struct stat* restrict info) {
  const int result = fstatat(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
  if (result == 0) make_stale(path, info);
  return result;
}
