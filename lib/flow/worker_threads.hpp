#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A pool of threads that run jobs, oldest first. The destructor drops the jobs that have not started and waits for the
/// others.
class WorkerThreads {
 public:
  using Job = std::function<void()>;

  explicit WorkerThreads(int threads);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  void post(Job job);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

/// An unbounded queue from which one thread waits for values of others.
template <class T>
class BlockingQueue {
 public:
  void put(T value) {
    {
      const std::scoped_lock lock(mutex_);
      values_.push_back(std::move(value));
    }
    arrived_.notify_one();
  }
  [[nodiscard]] T take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !values_.empty(); });
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> values_;
};

}  // namespace v0
}  // namespace kernelgen
