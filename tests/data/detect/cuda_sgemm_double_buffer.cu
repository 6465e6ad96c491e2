#define TM 8
#define BK 8
#define FETCH(p) (reinterpret_cast<const float4*>(&(p))[0])
__global__ __launch_bounds__(256) void sgemm(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[2][BK][128];
  __shared__ float Bs[2][BK][128];
  float acc[TM][TM] = {{0.f}};
  float ra[TM], rb[TM];
  int write = 0;
  float4 ta = FETCH(A[(blockIdx.y * 128 + threadIdx.x / 2) * K + (threadIdx.x & 1) * 4]);
  As[0][0][threadIdx.x / 2] = ta.x;
  __syncthreads();
  int kt = 0;
  do {
    kt += BK;
    if (kt < K) ta = FETCH(A[(blockIdx.y * 128 + threadIdx.x / 2) * K + kt]);
    int read = write;
    write ^= 1;
    for (int k = 0; k < BK; k++) {
      for (int i = 0; i < TM; i++) ra[i] = As[read][k][i * 16];
      for (int i = 0; i < TM; i++) rb[i] = Bs[read][k][i * 16];
      for (int i = 0; i < TM; i++)
        for (int j = 0; j < TM; j++) acc[i][j] += ra[i] * rb[j];
    }
    if (kt < K) {
      As[write][0][threadIdx.x / 2] = ta.x;
      __syncthreads();
    }
  } while (kt < K);
  for (int i = 0; i < TM; i++)
    for (int j = 0; j < TM; j++) C[(blockIdx.y * 128 + i) * N + blockIdx.x * 128 + j] = acc[i][j];
}
int launch(const float* a, const float* b, float* c, int n) {
  sgemm<<<dim3(n / 128, n / 128), 256>>>(n, n, n, a, b, c);
  return 0;
}
