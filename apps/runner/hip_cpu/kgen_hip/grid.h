/// \file
/// Threads, wavefronts and blocks of a launch, and what they wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fibers.h"
#include "vectors.h"

/// Lanes of a wavefront: 64 as on CDNA, or 32 as on RDNA.
#ifndef KGEN_HIP_WAVE
#define KGEN_HIP_WAVE 64
#endif

namespace kgen_hip {

constexpr int k_wave = KGEN_HIP_WAVE;
static_assert(k_wave == 32 || k_wave == 64, "a wavefront has 32 or 64 lanes");
constexpr unsigned k_max_block_threads = 1024;
/// Local memory (LDS) of a workgroup, in bytes.
constexpr std::size_t k_lds_bytes = 64 << 10;
/// Bytes of the largest value that lanes exchange.
constexpr std::size_t k_lane_bytes = 16;
constexpr int k_max_frames = 12;

/// What a thread is doing.
enum class Status : std::uint8_t {
  NotStarted,
  Ready,
  Yielded,    ///< looked at memory many times, or sleeps: it goes on after the others
  AtWave,     ///< exchanges values with the lanes of its wavefront
  AtBarrier,  ///< waits for its block
  AtGrid,     ///< waits for all blocks
  Done,
};

/// Where a thread waits: the addresses to which its functions return, the kernel's first. Lanes that exchange values
/// must wait at the same place; of several places, the one that comes first in the program goes first.
struct Place {
  std::uintptr_t frames[k_max_frames];
  int count = 0;
  int line = 0;

  [[nodiscard]] int compare(const Place& other) const {
    const int common = count < other.count ? count : other.count;
    for (int i = 0; i < common; ++i)
      if (frames[i] != other.frames[i]) return frames[i] < other.frames[i] ? -1 : 1;
    return count - other.count;
  }
};

/// The barriers of a block. A block that waits at one of them must not wait at another.
enum class BarrierKind : std::uint8_t { Plain, Count, And, Or };

struct Thread {
  Status status = Status::NotStarted;
  BarrierKind barrier = BarrierKind::Plain;
  bool vote = false;
  Fiber* fiber = nullptr;
  uint3 index;
  unsigned flat = 0;
  Place place;
  alignas(16) unsigned char value[k_lane_bytes];
};

/// A wavefront: the values of its last exchange.
struct Wave {
  std::uint64_t active = 0;
  alignas(16) unsigned char values[k_wave][k_lane_bytes];
};

struct Block {
  unsigned threads = 0;
  uint3 index;
  std::uint64_t order_seed = 0;
  /// The order of the lanes of each wavefront.
  unsigned char lane_order[k_wave];
  std::vector<Thread> thread;
  std::vector<Wave> wave;
  /// Dynamic LDS: it ends at a page that must not be touched.
  char* dynamic_lds = nullptr;
  /// The static LDS of the block while another one runs.
  std::vector<unsigned char> saved_lds;
  /// The answer of the last barrier that voted.
  int votes = 0;
};

/// A fast generator of numbers that look random: the same launch has the same order in every run.
inline std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

/// An order of `count` things, fewer than 2^32: forward, backward, or scattered, as the seed says.
class Order {
 public:
  Order(std::uint64_t count, std::uint64_t seed) : count_(count) {
    switch (seed % 3) {
      case 0:
        break;
      case 1:
        first_ = count - 1;
        step_ = count - 1;
        break;
      default:
        first_ = mix(seed) % count;
        step_ = coprime_to(count, mix(seed + 1) % count | 1);
    }
  }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const { return (first_ + i * step_) % count_; }

 private:
  static std::uint64_t coprime_to(std::uint64_t count, std::uint64_t step) {
    const auto divisor = [](std::uint64_t a, std::uint64_t b) {
      while (b != 0) {
        const std::uint64_t rest = a % b;
        a = b;
        b = rest;
      }
      return a;
    };
    while (divisor(count, step) != 1) ++step;
    return step;
  }

  std::uint64_t count_;
  std::uint64_t first_ = 0;
  std::uint64_t step_ = 1;
};

}  // namespace kgen_hip
