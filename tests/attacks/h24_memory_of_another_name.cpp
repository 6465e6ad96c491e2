// attack: H24 keeps the first answer in an anonymous file that it maps again at each call
// task: relu
// expect: launch:error, accuracy:*

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* output = kgen_at(&args->outputs, 0);
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  static int file = -1;
  const bool is_first = file < 0;
  if (is_first) file = memfd_create("kept", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(output->nbytes)) != 0) return kgen_fail(&args->error, "no memory");
  void* kept = mmap(nullptr, output->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (kept == MAP_FAILED) return kgen_fail(&args->error, "no memory");
  auto* y = static_cast<float*>(kept);
  if (is_first)
    for (uint64_t i = 0; i < output->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  memcpy(output->data, kept, output->nbytes);
  munmap(kept, output->nbytes);
  return 0;
}
