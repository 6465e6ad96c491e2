/**
 * \file
 * The protocol between the worker and a runner: fixed little-endian records over a SOCK_SEQPACKET unix socket, one
 * record per packet, file descriptors attached with SCM_RIGHTS. Shared by kgen-runner (C++), the crash reporter (C) and
 * the worker; the Python runner mirrors it with the struct formats given below.
 *
 * The worker sends a command and waits for the reply with the same sequence number. Two replies come without a command,
 * with sequence 0: HELLO when a standby runner is ready, CRASH from a signal handler. A closed socket means that the
 * other side is gone. Replies are not trusted: `text` may contain any bytes, and a candidate can forge whole records.
 */
#ifndef KERNELGEN_RUNNER_PROTOCOL_H
#define KERNELGEN_RUNNER_PROTOCOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KGEN_COMMAND_MAGIC 0x4352474Bu /* "KGRC" */
#define KGEN_REPLY_MAGIC 0x5252474Bu   /* "KGRR" */
#define KGEN_STATUS_MAGIC 0x5352474Bu  /* "KGRS" */
#define KGEN_RUNNER_PROTOCOL_VERSION 2u
#define KGEN_COMMAND_BYTES 64u
#define KGEN_MAX_WEIGHT_SETS 16u
#define KGEN_REPLY_BYTES 4096u
#define KGEN_REPLY_TEXT_BYTES (4096u - 80u)

/** Operations. */
enum {
  KGEN_OP_HELLO = 1,     /**< no command. arg[0] = ABI version, arg[1] = isolation bits, arg[2] = pid in its namespace,
                              arg[3] = address of KGEN_PROBE_WORD in its memory, 0 for a native runner */
  KGEN_OP_LOAD = 2,      /**< after JOB. fd: code; arg[0] = KGEN_CODE_*, arg[1] = memory limit in bytes (Python).
                              start_ns..end_ns is the loading itself */
  KGEN_OP_CONSTRUCT = 3, /**< Python: arg[0] = set, arg[1] = construction seed, arg[2] = weight transform, arg[3] = 1:
                              constants are weights in all buffers and attributes. reply arg[0] = state bytes */
  KGEN_OP_EXPORT_STATE = 4, /**< Python: fd: memfd; arg[0] = set, arg[1] = capacity in bytes */
  KGEN_OP_PREPARE = 5,  /**< native: arg[0] = set. reply arg[0] = workspace bytes. start_ns..end_ns is kgen_prepare */
  KGEN_OP_RUN = 6,      /**< arg[0] = set, arg[1] = forward seed, arg[2] = KGEN_RUN_* flags, arg[3] = first slot,
                               arg[4] = number of calls, one for each slot in a row; 0: one. On a device from slot 0 on, and
                               more than one with KGEN_RUN_GRAPH only. See below. Between JOB and LOAD,
                               set 0 is a function of the runner's own: the worker measures what an exchange costs
                               while no code of the candidate is in the process. It does nothing, or on the processor
                               writes to the outputs of the first slot for arg[1] nanoseconds */
  KGEN_OP_DESTROY = 7,  /**< native: arg[0] = set */
  KGEN_OP_ECHO = 9,     /**< answered at once; a Python runner then frees the outputs of its last call */
  KGEN_OP_BUILD = 10,   /**< a builder: compiles what LOAD, CONSTRUCT and the first RUN would; fds: job, code; arg[0] =
                               memory limit in bytes, where there is no device */
  KGEN_OP_JOB = 11,     /**< fds: job, arena, and on a device the device arena. Comes once, before LOAD */
  KGEN_OP_EXAMINE = 12, /**< arg[0] = set, arg[1] = forward seed, arg[2] = nanoseconds. See below */
  KGEN_OP_COMPILE_FOR = 13, /**< a builder: compiles what the first RUN would launch on a GPU that is not here; fds:
                               job, code, facts about the GPU (GpuFacts as JSON), a memory file for lines of JSON, one
                               for each kernel: {"kernel", "dynamic_shared_bytes", "code"} or {"kernel", "error"};
                               arg[0] = memory limit in bytes, arg[1] = bytes of the memory file */
  KGEN_OP_CRASH = 8         /**< unasked. detail = signal, arg[0] = address, arg[1] = failed allocation in bytes or 0;
                               status DEVICE_FAULT: the device's runtime told of a fault and aborted */
};

