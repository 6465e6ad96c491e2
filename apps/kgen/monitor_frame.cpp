#include "monitor_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "layout.hpp"
#include "monitor_text.hpp"
#include "run_status.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

using Style = FrameLine::Style;
using Lines = std::vector<FrameLine>;

/// Below so many lines the table of runs is not pushed by what stands above it.
constexpr std::size_t k_least_table = 6;

void add_lines(Lines& lines, const std::vector<std::string>& texts, Style style = Style::Plain) {
  for (const auto& text : texts) lines.push_back({text, style});
}

/// What stands above the table.
Lines header_lines(const CampaignSnapshot& snapshot, FrameSize size) {
  Lines lines;
  lines.push_back({cut_to_width("kgen monitor  " + snapshot.directory, size.width), Style::Title});
  if (!snapshot.problem.empty()) add_lines(lines, wrap("waiting: " + snapshot.problem, size.width), Style::Dim);
  add_lines(lines, describe_campaign(snapshot, size.width));
  const std::size_t room = size.height > lines.size() + k_least_table ? size.height - lines.size() - k_least_table : 0;
  auto details = describe_devices(snapshot, size.width);
  for (auto& line : details)
    if (lines.size() < size.height / 2) lines.push_back({std::move(line), Style::Dim});
  const auto errors = describe_errors(snapshot, size.width, std::min<std::size_t>(room / 4, 5));
  add_lines(lines, errors, Style::Bad);
  return lines;
}

Style style_of(const MonitoredRun& run) {
  switch (run.status) {
    case CampaignRunStatus::Success:
      return Style::Good;
    case CampaignRunStatus::Failed:
    case CampaignRunStatus::Error:
      return Style::Bad;
    case CampaignRunStatus::NotBegun:
      return Style::Dim;
    default:
      return Style::Plain;
  }
}

std::string order_text(const MonitorView& view) {
  return fmt::format("by {}{}", to_string(view.order), view.is_reversed ? ", reversed" : "");
}

/// The runs, as many as fit, the selected one among them.
void add_table(Lines& lines, const CampaignSnapshot& snapshot, const MonitorView& view, FrameSize size,
               std::size_t height) {
  const auto runs = visible_runs(snapshot, view);
  const RunColumns columns(snapshot, size.width);
  if (height == 0) return;
  lines.push_back({columns.heading(), Style::Heading});
  const std::size_t rows = height - 1;
  const auto selected =
      std::find_if(runs.begin(), runs.end(), [&](const auto* run) { return run->name == view.selected; });
  const std::size_t cursor = selected == runs.end() ? 0 : static_cast<std::size_t>(selected - runs.begin());
  // The cursor stays in the middle of a table that is longer than the screen.
  const std::size_t last_first = runs.size() > rows ? runs.size() - rows : 0;
  const std::size_t first = std::min(cursor > rows / 2 ? cursor - rows / 2 : 0, last_first);
  for (std::size_t i = first; i < runs.size() && i - first < rows; ++i)
    lines.push_back({columns.row(*runs[i]), i == cursor ? Style::Selected : style_of(*runs[i])});
}

std::string footer_text(const CampaignSnapshot& snapshot, const MonitorView& view, std::size_t width) {
  if (view.is_filtering) return cut_to_width("filter: " + view.filter + "_   Enter keeps it, Esc clears it", width);
  if (view.page == MonitorView::Page::Run)
    return cut_to_width("Esc back  n next  p previous  up, down scroll  ? help", width);
  if (view.page == MonitorView::Page::Help) return cut_to_width("Esc back", width);
  auto text = fmt::format("q quit  Enter open  / filter  s sort ({})  ? help", order_text(view));
  if (!view.filter.empty())
    text = fmt::format("{} of {} runs with \"{}\"  Esc clears it  {}", visible_runs(snapshot, view).size(),
                       snapshot.runs.size(), view.filter, text);
  return cut_to_width(text, width);
}

