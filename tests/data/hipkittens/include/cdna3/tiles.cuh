#pragma once

#include <hip/hip_runtime.h>

namespace kittens {

inline constexpr int WARP_THREADS = 64;

/// The upper half of a float.
struct bf16 {
  unsigned short bits;
};
__device__ inline float to_float(bf16 x) { return __builtin_bit_cast(float, static_cast<unsigned>(x.bits) << 16); }

template <int rows, int columns>
concept whole_tiles = rows % 16 == 0 && columns % 16 == 0;

struct row_l {};
struct col_l {};

/// Numbers in registers, spread over a wavefront.
template <class T, int row_count, int column_count, class layout>
  requires whole_tiles<row_count, column_count>
struct rt {
  static constexpr int rows = row_count;
  static constexpr int columns = column_count;
  static constexpr int per_lane = rows * columns / WARP_THREADS;
  T values[per_lane];
};
template <int rows, int columns, class layout = row_l>
using rt_fl = rt<float, rows, columns, layout>;
template <int rows, int columns, class layout = row_l>
using rt_bf = rt<bf16, rows, columns, layout>;

/// The place of a tile, in tiles.
struct coord {
  int batch, head, row, column;
};

/// A tensor of four dimensions in memory; -1: known at run time.
template <class T, int, int, int, int>
struct gl {
  T* data;
  int batches, heads, rows, columns;
  __device__ __host__ gl(T* first, int b, int h, int r, int c) : data(first), batches(b), heads(h), rows(r), columns(c) {}
};

/// The address of an element of a tile.
template <class G, class R>
__device__ inline auto* place(const G& tensor, const R&, const coord& at, int index) {
  const int row = at.row * R::rows + index / R::columns;
  const int column = at.column * R::columns + index % R::columns;
  return tensor.data + (static_cast<long>(at.batch * tensor.heads + at.head) * tensor.rows + row) * tensor.columns + column;
}

template <class T, int rows, int columns, class layout>
__device__ inline void zero(rt<T, rows, columns, layout>& tile) {
  for (auto& value : tile.values) value = {};
}

template <class T, int rows, int columns, class layout>
__device__ inline void load(rt<T, rows, columns, layout>& tile, const T* from) {
  for (int i = 0; i < tile.per_lane; ++i) tile.values[i] = from[i * WARP_THREADS + __builtin_amdgcn_workitem_id_x()];
}

template <class T, int rows, int columns, class layout, int b, int h, int r, int c>
__device__ inline void load(rt<T, rows, columns, layout>& tile, const gl<T, b, h, r, c>& from, const coord& at) {
  for (int i = 0; i < tile.per_lane; ++i)
    tile.values[i] = *place(from, tile, at, i * WARP_THREADS + __builtin_amdgcn_workitem_id_x());
}

template <class T, int rows, int columns, class layout>
__device__ inline void store(T* to, const rt<T, rows, columns, layout>& tile) {
  for (int i = 0; i < tile.per_lane; ++i) to[i * WARP_THREADS + __builtin_amdgcn_workitem_id_x()] = tile.values[i];
}

template <class T, int rows, int columns, class layout, int b, int h, int r, int c>
__device__ inline void store(const gl<T, b, h, r, c>& to, const rt<T, rows, columns, layout>& tile, const coord& at) {
  for (int i = 0; i < tile.per_lane; ++i)
    *place(to, tile, at, i * WARP_THREADS + __builtin_amdgcn_workitem_id_x()) = tile.values[i];
}

/// The types of d = a b^T + c, not its arithmetic.
template <int m, int n, int k>
__device__ inline void mma_ABt(rt_fl<m, n, col_l>& d, const rt_bf<m, k, row_l>& a, const rt_bf<n, k, row_l>& b,
                               const rt_fl<m, n, col_l>& c) {
  for (int i = 0; i < d.per_lane; ++i)
    d.values[i] = c.values[i] + to_float(a.values[i % a.per_lane]) * to_float(b.values[i % b.per_lane]);
}

}  // namespace kittens
