#pragma once

/// \file
/// Calls: work of the library on a thread of its own, which Python waits for, awaits, or cancels.
///
/// Python runs handlers of signals on its main thread only, between two of its own steps. A call that worked on that
/// thread would not notice Ctrl-C before its end. So every call that can take long works elsewhere, and the thread that
/// waits for it looks for signals in between.

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <kernelgen/core/result.hpp>

namespace kernelgen_python {

namespace nb = nanobind;

class CallState;

/// A token of C++ as Python sees it.
class StopToken {
 public:
  explicit StopToken(std::stop_token token) : token_(std::move(token)) {}
  [[nodiscard]] const std::stop_token& get() const { return token_; }
  [[nodiscard]] bool stop_requested() const { return token_.stop_requested(); }
  /// Waits until the stop is requested, at most so many seconds; true if it is. The GIL is released meanwhile.
  [[nodiscard]] bool wait(double seconds) const;

 private:
  std::stop_token token_;
};

/// Stops calls from outside, as Python makes one.
class StopSource {
 public:
  [[nodiscard]] StopToken token() const { return StopToken(source_.get_token()); }
  /// Handlers of the library run here, without the GIL.
  void request_stop();

 private:
  std::stop_source source_;
};

/// What a call does. It is destroyed while the GIL is held.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;
  /// Works, on the thread of the call and without the GIL.
  virtual kernelgen::Result<void> run(CallState& state) = 0;
  /// The result after a success. The GIL is held.
  virtual nb::object result() = 0;
};

/// What the thread of a call and the threads that wait for it share.
class CallState {
 public:
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  void request_stop() { stop_.request_stop(); }
  /// Stops, and makes no callback any more: nothing waits for the result. The GIL is held.
  void abandon() {
    is_abandoned_ = true;
    request_stop();
  }
  /// Keeps an exception of a callback for the caller, and stops the call: no later callback is made. The first one
  /// counts. The GIL is held.
  void keep_exception(nb::python_error& error);
  /// Notes the exception behind an error that a callback gave to the library. If the call ends with that error, its
  /// caller gets this exception. The last one of each code is kept. The GIL is held.
  void note_error(const kernelgen::Error& error, const nb::python_error& exception);
  /// Whether no further callback is made: one raised an exception, or nothing waits any more. The GIL is held.
  [[nodiscard]] bool is_silent() const { return is_abandoned_ || exception_.is_valid(); }

 private:
  friend class Call;

  std::stop_source stop_;
  std::unique_ptr<Work> work_;
  nb::object on_done_;
  nb::object exception_;
  struct NotedError {
    std::string message;
    nb::object exception;
  };
  std::map<kernelgen::ErrorCode, NotedError> noted_errors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  bool is_abandoned_ = false;
  std::optional<kernelgen::Error> error_;
};

/// A call that has begun, as Python holds it.
class Call {
 public:
  /// Begins the work on a thread of its own. `on_done` is called there without arguments at the end, unless it is None.
  Call(std::shared_ptr<CallState> state, std::unique_ptr<Work> work, nb::object on_done);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call(Call&&) = default;
  Call& operator=(Call&&) = delete;
  /// Stops the work, and does not wait for its end.
  ~Call();

  /// Waits for the end, and returns the result. A signal stops the work, and its exception comes soon after, while the
  /// work may still be ending.
  nb::object wait();
  /// The result of a call that has ended. Raises what a callback raised, else the error of the work.
  nb::object result();
  [[nodiscard]] bool is_done() const;
  /// From now on, the work stops when the token does. A call follows one token.
  void follow(const StopToken& token);
  /// Asks the work to stop, and makes no callback any more. It ends with Cancelled soon after.
  void cancel();

 private:
  [[nodiscard]] bool is_inherited() const;
  /// Waits for the end, at most so long; whether it has come. The GIL is released meanwhile.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time);

  std::shared_ptr<CallState> state_;
  std::unique_ptr<std::stop_callback<std::function<void()>>> outer_stop_;
  pid_t process_;
};

/// Keeps an exception of C++ for the caller, as a TypeError: a callback returned a value of a wrong type.
void keep_other_exception(CallState& state, const std::exception& error);

/// Acquires the GIL, and calls a function. An exception of Python is kept for the caller of `state`. Returns nothing
/// after an exception, also an earlier one, and where nothing waits any more.
template <class Function>
auto call_back(CallState& state, Function&& function) -> std::optional<decltype(function())> {
  const nb::gil_scoped_acquire gil;
  if (state.is_silent()) return {};
  try {
    return function();
  } catch (nb::python_error& error) {
    state.keep_exception(error);
    return {};
  } catch (const std::exception& error) {
    keep_other_exception(state, error);
    return {};
  }
}

/// Stops all calls, waits for their ends, and refuses new ones: for the end of the interpreter. The GIL is held, and
/// released while this waits.
void stop_all_calls();
/// Forgets the calls of the parent in a forked child, where their threads do not exist.
void forget_calls_after_fork();
/// The number of threads of calls that have not ended.
[[nodiscard]] int running_calls();

}  // namespace kernelgen_python
