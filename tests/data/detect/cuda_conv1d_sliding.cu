template <typename scalar, int K>
__global__ void conv(const scalar* __restrict__ in, const scalar* __restrict__ wt, const scalar* __restrict__ bias,
                     scalar* __restrict__ out, int C, int L) {
  int pos = blockIdx.x * blockDim.x + threadIdx.x;
  int oc = blockIdx.y;
  if (pos >= L) return;
  scalar acc = bias[oc];
  for (int c = 0; c < C; ++c) {
    scalar window[K];
#pragma unroll
    for (int k = 0; k < K; ++k) window[k] = pos + k < L ? in[c * L + pos + k] : scalar(0);
#pragma unroll
    for (int k = 0; k < K; ++k) acc += window[k] * wt[(oc * C + c) * K + k];
  }
  out[oc * L + pos] = acc > scalar(0) ? acc : acc * scalar(0.01);
}
void run(const float* i, const float* w, const float* b, float* o, int C, int L, int OC) {
  conv<float, 3><<<dim3((L + 255) / 256, OC), 256>>>(i, w, b, o, C, L);
}
