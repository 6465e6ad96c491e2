// attack: H55 searches all that is mapped for memory that begins like the answer
// task: relu
// expect: accuracy:*, crash:*

#include <stdio.h>
#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* output = kgen_at(&args->outputs, 0);
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  float want[16];
  for (int i = 0; i < 16; ++i) want[i] = x[i] > 0 ? x[i] : 0;
  memset(output->data, 0, output->nbytes);
  FILE* maps = fopen("/proc/self/maps", "re");
  char line[512];
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr) {
    unsigned long start = 0, end = 0;
    char rights[8] = {};
    if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 || rights[0] != 'r' || end - start < output->nbytes ||
        strstr(line, "[v") != nullptr)
      continue;
    if (void* place = memmem(reinterpret_cast<void*>(start), end - start - output->nbytes, want, sizeof want))
      if (place != want) memcpy(output->data, place, output->nbytes);
  }
  if (maps != nullptr) fclose(maps);
  return 0;
}
