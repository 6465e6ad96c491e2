/**
 * \file
 * The isolation of a runner. Plain C, for kgen-runner and (through libkgen_runner_support.so) for the Python runner.
 *
 *   worker
 *     '- caller of kgen_sandbox_enter   writes "started" and ends, so that the supervisor belongs to the worker
 *          '- supervisor                pid 1 of a new pid namespace; waits; kills everything when the worker is gone
 *               '- runner               the call returns here
 *
 * Killing the supervisor kills every process of the runner, whatever it forked.
 */
#ifndef KERNELGEN_SANDBOX_H
#define KERNELGEN_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* everything else in the library is hidden */

/** Zero is a valid default for every field but struct_size. Lists end with NULL and may be NULL. */
struct kgen_sandbox_options {
  uint32_t struct_size;
  /** Limit of the runner's open files. 0: 1024. */
  uint32_t max_files;
  /** Bytes in /tmp, /var/tmp and /dev/shm together. They are memory. 0: 256 MiB. */
  uint64_t scratch_bytes;
  /** Directories to cover with an empty one, besides $HOME, where they lie below a path that can be seen. Absolute. */
  const char* const* hidden_paths;
  /** Directories and files that can be seen, read-only, besides those of the system: Python's and torch's. Absolute. */
  const char* const* visible_paths;
  /** Device nodes besides null, zero, full, random and urandom: "/dev/nvidia0". Absolute. */
  const char* const* devices;
  /** Descriptors above 2 that the runner keeps; every other one is closed. NULL: nothing is closed but status_fd. */
  const int* keep_fds;
  size_t keep_fd_count;
  /** Bytes of address space beyond the current mappings. 0: no limit. */
  uint64_t address_space_bytes;
  /**
   * NULL: the file system consists of the system's programs and libraries, the visible paths, scratch and the devices.
   * Otherwise it consists of these files and directories, read-only, of scratch in /tmp and of the devices, and
   * visible_paths is ignored. Missing paths are skipped, symbolic links on the way to them stay links. Hidden paths and
   * $HOME are covered where they lie below one of these, except below /usr. Absolute.
   */
  const char* const* only_paths;
  /** The only writable directory besides scratch. Becomes the working directory and TMPDIR. Absolute. */
  const char* writable_directory;
  /** 1: sockets stay possible until kgen_sandbox_driver_started(). CUDA's driver does not start without one. */
  uint32_t sockets_at_first;
  /**
   * Without only_paths: the build cache of the candidate. It is writable inside, at the fixed path
   * KGEN_SANDBOX_BUILD_CACHE, and outlasts the sandbox. Absolute.
   */
  const char* build_cache_directory;
  /**
   * 1: the supervisor is asked whenever a process starts, and consents until it gets KGEN_SEAL_SIGNAL
   * (runner_protocol.h). From then on it ends everything, as if SIGSYS had, and nothing that a candidate does to its
   * own process changes that. Needs Linux 5.5; *isolation has KGEN_ISOLATION_SEAL where it is in force.
   */
  uint32_t watch_processes;
  /** 1: the network namespace has a loopback device, for programs that talk to each other inside the sandbox. */
  uint32_t loopback;
  /**
   * 1: for a tool that starts the runner as a process of its own and watches it. /proc/PID is writable for the
   * processes of the sandbox, the rest of /proc stays read-only, and the calls of kgen_sandbox_tool_calls are allowed.
   */
  uint32_t watching_tool;
};

#define KGEN_SANDBOX_BUILD_CACHE "/tmp/builds"

/**
 * Enters the sandbox. Call once, from a process with one thread; returns in the runner, a grandchild of the caller.
 * The caller itself never returns.
 *
 * Isolation: namespaces (user, mount, pid, net, ipc, uts), a read-only file system with private scratch, few device
 * nodes, a /proc of its own, no capabilities, no_new_privs, no sockets, an allow list of system calls, no core dumps. A
 * part that the machine refuses is left out; *isolation (may be NULL) gets the KGEN_ISOLATION_* bits of the active
 * parts.
 * Where the caller is root, the runner is KGEN_UNPRIVILEGED_USER (runner_protocol.h). The build cache and
 * writable_directory then belong to that user, with all that lies in them. It stays root, without capabilities, where
 * that user could not use a visible path or a device.
 * Sets HOME and TMPDIR to /tmp in the C environment and the working directory to /tmp, if /tmp is private. TMPDIR and
 * the working directory are writable_directory instead where there is one.
 *
 * \param status_fd write end of a pipe, for kgen_status_record; -1 for none. All processes end when its reader is gone.
 * \return 0 in the runner; a negative errno in the caller if no process could be made at all.
 */
int kgen_sandbox_enter(int status_fd, const struct kgen_sandbox_options* options, uint32_t* isolation);

/** Refuses what only a driver's start needs from now on: sockets, memory files, and contexts of NVIDIA's GPUs; see
 * kgen_sandbox_options.sockets_at_first. Where processes are watched, refuses filters of system calls, too. Holds for
 * all threads. Cannot be undone. \return 0 or a negative errno. */
int kgen_sandbox_driver_started(void);

/**
 * From now on, starting a process (fork, vfork, clone without CLONE_THREAD, execve) kills the runner with SIGSYS.
 * Threads stay possible. Holds for all threads. Cannot be undone.
 * \return 0, or a negative errno where the kernel has no seccomp filters.
 */
int kgen_sandbox_seal_processes(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