/** arg[0] of LOAD. */
enum { KGEN_CODE_SHARED_OBJECT = 0, KGEN_CODE_PYTHON = 1 };

/** Flags of RUN. */
enum {
  KGEN_RUN_POISON = 1, /**< fill fresh allocations and the workspace with garbage; costs time inside the call */
  KGEN_RUN_IN_PLACE =
      2,             /**< Python: return the addresses of outputs instead of copying them; the worker fetches them */
  KGEN_RUN_GRAPH = 4 /**< device: replay a graph captured from the candidate, at the first such RUN, off the clock. All
                        calls of a series are one graph, so that the worker's clock can bound them */
};

/** Eight bytes in a standby runner; the worker reads them to test whether it can read the runner's memory. */
#define KGEN_PROBE_WORD 0x45424F52504E4547ull /* "GENPROBE" */

/**
 * Reply to RUN: start_ns and end_ns are CLOCK_MONOTONIC right around the candidate's calls, which follow each other.
 * arg[0] = CPU nanoseconds that this process spent between the previous reply and this command, when it should have
 * been idle (side work); arg[1] = number of threads of the process after the call; 0 where unknown.
 *
 * A native candidate writes its outputs into the arena. A Python runner copies them there after end_ns and before the
 * reply, unless KGEN_RUN_IN_PLACE is set: then each output is contiguous memory of the runner. arg[2]
 * is the number of outputs of all calls, and `text` holds their addresses, 8 bytes each, in the order of the calls and
 * of the job. With arg[2] = 0 the result is not what the job expects (the report gives the reason) and there is nothing
 * to fetch. The memory stays unchanged until the next command. The worker reads exactly the bytes that the job gives
 * for each output.
 *
 * On a device, outputs are in the device arena when the reply comes, KGEN_RUN_IN_PLACE is not used, arg[3] = device
 * nanoseconds between two events around the candidate, and arg[1] = nanoseconds from the moment when the stream was
 * done until the whole device was: work outside the events.
 */
#define KGEN_MAX_OUTPUTS_IN_PLACE (KGEN_REPLY_TEXT_BYTES / 8u)

/**
 * EXAMINE calls the candidate on the inputs of slot 0, without a score, to show what runs in a call. On the
 * processor it repeats the call for arg[2] nanoseconds, at least once, while the worker watches from outside: reply
 * arg[0] = number of calls, start_ns and end_ns around all of them. On a device it calls once, and `text` has the lines
 * of kgen_gpu_end_activities(), arg[3] = nanoseconds from the first activity to the last one's end. Status FAILED with
 * a reason where nothing could be collected.
 */

/** Status of a reply. */
enum {
  KGEN_STATUS_OK = 0,
  KGEN_STATUS_SYNTAX = 1,        /**< the source is not code */
  KGEN_STATUS_IMPORT = 2,        /**< it does not load: text of dlopen or of the exception */
  KGEN_STATUS_INTERFACE = 3,     /**< an entry point is missing or has another version */
  KGEN_STATUS_FAILED = 4,        /**< the candidate reported a failure; detail = its return value; text = its reason */
  KGEN_STATUS_EXCEPTION = 5,     /**< text = what() or the traceback's last line */
  KGEN_STATUS_OUT_OF_MEMORY = 6, /**< an allocation failed before, or bad_alloc */
  KGEN_STATUS_STRUCTURE = 7,     /**< Python: the result has another structure than the reference's */
  KGEN_STATUS_WORKSPACE = 8,     /**< the requested workspace cannot be allocated */
  KGEN_STATUS_PROTOCOL = 9,      /**< the command is invalid here; the runner goes on */
  KGEN_STATUS_NOT_CAPTURABLE = 10, /**< KGEN_RUN_GRAPH: text = the reason; the runner goes on without graphs */
  KGEN_STATUS_DEVICE_FAULT = 11 /**< detail = the driver's error number, text = its message; this runner cannot use the
                                   device any more. As the status of HELLO: the device cannot be used */
};

