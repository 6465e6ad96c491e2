// attack: H31 overwrites the runner's entry for clock_gettime in memory
// task: big_relu
// twin: relu_plain.cpp

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {

/// A function that answers with zeros, written over the start of the C library's clock.
void detour() {
  void* target = dlsym(RTLD_NEXT, "clock_gettime");
  if (target == nullptr) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(target) & ~(page - 1));
  if (mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  /* mov qword [rsi], 0; mov qword [rsi+8], 0; xor eax, eax; ret */
  const unsigned char code[] = {0x48, 0xC7, 0x06, 0, 0, 0, 0, 0x48, 0xC7, 0x46, 8, 0, 0, 0, 0, 0x31, 0xC0, 0xC3};
#if defined(__x86_64__)
  memcpy(target, code, sizeof code);
#else
  (void)code;
#endif
}

}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  static const bool done = (detour(), true);
  (void)done;
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const auto count = static_cast<int64_t>(kgen_at(&args->outputs, 0)->nbytes / sizeof(float));
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
