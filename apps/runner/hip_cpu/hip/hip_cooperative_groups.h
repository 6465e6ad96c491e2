/// \file
/// Cooperative groups: blocks, tiles of a wavefront, the lanes that are here, the grid.
#pragma once

#include "hip_runtime.h"

namespace cooperative_groups {

class thread_block {
 public:
  void sync(KGEN_HIP_LINE) const { __syncthreads(line); }
  [[nodiscard]] unsigned thread_rank() const { return kgen_hip::scheduler().thread().flat; }
  [[nodiscard]] unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  [[nodiscard]] unsigned num_threads() const { return size(); }
  [[nodiscard]] uint3 group_index() const { return blockIdx; }
  [[nodiscard]] uint3 thread_index() const { return threadIdx; }
  [[nodiscard]] dim3 group_dim() const { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  [[nodiscard]] bool is_valid() const { return kgen_hip::scheduler().is_cooperative(); }
  void sync(KGEN_HIP_LINE) const { kgen_hip::scheduler().grid_barrier(line); }
  [[nodiscard]] unsigned long long block_rank() const {
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) * (blockIdx.y + gridDim.y * blockIdx.z);
  }
  [[nodiscard]] unsigned long long num_blocks() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  [[nodiscard]] unsigned long long thread_rank() const {
    return block_rank() * this_thread_block().size() + this_thread_block().thread_rank();
  }
  [[nodiscard]] unsigned long long size() const { return num_blocks() * this_thread_block().size(); }
  [[nodiscard]] unsigned long long num_threads() const { return size(); }
  [[nodiscard]] dim3 group_dim() const { return gridDim; }
};
inline grid_group this_grid() { return {}; }

/// Size lanes beside each other, within one wavefront.
template <unsigned Size, class Parent = void>
class thread_block_tile {
  static_assert(Size <= static_cast<unsigned>(warpSize) && (Size & (Size - 1)) == 0,
                "a tile has a power of two of lanes, and not more than a wavefront");

 public:
  void sync(KGEN_HIP_LINE) const { __syncwarp(~0ull, line); }
  [[nodiscard]] unsigned thread_rank() const { return this_thread_block().thread_rank() % Size; }
  [[nodiscard]] static constexpr unsigned size() { return Size; }
  [[nodiscard]] static constexpr unsigned num_threads() { return Size; }
  [[nodiscard]] unsigned meta_group_rank() const { return this_thread_block().thread_rank() / Size; }
  [[nodiscard]] unsigned meta_group_size() const { return (this_thread_block().size() + Size - 1) / Size; }
  template <class T>
  T shfl(T value, int source, KGEN_HIP_LINE) const {
    return __shfl(value, source, Size, line);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, KGEN_HIP_LINE) const {
    return __shfl_up(value, delta, Size, line);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, KGEN_HIP_LINE) const {
    return __shfl_down(value, delta, Size, line);
  }
  template <class T>
  T shfl_xor(T value, unsigned mask, KGEN_HIP_LINE) const {
    return __shfl_xor(value, static_cast<int>(mask), Size, line);
  }
  unsigned long long ballot(int predicate, KGEN_HIP_LINE) const {
    constexpr unsigned long long k_lanes = Size == 64 ? ~0ull : (1ull << (Size % 64)) - 1;
    return __ballot(predicate, line) >> (kgen_hip::lane() / Size * Size) & k_lanes;
  }
  int any(int predicate, KGEN_HIP_LINE) const { return ballot(predicate, line) != 0 ? 1 : 0; }
  int all(int predicate, KGEN_HIP_LINE) const { return ballot(predicate == 0 ? 1 : 0, line) == 0 ? 1 : 0; }
};
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}

/// The lanes of a wavefront that come here together.
class coalesced_group {
 public:
  explicit coalesced_group(unsigned long long lanes) : lanes_(lanes) {}
  void sync(KGEN_HIP_LINE) const { __syncwarp(~0ull, line); }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(__builtin_popcountll(lanes_)); }
  [[nodiscard]] unsigned num_threads() const { return size(); }
  [[nodiscard]] unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcountll(lanes_ & ((1ull << kgen_hip::lane()) - 1)));
  }
  template <class T>
  T shfl(T value, int source, KGEN_HIP_LINE) const {
    unsigned long long left = lanes_;
    for (int i = 0; i < source % static_cast<int>(size()); ++i) left &= left - 1;
    return kgen_hip::shuffle(value, static_cast<unsigned>(__builtin_ctzll(left)), line);
  }
  int any(int predicate, KGEN_HIP_LINE) const { return __any(predicate, line); }
  int all(int predicate, KGEN_HIP_LINE) const { return __all(predicate, line); }

 private:
  unsigned long long lanes_;
};
inline coalesced_group coalesced_threads(KGEN_HIP_LINE) { return coalesced_group(__activemask(line)); }

template <class Group>
void sync(const Group& group, KGEN_HIP_LINE) {
  group.sync(line);
}

}  // namespace cooperative_groups
