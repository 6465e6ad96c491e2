/// \file
/// Runs the blocks of a launch, and the threads of a block, one after another in changing orders.
///
/// A block runs until it has ended or waits for other blocks; then the next one begins, while the first keeps its
/// threads. So blocks that wait for each other, by a grid barrier or by looking at memory, are all there at once.
#pragma once

// Each candidate's compilation reads these headers: <chrono>, <functional> and <mutex> would take half a second of it.
#include <pthread.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "lds.h"

/// What a kernel knows of itself.
inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
constexpr int warpSize = KGEN_HIP_WAVE;

// A call that must not be copied, because its address tells where a lane waits.
#if defined(__clang__)
#define KGEN_HIP_ONE_CALL __attribute__((noinline, noduplicate, convergent))
#else
#define KGEN_HIP_ONE_CALL __attribute__((noinline))
#endif

namespace kgen_hip {

/// A failure of a kernel that a device would report as an error of the launch, such as threads that wait forever.
class KernelFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LaunchOptions {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_lds = 0;
  bool cooperative = false;
};

/// A kernel with its arguments.
using KernelCall = void (*)(void* arguments);

/// Holds a mutex while it lives.
class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

/// Seconds of a clock that never goes back.
inline double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Scheduler {
 public:
  void launch(const LaunchOptions& options, KernelCall call, void* arguments) {
    const Lock lock(mutex_);
    begin(options, call, arguments);
    try {
      run_blocks();
    } catch (...) {
      // The threads that still wait never go on.
      fibers_.reset();
      thread_ = nullptr;
      running_ = nullptr;
      live_.clear();
      throw;
    }
    thread_ = nullptr;
  }

  // ---- Called by kernels, on fibers. ----

  [[nodiscard]] Thread& thread() { return *thread_; }
  [[nodiscard]] Block& block() { return *running_; }
  [[nodiscard]] bool in_kernel() const { return thread_ != nullptr; }
  [[nodiscard]] bool is_cooperative() const { return options_.cooperative; }
  [[nodiscard]] char* dynamic_lds() const { return running_->dynamic_lds; }
  [[nodiscard]] std::size_t dynamic_lds_size() const { return options_.dynamic_lds; }

  /// Waits for the lanes of the wavefront that come to the same place. Returns their values.
  KGEN_HIP_ONE_CALL const Wave& exchange(int line, const void* value, std::size_t size) {
    Thread& thread = *thread_;
    std::memcpy(thread.value, value, size);
    note_place(thread.place, line, __builtin_frame_address(0));
    wait(Status::AtWave);
    return running_->wave[thread.flat / k_wave];
  }

  __attribute__((noinline)) int barrier(BarrierKind kind, bool vote, int line) {
    Thread& thread = *thread_;
    thread.barrier = kind;
    thread.vote = vote;
    thread.place.line = line;
    wait(Status::AtBarrier);
    return running_->votes;
  }

  void grid_barrier(int line) {
    if (!options_.cooperative)
      fail("line " + std::to_string(line) + ": a grid is synchronized in a launch that is not cooperative");
    thread_->place.line = line;
    wait(Status::AtGrid);
  }

  /// Lets others run. A thread that looks at memory again and again calls it.
  void yield() { wait(Status::Yielded); }

  /// Called for each atomic access: a thread that makes many may be waiting for another one.
  void count_poll() {
    if (thread_ != nullptr && ++polls_ >= k_polls_of_a_turn) yield();
  }

  /// Static LDS of the running kernel, told by the first thread of a launch only.
  void note_static_lds(const void* variable, std::size_t size) {
    for (const auto& known : static_variables_)
      if (known.first == variable) return;
    static_variables_.emplace_back(variable, size);
    std::size_t used = options_.dynamic_lds;
    for (const auto& known : static_variables_) used += known.second;
    if (used > k_lds_bytes)
      fail("a block uses " + std::to_string(used) + " bytes of LDS, and a workgroup has " +
           std::to_string(k_lds_bytes));
  }
  [[nodiscard]] bool notes_static_lds() const { return noting_ == thread_; }

  /// Ends the launch with a message.
  [[noreturn]] void fail(std::string message) {
    if (thread_ == nullptr) throw KernelFailure(std::move(message));
    failure_ = std::move(message);
    void* unused = nullptr;
    kgen_hip_switch(&unused, scheduler_stack_);
    __builtin_unreachable();
  }

  /// The loop of each fiber: it runs one thread after another.
  [[noreturn]] void run_fiber() {
    while (true) {
      call_(arguments_);
      thread_->status = Status::Done;
      leave();
    }
  }

 private:
  static constexpr int k_polls_of_a_turn = 256;
  static constexpr int k_rounds_before_next_block = 8;
  static constexpr double k_longest_wait_seconds = 5;

  static void note_place(Place& place, int line, void* frame) {
    place.line = line;
    std::uintptr_t inner[64];
    int count = 0;
    for (auto** at = static_cast<void**>(frame); at != nullptr && count < 64; at = static_cast<void**>(*at))
      inner[count++] = reinterpret_cast<std::uintptr_t>(at[1]);
    place.count = count < k_max_frames ? count : k_max_frames;
    for (int i = 0; i < place.count; ++i) place.frames[i] = inner[count - 1 - i];
  }

  void wait(Status status) {
    thread_->status = status;
    leave();
  }
  /// From a fiber to the scheduler.
  void leave() { kgen_hip_switch(&thread_->fiber->resume, scheduler_stack_); }

  void resume(Thread& thread) {
    thread.status = Status::Ready;
    thread_ = &thread;
    threadIdx = thread.index;
    polls_ = 0;
    kgen_hip_switch(&scheduler_stack_, thread.fiber->resume);
    thread_ = nullptr;
    if (!failure_.empty()) throw KernelFailure(where_ + std::exchange(failure_, {}));
    progressed_ = progressed_ || thread.status != Status::Yielded;
    if (thread.status == Status::Done) fibers_.give_back(std::exchange(thread.fiber, nullptr));
  }

  void begin(const LaunchOptions& options, KernelCall call, void* arguments) {
    options_ = options;
    call_ = call;
    arguments_ = arguments;
    gridDim = options.grid;
    blockDim = options.block;
    static_variables_.clear();
    noting_ = nullptr;
    lds_ = static_lds();
    ++launches_;
    block_threads_ = options.block.x * options.block.y * options.block.z;
    blocks_ = static_cast<std::uint64_t>(options.grid.x) * options.grid.y * options.grid.z;
  }

  void run_blocks() {
    // The first launch begins as people imagine it: forward.
    const Order order(blocks_, launches_ == 1 ? 0 : mix(launches_));
    std::uint64_t begun = 0, ended = 0;
    int rounds_without_progress = 0;
    double waiting_since = -1;
    while (ended < blocks_) {
      progressed_ = false;
      for (std::size_t i = 0; i < live_.size();) {
        run_block(*live_[i]);
        const bool is_over = has_ended(*live_[i]);
        if (is_over) retire(i);
        ended += is_over ? 1 : 0;
        i += is_over ? 0 : 1;
      }
      if (progressed_) waiting_since = -1;
      rounds_without_progress = progressed_ ? 0 : rounds_without_progress + 1;
      const bool only_grid_helps = !live_.empty() && !has_yielded();
      if (begun < blocks_ &&
          (live_.empty() || only_grid_helps || (rounds_without_progress >= k_rounds_before_next_block && has_room()))) {
        start_block(order[begun], begun);
        ++begun;
      } else if (only_grid_helps) {
        release_grid(ended);
      } else if (!live_.empty() && !progressed_) {
        check_patience(waiting_since);
      }
    }
  }

  /// True if a thread of a live block looks at memory, and may go on by itself. The others wait for the grid.
  [[nodiscard]] bool has_yielded() const {
    for (const auto& block : live_)
      for (const auto& thread : block->thread)
        if (thread.status == Status::Yielded) return true;
    return false;
  }

  [[nodiscard]] bool has_room() const { return (live_.size() + 1) * block_threads_ <= k_max_fibers; }

  void start_block(std::uint64_t number, std::uint64_t position) {
    if (!has_room())
      throw KernelFailure("blocks wait for each other, and more than " + std::to_string(k_max_fibers) +
                          " threads would have to be there at once: launch fewer blocks, as many as the occupancy "
                          "query allows");
    std::unique_ptr<Block> block;
    if (idle_.empty()) {
      block = std::make_unique<Block>();
    } else {
      block = std::move(idle_.back());
      idle_.pop_back();
    }
    const auto& grid = options_.grid;
    block->index = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                    static_cast<unsigned>(number / grid.x / grid.y)};
    block->order_seed = position == 0 && launches_ == 1 ? 0 : mix(launches_ * 1'000'003 + position);
    block->dynamic_lds = dynamic_.take(options_.dynamic_lds);
    std::memset(block->dynamic_lds, k_poison, options_.dynamic_lds);
    const Order lanes(k_wave, block->order_seed);
    for (unsigned i = 0; i < k_wave; ++i) block->lane_order[i] = static_cast<unsigned char>(lanes[i]);
    prepare_threads(*block);
    switch_to(nullptr);
    std::memset(lds_.begin, k_poison, lds_.size);
    running_ = block.get();
    blockIdx = block->index;
    live_.push_back(std::move(block));
    progressed_ = true;
  }

