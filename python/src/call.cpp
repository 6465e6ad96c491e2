#include "call.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "convert.hpp"

namespace kernelgen_python {
namespace {

using namespace std::chrono_literals;

/// Time between two looks for signals.
constexpr auto k_signal_poll = 20ms;
/// Time between two looks whether the interpreter ends.
constexpr auto k_closing_poll = 100ms;
/// Time that a call which a signal stops gets to end before its caller goes on. A worker that cleans up on a busy
/// machine may take longer; it then does so while the caller's exception is on its way.
constexpr auto k_interruption_patience = 140ms;

/// The calls with threads that have not ended.
class CallRegistry {
 public:
  /// False after the end of the interpreter began.
  [[nodiscard]] bool add(const std::shared_ptr<CallState>& state) {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return false;
    running_.insert(state);
    return true;
  }

  void remove(const std::shared_ptr<CallState>& state) {
    const std::scoped_lock lock(mutex_);
    running_.erase(state);
  }

  /// Called at the very end of a thread, with what it held. The last reference to a state is given up with the GIL, for
  /// which the thread does not wait: that would take the time of the next call.
  void note_end(std::shared_ptr<CallState> state) {
    const std::scoped_lock lock(mutex_);
    ended_.push_back(std::move(state));
    --threads_;
    changed_.notify_all();
  }

  /// Gives up the states of threads that have ended. The GIL is held.
  void release_ended() {
    std::vector<std::shared_ptr<CallState>> ended;
    const std::scoped_lock lock(mutex_);
    ended.swap(ended_);
    // `ended` is destroyed after the lock is given up: destructors may begin calls.
  }

  /// Counts a thread of Python that waits for a call. Python ends the threads that it still has by throwing through
  /// them, which code in C++ does not survive; so the end of the interpreter waits for them.
  class Waiting {
   public:
    explicit Waiting(CallRegistry& calls) : calls_(calls) { calls_.add_waiting(1); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { calls_.add_waiting(-1); }

   private:
    CallRegistry& calls_;
  };

  void note_start() {
    const std::scoped_lock lock(mutex_);
    ++threads_;
  }

  [[nodiscard]] int threads() {
    const std::scoped_lock lock(mutex_);
    return threads_;
  }

  [[nodiscard]] bool is_closed() {
    const std::scoped_lock lock(mutex_);
    return is_closed_;
  }

  void stop_all() {
    std::set<std::shared_ptr<CallState>> running;
    {
      const std::scoped_lock lock(mutex_);
      is_closed_ = true;
      running = running_;
    }
    for (const auto& state : running) state->request_stop();
    // Copies of the states are released before their threads wait for the GIL.
    running.clear();
    while (true) {
      {
        const nb::gil_scoped_release no_gil;
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, k_signal_poll, [&] { return threads_ == 0 && waiting_ == 0; })) break;
      }
      // Without this, a callback that never returns could not be interrupted at the end of the interpreter.
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    release_ended();
  }

 private:
  void add_waiting(int count) {
    const std::scoped_lock lock(mutex_);
    waiting_ += count;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::shared_ptr<CallState>> running_;
  std::vector<std::shared_ptr<CallState>> ended_;
  int threads_ = 0;
  int waiting_ = 0;
  bool is_closed_ = false;
};

/// Never destroyed: threads may end after the destructors of the program's static objects began. Replaced in a forked
/// child, where a thread that does not exist may hold the old one's lock.
CallRegistry* registry = new CallRegistry;

}  // namespace

bool StopToken::wait(double seconds) const {
  const CallRegistry::Waiting counted(*registry);
  const nb::gil_scoped_release no_gil;
  const auto limit = std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e6));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(limit);
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  // The end of the interpreter waits for this, and stops no token of a program's own.
  while (!token_.stop_requested() && !registry->is_closed()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) break;
    changed.wait_for(lock, token_, std::min<std::chrono::steady_clock::duration>(end - now, k_closing_poll),
                     [] { return false; });
  }
  return token_.stop_requested();
}

void StopSource::request_stop() {
  const CallRegistry::Waiting counted(*registry);
  const nb::gil_scoped_release no_gil;
  source_.request_stop();
}

