/* Private to the sandbox: functions that its files share. */
#ifndef KERNELGEN_SANDBOX_PARTS_H
#define KERNELGEN_SANDBOX_PARTS_H

#include "sandbox.h"

/* Paths of toolchains, and files that a program needs to start; and what a runner needs besides. They end with NULL. */
extern const char* const kgen_sandbox_system_paths[];
extern const char* const kgen_sandbox_runner_paths[];

/* Enters a user namespace. The caller keeps its user and group in it; *has_unprivileged is 1 where the caller is root
 * and may become the unprivileged user. Returns 0, or -1 where namespaces are refused; *has_unprivileged is valid in
 * any case. */
int kgen_sandbox_enter_users(int* has_unprivileged);

/* Gives the unprivileged user the directories that the sandbox may write to. Returns 1; 0 where that user could not use
 * all paths and devices that the options name, or where a file system lets no file have another owner. Call it in the
 * new root, with the capabilities of root or of a user namespace. */
int kgen_sandbox_prepare_unprivileged(const struct kgen_sandbox_options* options);

/* Becomes the unprivileged user for good. Returns 0, or -1. */
int kgen_sandbox_become_unprivileged(void);

/* Where there is no mount or pid namespace: restricts the calling process with Landlock. Other files than those of the
 * view stay closed, and so do processes outside of the sandbox. own_files 1: the view is in force, and files are left
 * alone. Requires no_new_privs. Returns 0, or -1 where the kernel has no Landlock. */
int kgen_sandbox_restrict_access(const struct kgen_sandbox_options* options, int own_files);

/* Builds a file system of the paths that the options name and makes it the root. Needs a mount namespace of its own.
 * Returns KGEN_ISOLATION_MOUNT and _PROC bits. */
uint32_t kgen_sandbox_build_root(const struct kgen_sandbox_options* options, int own_pid_namespace);

/* A file system is built here, away from every path that a candidate may use. */
#define KGEN_SANDBOX_NEW_ROOT "/proc"

/* Builds a minimal device directory in the new root. This function and the next ones return 0, or -1 with errno. */
int kgen_sandbox_build_devices(const char* const* extra);
/* Makes all mounts below path read-only; before Linux 5.12, all mounts. */
int kgen_sandbox_make_read_only(const char* path);
/* Removes the read-only flag of a mount. */
int kgen_sandbox_make_writable(const char* path);
/* Binds source to target, which is created as a directory or as a file, like source. Its parents are created, too. */
int kgen_sandbox_bind(const char* source, char* target);
/* Mounts a fresh, read-only /proc of this pid namespace. writable_processes 1: its /proc/PID are writable. */
int kgen_sandbox_mount_proc(const char* path, int writable_processes);
/* Whether path is directory or lies in it. */
int kgen_sandbox_is_below(const char* path, const char* directory);

/* What runs in the sandbox; each allows more than the one before. */
enum kgen_sandbox_use {
  KGEN_SANDBOX_HOST,   /* calls on the processor */
  KGEN_SANDBOX_DEVICE, /* it starts a GPU's driver */
  KGEN_SANDBOX_TOOL    /* a tool watches the process that starts the driver */
};

/* Installs the allow list in the calling process. own_pid_namespace 0: signals to other processes are refused as well.
 * Returns 0 or a negative errno. */
int kgen_sandbox_install_filter(int own_pid_namespace, enum kgen_sandbox_use use);

/* Makes the kernel ask before a process starts. Requires: one thread. Returns the descriptor that it asks on, or a
 * negative errno. */
int kgen_sandbox_watch_processes(void);

/* Answers one question of the kernel's. Returns 1 if the process must not start, 0 otherwise. */
int kgen_sandbox_answer(int listener, int sealed);

/* Sends a descriptor over a socket pair. */
void kgen_hand_over(int socket, int fd);
/* The descriptor that the other end hands over; -1 if it closes instead. */
int kgen_take_over(int socket);

/* The system calls of the allow list, more for a device, and more for a tool. */
extern const unsigned short kgen_sandbox_calls[];
extern const size_t kgen_sandbox_call_count;
extern const unsigned short kgen_sandbox_device_calls[];
extern const size_t kgen_sandbox_device_call_count;
extern const unsigned short kgen_sandbox_tool_calls[];
extern const size_t kgen_sandbox_tool_call_count;

#endif
