#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
#ifndef __NR_clone3
#define __NR_clone3 435
#endif

/* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which older headers lack. */
enum { k_wait_killable = 1 << 5 };

/* From this number on, calls have the same number on all architectures; the first is of 2019. */
enum { k_first_new_call = 424 };

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
/* Low half of an argument; all supported machines are little endian. */
#define LOAD_ARG(index) \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + (unsigned)sizeof(__u64) * (index))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define REFUSE_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), REFUSE(EPERM)
/* It seems to work and does nothing. */
#define IGNORE_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), REFUSE(0)
#define ASK BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
#define ASK_ABOUT(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), ASK
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

static int set_filter(const struct sock_filter* filter, size_t count, unsigned flags) {
  const struct sock_fprog program = {(unsigned short)count, (struct sock_filter*)(void*)filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  const long answer = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  return answer < 0 ? -errno : (int)answer;
}

static int install(const struct sock_filter* filter, size_t count) {
  /* TSYNC: threads that exist already are bound as well. A positive answer is the thread that could not be bound. */
  const int answer = set_filter(filter, count, SECCOMP_FILTER_FLAG_TSYNC);
  return answer <= 0 ? answer : -ESRCH;
}
#define INSTALL(filter) install(filter, sizeof(filter) / sizeof((filter)[0]))

/* A filter that is put together from parts. */
struct assembly {
  struct sock_filter steps[1024];
  size_t count;
};

static void append(struct assembly* filter, const struct sock_filter* steps, size_t count) {
  if (filter->count + count > sizeof filter->steps / sizeof filter->steps[0]) abort(); /* the lists have fixed sizes */
  memcpy(filter->steps + filter->count, steps, count * sizeof *steps);
  filter->count += count;
}
#define APPEND(filter, steps) append(filter, steps, sizeof(steps) / sizeof((steps)[0]))

static void append_allowed(struct assembly* filter, const unsigned short* calls, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const struct sock_filter steps[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1), ALLOW};
    APPEND(filter, steps);
  }
}

/* The filter of one call with an argument that must have one of some values; `otherwise` is the error for all other
 * ones. */
static void append_argument(struct assembly* filter, unsigned call, unsigned index, const unsigned* values,
                            size_t count, unsigned otherwise) {
  const struct sock_filter head[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, (unsigned char)(2 + 2 * count)),
                                     LOAD_ARG(index)};
  APPEND(filter, head);
  for (size_t i = 0; i < count; ++i) {
    const struct sock_filter steps[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[i], 0, 1), ALLOW};
    APPEND(filter, steps);
  }
  const struct sock_filter tail[] = {REFUSE(otherwise)};
  APPEND(filter, tail);
}
#define APPEND_ARGUMENT(filter, call, index, values, otherwise) \
  append_argument(filter, call, index, values, sizeof(values) / sizeof((values)[0]), otherwise)

/* Of fcntl, nothing that sends signals: events on the control socket would continue a stopped runner. */
static const unsigned k_fcntl_commands[] = {F_DUPFD,      F_DUPFD_CLOEXEC, F_GETFD,      F_SETFD,     F_GETFL,
                                            F_GETLK,      F_SETLK,         F_SETLKW,     F_OFD_GETLK, F_OFD_SETLK,
                                            F_OFD_SETLKW, F_SETPIPE_SZ,    F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS};

/* TCGETS2 is what newer C libraries use for isatty(). */
static const unsigned k_ioctl_requests[] = {TCGETS,   0x802C542Au, TIOCGWINSZ, TIOCGPGRP,
                                            FIONREAD, FIONBIO,     FIOCLEX,    FIONCLEX};

/* PR_SET_PDEATHSIG would outlive the supervisor, PR_SET_TSC lets a program answer the clock itself, PR_SET_DUMPABLE and
 * PR_SET_PTRACER open a process to others. */
static const unsigned k_prctl_options[] = {
    PR_SET_NAME,         PR_GET_NAME,        PR_GET_DUMPABLE, PR_GET_PDEATHSIG,  PR_SET_NO_NEW_PRIVS,
    PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP,     PR_CAPBSET_READ, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK,
    PR_SET_THP_DISABLE,  PR_GET_THP_DISABLE, 0x53564D41u /* PR_SET_VMA: names of mappings */};

