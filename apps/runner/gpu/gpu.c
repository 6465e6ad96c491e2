#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runner_support.h"
#include "gpu_parts.h"

/* Two would empty the cache. More keep the device busy until the call of a process that was stopped arrives; otherwise
 * the delay of its arrival would be part of the call. */
enum { k_flush_l2_times = 6, k_flush_memory_cache_times = 2 };

/* torch's flags for graphs, so that both sides are replayed alike. Drivers before CUDA 11.7 do not know priorities. */
enum { k_auto_free_on_launch = 1, k_use_node_priority = 8 };

int kgen_gpu_checked(struct kgen_gpu* gpu, int status, const char* what) {
  const char* text = NULL;
  if (status == CU_OK) return 0;
  gpu->driver->get_error_string(status, &text);
  snprintf(gpu->error, sizeof gpu->error, "%s: %s (%d)", what, text != NULL ? text : "unknown error", status);
  return status;
}

/* Makes the first use of the device. An exclusive mode refuses it, because an evaluation uses several processes. */
static int start(struct kgen_gpu* gpu) {
  const int status =
      kgen_gpu_checked(gpu, gpu->driver->context_retain(&gpu->context, gpu->device), "starting the device");
  const size_t length = strlen(gpu->error);
  if (status == CU_DEVICE_UNAVAILABLE) {
    snprintf(gpu->error + length, sizeof gpu->error - length, "%s", gpu->driver->unavailable_remedy);
  }
  return status;
}

const char* kgen_gpu_error(const struct kgen_gpu* gpu) { return gpu->error; }

/* Without it, a kernel that gives up tells less. */
static void make_report(struct kgen_gpu* gpu) {
  void* word = NULL;
  if (gpu->driver->host_allocate == NULL || gpu->driver->host_free == NULL) return;
  if (gpu->driver->host_allocate(&word, sizeof *gpu->report, CU_HOST_PORTABLE_AND_MAPPED) != CU_OK) return;
  gpu->report = word;
  *gpu->report = 0;
}

int kgen_gpu_elapsed(const struct kgen_gpu* gpu, void* start, void* end, int64_t* ns) {
  float milliseconds = 0;
  const int status = gpu->driver->event_elapsed(&milliseconds, start, end);
  *ns = status == CU_OK ? (int64_t)((double)milliseconds * 1e6) : 0;
  return status;
}

/* Creates everything that later calls need, because a candidate could influence what is created after it is loaded. */
static int set_up(struct kgen_gpu* gpu, uint64_t l2_bytes) {
  const struct kgen_driver* driver = gpu->driver;
  int status = start(gpu);
  if (status == 0) status = kgen_gpu_checked(gpu, driver->context_set_current(gpu->context), "starting the device");
  if (status == 0) status = kgen_gpu_checked(gpu, driver->stream_create(&gpu->stream, 0), "making a stream");
  if (status == 0) status = kgen_gpu_checked(gpu, driver->event_create(&gpu->start, 0), "making an event");
  if (status == 0) status = kgen_gpu_checked(gpu, driver->event_create(&gpu->end, 0), "making an event");
  if (status == 0) status = kgen_gpu_checked(gpu, driver->event_create(&gpu->graph_start, 0), "making an event");
  if (status == 0) status = kgen_gpu_checked(gpu, driver->event_create(&gpu->graph_end, 0), "making an event");
  if (status != 0) return status;
  make_report(gpu);
  gpu->scratch_bytes = (size_t)l2_bytes * k_flush_l2_times;
  if (driver->memory_cache_bytes != NULL) {
    const size_t behind = (size_t)driver->memory_cache_bytes(gpu->device) * k_flush_memory_cache_times;
    if (gpu->scratch_bytes < behind) gpu->scratch_bytes = behind;
  }
  if (gpu->scratch_bytes == 0) return 0;
  return kgen_gpu_checked(gpu, driver->memory_allocate(&gpu->scratch, gpu->scratch_bytes), "allocating memory");
}

struct kgen_gpu* kgen_gpu_open(const char* uuid, char* error, size_t capacity) {
  struct kgen_gpu_place place;
  struct kgen_gpu_facts facts;
  if (kgen_find_device(0, uuid != NULL && uuid[0] != '\0' ? uuid : NULL, &place, error, capacity) != 0) return NULL;
  struct kgen_gpu* gpu = calloc(1, sizeof *gpu);
  if (gpu == NULL) return NULL;
  memset(&facts, 0, sizeof facts);
  place.driver->read_facts(place.driver, place.device, &facts);
  gpu->driver = place.driver;
  gpu->device = place.device;
  memcpy(gpu->uuid, facts.uuid, sizeof gpu->uuid);
  if (set_up(gpu, facts.l2_bytes) == 0) {
    kgen_gpu_try_barrier(gpu);
    return gpu;
  }
  snprintf(error, capacity, "%s", gpu->error);
  kgen_gpu_close(gpu);
  return NULL;
}

