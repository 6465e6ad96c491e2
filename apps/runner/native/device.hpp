#pragma once

/// \file
/// The GPU of a native runner: memory, a stream, a clock.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "../gpu/gpu.h"
#include "../runner_protocol.h"

namespace kgen_runner {

/// A GPU, opened in the sandbox before the candidate is loaded. One thread at a time.
class Device {
 public:
  /// nullptr, with the reason in `error`, where the device cannot be used.
  [[nodiscard]] static std::unique_ptr<Device> open(const std::string& uuid, std::string& error);

  /// Maps the judge's arena. nullptr on failure; error() gives the reason.
  [[nodiscard]] std::byte* import_arena(int fd, std::uint64_t bytes);
  /// nullptr when there is not enough memory.
  [[nodiscard]] void* allocate(std::uint64_t bytes);
  void release(void* address);
  void fill(void* address, int byte, std::uint64_t bytes);
  [[nodiscard]] void* stream() const { return kgen_gpu_stream(gpu_.get()); }
  /// The word of KGEN_REPORT(); nullptr where the driver has none.
  [[nodiscard]] std::uint64_t* report() const { return kgen_gpu_report(gpu_.get()); }
  [[nodiscard]] std::string error() const { return kgen_gpu_error(gpu_.get()); }

  /// Starts and stops the clock around a call; the reply gets the times, or the fault. False with the fault.
  bool begin(kgen_reply& reply);
  bool begin_replay(kgen_reply& reply);
  bool end(kgen_reply& reply);
  /// Waits for the work that kgen_prepare queued. False with the fault in the reply.
  bool finish(kgen_reply& reply);

  /// Captures the work that `queue` puts on the stream; nullptr with the reason in the reply. The graph lives as long
  /// as this object.
  template <class Queue>
  [[nodiscard]] void* capture(kgen_reply& reply, Queue&& queue) {
    void* graph = nullptr;
    bool captured = kgen_gpu_begin_capture(gpu_.get(), stream()) == 0;
    const bool began = captured;
    captured = captured && queue();
    if (began) captured = kgen_gpu_end_capture(gpu_.get(), stream(), &graph) == 0 && captured;
    if (captured) return graph;
    kgen_gpu_free_graph(gpu_.get(), graph);
    refuse_capture(reply);
    return nullptr;
  }
  [[nodiscard]] bool replay(void* graph, kgen_reply& reply);

  /// Runs `call` and puts what the device did into the reply; see KGEN_OP_EXAMINE.
  template <class Call>
  void examine(kgen_reply& reply, Call&& call) {
    // The clock is not needed, but the flush that comes with it.
    if (!begin(reply) || !finish(reply) || !begin_activities(reply)) return;
    call();
    end_activities(reply);
  }

 private:
  struct Close {
    void operator()(kgen_gpu* gpu) const { kgen_gpu_close(gpu); }
  };
  explicit Device(kgen_gpu* gpu) : gpu_(gpu) {}
  bool ok(int status, kgen_reply& reply);
  void refuse_capture(kgen_reply& reply) const;
  [[nodiscard]] bool begin_activities(kgen_reply& reply);
  void end_activities(kgen_reply& reply);

  std::unique_ptr<kgen_gpu, Close> gpu_;
};

}  // namespace kgen_runner
