/* Runs a program and makes unshare and setns fail in it, as in containers that forbid namespaces; with "--landlock"
 * before the program, Landlock as well, as before Linux 5.13. argv: [--landlock] program, arguments. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { k_landlock_create_ruleset = 444 };

int main(int argc, char** argv) {
  const int landlock = argc > 1 && strcmp(argv[1], "--landlock") == 0;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, landlock ? k_landlock_create_ruleset : SYS_unshare, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {6, filter};
  if (argc < 2 + landlock || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 2;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) return 3;
  execv(argv[1 + landlock], argv + 1 + landlock);
  return 127;
}
