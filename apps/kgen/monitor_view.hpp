#pragma once

/// \file
/// What a person looks at in the monitor, and what keys change about it. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/report/monitor.hpp>

namespace kernelgen::cli {

/// A key of the terminal.
struct Key {
  enum class Kind { Text, Enter, Escape, Backspace, Up, Down, PageUp, PageDown, Home, End, Interrupt, Suspend, Redraw };
  Kind kind = Kind::Text;
  /// One character in UTF-8, for Text.
  std::string text{};
};

/// The keys in bytes that a terminal sent. What is no known key is left out; incomplete sequences at the end, too.
[[nodiscard]] std::vector<Key> parse_keys(std::string_view bytes);

enum class MonitorOrder { Name, Status, Score, Attempts, Tokens, Cost, Time, Latest };
/// The name: "name", "score".
[[nodiscard]] std::string_view to_string(MonitorOrder order);

/// The state of the display.
struct MonitorView {
  enum class Page { Runs, Run, Help };
  Page page = Page::Runs;
  MonitorOrder order = MonitorOrder::Name;
  bool is_reversed = false;
  /// A part of a run's name, status, target, model or phase; upper and lower case are the same.
  std::string filter{};
  /// True while keys change the filter.
  bool is_filtering = false;
  /// Name of the run under the cursor, or the one that is open. Empty: the first one.
  std::string selected{};
  /// First line of an open run or of the help.
  std::size_t scroll = 0;
};

/// What a key asks the program to do.
enum class MonitorRequest { None, Quit, Interrupt, Suspend, Redraw };

/// The runs that the view shows, in its order.
[[nodiscard]] std::vector<const MonitoredRun*> visible_runs(const CampaignSnapshot& snapshot, const MonitorView& view);

/// Changes the view as the key says. `page_lines` is the number of lines that a page key moves by.
[[nodiscard]] MonitorRequest apply_key(MonitorView& view, const Key& key, const CampaignSnapshot& snapshot,
                                       std::size_t page_lines);

}  // namespace kernelgen::cli