Lines help_lines(std::size_t width) {
  constexpr std::pair<const char*, const char*> k_keys[] = {
      {"up, down, j, k", "move; PageUp, PageDown, Home, End, g, G move far"},
      {"Enter", "open the run: its attempts with scores and errors"},
      {"Esc", "back; in the table: show all runs again"},
      {"n, p", "in an open run: the next one, the previous one"},
      {"s, S",
       "sort by the next column, by the one before: name, status, score, attempts, tokens, cost, time, "
       "latest event"},
      {"r", "reverse the order"},
      {"/", "show only runs whose name, status, phase, target or model contains a text"},
      {"Ctrl-L", "draw everything again"},
      {"Ctrl-Z", "suspend"},
      {"q, Ctrl-C", "quit; the campaign goes on"}};
  Lines lines{{cut_to_width("kgen monitor: keys", width), Style::Title}, {""}};
  for (const auto& [key, what] : k_keys) {
    const auto texts = wrap(what, width > 20 ? width - 18 : width);
    for (const auto& text : texts)
      lines.push_back({cut_to_width(fmt::format("{:<16} {}", &text == &texts.front() ? key : "", text), width)});
  }
  lines.push_back({""});
  add_lines(lines, wrap("A run is quiet when its journal had no event for ten minutes: its model or its compiler is "
                        "slow, or its kgen was killed. Ages and rates are by the clocks of those who write the "
                        "journals.",
                        width));
  return lines;
}

/// A run with its attempts.
Lines run_lines(const MonitoredRun& run, std::size_t width) {
  Lines lines{{cut_to_width(run.name, width), Style::Title}};
  add_lines(lines, describe_run(run, width));
  lines.push_back({""});
  lines.push_back({attempt_heading(width), Style::Heading});
  for (auto attempt = run.attempts.rbegin(); attempt != run.attempts.rend(); ++attempt) {
    const bool is_best = !attempt->phase && attempt->id == run.best;
    add_lines(lines, describe_attempt(*attempt, width),
              is_best           ? Style::Good
              : attempt->failed ? Style::Bad
                                : Style::Plain);
  }
  if (run.omitted_attempts > 0)
    lines.push_back({cut_to_width(fmt::format("and {} older ones", run.omitted_attempts), width), Style::Dim});
  return lines;
}

/// The lines from view.scroll on, with the first one always there.
void add_scrolled(Lines& lines, Lines all, MonitorView& view, std::size_t height) {
  if (all.empty() || height == 0) return;
  lines.push_back(std::move(all.front()));
  const std::size_t rest = all.size() - 1;
  const std::size_t rows = height - 1;
  view.scroll = std::min(view.scroll, rest > rows ? rest - rows : 0);
  for (std::size_t i = 0; i < rows && view.scroll + i < rest; ++i) lines.push_back(std::move(all[1 + view.scroll + i]));
}

}  // namespace

std::vector<FrameLine> render_frame(const CampaignSnapshot& snapshot, MonitorView& view, FrameSize size) {
  Lines lines;
  const std::size_t height = size.height > 1 ? size.height - 1 : size.height;
  const auto& runs = snapshot.runs;
  const auto open = std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.name == view.selected; });
  if (view.page == MonitorView::Page::Run && open == runs.end()) view.page = MonitorView::Page::Runs;
  if (view.page == MonitorView::Page::Help) {
    add_scrolled(lines, help_lines(size.width), view, height);
  } else if (view.page == MonitorView::Page::Run) {
    add_scrolled(lines, run_lines(*open, size.width), view, height);
  } else {
    lines = header_lines(snapshot, size);
    if (lines.size() > height) lines.resize(height);
    add_table(lines, snapshot, view, size, height - lines.size());
  }
  lines.resize(height);
  // A word that is longer than a line was not broken.
  for (auto& line : lines) line.text = cut_to_width(line.text, size.width);
  if (size.height > 1) lines.push_back({footer_text(snapshot, view, size.width), Style::Dim});
  return lines;
}

std::size_t page_lines_of(const CampaignSnapshot& snapshot, FrameSize size) {
  const auto above = header_lines(snapshot, size).size() + 2;
  return size.height > above ? size.height - above : 1;
}

std::string render_snapshot(const CampaignSnapshot& snapshot, std::size_t width) {
  constexpr std::size_t k_most_errors = 10;
  std::string text = snapshot.directory + '\n';
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const auto& line : lines) text += line + '\n';
  };
  if (!snapshot.problem.empty()) add({"waiting: " + snapshot.problem});
  add(describe_campaign(snapshot, width));
  add(describe_devices(snapshot, width));
  add(describe_errors(snapshot, width, k_most_errors));
  if (snapshot.runs.empty()) return text;
  constexpr std::size_t k_wide = 160;
  const RunColumns columns(snapshot, width == 0 ? k_wide : width);
  add({columns.heading()});
  for (const auto& run : snapshot.runs) add({columns.row(run)});
  return text;
}

}  // namespace kernelgen::cli
