#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox_parts.h"

#if defined(__x86_64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_PPC64LE
#else
#error "seccomp: name this architecture"
#endif

/* Newer than the oldest supported C library; the numbers are the same everywhere but on alpha. */
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_clone3
#define __NR_clone3 435
#endif

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
/* Low half of an argument; all supported machines are little endian. */
#define LOAD_ARG(index) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[index]))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define REFUSE_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), REFUSE(EPERM)
#define KILL_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), KILL

/* Other instruction sets have other numbers (32-bit calls, x32); no honest candidate uses them. */
#define CHECK_ARCH                                                         \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0), KILL, LOAD_NUMBER
#if defined(__x86_64__)
#define CHECK_X32 BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), KILL
#else
#define CHECK_X32 LOAD_NUMBER
#endif

#define NAMESPACE_FLAGS \
  (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static int install(const struct sock_filter* filter, size_t count) {
  const struct sock_fprog program = {(unsigned short)count, (struct sock_filter*)(void*)filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  /* TSYNC: threads that exist already are bound as well. */
  const long answer = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (answer < 0) return -errno;
  return answer == 0 ? 0 : -ESRCH; /* a positive number is the thread that could not be bound */
}
#define INSTALL(filter) install(filter, sizeof(filter) / sizeof((filter)[0]))

/* Without a pid namespace, kill could reach the judge and the worker, so only signals to the process itself stay. */
static int refuse_foreign_signals(void) {
  const unsigned self = (unsigned)getpid();
  const struct sock_filter filter[] = {
      CHECK_ARCH,
      CHECK_X32,
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_kill, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prlimit64, 0, 4),
      LOAD_ARG(0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 8),
      ALLOW,
      REFUSE_CALL(tkill),
      REFUSE_CALL(rt_sigqueueinfo),
      REFUSE_CALL(pidfd_send_signal),
      ALLOW,
      REFUSE(EPERM),
  };
  return INSTALL(filter);
}

int kgen_sandbox_install_filter(int own_pid_namespace) {
  static const struct sock_filter filter[] = {
      CHECK_ARCH,
      CHECK_X32,
      /* Other processes: the judge must stay unreadable even without namespaces. */
      REFUSE_CALL(ptrace),
      REFUSE_CALL(process_vm_readv),
      REFUSE_CALL(process_vm_writev),
      REFUSE_CALL(pidfd_getfd),
      REFUSE_CALL(pidfd_open),
      REFUSE_CALL(kcmp),
      REFUSE_CALL(rt_tgsigqueueinfo),
      /* Changes of the isolation itself. */
      REFUSE_CALL(mount),
      REFUSE_CALL(umount2),
      REFUSE_CALL(mount_setattr),
      REFUSE_CALL(move_mount),
      REFUSE_CALL(open_tree),
      REFUSE_CALL(fsopen),
      REFUSE_CALL(fsconfig),
      REFUSE_CALL(fsmount),
      REFUSE_CALL(fspick),
      REFUSE_CALL(pivot_root),
      REFUSE_CALL(chroot),
      REFUSE_CALL(unshare),
      REFUSE_CALL(setns),
      REFUSE_CALL(open_by_handle_at),
      REFUSE_CALL(name_to_handle_at),
      /* Parts of the kernel that no candidate needs. */
      REFUSE_CALL(bpf),
      REFUSE_CALL(perf_event_open),
      REFUSE_CALL(userfaultfd),
      REFUSE_CALL(io_uring_setup),
      REFUSE_CALL(io_uring_enter),
      REFUSE_CALL(io_uring_register),
      REFUSE_CALL(keyctl),
      REFUSE_CALL(add_key),
      REFUSE_CALL(request_key),
      REFUSE_CALL(fanotify_init),
      REFUSE_CALL(quotactl),
      REFUSE_CALL(acct),
      REFUSE_CALL(swapon),
      REFUSE_CALL(swapoff),
      REFUSE_CALL(reboot),
      REFUSE_CALL(syslog),
      REFUSE_CALL(kexec_load),
      REFUSE_CALL(init_module),
      REFUSE_CALL(finit_module),
      REFUSE_CALL(delete_module),
#ifdef __NR_iopl
      REFUSE_CALL(iopl),
      REFUSE_CALL(ioperm),
#endif
      /* Clocks. */
      REFUSE_CALL(clock_settime),
      REFUSE_CALL(clock_adjtime),
      REFUSE_CALL(settimeofday),
      REFUSE_CALL(adjtimex),
      /* A filter cannot read its flags, which are in memory. After ENOSYS, the C library falls back to clone. */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
      REFUSE(ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4),
      LOAD_ARG(0),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACE_FLAGS, 0, 1),
      REFUSE(EPERM),
      ALLOW,
      /* PR_SET_PDEATHSIG would outlive the supervisor; PR_SET_TSC lets a program answer the clock itself. */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 4),
      LOAD_ARG(0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_TSC, 0, 1),
      REFUSE(EPERM),
      ALLOW,
  };
  const int answer = INSTALL(filter);
  if (answer != 0 || own_pid_namespace) return answer;
  return refuse_foreign_signals();
}

/* Sockets reach beyond a network namespace (unix paths such as docker.sock, vsock). socketpair stays. */
int kgen_sandbox_refuse_sockets(void) {
  static const struct sock_filter filter[] = {CHECK_ARCH, CHECK_X32, REFUSE_CALL(socket), ALLOW};
  return INSTALL(filter);
}

int kgen_sandbox_seal_processes(void) {
  static const struct sock_filter filter[] = {
      CHECK_ARCH,
      CHECK_X32,
#ifdef __NR_fork
      KILL_CALL(fork),
      KILL_CALL(vfork),
#endif
      KILL_CALL(execve),
      KILL_CALL(execveat),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
      REFUSE(ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3),
      LOAD_ARG(0),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
      KILL,
      ALLOW,
  };
  return INSTALL(filter);
}
