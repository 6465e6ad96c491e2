#include "flow/worker_threads.hpp"

#include <algorithm>
#include <utility>

namespace kernelgen {
inline namespace v0 {

WorkerThreads::WorkerThreads(int threads) {
  for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

WorkerThreads::~WorkerThreads() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  threads_.clear();  // joins while the queue still lives
}

void WorkerThreads::post(Job job) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
    if (closing_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace v0
}  // namespace kernelgen
