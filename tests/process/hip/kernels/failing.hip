// Launches that fail, and what is wrong where nothing fails. Each function writes the message of its failure.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include <cstring>
#include <exception>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace cg = cooperative_groups;

template <class Launch>
void attempt(char* message, Launch launch) {
  try {
    launch();
    std::strcpy(message, hipPeekAtLastError() == hipSuccess ? "" : hipGetErrorString(hipPeekAtLastError()));
    (void)hipGetLastError();
  } catch (const std::exception& error) {
    std::strncpy(message, error.what(), 999);
  }
}

__global__ void different_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
EXPORT void divergent_barrier(char* message) {
  attempt(message, [] { different_barriers<<<1, 64>>>(); });
}

__global__ void returns_early(int n) {
  if ((int)threadIdx.x >= n) return;
  __syncthreads();
}
EXPORT void missed_barrier(char* message) {
  attempt(message, [] { returns_early<<<1, 64>>>(50); });
}

__global__ void part_of_the_grid() {
  if (blockIdx.x == 0) cg::this_grid().sync();
}
EXPORT void missed_grid_barrier(char* message) {
  attempt(message, [] {
    void* none[] = {nullptr};
    (void)hipLaunchCooperativeKernel((void*)part_of_the_grid, dim3(2), dim3(4), none, 0, nullptr);
  });
}
EXPORT void grid_barrier_without_cooperation(char* message) {
  attempt(message, [] { part_of_the_grid<<<2, 4>>>(); });
}

__global__ void names_absent_lanes(int* out) {
  if (threadIdx.x < 8) out[threadIdx.x] = __shfl_sync(0xFFFFull, (int)threadIdx.x, 0);
  __syncthreads();
}
EXPORT void mask_with_absent_lanes(char* message) {
  int out[8];
  attempt(message, [&] { names_absent_lanes<<<1, 16>>>(out); });
}

template <int Bytes>
__global__ void uses_lds() {
  __shared__ char first[Bytes / 2];
  __shared__ char second[Bytes / 2];
  first[threadIdx.x] = second[threadIdx.x] = 0;
}
EXPORT void too_much_static_lds(char* message) {
  attempt(message, [] {
    uses_lds<40000><<<1, 32>>>();
    uses_lds<80000><<<1, 32>>>();
  });
}
EXPORT void much_lds_in_several_kernels(char* message) {
  attempt(message, [] {
    uses_lds<60000><<<1, 32>>>();
    uses_lds<60002><<<1, 32>>>();
  });
}
__global__ void nothing() {}
EXPORT void too_much_dynamic_lds(char* message) {
  attempt(message, [] { nothing<<<1, 32, 70000>>>(); });
}
EXPORT void too_many_threads(char* message) {
  attempt(message, [] { nothing<<<1, 2048>>>(); });
}
EXPORT void empty_grid(char* message) {
  attempt(message, [] { nothing<<<0, 64>>>(); });
}

__global__ void waits_forever(unsigned* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
}
EXPORT void endless_wait(char* message) {
  static unsigned flag = 0;
  attempt(message, [] { waits_forever<<<2, 4>>>(&flag); });
}

__global__ void traps() {
  if (threadIdx.x == 3) __trap();
}
EXPORT void trap(char* message) {
  attempt(message, [] { traps<<<1, 8>>>(); });
}
__global__ void launches() { nothing<<<1, 1>>>(); }
EXPORT void launch_in_a_kernel(char* message) {
  attempt(message, [] { launches<<<1, 1>>>(); });
}

// A failed launch leaves nothing behind: the next one works.
__global__ void fill(int* out) {
  __syncthreads();
  out[threadIdx.x] = 1;
}
EXPORT int works_again() {
  int out[64] = {};
  fill<<<1, 64>>>(out);
  int sum = 0;
  for (const int value : out) sum += value;
  return sum;
}

// No barrier between writing and reading.
__global__ void neighbours(const float* x, float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  out[threadIdx.x] = s[(threadIdx.x + 1) % 128];
}
EXPORT int missing_barrier() {
  float x[128], out[128];
  for (int i = 0; i < 128; ++i) x[i] = static_cast<float>(i);
  int wrong = 0;
  neighbours<<<1, 128>>>(x, out);
  for (int i = 0; i < 128; ++i) wrong += out[i] == x[(i + 1) % 128] ? 0 : 1;
  return wrong;
}
// Right when threads begin in order, so one of several launches shows it.
__global__ void previous(const float* x, float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  out[threadIdx.x] = threadIdx.x == 0 ? 0 : s[threadIdx.x - 1];
}
EXPORT int missing_barrier_that_order_hides() {
  float x[128], out[128];
  for (int i = 0; i < 128; ++i) x[i] = static_cast<float>(i);
  int wrong = 0;
  for (int launch = 0; launch < 12; ++launch) {
    previous<<<1, 128>>>(x, out);
    for (int i = 1; i < 128; ++i) wrong += out[i] == x[i - 1] ? 0 : 1;
  }
  return wrong;
}
// Nothing was written there: no zero of luck.
__global__ void reads_what_nobody_wrote(float* out) {
  __shared__ float s[64];
  if (threadIdx.x < 32) s[threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
EXPORT int uninitialized_lds() {
  float out[64];
  int numbers = 0;
  reads_what_nobody_wrote<<<1, 64>>>(out);
  for (const float value : out) numbers += value == value ? 1 : 0;
  return numbers;
}
__global__ void reads_lane_in_other_branch(float* out) {
  float value = 1;
  if (threadIdx.x % 2 == 0) value = __shfl(value, 1);
  out[threadIdx.x] = value;
}
EXPORT int value_of_an_absent_lane() {
  float out[32];
  int numbers = 0;
  reads_lane_in_other_branch<<<1, 32>>>(out);
  for (const float value : out) numbers += value == value ? 1 : 0;
  return numbers;
}
