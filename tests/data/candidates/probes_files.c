/* y[i] answers question i: 0 = it worked, otherwise the errno. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
PLAIN_REST

static float try_open(const char* path, int flags) {
  const int fd = open(path, flags, 0600);
  if (fd < 0) return (float)errno;
  close(fd);
  return 0;
}

static float fill(const char* path) {
  static char block[1 << 20];
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  if (fd < 0) return -1;
  float megabytes = 0;
  while (write(fd, block, sizeof block) == (ssize_t)sizeof block && megabytes < 100000) ++megabytes;
  close(fd);
  return megabytes;
}

static float count_entries(const char* path) {
  DIR* directory = opendir(path);
  float count = 0;
  if (directory == NULL) return -1;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count - 2;
}

RUN {
  UNUSED_STATE;
  float* y = output_y(args);
  const char* home = getenv("HOME");
  y[0] = try_open("/etc/passwd", O_RDONLY);
  y[1] = try_open("/etc/kernelgen-was-here", O_WRONLY | O_CREAT);
  y[2] = try_open("/etc/passwd", O_WRONLY | O_APPEND);
  y[3] = try_open("/tmp/mine", O_WRONLY | O_CREAT);
  y[4] = try_open("/dev/null", O_RDWR);
  y[5] = try_open("/proc/sys/kernel/core_pattern", O_WRONLY);
  y[6] = try_open("/dev/vda", O_RDONLY);
  y[7] = mount("none", "/tmp", "tmpfs", 0, NULL) == 0 ? 0 : (float)errno;
  y[8] = umount2("/tmp", MNT_DETACH) == 0 ? 0 : (float)errno;
  y[9] = home != NULL && strcmp(home, "/tmp") == 0 ? 0 : 1;
  y[10] = chmod("/etc/hostname", 0777) == 0 ? 0 : (float)errno;
  y[11] = count_entries("/dev");
  y[12] = try_open("/dev/shm/mine", O_WRONLY | O_CREAT);
  y[13] = fill("/tmp/large");
  y[14] = fill("/dev/shm/large");
  return 0;
}
