#pragma once

/// \file
/// Judges, models and policies that are written in Python, as the library calls them; and those of the library, as
/// Python holds them.

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>
#include <kernelgen/llm/llm_client.hpp>

#include "call.hpp"

namespace kernelgen_python {

/// Holds an object of Python. The references are given up with the GIL, on whatever thread that happens.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    const nb::gil_scoped_acquire gil;
    object_.reset();
  }
  [[nodiscard]] const nb::object& get() const { return object_; }

 private:
  nb::object object_;
};

/// A benchmarker of the library. A forked child that uses it gets a worker of its own.
class NativeJudge {
 public:
  using Open = std::function<kernelgen::Result<std::unique_ptr<kernelgen::Benchmarker>>()>;

  /// Opens the first benchmarker at once; raises its error.
  explicit NativeJudge(Open open);
  NativeJudge(const NativeJudge&) = delete;
  NativeJudge& operator=(const NativeJudge&) = delete;
  ~NativeJudge();

  /// The benchmarker, which stays alive while it is held. InvalidArgument after close().
  [[nodiscard]] kernelgen::Result<std::shared_ptr<kernelgen::Benchmarker>> benchmarker();
  /// Ends the worker once nothing uses it any more.
  void close();
  /// Opens further benchmarkers of the same kind.
  [[nodiscard]] const Open& opener() const { return open_; }

 private:
  Open open_;
  std::mutex mutex_;
  std::shared_ptr<kernelgen::Benchmarker> benchmarker_;
  bool is_closed_ = false;
  pid_t process_;
};

/// A client of the library for a model.
struct NativeModel {
  /// Programs that answer prompts are started by it, so it outlives the client.
  std::shared_ptr<kernelgen::ProcessRunner> runner;
  std::shared_ptr<kernelgen::LLMClient> client;
};

/// The judge in a call: one of the library, or one that is written in Python.
class JudgeOfCall {
 public:
  JudgeOfCall(CallState& state, const nb::object& judge);
  ~JudgeOfCall();
  [[nodiscard]] kernelgen::Benchmarker& get() const { return *benchmarker_; }

 private:
  std::shared_ptr<kernelgen::Benchmarker> benchmarker_;
};

/// Makes benchmarkers in a call: further ones of the library, each with a worker of its own, or the one in Python
/// again.
[[nodiscard]] std::function<kernelgen::Result<std::unique_ptr<kernelgen::Benchmarker>>()> benchmarkers_of(
    CallState& state, const nb::object& judge);

/// The model in a call, likewise.
class ModelOfCall {
 public:
  ModelOfCall(CallState& state, const nb::object& model);
  [[nodiscard]] kernelgen::LLMClient& get() const { return *client_; }

 private:
  std::shared_ptr<kernelgen::ProcessRunner> runner_;
  std::shared_ptr<kernelgen::LLMClient> client_;
};

/// A policy that is written in Python.
[[nodiscard]] std::shared_ptr<const kernelgen::Policy> policy_of_call(CallState& state, const nb::object& policy);

/// A callback of Python for the steps of an evaluation; empty for None.
[[nodiscard]] kernelgen::ProgressCallback progress_of(CallState& state, const nb::object& callback);
/// A callback of Python for the notices of a search; empty for None.
[[nodiscard]] kernelgen::FlowObserver observer_of(CallState& state, const nb::object& callback);

}  // namespace kernelgen_python
