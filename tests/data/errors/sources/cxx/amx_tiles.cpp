// expect: cxx.target_intrinsic
// tools: clang++
#include <immintrin.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

struct alignas(64) TileConfig { uint8_t palette = 1, start = 0, reserved[14] = {}; uint16_t cols[16] = {}; uint8_t rows[16] = {}; };

// 16 x 16 tile of bf16 products on AMX.
void gemm_tile(const uint16_t* a, const uint16_t* b, float* c, int64_t k) {
  TileConfig config;
  for (int i = 0; i < 3; ++i) { config.cols[i] = 64; config.rows[i] = 16; }
  _tile_loadconfig(&config);
  _tile_zero(0);
  for (int64_t i = 0; i < k; i += 32) {
    _tile_loadd(1, a + i, k * 2);
    _tile_loadd(2, b + i * 16, 64);
    _tile_dpbf16ps(0, 1, 2);
  }
  _tile_stored(0, c, 64);
  _tile_release();
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
