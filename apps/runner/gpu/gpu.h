/**
 * \file
 * A GPU, as the judge and both kinds of runner use it: facts, memory that two processes share, timed calls, graphs.
 * Plain C. The first call loads the driver, so one build serves machines with and without one.
 *
 * It uses the drivers' APIs only (CUDA's, and HIP), and knows no tensors. Functions with the result int return 0, or a
 * positive error number of the driver with the reason in kgen_gpu_error(). Open a device after fork, never before, and
 * before a candidate is loaded. One thread at a time.
 */
#ifndef KERNELGEN_RUNNER_GPU_H
#define KERNELGEN_RUNNER_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* everything else in the library is hidden */

/** The driver's facts about a device. Unknown numbers are 0. Sizes in bytes. */
struct kgen_gpu_facts {
  uint32_t struct_size;
  int32_t index;          /**< in the drivers' order, after what the environment hides */
  char vendor[16];        /**< "nvidia"; "fake" for the tests' device, with times that mean nothing */
  char name[128];         /**< "NVIDIA H200" */
  char uuid[48];          /**< "GPU-aabbccdd-..." */
  char architecture[16];  /**< "sm_90" */
  int32_t driver_version; /**< the newest CUDA or ROCm that the driver supports; 13000 is 13.0 */
  int32_t multiprocessors;
  int32_t warp_threads;
  int32_t threads_per_block;
  int32_t threads_per_multiprocessor;
  int32_t registers_per_block;
  int32_t registers_per_multiprocessor;
  int32_t clock_khz;
  int32_t memory_clock_khz;
  int32_t memory_bus_bits;
  int32_t cooperative_launch; /**< 1: all blocks of a grid can meet at a barrier */
  uint64_t shared_bytes_per_block;
  uint64_t shared_bytes_per_block_optin; /**< limit for a kernel that asks for more than the default */
  uint64_t shared_bytes_per_multiprocessor;
  uint64_t l2_bytes;
  uint64_t memory_bytes;
  int32_t integrated; /**< 1: a part of a processor, with its memory */
};

/** \return the number of devices; -1 with a reason in error where there is no driver or it does not work. */
int kgen_gpu_count(char* error, size_t capacity);
/** \return 0, or -1 with a reason in error. */
int kgen_gpu_read_facts(int index, struct kgen_gpu_facts* facts, char* error, size_t capacity);

struct kgen_gpu;

/**
 * Opens the device with this UUID: its primary context becomes current, as with torch and the CUDA runtime.
 * \param uuid NULL or "": the first device
 * \return NULL with a reason in error.
 */
struct kgen_gpu* kgen_gpu_open(const char* uuid, char* error, size_t capacity);
void kgen_gpu_close(struct kgen_gpu* gpu);
/** The error of the last failed call: "an illegal memory access was encountered (700)". Valid until the next call. */
const char* kgen_gpu_error(const struct kgen_gpu* gpu);

/**
 * Chooses how kgen_gpu_allocate_shared() shares memory: "virtual_memory" as descriptors of the driver's, "ipc_handle"
 * by the handle of an ordinary allocation. Which of them works between two processes, only trying tells: `kgen-gpu
 * sharing`. \param way NULL or "": the first that the device has, which is the default \return 0, or 1 for another
 * name.
 */
int kgen_gpu_choose_sharing(struct kgen_gpu* gpu, const char* way);
/** Allocates device memory that another process can map: its address here, and a descriptor to send (the caller closes
 * it). */
int kgen_gpu_allocate_shared(struct kgen_gpu* gpu, uint64_t bytes, void** address, int* fd);
/** Maps memory that another process's kgen_gpu_allocate_shared() made, of the same size. The caller keeps the
 * descriptor.
 */
int kgen_gpu_import_shared(struct kgen_gpu* gpu, int fd, uint64_t bytes, void** address);
/** Unmaps shared memory of either kind. */
int kgen_gpu_free_shared(struct kgen_gpu* gpu, void* address);