/* What a tool and the process that it watches tell the kernel about each other. */
static const unsigned k_tool_prctl_options[] = {PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_PDEATHSIG,
                                                PR_SET_CHILD_SUBREAPER};

/* Datagrams of a pair could be sent to any socket that has a path. */
static const unsigned k_pair_types[] = {SOCK_STREAM,
                                        SOCK_SEQPACKET,
                                        SOCK_STREAM | SOCK_CLOEXEC,
                                        SOCK_STREAM | SOCK_NONBLOCK,
                                        SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                        SOCK_SEQPACKET | SOCK_CLOEXEC};

/* Its own limits only: the supervisor has the same user. */
static const unsigned k_own_process[] = {0};

static void append_ioctl(struct assembly* filter, int device) {
  if (!device) {
    APPEND_ARGUMENT(filter, __NR_ioctl, 1, k_ioctl_requests, ENOTTY);
    return;
  }
  /* A driver has requests of its own, with numbers that are not known here. */
  const struct sock_filter steps[] = {
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 6),
      LOAD_ARG(1),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIOASYNC, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIOSETOWN, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIOCSPGRP, 0, 1),
      REFUSE(EPERM),
      ALLOW,
  };
  APPEND(filter, steps);
}

/* On a device, tensors are not in the memory that mremap could give a second address with an old size of zero. */
static void append_mremap(struct assembly* filter, int device) {
  const struct sock_filter on_host[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mremap, 0, 1), REFUSE(ENOMEM)};
  const struct sock_filter on_device[] = {
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mremap, 0, 4),
      LOAD_ARG(1),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      REFUSE(ENOMEM),
      ALLOW,
  };
  if (device)
    APPEND(filter, on_device);
  else
    APPEND(filter, on_host);
}

static void append_prctl(struct assembly* filter, enum kgen_sandbox_use use) {
  enum { k_common = sizeof k_prctl_options / sizeof k_prctl_options[0] };
  enum { k_more = sizeof k_tool_prctl_options / sizeof k_tool_prctl_options[0] };
  unsigned options[k_common + k_more];
  memcpy(options, k_prctl_options, sizeof k_prctl_options);
  memcpy(options + k_common, k_tool_prctl_options, sizeof k_tool_prctl_options);
  append_argument(filter, __NR_prctl, 0, options, use == KGEN_SANDBOX_TOOL ? k_common + k_more : k_common, EPERM);
}

/* kill and tgkill. Without a pid namespace they could reach the judge and the worker. */
static void append_signals(struct assembly* filter, int own_pid_namespace) {
  static const unsigned short k_both[] = {__NR_kill, __NR_tgkill};
  const unsigned self[] = {(unsigned)getpid()};
  if (own_pid_namespace) {
    append_allowed(filter, k_both, 2);
    return;
  }
  APPEND_ARGUMENT(filter, __NR_kill, 0, self, EPERM);
  APPEND_ARGUMENT(filter, __NR_tgkill, 0, self, EPERM);
}

