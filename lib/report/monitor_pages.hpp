#pragma once

/// \file
/// What the monitor's web server answers. Knows nothing of sockets.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/report/monitor.hpp>

namespace kernelgen {
inline namespace v0 {

/// The parts of a request that matter.
struct PageRequest {
  /// GET or HEAD.
  bool is_read = true;
  /// The header Host.
  std::string_view host;
  /// Path and query.
  std::string_view target;
};

struct PageAnswer {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
};

/// The page, and the last snapshot as JSON. No file is ever read. Thread-safe.
class MonitorPages {
 public:
  /// From now on this snapshot is shown.
  void show(CampaignSnapshot snapshot);
  [[nodiscard]] PageAnswer answer(const PageRequest& request) const;

 private:
  struct Shown {
    CampaignSnapshot snapshot;
    std::string json;
  };
  [[nodiscard]] std::shared_ptr<const Shown> shown() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Shown> shown_;
};

/// True if the host of a request, with or without a port, is this machine by a name that no other site can have.
[[nodiscard]] bool is_loopback_host(std::string_view host);

}  // namespace v0
}  // namespace kernelgen
