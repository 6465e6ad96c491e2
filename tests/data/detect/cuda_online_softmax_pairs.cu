struct __align__(8) MD { float m; float d; };

__device__ __forceinline__ MD merge(MD a, MD b) {
  const bool bigger = a.m > b.m;
  const MD top = bigger ? a : b;
  const MD low = bigger ? b : a;
  MD out;
  out.d = top.d + low.d * __expf(low.m - top.m);
  out.m = top.m;
  return out;
}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int V) {
  x += blockIdx.x * V;
  y += blockIdx.x * V;
  MD partial;
  partial.m = -3.4e38f;
  partial.d = 0.f;
  for (int i = threadIdx.x; i < V; i += blockDim.x) {
    MD fresh;
    fresh.m = x[i];
    fresh.d = 1.f;
    partial = merge(partial, fresh);
  }
  __shared__ MD all[256];
  all[threadIdx.x] = partial;
  for (int s = 128; s > 0; s /= 2) {
    __syncthreads();
    if (threadIdx.x < s) all[threadIdx.x] = merge(all[threadIdx.x], all[threadIdx.x + s]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < V; i += blockDim.x) y[i] = __expf(x[i] - all[0].m) / all[0].d;
}

void run(const float* x, float* y, int rows, int V) { softmax<<<rows, 256>>>(x, y, V); }
