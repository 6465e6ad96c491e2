/* Private to the sandbox: its two larger parts. */
#ifndef KERNELGEN_SANDBOX_PARTS_H
#define KERNELGEN_SANDBOX_PARTS_H

#include "sandbox.h"

/* Builds the file system view. Needs a mount namespace of its own. Answers KGEN_ISOLATION_MOUNT and _PROC bits. */
uint32_t kgen_sandbox_build_mounts(const struct kgen_sandbox_options* options, int own_pid_namespace);

/* Installs the deny list in the calling process. own_pid_namespace 0: signals to others are refused as well.
 * Answers 0 or a negative errno. */
int kgen_sandbox_install_filter(int own_pid_namespace);

#endif
