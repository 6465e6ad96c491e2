#pragma once

#include <cstdint>

namespace kernelgen {
inline namespace v0 {

/// The use of resources by requests.
struct Spending {
  std::int64_t requests = 0;
  std::int64_t tokens = 0;
  double cost = 0;

  Spending& operator+=(const Spending& other) {
    requests += other.requests;
    tokens += other.tokens;
    cost += other.cost;
    return *this;
  }
  bool operator==(const Spending&) const = default;
};

}  // namespace v0
}  // namespace kernelgen
