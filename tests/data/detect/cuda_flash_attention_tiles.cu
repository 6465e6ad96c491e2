__global__ void forward(const float* Q, const float* K, const float* V, const int N, const int d, const int Tc,
                        const int Tr, const int Bc, const int Br, const float scale, float* l, float* m, float* O) {
  int tx = threadIdx.x;
  int qkv = (blockIdx.x * gridDim.y * N * d) + (blockIdx.y * N * d);
  int lm = (blockIdx.x * gridDim.y * N) + (blockIdx.y * N);
  extern __shared__ float sram[];
  int tile = Bc * d;
  float* Qi = sram;
  float* Kj = &sram[tile];
  float* Vj = &sram[tile * 2];
  float* S = &sram[tile * 3];
  for (int j = 0; j < Tc; j++) {
    for (int x = 0; x < d; x++) {
      Kj[(tx * d) + x] = K[qkv + (tile * j) + (tx * d) + x];
      Vj[(tx * d) + x] = V[qkv + (tile * j) + (tx * d) + x];
    }
    __syncthreads();
    for (int i = 0; i < Tr; i++) {
      for (int x = 0; x < d; x++) Qi[(tx * d) + x] = Q[qkv + (tile * i) + (tx * d) + x];
      float m_prev = m[lm + (Br * i) + tx];
      float l_prev = l[lm + (Br * i) + tx];
      float m_row = -INFINITY;
      for (int y = 0; y < Bc; y++) {
        float sum = 0;
        for (int x = 0; x < d; x++) sum += Qi[(tx * d) + x] * Kj[(y * d) + x];
        sum *= scale;
        S[(Bc * tx) + y] = sum;
        if (sum > m_row) m_row = sum;
      }
      float l_row = 0;
      for (int y = 0; y < Bc; y++) {
        S[(Bc * tx) + y] = __expf(S[(Bc * tx) + y] - m_row);
        l_row += S[(Bc * tx) + y];
      }
      float m_new = max(m_prev, m_row);
      float l_new = (__expf(m_prev - m_new) * l_prev) + (__expf(m_row - m_new) * l_row);
      for (int x = 0; x < d; x++) {
        float pv = 0;
        for (int y = 0; y < Bc; y++) pv += S[(Bc * tx) + y] * Vj[(y * d) + x];
        O[qkv + (tile * i) + (tx * d) + x] =
            (1 / l_new) * ((l_prev * __expf(m_prev - m_new) * O[qkv + (tile * i) + (tx * d) + x]) +
                           (__expf(m_row - m_new) * pv));
      }
      m[lm + (Br * i) + tx] = m_new;
      l[lm + (Br * i) + tx] = l_new;
    }
    __syncthreads();
  }
}

void run(const float* q, const float* k, const float* v, float* l, float* m, float* o) {
  forward<<<dim3(16, 12), 32, 32768>>>(q, k, v, 512, 64, 16, 16, 32, 32, 0.125f, l, m, o);
}
