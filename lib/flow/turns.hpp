#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>

namespace kernelgen {
inline namespace v0 {

/// Many do something beside each other, or one does it alone. Whoever waits to be alone goes before all who come later;
/// a std::shared_mutex may let him wait for as long as they come. Thread-safe. It must outlive what it gave.
class Turns {
 public:
  class Turn {
   public:
    Turn(Turns& turns, int& count, bool joined, std::uint64_t number)
        : turns_(turns), count_(count), joined_(joined), number_(number) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    /// Whether anybody else has had a turn at any moment of this one.
    [[nodiscard]] bool had_company() const;

   private:
    Turns& turns_;
    int& count_;
    const bool joined_;
    const std::uint64_t number_;
  };

  /// Null if it was stopped while it waited.
  [[nodiscard]] std::unique_ptr<Turn> beside(std::stop_token stop);
  /// The same, when nobody else has a turn, and nobody gets one meanwhile.
  [[nodiscard]] std::unique_ptr<Turn> alone(std::stop_token stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int beside_ = 0;
  int alone_ = 0;
  /// To be alone.
  int waiting_ = 0;
  /// Turns that have begun.
  std::uint64_t begun_ = 0;
};

}  // namespace v0
}  // namespace kernelgen
