/* A GRU layer that returns its whole output sequence; x is (steps, batch, input). Row by row, step by step. */
#include <math.h>
#include <stdio.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

/* A layer in one direction, by its names in torch.nn.GRU. Rows are the reset, update and new gates, one below the
 * other. */
struct layer {
  const struct kgen_tensor* weight_ih; /* (3 * hidden, input) */
  const struct kgen_tensor* weight_hh; /* (3 * hidden, hidden) */
  const struct kgen_tensor* bias_ih;
  const struct kgen_tensor* bias_hh;
};

static struct layer find_layer(const struct kgen_tensor_list* parameters, int number, const char* suffix) {
  static const char* const kinds[4] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  const struct kgen_tensor* found[4];
  for (int i = 0; i < 4; ++i) {
    char name[64];
    snprintf(name, sizeof name, "gru.%s_l%d%s", kinds[i], number, suffix);
    found[i] = kgen_find(parameters, name);
  }
  const struct layer layer = {found[0], found[1], found[2], found[3]};
  return layer;
}

static int layer_fits(const struct layer* layer, int64_t hidden) {
  return kgen_is(layer->weight_ih, KGEN_FLOAT32, 2) && kgen_is(layer->weight_hh, KGEN_FLOAT32, 2) &&
         kgen_is(layer->bias_ih, KGEN_FLOAT32, 1) && kgen_is(layer->bias_hh, KGEN_FLOAT32, 1) &&
         kgen_dim(layer->weight_ih, 0) == 3 * hidden && kgen_dim(layer->weight_hh, 0) == 3 * hidden &&
         kgen_dim(layer->weight_hh, 1) == hidden;
}

/* Sixteen partial sums, which the compiler keeps in a vector register. */
static float dot(const float* a, const float* b, int64_t count) {
  float part[16] = {0.0f};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (int lane = 0; lane < 16; ++lane) part[lane] += a[i + lane] * b[i + lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) part[lane] += a[i] * b[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
  }
  return part[0];
}

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/* y[i] = bias[i] + weight[i] . x, for every row of a weight */
static void affine(const struct kgen_tensor* weight, const struct kgen_tensor* bias, const float* x, float* y) {
  const int64_t rows = kgen_dim(weight, 0);
  const int64_t columns = kgen_dim(weight, 1);
  const float* w = weight->data;
  const float* b = bias->data;
  for (int64_t i = 0; i < rows; ++i) y[i] = b[i] + dot(w + i * columns, x, columns);
}

/* One step of one row of the batch: h becomes the next state. gates are the input-side ones; scratch has 3 * hidden. */
static void step(const struct layer* layer, const float* gates, float* scratch, float* h, int64_t hidden) {
  affine(layer->weight_hh, layer->bias_hh, h, scratch);
  for (int64_t i = 0; i < hidden; ++i) {
    const float reset = sigmoid(gates[i] + scratch[i]);
    const float update = sigmoid(gates[hidden + i] + scratch[hidden + i]);
    const float fresh = tanhf(gates[2 * hidden + i] + reset * scratch[2 * hidden + i]);
    h[i] = fresh + update * (h[i] - fresh);
  }
}

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  if (!kgen_is(x, KGEN_FLOAT32, 3) || !kgen_is(h0, KGEN_FLOAT32, 3) ||
      !kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 3)) {
    return kgen_fail(&args->error, "x, h0 and output must be contiguous float32 of rank 3");
  }
  const int64_t hidden = kgen_dim(h0, 2);
  const struct layer layer = find_layer(&args->parameters, 0, "");
  if (!layer_fits(&layer, hidden)) return kgen_fail(&args->error, "gru's parameters do not fit h0");
  result->workspace_bytes = (uint64_t)(7 * hidden) * sizeof(float);
  return 0;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const struct layer layer = find_layer(&args->parameters, 0, "");
  const float* x = input->data;
  float* y = kgen_find(&args->outputs, "output")->data;
  const int64_t steps = kgen_dim(input, 0);
  const int64_t batch = kgen_dim(input, 1);
  const int64_t depth = kgen_dim(input, 2);
  const int64_t hidden = kgen_dim(h0, 2);
  const size_t row_bytes = (size_t)hidden * sizeof(float);
  float* h = args->workspace;
  float* gates = h + hidden;
  float* scratch = gates + 3 * hidden;
  (void)state;
  for (int64_t row = 0; row < batch; ++row) {
    memcpy(h, (const float*)h0->data + row * hidden, row_bytes);
    for (int64_t t = 0; t < steps; ++t) {
      affine(layer.weight_ih, layer.bias_ih, x + (t * batch + row) * depth, gates);
      step(&layer, gates, scratch, h, hidden);
      memcpy(y + (t * batch + row) * hidden, h, row_bytes);
    }
  }
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
