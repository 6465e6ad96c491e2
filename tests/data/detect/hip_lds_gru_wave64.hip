#include <hip/hip_runtime.h>
#define SIG(x) (1.0f/(1.0f+__expf(-(x))))
__global__ __launch_bounds__(256) void gru(const float* __restrict__ gi, const float* __restrict__ whh, float* hy, int seq, int bs){
  __shared__ float hs[256]; int u=threadIdx.x, b=blockIdx.x; hs[u]=0; float h=0;
  for(int s=0;s<seq;s++){
    __syncthreads();
    float r=0,z=0,n=0;
    for(int k=0;k<256;k++){ float hk=hs[k]; r+=whh[k*768+u]*hk; z+=whh[k*768+256+u]*hk; n+=whh[k*768+512+u]*hk; }
    const float* g=gi+(size_t)(s*bs+b)*768;
    r=SIG(r+g[u]); z=SIG(z+g[256+u]); n=tanhf(g[512+u]+r*n);
    h=(1-z)*n+z*h;
    __syncthreads();
    hs[u]=h;
  }
  hy[b*256+u]=h;
}
void run(const float* gi,const float* w,float* hy,int seq,int bs,hipStream_t s){ hipLaunchKernelGGL(gru, bs, 256, 0, s, gi, w, hy, seq, bs); }
