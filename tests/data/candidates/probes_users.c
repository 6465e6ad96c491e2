/* The user that a candidate runs as: y[0..2] are its users, y[3..5] its groups, real, effective and saved; y[6] is the number of
 * further groups, y[7] is 0 if a new file is its own. y[8..11] are 0 where it became root, otherwise EPERM. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
PLAIN_REST

static float is_root(void) { return getuid() == 0 || geteuid() == 0 ? 0 : EPERM; }

RUN {
  UNUSED_STATE;
  float* y = output_y(args);
  uid_t users[3];
  gid_t groups[3];
  struct stat info;
  getresuid(&users[0], &users[1], &users[2]);
  getresgid(&groups[0], &groups[1], &groups[2]);
  for (int i = 0; i < 3; ++i) {
    y[i] = (float)users[i];
    y[3 + i] = (float)groups[i];
  }
  y[6] = (float)getgroups(0, NULL);
  const int fd = open("/tmp/its-own", O_WRONLY | O_CREAT, 0600);
  y[7] = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == users[1] && info.st_gid == groups[1] ? 0 : 1;
  close(fd);
  int ignored = setuid(0);
  y[8] = is_root();
  ignored = setreuid(0, 0);
  y[9] = is_root();
  ignored = setresuid(0, 0, 0);
  y[10] = is_root();
  ignored = setfsuid(0);
  (void)ignored;
  y[11] = open("/proc/1/environ", O_RDONLY) >= 0 ? 0 : EPERM;
  return 0;
}
