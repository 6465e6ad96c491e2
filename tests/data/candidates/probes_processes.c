/* y[i] answers question i: 0 = it worked, otherwise the errno. x[0] is the pid of somebody outside. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"
PLAIN_REST

static float answer(long result) { return result >= 0 ? 0 : (float)errno; }

static float count_processes(void) {
  DIR* directory = opendir("/proc");
  float count = 0;
  if (directory == NULL) return -1;
  for (const struct dirent* entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    if (atoi(entry->d_name) > 0) ++count;
  }
  closedir(directory);
  return count;
}

/* The number of other processes whose memory can be opened. */
static float count_open_memory(void) {
  DIR* directory = opendir("/proc");
  float count = 0;
  if (directory == NULL) return -1;
  for (const struct dirent* entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    char path[300];
    if (atoi(entry->d_name) <= 0 || atoi(entry->d_name) == getpid()) continue;
    snprintf(path, sizeof path, "/proc/%s/mem", entry->d_name);
    const int fd = open(path, O_RDONLY);
    if (fd < 0) continue;
    close(fd);
    ++count;
  }
  closedir(directory);
  return count;
}

RUN {
  UNUSED_STATE;
  float* y = output_y(args);
  const pid_t other = (pid_t)input_x(args)[0];
  char byte = 0;
  struct iovec here = {&byte, 1};
  struct rlimit core;
  y[0] = count_processes();
  y[1] = answer(kill(other, SIGKILL));
  y[2] = answer(ptrace(PTRACE_ATTACH, other, NULL, NULL));
  y[3] = answer(process_vm_readv(other, &here, 1, &here, 1, 0));
  y[4] = answer(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
  kill(getppid(), SIGKILL); /* in a pid namespace: pid 1 does not feel it */
  y[5] = answer(socket(AF_INET, SOCK_STREAM, 0));
  y[6] = answer(socket(AF_UNIX, SOCK_STREAM, 0));
  y[7] = answer(unshare(CLONE_NEWUSER));
  y[8] = answer(syscall(SYS_bpf, 0, NULL, 0));
  y[9] = answer(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
  y[10] = answer(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
  y[11] = answer(setuid(0) == 0 && geteuid() == 0 ? syscall(SYS_chroot, "/tmp") : -1);
  getrlimit(RLIMIT_CORE, &core);
  y[12] = (float)core.rlim_max;
  y[13] = answer(kill(-1, 0) == 0 ? 0 : -1);
  y[14] = count_open_memory();
  return 0;
}
