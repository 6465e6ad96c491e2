#pragma once

/// \file
/// One candidate from LOAD to the end of the process: its tensors, entry points and prepared states.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <kernelgen/abi.h>

#include "../runner_protocol.h"
#include "channel.hpp"
#include "device.hpp"
#include "emulated_device.hpp"
#include "job.hpp"

namespace kgen_runner {

struct SessionOptions {
  /// Address space for the candidate, in bytes, beyond the mappings at LOAD. 0: no limit.
  std::uint64_t memory_bytes = 0;
  /// The device that the candidate runs on; nullptr: the processor. Must outlive the session.
  Device* device = nullptr;
  /// A device that the processor emulates, in this process: its kernels work on the host's memory, and calls are those
  /// of a processor. nullptr: there is none. Must outlive the session.
  EmulatedDevice* emulated = nullptr;
};

/// Answers commands. One thread at a time.
class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] kgen_reply handle(Command& command);

 private:
  struct State {
    bool prepared = false;
    void* state = nullptr;
    void* workspace = nullptr;
    std::uint64_t workspace_bytes = 0;
    /// A graph is captured once for each number of calls, which is the key. Its calls use the slots from the first on.
    std::map<std::size_t, void*> graphs;
  };
  struct Entries {
    decltype(&kgen_abi_version) abi_version = nullptr;
    decltype(&kgen_prepare) prepare = nullptr;
    decltype(&kgen_run) run = nullptr;
    decltype(&kgen_destroy) destroy = nullptr;
  };
  /// Asks for the names of what kernels report, where the candidate has any.
  void read_report_names(void* library);
  /// Arrays of pointers for the argument structs: with data, and without (kgen_prepare).
  struct Lists {
    std::array<std::vector<const kgen_tensor*>, k_role_count> tensors;
    [[nodiscard]] kgen_tensor_list list(Role role) const;
  };
  /// The tensors of a call, and what its arguments point to. Its address must not change.
  struct Slot {
    std::vector<kgen_tensor> tensors;
    Lists lists;
  };

  void open_job(Command& command, kgen_reply& reply);
  void load(Command& command, kgen_reply& reply);
  void prepare(const Command& command, kgen_reply& reply);
  void run(const Command& command, kgen_reply& reply);
  void examine(const Command& command, kgen_reply& reply);
  /// Does what run() does, with a function that does nothing in the place of the candidate's.
  void rehearse(const Command& command, kgen_reply& reply);
  void destroy(const Command& command, kgen_reply& reply);
  /// Maps the arena and builds the tables for the candidate. Returns an error text.
  [[nodiscard]] std::string map_tensors(const Command& command);
  /// Finds the address of each tensor of the job. Returns an error text.
  [[nodiscard]] std::string map_host(int arena_fd, std::vector<std::vector<std::byte*>>& places);
  [[nodiscard]] std::string map_device(int arena_fd, std::vector<std::vector<std::byte*>>& places);
  /// Builds the tables of a slot from the address of each tensor of the job.
  void fill_slot(const std::vector<std::byte*>& places);
  [[nodiscard]] std::string resolve(void* library);
  /// The state that arg[0] names, or nullptr with the reply filled in.
  [[nodiscard]] State* state_of(const Command& command, kgen_reply& reply);
  template <typename Args>
  void fill(Args& args, const Lists& lists);
  void set_up_environment() const;
  [[nodiscard]] std::int32_t device_number() const;
  [[nodiscard]] bool make_workspace(State& state, kgen_reply& reply);
  void poison_workspace(const State& state);
  /// The arguments of a command's calls; empty with the reply filled in.
  [[nodiscard]] std::vector<kgen_run_args> arguments_of(const Command& command, const State& state, kgen_reply& reply);
  [[nodiscard]] kgen_run_args arguments_for(const Slot& slot, const State& state);
  void call_on_host(State& state, const std::vector<kgen_run_args>& calls, kgen_reply& reply);
  void call_on_device(State& state, const kgen_run_args& args, kgen_reply& reply);
  /// Replays a call, or the calls of a series, after capturing them once.
  void replay_on_device(State& state, const std::vector<kgen_run_args>& calls, kgen_reply& reply);
  /// Calls the candidate, and waits for what it leaves to an emulated device.
  template <class Call>
  void call_and_wait(kgen_reply& reply, Call&& call);
  /// Adds the candidate's error text, unless the reply has a more precise one.
  void explain(kgen_reply& reply) const;
  /// Fails the call if a kernel reported something, and tells what: more than the fault that may have followed it.
  void tell_report(kgen_reply& reply);

  SessionOptions options_;
  Job job_;
  bool has_job_ = false;
  bool loaded_ = false;
  Entries entries_;
  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  /// Wakes the threads of libgomp. Requires: parallel_ is not null.
  void wake_threads() const;
  /// libgomp's entry for a parallel region, found before the candidate was loaded; null where there is no libgomp, and
  /// for a candidate that does not use it.
  Parallel parallel_ = nullptr;
  std::array<State, KGEN_MAX_WEIGHT_SETS> states_;
  void* mapping_ = nullptr;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<kgen_tensor> shape_only_tensors_;  ///< without data where kgen_prepare must not see it
  std::vector<kgen_scalar> scalars_;
  Lists shape_only_lists_;
  std::array<std::vector<const kgen_scalar*>, 2> scalar_lists_;
  std::array<char, 2048> error_text_{};
  /// For KGEN_REPORT() where kernels work on the host's memory.
  std::uint64_t host_report_ = 0;
  /// The word of KGEN_REPORT(), or nullptr.
  std::uint64_t* report_ = nullptr;
  std::vector<std::string> report_names_;
};

}  // namespace kgen_runner
