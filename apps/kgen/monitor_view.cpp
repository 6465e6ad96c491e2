#include "monitor_view.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>
#include <utility>

#include "support/natural_order.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

using Kind = Key::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 14> k_sequences{{{"\x1b[A", Kind::Up},
                                                                         {"\x1b[B", Kind::Down},
                                                                         {"\x1bOA", Kind::Up},
                                                                         {"\x1bOB", Kind::Down},
                                                                         {"\x1b[5~", Kind::PageUp},
                                                                         {"\x1b[6~", Kind::PageDown},
                                                                         {"\x1b[H", Kind::Home},
                                                                         {"\x1b[F", Kind::End},
                                                                         {"\x1bOH", Kind::Home},
                                                                         {"\x1bOF", Kind::End},
                                                                         {"\x1b[1~", Kind::Home},
                                                                         {"\x1b[4~", Kind::End},
                                                                         {"\x1b[7~", Kind::Home},
                                                                         {"\x1b[8~", Kind::End}}};

/// Length of an escape sequence that is no known key.
std::size_t unknown_sequence_length(std::string_view text) {
  if (text.size() < 2 || (text[1] != '[' && text[1] != 'O')) return 1;
  std::size_t end = 2;
  while (end < text.size() && (text[end] < 0x40 || text[end] > 0x7E)) ++end;
  return std::min(end + 1, text.size());
}

Kind control_key(char byte) {
  constexpr char k_ctrl_c = 3, k_ctrl_l = 12, k_ctrl_z = 26, k_delete = 127;
  switch (byte) {
    case '\r':
    case '\n':
      return Kind::Enter;
    case '\b':
    case k_delete:
      return Kind::Backspace;
    case k_ctrl_c:
      return Kind::Interrupt;
    case k_ctrl_z:
      return Kind::Suspend;
    case k_ctrl_l:
      return Kind::Redraw;
    default:
      return Kind::Text;
  }
}

std::size_t character_bytes(unsigned char lead) { return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
  return result;
}

bool matches(const MonitoredRun& run, const std::string& filter) {
  if (filter.empty()) return true;
  const auto has = [&](std::string_view text) { return contains(lower(text), filter); };
  return has(run.name) || has(to_string(run.status)) || has(run.target) || has(run.model) ||
         std::any_of(run.phases.begin(), run.phases.end(), [&](const auto& one) { return has(to_string(one.first)); });
}

/// Running first, then what needs a person, then what is over, then what has not begun.
int rank_of(CampaignRunStatus status) {
  switch (status) {
    case CampaignRunStatus::Running:
      return 0;
    case CampaignRunStatus::Error:
      return 1;
    case CampaignRunStatus::Paused:
    case CampaignRunStatus::BudgetExhausted:
    case CampaignRunStatus::Busy:
      return 2;
    case CampaignRunStatus::Success:
      return 3;
    case CampaignRunStatus::Partial:
      return 4;
    case CampaignRunStatus::Failed:
      return 5;
    case CampaignRunStatus::NotBegun:
      return 6;
  }
  return 7;
}

/// A number by which runs are sorted, the smallest first.
double sort_value(const MonitoredRun& run, MonitorOrder order) {
  constexpr double k_last = 1e300;
  switch (order) {
    case MonitorOrder::Name:
      return 0;
    case MonitorOrder::Status:
      return rank_of(run.status);
    case MonitorOrder::Score:
      return run.best_score ? -*run.best_score : k_last;
    case MonitorOrder::Attempts:
      return -run.finished_attempts;
    case MonitorOrder::Tokens:
      return -static_cast<double>(run.spent.tokens);
    case MonitorOrder::Cost:
      return -run.spent.cost;
    case MonitorOrder::Time:
      return -static_cast<double>(run.spent.time.count());
    case MonitorOrder::Latest:
      return run.silent ? static_cast<double>(run.silent->count()) : k_last;
  }
  return 0;
}

/// Moves the cursor over the visible runs.
void move_cursor(MonitorView& view, const CampaignSnapshot& snapshot, std::ptrdiff_t lines) {
  const auto runs = visible_runs(snapshot, view);
  if (runs.empty()) return;
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const auto* run) { return run->name == view.selected; });
  const auto last = static_cast<std::ptrdiff_t>(runs.size()) - 1;
  const auto now = found == runs.end() ? 0 : found - runs.begin();
  // Far beyond both ends means to the end.
  view.selected = runs[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(now + lines, 0, last))]->name;
}

void scroll(MonitorView& view, std::ptrdiff_t lines) {
  const auto at = static_cast<std::ptrdiff_t>(std::min<std::size_t>(view.scroll, 1'000'000));
  view.scroll = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + lines, 0, 1'000'000));
}

void edit_filter(MonitorView& view, const Key& key) {
  constexpr std::size_t k_max_filter = 60;
  if (key.kind == Kind::Enter) view.is_filtering = false;
  if (key.kind == Kind::Escape) {
    view.is_filtering = false;
    view.filter.clear();
  }
  if (key.kind == Kind::Backspace && !view.filter.empty()) {
    while (view.filter.size() > 1 && (view.filter.back() & 0xC0) == 0x80) view.filter.pop_back();
    view.filter.pop_back();
  }
  if (key.kind == Kind::Text && view.filter.size() + key.text.size() <= k_max_filter) view.filter += key.text;
}

