#pragma once

#include <hip/hip_runtime.h>

namespace kittens {

template <int rows, int columns>
concept whole_tiles = rows % 16 == 0 && columns % 16 == 0;

/// Floats in registers, spread over a wavefront.
template <int rows, int columns>
  requires whole_tiles<rows, columns>
struct rt_fl {
  static constexpr int per_lane = rows * columns / 64;
  float values[per_lane];
};

template <int rows, int columns>
__device__ inline void load(rt_fl<rows, columns>& tile, const float* from) {
  for (int i = 0; i < tile.per_lane; ++i) tile.values[i] = from[i * 64 + __builtin_amdgcn_workitem_id_x()];
}

template <int rows, int columns>
__device__ inline void store(float* to, const rt_fl<rows, columns>& tile) {
  for (int i = 0; i < tile.per_lane; ++i) to[i * 64 + __builtin_amdgcn_workitem_id_x()] = tile.values[i];
}

}  // namespace kittens
