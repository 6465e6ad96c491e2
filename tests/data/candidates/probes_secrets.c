/* Files that a candidate must not see. y[i] is 0 if it can, otherwise the errno. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common.h"
PLAIN_REST

static float try_open(const char* path, int flags) {
  const int fd = open(path, flags, 0600);
  if (fd < 0) return (float)errno;
  close(fd);
  return 0;
}

static float try_list(const char* path) {
  DIR* directory = opendir(path);
  if (directory == NULL) return (float)errno;
  closedir(directory);
  return 0;
}

RUN {
  UNUSED_STATE;
  float* y = output_y(args);
  y[0] = try_open("/etc/shadow", O_RDONLY);
  y[1] = try_open("/etc/hostname", O_RDONLY);
  y[2] = try_open("/etc/kernelgen-was-here", O_WRONLY | O_CREAT);
  y[3] = try_open("/etc/passwd", O_WRONLY | O_APPEND);
  y[4] = try_list("/home");
  y[5] = try_list("/root");
  y[6] = try_list("/var/lib");
  /* What libraries need stays. */
  y[7] = try_open("/etc/passwd", O_RDONLY);
  y[8] = try_list("/usr");
  y[9] = try_list("/sys/devices/system/cpu");
  return 0;
}