  void prepare_threads(Block& block) {
    const auto& shape = options_.block;
    if (block.threads != block_threads_) {
      block.thread.resize(block_threads_);
      block.wave.resize((block_threads_ + k_wave - 1) / k_wave);
      block.threads = block_threads_;
    }
    unsigned flat = 0;
    for (unsigned z = 0; z < shape.z; ++z)
      for (unsigned y = 0; y < shape.y; ++y)
        for (unsigned x = 0; x < shape.x; ++x, ++flat) {
          auto& thread = block.thread[flat];
          thread.status = Status::NotStarted;
          thread.index = {x, y, z};
          thread.flat = flat;
        }
  }

  void retire(std::size_t i) {
    if (running_ == live_[i].get()) running_ = nullptr;
    dynamic_.give_back(live_[i]->dynamic_lds, options_.dynamic_lds);
    idle_.push_back(std::move(live_[i]));
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  /// Gives a block its static LDS.
  void switch_to(Block* block) {
    if (running_ == block) return;
    if (running_ != nullptr) running_->saved_lds.assign(lds_.begin, lds_.begin + lds_.size);
    running_ = block;
    if (block == nullptr) return;
    std::memcpy(lds_.begin, block->saved_lds.data(), lds_.size);
    blockIdx = block->index;
  }

  static bool has_ended(const Block& block) {
    for (const auto& thread : block.thread)
      if (thread.status != Status::Done) return false;
    return true;
  }

  /// Runs a block until it has ended, or no thread of it can do more than look at memory.
  void run_block(Block& block) {
    switch_to(&block);
    where_ = "block (" + std::to_string(block.index.x) + ", " + std::to_string(block.index.y) + ", " +
             std::to_string(block.index.z) + "): ";
    const Order order(block.wave.size(), block.order_seed);
    bool goes_on = true;
    while (goes_on) {
      for (std::uint64_t i = 0; i < block.wave.size(); ++i) run_wave(block, static_cast<unsigned>(order[i]));
      goes_on = release_barrier(block);
    }
  }

  /// Runs the lanes of a wavefront until each of them has ended, waits for the block or the grid, or has yielded.
  void run_wave(Block& block, unsigned number) {
    const unsigned first = number * k_wave;
    const unsigned lanes = block.threads - first < k_wave ? block.threads - first : k_wave;
    do {
      for (const unsigned lane : block.lane_order) {
        if (lane >= lanes) continue;
        auto& thread = block.thread[first + lane];
        if (thread.status == Status::NotStarted) {
          thread.fiber = fibers_.take();
          if (noting_ == nullptr) noting_ = &thread;
          resume(thread);
        } else if (thread.status == Status::Ready || thread.status == Status::Yielded) {
          resume(thread);
        }
      }
    } while (release_lanes(block, number, first, lanes));
  }

  /// Lets the lanes go on that wait at the first place of all; the others come later. Returns whether there are some.
  bool release_lanes(Block& block, unsigned number, unsigned first, unsigned lanes) {
    const Place* place = nullptr;
    for (unsigned i = 0; i < lanes; ++i) {
      const auto& thread = block.thread[first + i];
      // A lane that still runs may come to this place, too.
      if (thread.status == Status::Yielded || thread.status == Status::Ready) return false;
      if (thread.status == Status::AtWave && (place == nullptr || thread.place.compare(*place) < 0))
        place = &thread.place;
    }
    if (place == nullptr) return false;
    const Place chosen = *place;
    auto& wave = block.wave[number];
    wave.active = 0;
    std::memset(wave.values, k_poison, sizeof wave.values);
    for (unsigned i = 0; i < lanes; ++i) {
      auto& thread = block.thread[first + i];
      if (thread.status != Status::AtWave || thread.place.compare(chosen) != 0) continue;
      wave.active |= std::uint64_t{1} << i;
      std::memcpy(wave.values[i], thread.value, k_lane_bytes);
      thread.status = Status::Ready;
    }
    return true;
  }

  /// Lets the block go on if all its threads wait at one barrier. Returns whether it does.
  bool release_barrier(Block& block) {
    const Thread* waiting = nullptr;
    unsigned count = 0, ended = 0;
    for (const auto& thread : block.thread) {
      if (thread.status == Status::Done) {
        ++ended;
        continue;
      }
      if (thread.status == Status::Yielded) return false;
      if (thread.status != Status::AtBarrier) continue;
      if (waiting != nullptr && (thread.place.line != waiting->place.line || thread.barrier != waiting->barrier))
        fail_block(different_barriers(*waiting, thread));
      waiting = &thread;
      ++count;
    }
    if (waiting == nullptr) return false;
    if (count != block.threads) fail_block(missing_threads(*waiting, count, ended, block.threads));
    vote(block);
    for (auto& thread : block.thread) thread.status = Status::Ready;
    return true;
  }

  static void vote(Block& block) {
    int count = 0;
    for (const auto& thread : block.thread) count += thread.vote ? 1 : 0;
    const bool all = count == static_cast<int>(block.threads);
    const auto kind = block.thread[0].barrier;
    block.votes = kind == BarrierKind::And  ? static_cast<int>(all)
                  : kind == BarrierKind::Or ? static_cast<int>(count > 0)
                                            : count;
  }

  [[noreturn]] void fail_block(const std::string& message) const { throw KernelFailure(where_ + message); }

  static std::string different_barriers(const Thread& one, const Thread& other) {
    return "threads of a block wait at different barriers: thread " + std::to_string(one.flat) + " in line " +
           std::to_string(one.place.line) + ", thread " + std::to_string(other.flat) + " in line " +
           std::to_string(other.place.line) + "; all threads of a block must come to each barrier";
  }
  static std::string missing_threads(const Thread& one, unsigned count, unsigned ended, unsigned all) {
    return std::to_string(count) + " of " + std::to_string(all) + " threads wait at the barrier in line " +
           std::to_string(one.place.line) + ", and the others never come (" + std::to_string(ended) +
           " have returned); all threads of a block must come to each barrier";
  }

  /// Lets all blocks go on. Fails unless each thread of the grid waits at its barrier.
  void release_grid(std::uint64_t ended) {
    std::uint64_t waiting = 0;
    int line = 0;
    for (const auto& block : live_)
      for (const auto& thread : block->thread) {
        if (thread.status != Status::AtGrid) continue;
        ++waiting;
        line = thread.place.line;
      }
    const std::uint64_t all = blocks_ * block_threads_;
    if (waiting != all)
      throw KernelFailure(std::to_string(waiting) + " of " + std::to_string(all) +
                          " threads wait at the barrier of the grid in line " + std::to_string(line) +
                          ", and the others never come (" + std::to_string(ended) + " of " + std::to_string(blocks_) +
                          " blocks have returned)");
    for (const auto& block : live_)
      for (auto& thread : block->thread) thread.status = Status::Ready;
  }

  /// Ends a launch in which every thread only looks at memory.
  static void check_patience(double& since) {
    const double seconds = now_seconds();
    if (since < 0) since = seconds;
    if (seconds - since > k_longest_wait_seconds)
      throw KernelFailure(
          "all threads wait for memory to change, and none of them changes it: they would wait forever");
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  FiberPool fibers_;
  DynamicLds dynamic_;
  LaunchOptions options_;
  KernelCall call_ = nullptr;
  void* arguments_ = nullptr;
  std::uint64_t launches_ = 0;
  std::uint64_t blocks_ = 0;
  unsigned block_threads_ = 0;
  StaticLds lds_;
  std::vector<std::pair<const void*, std::size_t>> static_variables_;
  const Thread* noting_ = nullptr;
  /// Blocks that have begun and not ended, and blocks to use again.
  std::vector<std::unique_ptr<Block>> live_;
  std::vector<std::unique_ptr<Block>> idle_;
  /// The block that has the static LDS.
  Block* running_ = nullptr;
  Thread* thread_ = nullptr;
  void* scheduler_stack_ = nullptr;
  int polls_ = 0;
  bool progressed_ = false;
  std::string where_;
  std::string failure_;
};

inline Scheduler& scheduler() {
  static Scheduler* const one = new Scheduler;
  return *one;
}

}  // namespace kgen_hip

extern "C" inline void kgen_hip_fiber_main() { kgen_hip::scheduler().run_fiber(); }
