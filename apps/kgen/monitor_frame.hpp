#pragma once

/// \file
/// The monitor as text. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include <kernelgen/report/monitor.hpp>

#include "monitor_view.hpp"

namespace kernelgen::cli {

/// The size of what is drawn on.
struct FrameSize {
  std::size_t width = 80;
  std::size_t height = 24;
};

/// One line of a frame.
struct FrameLine {
  enum class Style { Plain, Title, Heading, Good, Bad, Selected, Dim };
  /// At most as wide as the frame.
  std::string text;
  Style style = Style::Plain;
};

/// Exactly as many lines as the frame is high. Scrolling beyond the end is corrected in `view`.
[[nodiscard]] std::vector<FrameLine> render_frame(const CampaignSnapshot& snapshot, MonitorView& view, FrameSize size);
/// Number of lines that a page key moves by.
[[nodiscard]] std::size_t page_lines_of(const CampaignSnapshot& snapshot, FrameSize size);

/// The whole snapshot as plain text, every run on a line. `width` 0: nothing is cut. Ends with a line end.
[[nodiscard]] std::string render_snapshot(const CampaignSnapshot& snapshot, std::size_t width);

}  // namespace kernelgen::cli
