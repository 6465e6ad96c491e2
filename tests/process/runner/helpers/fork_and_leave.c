/* Enters the sandbox, then starts daemons and ends (or stays). argv: status fd, "namespaces" | "refused" | "stay". */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/runner/runner_support.h"

static void refuse_namespaces(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {5, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[2], "refused") == 0) refuse_namespaces();
  const int none = -1;
  struct kgen_sandbox_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.keep_fds = &none;
  if (kgen_sandbox_enter(atoi(argv[1]), &options, NULL) != 0) return 3;
  if (strcmp(argv[2], "stay") == 0) {
    for (;;) pause();
  }
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child != 0) continue;
    setsid();
    if (fork() != 0) _exit(0);
    for (;;) pause();
  }
  usleep(20000);
  _exit(0);
}