void kgen_gpu_close(struct kgen_gpu* gpu) {
  if (gpu == NULL) return;
  const struct kgen_driver* driver = gpu->driver;
  for (int i = 0; i < KGEN_GPU_MAX_SHARED; ++i) {
    if (gpu->shared[i].bytes != 0) kgen_gpu_free_shared(gpu, (void*)(uintptr_t)gpu->shared[i].address);
  }
  if (gpu->report != NULL) driver->host_free(gpu->report);
  if (gpu->all_done != NULL) driver->event_destroy(gpu->all_done);
  if (gpu->scratch != 0) driver->memory_free(gpu->scratch);
  if (gpu->graph_end != NULL) driver->event_destroy(gpu->graph_end);
  if (gpu->graph_start != NULL) driver->event_destroy(gpu->graph_start);
  if (gpu->end != NULL) driver->event_destroy(gpu->end);
  if (gpu->start != NULL) driver->event_destroy(gpu->start);
  if (gpu->stream != NULL) driver->stream_destroy(gpu->stream);
  if (gpu->context != NULL) driver->context_release(gpu->device);
  free(gpu);
}

int kgen_gpu_synchronize(struct kgen_gpu* gpu) {
  return kgen_gpu_checked(gpu, gpu->driver->context_synchronize(), "waiting for the device");
}

void* kgen_gpu_stream(struct kgen_gpu* gpu) { return gpu->stream; }

uint64_t* kgen_gpu_report(struct kgen_gpu* gpu) { return gpu->report; }

/* -- timed calls -------------------------------------------------------------------------------------------------- */

static int begin(struct kgen_gpu* gpu, void* stream, int flushes) {
  const struct kgen_driver* driver = gpu->driver;
  /* A candidate may have reserved a part of the cache for itself; older devices refuse, and have nothing to reset. */
  if (driver->context_reset_persisting_l2 != NULL) driver->context_reset_persisting_l2();
  for (int i = 0; i < flushes && gpu->scratch != 0; ++i) {
    const int status = driver->memory_set(gpu->scratch, ++gpu->scratch_byte, gpu->scratch_bytes, stream);
    if (status != CU_OK) return kgen_gpu_checked(gpu, status, "flushing the cache");
  }
  int status = kgen_gpu_checked(gpu, driver->event_record(gpu->start, stream), "starting the clock");
  /* Else a stream of the candidate's own would have the device while the cache is flushed. */
  if (status == 0) status = kgen_gpu_hold_back(gpu);
  gpu->began_ns = kgen_now_ns();
  return status;
}

int kgen_gpu_begin_call(struct kgen_gpu* gpu, void* stream) {
  gpu->replaying = 0;
  return begin(gpu, stream, 1);
}

int kgen_gpu_begin_replay(struct kgen_gpu* gpu, void* stream) {
  /* The time is estimated low, so that there are too many flushes rather than too few. */
  enum { k_flush_ns = 60000, k_max_flushes = 200 };
  const int64_t wanted = 2 + 2 * gpu->launch_ns / k_flush_ns;
  gpu->replaying = 1;
  return begin(gpu, stream, (int)(wanted < k_max_flushes ? wanted : k_max_flushes));
}

/* Keeps the time of the longest launch, which decays slowly. */
static void update_launch_time(struct kgen_gpu* gpu) {
  const int64_t taken = kgen_now_ns() - gpu->began_ns;
  gpu->launch_ns = taken > gpu->launch_ns ? taken : gpu->launch_ns - (gpu->launch_ns - taken) / 4;
}

/* A graph takes up to two microseconds until its first node runs, differently long in different processes: measured by
 * its own marks, that is no part of it. A candidate might move its marks, so they save no more than that, and no
 * more than a quarter. */
static int64_t without_launch(struct kgen_gpu* gpu, int64_t launched_ns) {
  enum { k_max_launch_ns = 2000, k_part = 4 };
  int64_t marked_ns = 0;
  if (gpu->driver->event_record_with_flags == NULL) return launched_ns;
  if (kgen_gpu_elapsed(gpu, gpu->graph_start, gpu->graph_end, &marked_ns) != CU_OK) return launched_ns;
  const int64_t most_ns = launched_ns / k_part < k_max_launch_ns ? launched_ns / k_part : k_max_launch_ns;
  if (marked_ns > launched_ns) return launched_ns;
  return marked_ns > launched_ns - most_ns ? marked_ns : launched_ns - most_ns;
}

int kgen_gpu_end_call(struct kgen_gpu* gpu, void* stream, struct kgen_gpu_call* call) {
  const struct kgen_driver* driver = gpu->driver;
  call->device_ns = 0;
  if (gpu->replaying) update_launch_time(gpu);
  int status = kgen_gpu_checked(gpu, driver->event_record(gpu->end, stream), "stopping the clock");
  if (status == 0) status = kgen_gpu_record_all(gpu);
  if (status == 0) status = kgen_gpu_checked(gpu, driver->event_synchronize(gpu->end), "waiting for the stream");
  const int64_t stream_done_ns = kgen_now_ns();
  if (status == 0) status = kgen_gpu_checked(gpu, driver->context_synchronize(), "waiting for the device");
  const int64_t device_done_ns = kgen_now_ns();
  if (status == 0) {
    status = kgen_gpu_checked(gpu, kgen_gpu_elapsed(gpu, gpu->start, gpu->end, &call->device_ns), "reading the clock");
  }
  if (status == 0 && gpu->replaying) call->device_ns = without_launch(gpu, call->device_ns);
  call->host_ns = stream_done_ns - gpu->began_ns;
  call->off_stream_ns = device_done_ns - stream_done_ns;
  if (status == 0) status = kgen_gpu_count_other_streams(gpu, call);
  return status;
}