namespace {

/// The exception that Python raised, with its traceback.
nb::object exception_of(const nb::python_error& error) {
  nb::object exception = nb::borrow(error.value());
  if (error.traceback().is_valid()) PyException_SetTraceback(exception.ptr(), error.traceback().ptr());
  return exception;
}

[[noreturn]] void raise_object(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace

void CallState::keep_exception(nb::python_error& error) {
  if (!exception_.is_valid()) exception_ = exception_of(error);
  request_stop();
}

void CallState::note_error(const kernelgen::Error& error, const nb::python_error& exception) {
  noted_errors_.insert_or_assign(error.code, NotedError{error.message, exception_of(exception)});
}

void keep_other_exception(CallState& state, const std::exception& error) {
  PyErr_Format(PyExc_TypeError, "a callback returned a value of a wrong type: %s", error.what());
  nb::python_error kept;
  state.keep_exception(kept);
}

Call::Call(std::shared_ptr<CallState> state, std::unique_ptr<Work> work, nb::object on_done)
    : state_(std::move(state)), process_(::getpid()) {
  registry->release_ended();
  state_->work_ = std::move(work);
  if (!on_done.is_none()) state_->on_done_ = std::move(on_done);
  if (!registry->add(state_))
    raise({kernelgen::ErrorCode::Cancelled, "the interpreter is ending; nothing new can be started"});
  registry->note_start();
  try {
    std::thread([state = state_]() mutable {
      auto done = state->work_->run(*state);
      registry->remove(state);
      {
        const std::scoped_lock lock(state->mutex_);
        if (!done) state->error_ = std::move(done).error();
        state->is_done_ = true;
        state->changed_.notify_all();
      }
      if (state->on_done_.is_valid()) {
        const nb::gil_scoped_acquire gil;
        try {
          state->on_done_();
        } catch (nb::python_error& error) {
          error.discard_as_unraisable("the notification that a call of kernelgen has ended");
        }
        state->on_done_.reset();
      }
      registry->note_end(std::move(state));
    }).detach();
  } catch (const std::system_error& error) {
    registry->remove(state_);
    registry->note_end(state_);
    raise({kernelgen::ErrorCode::Busy, std::string("cannot start a thread: ") + error.what()});
  }
}

Call::~Call() {
  if (!state_) return;
  // In a forked child, a stop would run the handlers of threads that do not exist.
  if (!is_inherited() && !is_done()) state_->abandon();
}

bool Call::is_inherited() const { return process_ != ::getpid(); }

bool Call::is_done() const {
  const std::scoped_lock lock(state_->mutex_);
  return state_->is_done_;
}

void Call::follow(const StopToken& token) {
  if (outer_stop_) raise({kernelgen::ErrorCode::InvalidArgument, "the call follows a token already"});
  const CallRegistry::Waiting counted(*registry);
  const nb::gil_scoped_release no_gil;
  // A forked child must not reach into the library of its parent: see ~Call().
  outer_stop_ =
      std::make_unique<std::stop_callback<std::function<void()>>>(token.get(), [state = state_, process = process_] {
        if (process == ::getpid()) state->request_stop();
      });
}

void Call::cancel() {
  if (!is_inherited()) state_->abandon();
}

nb::object Call::wait() {
  if (is_inherited())
    raise({kernelgen::ErrorCode::Unavailable, "the call belongs to the process that forked this one; begin a new one"});
  // Until the result is made: that runs code of Python, between the steps of which the thread could be ended.
  const CallRegistry::Waiting counted(*registry);
  while (!wait_for(k_signal_poll)) {
    if (PyErr_CheckSignals() == 0) continue;
    nb::python_error interruption;
    state_->abandon();
    [[maybe_unused]] const bool has_ended = wait_for(k_interruption_patience);
    throw interruption;
  }
  return result();
}

bool Call::wait_for(std::chrono::milliseconds time) {
  const nb::gil_scoped_release no_gil;
  std::unique_lock lock(state_->mutex_);
  return state_->changed_.wait_for(lock, time, [&] { return state_->is_done_; });
}

nb::object Call::result() {
  // What the work holds, such as callbacks, is given up with the result. Its thread may still be ending.
  const auto work = std::move(state_->work_);
  const auto noted_errors = std::move(state_->noted_errors_);
  if (state_->exception_.is_valid()) raise_object(state_->exception_);
  if (state_->error_) {
    const auto noted = noted_errors.find(state_->error_->code);
    if (noted != noted_errors.end() && noted->second.message == state_->error_->message)
      raise_object(noted->second.exception);
    raise(*state_->error_);
  }
  if (!work) raise({kernelgen::ErrorCode::InvalidArgument, "the result of this call was taken before"});
  return work->result();
}

void stop_all_calls() { registry->stop_all(); }
void forget_calls_after_fork() { registry = new CallRegistry; }
int running_calls() { return registry->threads(); }

}  // namespace kernelgen_python
