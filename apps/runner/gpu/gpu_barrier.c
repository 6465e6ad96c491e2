/* Streams of a candidate's own, which its call's clock does not watch. Where the driver can (CUDA 12.5), all streams
 * begin after the start, and what they do after the end is measured by the device's clock. That takes nothing off and
 * adds nothing to a call that has one stream. */
#include "gpu_parts.h"

int kgen_gpu_hold_back(struct kgen_gpu* gpu) {
  if (!gpu->has_barrier) return CU_OK;
  return kgen_gpu_checked(gpu, gpu->driver->context_wait_event(gpu->context, gpu->start), "holding all streams back");
}

int kgen_gpu_record_all(struct kgen_gpu* gpu) {
  if (!gpu->has_barrier) return CU_OK;
  return kgen_gpu_checked(gpu, gpu->driver->context_record_event(gpu->context, gpu->all_done),
                          "stopping the clock of all streams");
}

int kgen_gpu_count_other_streams(struct kgen_gpu* gpu, struct kgen_gpu_call* call) {
  /* Joining streams takes a microsecond longer where they have had something to do. What another thread queues after
   * the end was recorded is seen by the host's clock alone, and waiting takes 10 us in a process of torch's. */
  enum { k_joined_ns = 1500, k_part = 20, k_host_wait_ns = 20000 };
  const int64_t waited_ns = call->off_stream_ns;
  int64_t joined_ns = 0;
  if (!gpu->has_barrier) return CU_OK;
  const int status = kgen_gpu_elapsed(gpu, gpu->end, gpu->all_done, &joined_ns);
  call->off_stream_ns = joined_ns > gpu->join_ns ? joined_ns - gpu->join_ns : 0;
  if (waited_ns > call->off_stream_ns + k_host_wait_ns) call->off_stream_ns = waited_ns;
  if (call->off_stream_ns > k_joined_ns && call->off_stream_ns > call->device_ns / k_part)
    call->device_ns += call->off_stream_ns;
  return kgen_gpu_checked(gpu, status, "reading the clock of all streams");
}

/* The ends of empty calls. A driver that lacks a part of this answers with an error. */
static int learn_join_time(struct kgen_gpu* gpu) {
  enum { k_tries = 16 };
  const struct kgen_driver* driver = gpu->driver;
  for (int i = 0; i < k_tries; ++i) {
    int64_t join_ns = 0;
    int status = driver->event_record(gpu->end, gpu->stream);
    if (status == CU_OK) status = driver->context_record_event(gpu->context, gpu->all_done);
    if (status == CU_OK) status = driver->context_synchronize();
    if (status == CU_OK) status = kgen_gpu_elapsed(gpu, gpu->end, gpu->all_done, &join_ns);
    if (status != CU_OK) return status;
    if (i == 0 || join_ns < gpu->join_ns) gpu->join_ns = join_ns;
  }
  return CU_OK;
}

void kgen_gpu_try_barrier(struct kgen_gpu* gpu) {
  const struct kgen_driver* driver = gpu->driver;
  if (driver->context_record_event == NULL || driver->context_wait_event == NULL) return;
  gpu->has_barrier = driver->event_create(&gpu->all_done, 0) == CU_OK && learn_join_time(gpu) == CU_OK;
}
