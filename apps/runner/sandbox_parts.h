/* Private to the sandbox: its larger parts, and what they share. */
#ifndef KERNELGEN_SANDBOX_PARTS_H
#define KERNELGEN_SANDBOX_PARTS_H

#include "sandbox.h"

/* Builds the file system view. Needs a mount namespace of its own. Answers KGEN_ISOLATION_MOUNT and _PROC bits. */
uint32_t kgen_sandbox_build_mounts(const struct kgen_sandbox_options* options, int own_pid_namespace);

/* Builds a file system of options->only_paths and makes it the root. Same needs and answers. */
uint32_t kgen_sandbox_build_root(const struct kgen_sandbox_options* options, int own_pid_namespace);

/* A file system is put together here, out of sight of every path that a candidate may use. */
#define KGEN_SANDBOX_STAGE "/proc"

/* In the stage, a device directory with next to nothing in it. These answer 0, or -1 with errno. */
int kgen_sandbox_build_devices(const char* const* extra);
/* Everything that is mounted below path, or everything there is before Linux 5.12. */
int kgen_sandbox_make_read_only(const char* path);
/* Takes the read-only flag off a mount. */
int kgen_sandbox_make_writable(const char* path);
/* Binds source to target, which is made as a directory or as a file, whatever source is. Its parents are made too. */
int kgen_sandbox_bind(const char* source, char* target);
/* A fresh, read-only /proc of this pid namespace. */
int kgen_sandbox_mount_proc(const char* path);
/* Whether path is directory or lies in it. */
int kgen_sandbox_is_below(const char* path, const char* directory);

/* Installs the deny list in the calling process. own_pid_namespace 0: signals to others are refused as well.
 * Answers 0 or a negative errno. */
int kgen_sandbox_install_filter(int own_pid_namespace);

#endif
