#pragma once

/// \file
/// Journal: the persistent events of a run. Append-only; appended events survive a crash.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/store/event.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The events of a run. One thread at a time.
class Journal {
 public:
  virtual ~Journal() = default;
  /// All events so far, oldest first.
  [[nodiscard]] virtual const std::vector<Event>& events() const = 0;
  /// Returns when the event is durable. After an Error (NoSpace, Io) the run must stop: an event that may be lost must
  /// not be used. After reopening, the journal has the event whole or not at all.
  virtual Result<void> append(EventBody body) = 0;
};

/// The time of day, injected so that tests can set it.
using TimeSource = std::function<std::chrono::system_clock::time_point()>;

/// Reads the time of an event; nothing when the text is no such time.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> parse_utc(std::string_view iso8601);

/// A journal in memory, for searches inside another program; its destructor discards it.
[[nodiscard]] std::unique_ptr<Journal> make_memory_journal(TimeSource clock);

/// The journal `directory`/events.jsonl, made when missing. The run is locked while the journal lives
/// (`directory`/.lock): Busy, naming the process, when another one holds it. A torn last line is cut off; any other
/// damage is InvalidArgument with the line. Also keeps the files of the run beside it (prompt_N.txt, response_N.txt,
/// code_N.EXT, result_N.json, best_*; see docs/results.md): they appear by rename, and one that is missing after a
/// crash is written when the journal is opened.
[[nodiscard]] Result<std::unique_ptr<Journal>> open_run_journal(const std::filesystem::path& directory,
                                                                TimeSource clock);

/// Reads the events of a run that another process may be writing. Takes no lock; a torn last line is left out.
[[nodiscard]] Result<std::vector<Event>> read_run_events(const std::filesystem::path& directory);

/// The finished actions of a run.
[[nodiscard]] History history_of(const std::vector<Event>& events);

}  // namespace v0
}  // namespace kernelgen
