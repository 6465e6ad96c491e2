#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>

namespace kernelgen {
inline namespace v0 {

/// Hands out turns: any number of shared ones at a time, or one exclusive one. A request for an exclusive turn goes
/// before all later ones; with a std::shared_mutex it could wait for as long as shared turns keep coming. Thread-safe.
/// Outlives its turns.
class Turns {
 public:
  class Turn {
   public:
    Turn(Turns& turns, int& count, bool joined, std::uint64_t number)
        : turns_(turns), count_(count), joined_(joined), number_(number) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    /// Whether another turn was taken at any moment of this one.
    [[nodiscard]] bool overlapped() const;

   private:
    Turns& turns_;
    int& count_;
    const bool joined_;
    const std::uint64_t number_;
  };

  /// Waits for a turn that others may share. Null when it was stopped meanwhile.
  [[nodiscard]] std::unique_ptr<Turn> shared(std::stop_token stop);
  /// Waits for a turn that nothing shares. Null when it was stopped meanwhile.
  [[nodiscard]] std::unique_ptr<Turn> exclusive(std::stop_token stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int shared_ = 0;
  int exclusive_ = 0;
  /// Requests for an exclusive turn that wait.
  int waiting_ = 0;
  /// Turns that have begun.
  std::uint64_t begun_ = 0;
};

}  // namespace v0
}  // namespace kernelgen
