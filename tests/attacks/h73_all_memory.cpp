// attack: H73 takes 100 GB
// task: relu
// expect: out_of_memory

#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args*) {
  std::vector<char> all(100ULL << 30, 'x');
  return all[7] == 'x' ? 0 : 1;
}