int kgen_sandbox_install_filter(int own_pid_namespace, enum kgen_sandbox_use use) {
  const int device = use != KGEN_SANDBOX_HOST;
  static const struct sock_filter k_head[] = {CHECK_ARCH, CHECK_X32};
  static const struct sock_filter k_tail[] = {
      /* A filter cannot read its flags, which are in memory. After ENOSYS, the C library falls back to clone. */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
      REFUSE(ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4),
      LOAD_ARG(0),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACE_FLAGS, 0, 1),
      REFUSE(EPERM),
      ALLOW,
      /* Calls that are newer than this list look as if the kernel did not have them: libraries fall back then. */
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, k_first_new_call, 0, 1),
      REFUSE(ENOSYS),
      REFUSE(EPERM),
  };
  static const struct sock_filter k_set_flags[] = {
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 6),
      LOAD_ARG(1),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 3),
      LOAD_ARG(2),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ASYNC, 1, 0),
      ALLOW,
      LOAD_NUMBER,
  };
  static struct assembly filter; /* too large for some stacks; the sandbox is entered once */
  filter.count = 0;
  APPEND(&filter, k_head);
  APPEND(&filter, k_set_flags);
  APPEND_ARGUMENT(&filter, __NR_fcntl, 1, k_fcntl_commands, EPERM);
  append_ioctl(&filter, device);
  append_mremap(&filter, device);
  append_prctl(&filter, use);
  APPEND_ARGUMENT(&filter, __NR_socketpair, 1, k_pair_types, EPERM);
  APPEND_ARGUMENT(&filter, __NR_prlimit64, 0, k_own_process, EPERM);
  append_signals(&filter, own_pid_namespace);
  append_allowed(&filter, kgen_sandbox_calls, kgen_sandbox_call_count);
  if (device) append_allowed(&filter, kgen_sandbox_device_calls, kgen_sandbox_device_call_count);
  if (use == KGEN_SANDBOX_TOOL) append_allowed(&filter, kgen_sandbox_tool_calls, kgen_sandbox_tool_call_count);
  APPEND(&filter, k_tail);
  return install(filter.steps, filter.count);
}

static int processes_are_watched;

int kgen_sandbox_watch_processes(void) {
  static const struct sock_filter filter[] = {
      CHECK_ARCH,
      CHECK_X32,
#ifdef __NR_fork
      ASK_ABOUT(fork),
      ASK_ABOUT(vfork),
#endif
      ASK_ABOUT(execve),
      ASK_ABOUT(execveat),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3),
      LOAD_ARG(0),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
      ASK,
      ALLOW,
  };
  const size_t count = sizeof filter / sizeof filter[0];
  /* With the second flag (Linux 5.19), signals do not interrupt a process that waits for the answer. */
  int listener = set_filter(filter, count, SECCOMP_FILTER_FLAG_NEW_LISTENER | k_wait_killable);
  if (listener == -EINVAL) listener = set_filter(filter, count, SECCOMP_FILTER_FLAG_NEW_LISTENER);
  processes_are_watched = listener >= 0;
  return listener;
}

int kgen_sandbox_answer(int listener, int sealed) {
  /* Later kernels may have longer records. */
  union {
    struct seccomp_notif record;
    char room[1024];
  } question;
  union {
    struct seccomp_notif_resp record;
    char room[1024];
  } answer;
  memset(&question, 0, sizeof question);
  memset(&answer, 0, sizeof answer);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) return 0; /* it ended meanwhile */
  if (sealed) return 1;
  answer.record.id = question.record.id;
  answer.record.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return 0;
}

/* NVIDIA's request for a new queue of commands (UVM_REGISTER_CHANNEL). All of a context's are made with it; streams,
 * graphs and green contexts share them. */
enum { k_register_channel = 27 };

/* Sockets reach beyond a network namespace (unix paths such as docker.sock, vsock). socketpair stays. */
int kgen_sandbox_driver_started(void) {
  static const struct sock_filter filter[] = {CHECK_ARCH, CHECK_X32, REFUSE_CALL(socket), REFUSE_CALL(memfd_create),
                                              /* The worker chooses the processors. An error would end OpenMP's runtime
                                               * where OMP_PROC_BIND tells it to bind its threads. */
                                              IGNORE_CALL(sched_setaffinity),
                                              /* No clock of the first context sees what a second one does. */
                                              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 3), LOAD_ARG(1),
                                              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k_register_channel, 0, 1),
                                              REFUSE(EPERM), ALLOW};
  static const struct sock_filter last[] = {CHECK_ARCH, CHECK_X32, REFUSE_CALL(seccomp), ALLOW};
  const int answer = INSTALL(filter);
  return answer != 0 || !processes_are_watched ? answer : INSTALL(last);
}

int kgen_sandbox_seal_processes(void) {
  static const struct sock_filter filter[] = {
      CHECK_ARCH,
      CHECK_X32,
      /* A filter of the candidate's own could answer calls that the runner makes. */
      REFUSE_CALL(seccomp),
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