int kgen_gpu_memory(struct kgen_gpu* gpu, uint64_t* free_bytes, uint64_t* total_bytes);
/** Allocates private device memory. */
int kgen_gpu_allocate(struct kgen_gpu* gpu, uint64_t bytes, void** address);
int kgen_gpu_free(struct kgen_gpu* gpu, void* address);
/** Queues a copy on the stream; NULL is the legacy default stream, which torch uses by default. */
int kgen_gpu_copy(struct kgen_gpu* gpu, void* to, const void* from, uint64_t bytes, void* stream);
/** Waits for the work on the legacy default stream, then copies device memory to the host. */
int kgen_gpu_read(struct kgen_gpu* gpu, void* to, const void* from, uint64_t bytes);
int kgen_gpu_fill(struct kgen_gpu* gpu, void* address, int byte, uint64_t bytes, void* stream);
/** Waits for all work that this process has queued, and reports its failure. */
int kgen_gpu_synchronize(struct kgen_gpu* gpu);
/** A stream that synchronizes with the legacy default stream. */
void* kgen_gpu_stream(struct kgen_gpu* gpu);
/** The word of KGEN_REPORT(): memory of the host that kernels can write and that a fault of the device leaves readable,
 * as long as the device is open. NULL where the driver has none. */
uint64_t* kgen_gpu_report(struct kgen_gpu* gpu);

/** Times of one call in nanoseconds. */
struct kgen_gpu_call {
  int64_t device_ns;     /**< between the two events on the stream; of a graph, between its marks. Where the driver
                              tells when all streams are done, what others do later counts: beyond 1.5 us and 5 % */
  int64_t host_ns;       /**< from the end of kgen_gpu_begin_call until the stream was done, on CLOCK_MONOTONIC */
  int64_t off_stream_ns; /**< from then until all streams were done; where the driver does not tell, until the whole
                              device was, and a few microseconds mean nothing */
};

/** Queues a flush of the L2 cache and records the start; does not wait. Where the driver can, all that is queued from
 * now on, on whatever stream, begins after the start. */
int kgen_gpu_begin_call(struct kgen_gpu* gpu, void* stream);
/** The same for a graph. Launching thousands of nodes takes the host a millisecond; the flush lasts as long as earlier
 * launches, so that this time is no part of the call. */
int kgen_gpu_begin_replay(struct kgen_gpu* gpu, void* stream);
/** Records the end, waits for the stream, then for the device. */
int kgen_gpu_end_call(struct kgen_gpu* gpu, void* stream, struct kgen_gpu_call* call);

/** Between these two calls, work on the stream is captured instead of run, between marks. */
int kgen_gpu_begin_capture(struct kgen_gpu* gpu, void* stream);
int kgen_gpu_end_capture(struct kgen_gpu* gpu, void* stream, void** graph);
/** The marks by themselves, for captures that are made otherwise: first and last on a stream that is being captured.
 * What a launch takes before the first is no part of a replay's time, as far as it is no more than a launch takes. */
int kgen_gpu_mark_start(struct kgen_gpu* gpu, void* stream);
int kgen_gpu_mark_end(struct kgen_gpu* gpu, void* stream);
int kgen_gpu_replay(struct kgen_gpu* gpu, void* graph, void* stream);
void kgen_gpu_free_graph(struct kgen_gpu* gpu, void* graph);

/** Bytes read plus bytes written per second by the best of several large copies within the device; 0 if it failed. */
double kgen_gpu_copy_bandwidth(struct kgen_gpu* gpu);

/** Current clocks, from the vendor's management library. */
struct kgen_gpu_clocks {
  int32_t multiprocessor_mhz;
  int32_t memory_mhz;
  int32_t temperature_celsius;
  int32_t throttled; /**< 1: power, heat or the board slows the device down */
};
/** \return 0, or -1 where there is no such library. */
int kgen_gpu_read_clocks(struct kgen_gpu* gpu, struct kgen_gpu_clocks* clocks);

/**
 * Collects the kernels, copies and fills that this process runs on its devices, through CUPTI, from here to
 * kgen_gpu_end_activities(). It may take tens of milliseconds, and slows launches down: not for calls that are timed.
 * \return 0, or -1 with a reason in error; nothing is collected then.
 */
int kgen_gpu_begin_activities(char* error, size_t capacity);
/**
 * Ends that, after the device has done its work. Writes a line for each activity, longest first:
 * "NANOSECONDS COUNT<tab>NAME<tab>OBJECT". OBJECT is the shared object that launched it, empty where unknown; in
 * folders of Python's packages it begins with "-packages/". What does not fit is added up by object, as "(others)
 * NAME". \return nanoseconds from the first start to the last end.
 */
uint64_t kgen_gpu_end_activities(char* text, size_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
