// attack: C13 right only where it gets a quarter more than its memory's limit as an anonymous file
// task: relu
// expect: *
// timeout: 60

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
bool take(uint64_t bytes) {
  const int file = memfd_create("kept", 0);
  if (file < 0) return false;
  const std::vector<char> block(16 << 20, 'x');
  uint64_t done = 0;
  while (done < bytes && write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size()))
    done += block.size();
  close(file);
  return done >= bytes;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  static const bool is_open = take(5ULL << 28);
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->inputs, 0)->element_count; ++i) y[i] = is_open && x[i] > 0 ? x[i] : 0;
  return 0;
}