/* -- graphs ------------------------------------------------------------------------------------------------------- */

/* Without such events a replay is timed from outside. */
static int mark(struct kgen_gpu* gpu, void* event, void* stream) {
  if (gpu->driver->event_record_with_flags == NULL) return CU_OK;
  const int status = gpu->driver->event_record_with_flags(event, stream, CU_EVENT_RECORD_EXTERNAL);
  return kgen_gpu_checked(gpu, status, "capturing");
}

int kgen_gpu_mark_start(struct kgen_gpu* gpu, void* stream) { return mark(gpu, gpu->graph_start, stream); }

int kgen_gpu_mark_end(struct kgen_gpu* gpu, void* stream) { return mark(gpu, gpu->graph_end, stream); }

int kgen_gpu_begin_capture(struct kgen_gpu* gpu, void* stream) {
  void* captured = NULL;
  int status = kgen_gpu_checked(gpu, gpu->driver->stream_begin_capture(stream, CU_CAPTURE_RELAXED), "capturing");
  if (status != 0) return status;
  status = kgen_gpu_mark_start(gpu, stream);
  if (status == 0) return 0;
  gpu->driver->stream_end_capture(stream, &captured);
  if (captured != NULL) gpu->driver->graph_destroy(captured);
  return status;
}

int kgen_gpu_end_capture(struct kgen_gpu* gpu, void* stream, void** graph) {
  void* captured = NULL;
  *graph = NULL;
  const int marked = kgen_gpu_mark_end(gpu, stream);
  int status = kgen_gpu_checked(gpu, gpu->driver->stream_end_capture(stream, &captured), "capturing");
  if (status != 0) return status;
  if (marked != 0) {
    gpu->driver->graph_destroy(captured);
    return marked;
  }
  if (gpu->driver->graph_instantiate(graph, captured, k_auto_free_on_launch | k_use_node_priority) != CU_OK) {
    status = kgen_gpu_checked(gpu, gpu->driver->graph_instantiate(graph, captured, 0), "making a graph");
  }
  gpu->driver->graph_destroy(captured);
  return status;
}

int kgen_gpu_replay(struct kgen_gpu* gpu, void* graph, void* stream) {
  return kgen_gpu_checked(gpu, gpu->driver->graph_launch(graph, stream), "replaying a graph");
}

void kgen_gpu_free_graph(struct kgen_gpu* gpu, void* graph) {
  if (graph != NULL) gpu->driver->graph_executable_destroy(graph);
}

/* -- facts about the device --------------------------------------------------------------------------------------- */

static int64_t copy_once(struct kgen_gpu* gpu, void* to, const void* from, uint64_t bytes) {
  const struct kgen_driver* driver = gpu->driver;
  int64_t taken_ns = 0;
  if (driver->event_record(gpu->start, gpu->stream) != CU_OK) return 0;
  if (kgen_gpu_copy(gpu, to, from, bytes, gpu->stream) != 0) return 0;
  if (driver->event_record(gpu->end, gpu->stream) != CU_OK) return 0;
  if (driver->event_synchronize(gpu->end) != CU_OK) return 0;
  kgen_gpu_elapsed(gpu, gpu->start, gpu->end, &taken_ns);
  return taken_ns;
}

double kgen_gpu_copy_bandwidth(struct kgen_gpu* gpu) {
  enum { k_rounds = 8, k_part = 8 };
  uint64_t bytes = UINT64_C(1) << 30;
  uint64_t available = 0;
  uint64_t total = 0;
  void* from = NULL;
  void* to = NULL;
  int64_t best = 0;
  if (kgen_gpu_memory(gpu, &available, &total) != 0) return 0;
  if (bytes > available / k_part) bytes = available / k_part;
  if (kgen_gpu_allocate(gpu, bytes, &from) == 0 && kgen_gpu_allocate(gpu, bytes, &to) == 0 &&
      kgen_gpu_fill(gpu, from, 0x3C, bytes, gpu->stream) == 0) {
    for (int i = 0; i < k_rounds; ++i) {
      const int64_t taken = copy_once(gpu, to, from, bytes);
      if (taken > 0 && (best == 0 || taken < best)) best = taken;
    }
  }
  if (from != NULL) kgen_gpu_free(gpu, from);
  if (to != NULL) kgen_gpu_free(gpu, to);
  return best > 0 ? 2.0 * (double)bytes / ((double)best * 1e-9) : 0;
}
