#define PI 3.14159265358979f

__global__ void fft(float2* data, int n, int logn) {
  extern __shared__ float2 s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = data[blockIdx.x * n + i];
  __syncthreads();
  for (int half = 1; half < n; half <<= 1) {
    for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
      int group = i / half, pair = i % half;
      int a = group * 2 * half + pair, b = a + half;
      float angle = -PI * pair / half;
      float c = cosf(angle), d = sinf(angle);
      float2 u = s[a], v = s[b];
      float re = v.x * c - v.y * d, im = v.x * d + v.y * c;
      s[a].x = u.x + re;
      s[a].y = u.y + im;
      s[b].x = u.x - re;
      s[b].y = u.y - im;
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[blockIdx.x * n + i] = s[i];
}

void run(float2* x, int rows, int n, int logn) { fft<<<rows, 256, n * sizeof(float2)>>>(x, n, logn); }
