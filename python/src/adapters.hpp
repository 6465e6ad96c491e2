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
#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>
#include <kernelgen/llm/llm_client.hpp>
#include <kernelgen/profile/profiler.hpp>

#include "call.hpp"
#include "convert.hpp"

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

/// A function of the package that calls an object of Python.
[[nodiscard]] nb::object bridge(const char* name);

/// The error of a callback that raised an exception, which the caller of the call gets in place of this one.
[[nodiscard]] inline kernelgen::Error callback_failed() {
  return {kernelgen::ErrorCode::Cancelled, "a callback raised an exception"};
}

/// Calls a method that may raise an exception of this package in place of an error of the library.
template <class T, class Function>
kernelgen::Result<T> ask_python(CallState& state, Function&& function) {
  const nb::gil_scoped_acquire gil;
  if (state.is_silent()) return callback_failed();
  try {
    return function();
  } catch (nb::python_error& error) {
    if (auto found = error_of(error)) {
      state.note_error(*found, error);
      return *std::move(found);
    }
    state.keep_exception(error);
    return callback_failed();
  } catch (const std::exception& error) {
    keep_other_exception(state, error);
    return callback_failed();
  }
}

/// The call for which a thread works, as long as this lives: for what is shared by calls, such as the compilers of a
/// judge.
class CallOfThread {
 public:
  explicit CallOfThread(CallState& state);
  CallOfThread(const CallOfThread&) = delete;
  CallOfThread& operator=(const CallOfThread&) = delete;
  ~CallOfThread();
  /// nullptr: none.
  [[nodiscard]] static CallState* current();

 private:
  CallState* earlier_;
};

/// A benchmarker of the library. A forked child that uses it gets a worker of its own.
class NativeJudge {
 public:
  using Open = std::function<kernelgen::Result<std::unique_ptr<kernelgen::Benchmarker>>()>;

  /// Whether compilers of its own are written in Python.
  enum class Compilers { Native, Python };

  /// Opens the first benchmarker at once; raises its error.
  explicit NativeJudge(Open open, Compilers compilers = Compilers::Native);
  NativeJudge(const NativeJudge&) = delete;
  NativeJudge& operator=(const NativeJudge&) = delete;
  ~NativeJudge();

  /// The benchmarker, which stays alive while it is held. InvalidArgument after close().
  [[nodiscard]] kernelgen::Result<std::shared_ptr<kernelgen::Benchmarker>> benchmarker();
  /// Ends the worker once nothing uses it any more.
  void close();
  /// Opens further benchmarkers of the same kind.
  [[nodiscard]] const Open& opener() const { return open_; }
  [[nodiscard]] Compilers compilers() const { return compilers_; }

 private:
  Open open_;
  Compilers compilers_;
  std::mutex mutex_;
  std::shared_ptr<kernelgen::Benchmarker> benchmarker_;
  bool is_closed_ = false;
  pid_t process_;
};

/// A client of the library for a model. A forked child that uses it gets a client of its own: threads of the parent's,
/// such as the one of its connections, do not exist there. The GIL is held in all functions.
class NativeModel {
 public:
  /// Makes a client, which keeps alive what it uses.
  using Open = std::function<kernelgen::Result<std::shared_ptr<kernelgen::LLMClient>>()>;

  /// Opens the first client at once; raises its error.
  explicit NativeModel(Open open);
  NativeModel(const NativeModel&) = delete;
  NativeModel& operator=(const NativeModel&) = delete;
  ~NativeModel();

  /// The client of this process. Raises the error of opening it.
  [[nodiscard]] std::shared_ptr<kernelgen::LLMClient> client();

 private:
  Open open_;
  std::shared_ptr<kernelgen::LLMClient> client_;
  pid_t process_;
};

/// The judge in a call: one of the library, or one that is written in Python.
class JudgeOfCall {
 public:
  JudgeOfCall(CallState& state, const nb::object& judge);
  ~JudgeOfCall();
  [[nodiscard]] kernelgen::Benchmarker& get() const { return *benchmarker_; }
  /// A profiler that leaves its requests to the judge's worker. InvalidArgument for a judge in Python.
  [[nodiscard]] kernelgen::Result<std::unique_ptr<kernelgen::Profiler>> make_profiler(
      const kernelgen::EvaluationOptions& options) const;

 private:
  std::shared_ptr<kernelgen::Benchmarker> benchmarker_;
  std::shared_ptr<kernelgen::Benchmarker> profiling_;
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
  std::shared_ptr<kernelgen::LLMClient> client_;
};

/// A compiler of the library.
struct NativeCompiler {
  /// The compiler's programs are started by it, so it outlives the compiler.
  std::shared_ptr<kernelgen::ProcessRunner> runner;
  std::shared_ptr<kernelgen::KernelCompiler> compiler;
};

/// A compiler as the library calls it: one of its own, or one that is written in Python.
[[nodiscard]] std::shared_ptr<kernelgen::KernelCompiler> compiler_of(const nb::object& compiler);

/// A policy that is written in Python.
[[nodiscard]] std::shared_ptr<const kernelgen::Policy> policy_of_call(CallState& state, const nb::object& policy);

/// A callback of Python for the steps of an evaluation; empty for None.
[[nodiscard]] kernelgen::ProgressCallback progress_of(CallState& state, const nb::object& callback);
/// A callback of Python for the notices of a search; empty for None.
[[nodiscard]] kernelgen::FlowObserver observer_of(CallState& state, const nb::object& callback);

}  // namespace kernelgen_python
