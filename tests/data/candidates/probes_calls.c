/* System calls that would let a candidate work, or be continued, while it is stopped, or give memory a second address.
 * y[i] is 0 if call i worked, otherwise the errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
PLAIN_REST

static float answer(long result) { return result >= 0 ? 0 : (float)errno; }

RUN {
  UNUSED_STATE;
  float* y = output_y(args);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
  const struct itimerval soon = {{0, 0}, {1, 0}};
  struct f_owner_ex self = {F_OWNER_PID, getpid()};
  struct rlimit limit;
  unsigned long context = 0;
  timer_t timer;
  sigset_t signals;
  int pair[2];
  int on = 1;
  sigemptyset(&signals);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
  char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  y[0] = answer(timer_create(CLOCK_MONOTONIC, &event, &timer));
  y[1] = answer(setitimer(ITIMER_REAL, &soon, NULL));
  y[2] = answer(syscall(SYS_fcntl, pair[0], F_SETSIG, SIGCONT));
  y[3] = answer(fcntl(pair[0], F_SETOWN, getpid()));
  y[4] = answer(syscall(SYS_fcntl, pair[0], F_SETOWN_EX, &self));
  y[5] = answer(fcntl(pair[0], F_SETFL, O_ASYNC));
  y[6] = answer(syscall(SYS_fcntl, pair[0], F_NOTIFY, DN_CREATE));
  y[7] = answer(ioctl(pair[0], FIOASYNC, &on));
  y[8] = answer(ioctl(pair[0], FIOSETOWN, &self.pid));
  y[9] = answer(syscall(SYS_io_setup, 1, &context));
  y[10] = answer(syscall(SYS_mq_open, "kernelgen", O_CREAT | O_RDWR, 0600, NULL));
  y[11] = answer(signalfd(-1, &signals, 0));
  y[12] = answer(syscall(SYS_memfd_create, "x", 0));
  y[13] = mremap(page, 0, 8192, MREMAP_MAYMOVE) == MAP_FAILED ? (float)errno : 0;
  y[14] = mremap(page, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED ? (float)errno : 0;
  y[15] = answer(shmget(IPC_PRIVATE, 4096, 0600));
  y[16] = answer(syscall(SYS_remap_file_pages, page, 4096, 0, 1, 0));
  y[17] = answer(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
  y[18] = answer(prctl(PR_SET_PTRACER, getppid(), 0, 0, 0));
  y[19] = answer(syscall(SYS_personality, 0));
  y[20] = answer(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
  y[21] = answer(syscall(SYS_keyctl, 0, -3, 0));
  y[22] = answer(syscall(SYS_io_uring_setup, 1, NULL));
  y[23] = answer(syscall(SYS_pidfd_open, getpid(), 0));
  y[24] = answer(syscall(SYS_userfaultfd, 0));
  y[25] = answer(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
  y[26] = answer(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit));
  y[27] = answer(syscall(SYS_seccomp, 1, 0, NULL));
  y[28] = answer(syscall(SYS_vmsplice, pair[0], NULL, 0, 0));
  /* What honest libraries use stays. */
  y[29] = answer(fcntl(pair[0], F_SETFL, O_NONBLOCK));
  y[30] = answer(syscall(SYS_sched_getaffinity, 0, sizeof context, &context));
  /* A call that is ignored, not refused: no processor is in this set. */
  const unsigned long none[16] = {0};
  y[31] = answer(syscall(SYS_sched_setaffinity, 0, sizeof none, none));
  return 0;
}
