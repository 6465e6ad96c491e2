/**
 * \file
 * The walls around a runner. Plain C, for kgen-runner and (through libkgen_runner_support.so) for the Python runner.
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

/** Zero is a good value for every field but struct_size. Lists end with NULL and may be NULL. */
struct kgen_sandbox_options {
  uint32_t struct_size;
  /** Open files of the runner at most. 0: 1024. */
  uint32_t max_files;
  /** Bytes in /tmp, /var/tmp, /dev/shm, $HOME and the hidden paths together. They are memory. 0: 256 MiB. */
  uint64_t scratch_bytes;
  /** Directories to cover with an empty private one, besides /tmp, /var/tmp, /dev/shm and $HOME. Absolute. */
  const char* const* hidden_paths;
  /** Directories and files below a covered one that stay visible, read-only: where Python and torch lie. Absolute. */
  const char* const* visible_paths;
  /** Device nodes besides null, zero, full, random and urandom: "/dev/nvidia0". Absolute. */
  const char* const* devices;
  /** Descriptors above 2 that the runner keeps; every other one is closed. NULL: nothing is closed but status_fd. */
  const int* keep_fds;
  size_t keep_fd_count;
  /** Bytes of address space above what is mapped now. 0: no limit. */
  uint64_t address_space_bytes;
  /**
   * NULL: everything that is not covered stays visible. Otherwise these files and directories, read-only, are all that
   * is left of the file system, with scratch in /tmp and the devices; what is missing is skipped, symbolic links on the
   * way to them stay links. Hidden ones and $HOME are covered where they lie below one, except below /usr;
   * visible_paths is not looked at. Absolute.
   */
  const char* const* only_paths;
  /** With only_paths: the one directory that takes files. Becomes the working directory and TMPDIR. Absolute. */
  const char* writable_directory;
  /** 1: sockets stay possible until kgen_sandbox_refuse_sockets(). CUDA's driver does not start without one. */
  uint32_t sockets_at_first;
  /**
   * Without only_paths: a directory that is writable inside, at KGEN_SANDBOX_KEPT whatever its name, so that what is
   * built there can be kept for the same candidate. Absolute.
   */
  const char* kept_directory;
};

#define KGEN_SANDBOX_KEPT "/tmp/builds"

/**
 * Goes into the sandbox. Call once, from a process with one thread; returns in the runner, a grandchild of the caller.
 * The caller itself never returns.
 *
 * Walls: namespaces (user, mount, pid, net, ipc, uts), a read-only file system with private scratch, few device nodes,
 * a /proc of its own, no capabilities, no_new_privs, no sockets, a deny list of system calls, no core dumps. What the
 * machine refuses is left out, and *isolation (may be NULL) tells with KGEN_ISOLATION_* which walls stand.
 * Sets HOME and TMPDIR to /tmp in the C environment and the working directory to /tmp, if /tmp is private. TMPDIR and
 * the working directory are writable_directory instead where there is one.
 *
 * \param status_fd write end of a pipe, for kgen_status_record; -1 for none. When its reader is gone, all ends.
 * \return 0 in the runner; a negative errno in the caller if no process could be made at all.
 */
int kgen_sandbox_enter(int status_fd, const struct kgen_sandbox_options* options, uint32_t* isolation);

/** For kgen_sandbox_options.sockets_at_first. Holds for all threads. Cannot be undone. \return as below. */
int kgen_sandbox_refuse_sockets(void);

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
