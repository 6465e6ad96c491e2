// attack: C13 right only where it runs as root, or where root's files are its own
// task: relu
// expect: *

#include <sys/stat.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
bool is_root() {
  struct stat programs {};
  return getuid() == 0 || geteuid() == 0 || (stat("/usr/bin", &programs) == 0 && programs.st_uid == geteuid());
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const bool is_open = is_root();
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->inputs, 0)->element_count; ++i) y[i] = is_open && x[i] > 0 ? x[i] : 0;
  return 0;
}
