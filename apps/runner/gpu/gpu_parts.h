/* Declarations that the files behind gpu.h share. */
#ifndef KERNELGEN_RUNNER_GPU_PARTS_H
#define KERNELGEN_RUNNER_GPU_PARTS_H

#include "driver.h"
#include "gpu.h"

enum { KGEN_GPU_MAX_SHARED = 64 };

/* How memory is shared. */
enum kgen_gpu_way { KGEN_GPU_ANY_WAY, KGEN_GPU_VIRTUAL_MEMORY, KGEN_GPU_IPC_HANDLE };

/* How memory came here. */
enum kgen_gpu_sharing { KGEN_GPU_MAPPED, KGEN_GPU_ALLOCATED, KGEN_GPU_OPENED };

struct kgen_gpu_shared {
  cu_address address;
  size_t bytes; /* as reserved and mapped */
  enum kgen_gpu_sharing how;
};

struct kgen_gpu {
  const struct kgen_driver* driver;
  void* context;
  int device;
  char uuid[48];
  char error[256];
  void* stream;
  void* start;
  void* end;
  int has_barrier;   /* 1: the driver can hold all streams back, and tell when all are done */
  void* all_done;    /* recorded by all streams together */
  int64_t join_ns;   /* from an event of one stream to that of all, where the others have nothing to do */
  void* graph_start; /* recorded by graphs themselves */
  void* graph_end;
  int64_t began_ns;
  int64_t launch_ns; /* the longest recent launch of a graph, on the host */
  int replaying;
  cu_address scratch; /* memory that is written to flush the L2 cache */
  size_t scratch_bytes;
  unsigned char scratch_byte;
  uint64_t* report; /* memory of the host that kernels can write; NULL: the driver has none */
  enum kgen_gpu_way way;
  struct kgen_gpu_shared shared[KGEN_GPU_MAX_SHARED];
};

/* Keeps the reason if status is an error. Returns status. */
int kgen_gpu_checked(struct kgen_gpu* gpu, int status, const char* what);

/* Time between two completed events. *ns is 0 where it is unknown. */
int kgen_gpu_elapsed(const struct kgen_gpu* gpu, void* start, void* end, int64_t* ns);

/* Finds out whether the driver can do the following; where it cannot, they do nothing. */
void kgen_gpu_try_barrier(struct kgen_gpu* gpu);
/* All that is queued from now on, on whatever stream, begins after the start of the call. */
int kgen_gpu_hold_back(struct kgen_gpu* gpu);
/* Records the end of all streams, right after that of the call's. */
int kgen_gpu_record_all(struct kgen_gpu* gpu);
/* After the device is done: what other streams did after the given one becomes a part of the call. */
int kgen_gpu_count_other_streams(struct kgen_gpu* gpu, struct kgen_gpu_call* call);

#endif
