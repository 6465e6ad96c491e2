/* The system calls that candidates, their compilers and their libraries need. Everything else is refused. */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "sandbox_parts.h"

/* Newer than the oldest supported C library; the numbers are the same everywhere but on alpha. */
#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef __NR_openat2
#define __NR_openat2 437
#endif
#ifndef __NR_faccessat2
#define __NR_faccessat2 439
#endif
#ifndef __NR_epoll_pwait2
#define __NR_epoll_pwait2 441
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif

/* clone, fcntl, ioctl, kill, prctl, prlimit64, socketpair and tgkill depend on their arguments: see sandbox_filter.c.
 */
const unsigned short kgen_sandbox_calls[] = {
    /* Files and directories. */
    __NR_read, __NR_write, __NR_close, __NR_close_range, __NR_fstat, __NR_lseek, __NR_pread64, __NR_pwrite64,
    __NR_readv, __NR_writev, __NR_preadv, __NR_pwritev, __NR_preadv2, __NR_pwritev2, __NR_dup, __NR_dup3, __NR_pipe2,
    __NR_sendfile, __NR_copy_file_range, __NR_splice, __NR_openat, __NR_openat2, __NR_newfstatat, __NR_statx,
    __NR_statfs, __NR_fstatfs, __NR_mkdirat, __NR_mknodat, __NR_unlinkat, __NR_renameat, __NR_renameat2, __NR_linkat,
    __NR_symlinkat, __NR_readlinkat, __NR_fchmod, __NR_fchmodat, __NR_fchmodat2, __NR_fchown, __NR_fchownat,
    __NR_utimensat, __NR_truncate, __NR_ftruncate, __NR_fallocate, __NR_fadvise64, __NR_readahead, __NR_fsync,
    __NR_fdatasync, __NR_flock, __NR_faccessat, __NR_faccessat2, __NR_getdents64, __NR_getcwd, __NR_chdir, __NR_fchdir,
    __NR_umask, __NR_getxattr, __NR_lgetxattr, __NR_fgetxattr, __NR_listxattr, __NR_llistxattr, __NR_flistxattr,
#ifdef __NR_open /* not on AArch64 */
    __NR_open, __NR_creat, __NR_stat, __NR_lstat, __NR_access, __NR_pipe, __NR_dup2, __NR_rename, __NR_mkdir,
    __NR_rmdir, __NR_link, __NR_unlink, __NR_symlink, __NR_readlink, __NR_chmod, __NR_chown, __NR_lchown, __NR_mknod,
    __NR_utime, __NR_utimes, __NR_futimesat, __NR_getdents, __NR_poll, __NR_select, __NR_epoll_create, __NR_epoll_wait,
    __NR_eventfd, __NR_fork, __NR_vfork, __NR_getpgrp, __NR_pause, __NR_time,
#endif
#ifdef __NR_arch_prctl
    __NR_arch_prctl,
#endif
#ifdef __NR_sync_file_range
    __NR_sync_file_range,
#endif
    /* Events. */
    __NR_ppoll, __NR_pselect6, __NR_epoll_create1, __NR_epoll_ctl, __NR_epoll_pwait, __NR_epoll_pwait2, __NR_eventfd2,
    /* Connections that exist: the control socket, and pairs. */
    __NR_sendto, __NR_recvfrom, __NR_sendmsg, __NR_recvmsg, __NR_sendmmsg, __NR_recvmmsg, __NR_shutdown,
    __NR_getsockopt, __NR_setsockopt, __NR_getsockname, __NR_getpeername,
    /* Memory. mremap is not here: it would give pages of an input a second address, and realloc() copies without it. */
    __NR_mmap, __NR_munmap, __NR_mprotect, __NR_brk, __NR_madvise, __NR_mincore, __NR_mlock, __NR_mlock2, __NR_munlock,
    __NR_mlockall, __NR_munlockall, __NR_msync, __NR_mbind, __NR_get_mempolicy, __NR_set_mempolicy, __NR_membarrier,
    __NR_pkey_alloc, __NR_pkey_free, __NR_pkey_mprotect,
    /* Processes and threads. */
    __NR_execve, __NR_execveat, __NR_exit, __NR_exit_group, __NR_wait4, __NR_waitid, __NR_futex, __NR_futex_waitv,
    __NR_futex_wake, __NR_futex_wait, __NR_futex_requeue, __NR_set_robust_list, __NR_get_robust_list,
    __NR_set_tid_address, __NR_rseq, __NR_getpid, __NR_getppid, __NR_gettid, __NR_getpgid, __NR_setpgid, __NR_getsid,
    __NR_setsid, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid, __NR_getresuid, __NR_getresgid, __NR_getgroups,
    __NR_capget, __NR_sched_yield, __NR_sched_getaffinity, __NR_sched_setaffinity, __NR_sched_getparam,
    __NR_sched_getscheduler, __NR_sched_setscheduler, __NR_sched_getattr, __NR_sched_get_priority_max,
    __NR_sched_get_priority_min, __NR_getpriority, __NR_setpriority, __NR_getrlimit, __NR_setrlimit, __NR_getrusage,
    __NR_times, __NR_sysinfo, __NR_uname, __NR_getcpu, __NR_getrandom,
    /* Signals of a process to itself. */
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_rt_sigpending, __NR_rt_sigsuspend,
    __NR_rt_sigtimedwait, __NR_sigaltstack, __NR_restart_syscall,
    /* Clocks that are read, and sleep. Timers send signals, which would continue a stopped runner. */
    __NR_clock_gettime, __NR_clock_getres, __NR_gettimeofday, __NR_nanosleep, __NR_clock_nanosleep,
    /* For the filters of a runner's own that follow; they refuse it in the end. */
    __NR_seccomp};

const size_t kgen_sandbox_call_count = sizeof kgen_sandbox_calls / sizeof kgen_sandbox_calls[0];

/* CUDA's driver talks to its daemon while it starts. Sockets and memory files are refused after that. */
const unsigned short kgen_sandbox_device_calls[] = {__NR_socket,         __NR_connect,         __NR_bind,
                                                    __NR_listen,         __NR_accept4,         __NR_memfd_create,
                                                    __NR_timerfd_create, __NR_timerfd_settime, __NR_timerfd_gettime,
                                                    __NR_move_pages};

const size_t kgen_sandbox_device_call_count = sizeof kgen_sandbox_device_calls / sizeof kgen_sandbox_device_calls[0];

/* compute-sanitizer and the process that it watches talk over a socket, and it may read that process's memory. */
const unsigned short kgen_sandbox_tool_calls[] = {
    __NR_accept,        __NR_process_vm_readv,  __NR_process_vm_writev, __NR_timer_create,
    __NR_timer_settime, __NR_timer_gettime,     __NR_timer_delete,      __NR_getitimer,
    __NR_setitimer,     __NR_rt_tgsigqueueinfo, __NR_signalfd4,         __NR_kcmp};

const size_t kgen_sandbox_tool_call_count = sizeof kgen_sandbox_tool_calls / sizeof kgen_sandbox_tool_calls[0];
