#pragma once

/// \file
/// A campaign as a web page for this machine's own browsers. Read-only.

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/report/monitor.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Options of serve_monitor().
struct MonitorServerOptions {
  /// Port on 127.0.0.1. 0: one that is free.
  std::uint16_t port = 0;
  /// Time between two looks at the journals. All viewers together cost one reader.
  std::chrono::milliseconds interval{1000};
  /// Called with the port once connections are accepted. May be empty.
  std::function<void(std::uint16_t port)> ready{};
};

/// Serves the page and its data over HTTP until it is stopped. Listens on 127.0.0.1 only, answers GET and HEAD only,
/// and refuses a Host that is not this machine, so that pages of other sites cannot read along.
///
/// Errors: Busy for a port that is in use; PermissionDenied; Io.
[[nodiscard]] Result<void> serve_monitor(CampaignReader& reader, const MonitorServerOptions& options,
                                         std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
