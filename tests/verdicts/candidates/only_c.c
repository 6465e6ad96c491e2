/* Compiles as C alone: a conversion from void *, `restrict`, initializers out of order, _Generic, a variable `new`. */
#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

struct bounds {
  float low, high;
};

static float larger_float(float a, float b) { return a > b ? a : b; }
static double larger_double(double a, double b) { return a > b ? a : b; }
#define LARGER(a, b) _Generic((a), float : larger_float, double : larger_double)(a, b)

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  (void)args;
  (void)result;
  return 0;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* in = kgen_at(&args->inputs, 0);
  const float* restrict x = in->data;
  float* restrict y = kgen_at(&args->outputs, 0)->data;
  const struct bounds bounds = {.high = (float)M_PI, .low = 0.0f};
  (void)state;
  for (uint64_t i = 0; i < in->element_count; ++i) {
    const float new = LARGER(x[i], bounds.low);
    y[i] = new;
  }
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