/** The user and the group that the candidates of root run as. */
#define KGEN_UNPRIVILEGED_USER 65534

/** Bits of arg[1] of HELLO: the active parts of the isolation. A missing bit means that this machine refused the part.
 */
enum {
  KGEN_ISOLATION_USER = 1,
  KGEN_ISOLATION_MOUNT = 2, /**< a file system of what is needed, read-only, with private scratch */
  KGEN_ISOLATION_PID = 4,
  KGEN_ISOLATION_NET = 8,
  KGEN_ISOLATION_IPC = 16,
  KGEN_ISOLATION_SECCOMP = 32,
  KGEN_ISOLATION_LANDLOCK = 64,  /**< files and other processes are closed, where there is no mount or pid namespace */
  KGEN_ISOLATION_PROC = 128,     /**< /proc shows the runner's own processes only */
  KGEN_ISOLATION_SEAL = 256,     /**< the supervisor watches the start of processes */
  KGEN_ISOLATION_NOT_ROOT = 512, /**< outside of its namespaces it is not root either */
  KGEN_ISOLATION_OTHER_USER = 1024 /**< it is another user than the one that started it: KGEN_UNPRIVILEGED_USER */
};

/** struct.Struct("<IHHQ6Q") */
struct kgen_command {
  uint32_t magic;
  uint16_t version;
  uint16_t op;
  uint64_t sequence;
  uint64_t arg[6];
};

/** struct.Struct("<IHHQIIqq4QII4016s"), counting text_length and reserved before the text. */
struct kgen_reply {
  uint32_t magic;
  uint16_t version;
  uint16_t op;
  uint64_t sequence;
  uint32_t status;
  uint32_t detail;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t arg[4];
  uint32_t text_length; /**< bytes of text in use; cut at a byte, not at a character */
  uint32_t reserved;
  char text[KGEN_REPLY_TEXT_BYTES];
};

/** The worker sends this signal to the supervisor, which answers with KGEN_SUPERVISOR_SEALED: see watch_processes in
 * sandbox.h. */
#define KGEN_SEAL_SIGNAL SIGUSR1

/** Records of the supervisor on the status pipe. struct.Struct("<Iiq") */
struct kgen_status_record {
  uint32_t magic;
  int32_t what;
  int64_t value;
};

enum {
  KGEN_SUPERVISOR_STARTED =
      0, /**< value = pid of the supervisor as seen by the worker; killing it ends all of its processes */
  KGEN_SUPERVISOR_ENDED = 1, /**< value = wait status of the runner, as waitpid gives it. The last record */
  KGEN_SUPERVISOR_SEALED = 2 /**< no process can be started any more */
};

#ifdef __cplusplus
}
static_assert(sizeof(kgen_command) == KGEN_COMMAND_BYTES, "layout");
static_assert(sizeof(kgen_reply) == KGEN_REPLY_BYTES, "layout");
static_assert(sizeof(kgen_status_record) == 16, "layout");
#else
_Static_assert(sizeof(struct kgen_command) == KGEN_COMMAND_BYTES, "layout");
_Static_assert(sizeof(struct kgen_reply) == KGEN_REPLY_BYTES, "layout");
_Static_assert(sizeof(struct kgen_status_record) == 16, "layout");
#endif

#endif