/// Number of lines that the key moves by; 0 for other keys.
std::ptrdiff_t movement_of(const Key& key, std::size_t page_lines) {
  constexpr std::ptrdiff_t k_all = 1'000'000;
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page_lines, 1));
  switch (key.kind) {
    case Kind::Up:
      return -1;
    case Kind::Down:
      return 1;
    case Kind::PageUp:
      return -page;
    case Kind::PageDown:
      return page;
    case Kind::Home:
      return -k_all;
    case Kind::End:
      return k_all;
    default:
      if (key.text == "k") return -1;
      if (key.text == "j") return 1;
      if (key.text == "g") return -k_all;
      return key.text == "G" ? k_all : 0;
  }
}

void open_run(MonitorView& view, const CampaignSnapshot& snapshot) {
  move_cursor(view, snapshot, 0);
  if (visible_runs(snapshot, view).empty()) return;
  view.page = MonitorView::Page::Run;
  view.scroll = 0;
}

/// Keys of the table of runs.
void apply_to_runs(MonitorView& view, const Key& key, const CampaignSnapshot& snapshot) {
  if (key.kind == Kind::Enter) return open_run(view, snapshot);
  if (key.kind == Kind::Escape) view.filter.clear();
  if (key.text == "/") view.is_filtering = true;
  if (key.text == "r") view.is_reversed = !view.is_reversed;
  constexpr int k_orders = static_cast<int>(MonitorOrder::Latest) + 1;
  if (key.text == "s") view.order = static_cast<MonitorOrder>((static_cast<int>(view.order) + 1) % k_orders);
  if (key.text == "S") view.order = static_cast<MonitorOrder>((static_cast<int>(view.order) + k_orders - 1) % k_orders);
}

}  // namespace

std::vector<Key> parse_keys(std::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    std::size_t used = 1;
    const auto known = std::find_if(k_sequences.begin(), k_sequences.end(),
                                    [&](const auto& one) { return bytes.substr(0, one.first.size()) == one.first; });
    if (known != k_sequences.end()) {
      keys.push_back({known->second});
      used = known->first.size();
    } else if (bytes[0] == '\x1b') {
      used = unknown_sequence_length(bytes);
      if (used == 1) keys.push_back({Kind::Escape});
    } else if (const auto kind = control_key(bytes[0]); kind != Kind::Text) {
      keys.push_back({kind});
    } else if (static_cast<unsigned char>(bytes[0]) >= 0x20) {
      used = std::min(character_bytes(static_cast<unsigned char>(bytes[0])), bytes.size());
      if (is_valid_utf8(bytes.substr(0, used))) keys.push_back({Kind::Text, std::string(bytes.substr(0, used))});
    }
    bytes.remove_prefix(used);
  }
  return keys;
}

std::string_view to_string(MonitorOrder order) {
  constexpr std::array<std::string_view, 8> k_names{"name",   "status", "score", "attempts",
                                                    "tokens", "cost",   "time",  "latest event"};
  return k_names[static_cast<std::size_t>(order)];
}

std::vector<const MonitoredRun*> visible_runs(const CampaignSnapshot& snapshot, const MonitorView& view) {
  const auto filter = lower(view.filter);
  std::vector<const MonitoredRun*> runs;
  for (const auto& run : snapshot.runs)
    if (matches(run, filter)) runs.push_back(&run);
  if (view.order != MonitorOrder::Name)
    std::stable_sort(runs.begin(), runs.end(), [&](const auto* a, const auto* b) {
      return sort_value(*a, view.order) < sort_value(*b, view.order);
    });
  if (view.is_reversed) std::reverse(runs.begin(), runs.end());
  return runs;
}

MonitorRequest apply_key(MonitorView& view, const Key& key, const CampaignSnapshot& snapshot, std::size_t page_lines) {
  using Page = MonitorView::Page;
  if (key.kind == Kind::Interrupt) return MonitorRequest::Interrupt;
  if (key.kind == Kind::Suspend) return MonitorRequest::Suspend;
  if (key.kind == Kind::Redraw) return MonitorRequest::Redraw;
  if (view.is_filtering && movement_of({key.kind}, page_lines) == 0) {
    edit_filter(view, key);
    return MonitorRequest::None;
  }
  if (key.text == "q" && view.page == Page::Runs) return MonitorRequest::Quit;
  if (view.page != Page::Runs && (key.text == "q" || key.kind == Kind::Escape || key.kind == Kind::Backspace)) {
    view.page = Page::Runs;
    view.scroll = 0;
  } else if (key.text == "?" || key.text == "h") {
    view.page = view.page == Page::Help ? Page::Runs : Page::Help;
    view.scroll = 0;
  } else if (const auto lines = movement_of(key, page_lines); lines != 0) {
    if (view.page == Page::Runs)
      move_cursor(view, snapshot, lines);
    else
      scroll(view, lines);
  } else if (view.page == Page::Runs) {
    apply_to_runs(view, key, snapshot);
  } else if (view.page == Page::Run && (key.text == "n" || key.text == "p")) {
    move_cursor(view, snapshot, key.text == "n" ? 1 : -1);
    view.scroll = 0;
  }
  return MonitorRequest::None;
}

}  // namespace kernelgen::cli
