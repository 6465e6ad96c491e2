#include <kernelgen/store/journal.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "store/run_files.hpp"
#include "support/clock.hpp"
#include "support/errno_error.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Records with thousands of samples times hundreds of actions stay far below this.
constexpr std::size_t k_max_journal_bytes = 4ULL << 30;

class MemoryJournal final : public Journal {
 public:
  explicit MemoryJournal(TimeSource clock) : clock_(std::move(clock)) {}

  [[nodiscard]] const std::vector<Event>& events() const override { return events_; }
  Result<void> append(EventBody body) override {
    events_.push_back({utc_iso8601(clock_()), std::move(body)});
    return {};
  }

 private:
  TimeSource clock_;
  std::vector<Event> events_;
};

/// Parses the lines up to the last line end, and sets `whole` to their length in bytes.
Result<std::vector<Event>> parse_journal(std::string_view text, const std::string& name, std::size_t& whole) {
  std::vector<Event> events;
  whole = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', whole)) {
    auto event = parse_event(text.substr(whole, end - whole));
    if (!event) return std::move(event).context(name + ", line " + std::to_string(events.size() + 1)).error();
    events.push_back(*std::move(event));
    whole = end + 1;
  }
  return events;
}

class FileJournal final : public Journal {
 public:
  FileJournal(const fs::path& directory, TimeSource clock, LockFile lock)
      : lock_(std::move(lock)),
        name_((directory / "events.jsonl").string()),
        files_(directory),
        clock_(std::move(clock)) {}

  /// Reads the journal, cuts a torn last line off, and writes the files that a crash left out.
  Result<void> open() {
    fd_.reset(::open(name_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!fd_.valid()) return errno_error(errno, "cannot open " + name_);
    KERNELGEN_TRY(const auto text, read_all(fd_.get(), k_max_journal_bytes, name_));
    KERNELGEN_TRY(events_, parse_journal(text, name_, bytes_));
    if (bytes_ < text.size()) KERNELGEN_CHECK(cut());
    for (const auto& event : events_) KERNELGEN_CHECK(files_.restore(event));
    return files_.restore_best();
  }

  [[nodiscard]] const std::vector<Event>& events() const override { return events_; }

  Result<void> append(EventBody body) override {
    Event event{utc_iso8601(clock_()), std::move(body)};
    const std::string line = to_json(event) + '\n';
    auto written = write_all(fd_.get(), line, name_);
    if (written && ::fdatasync(fd_.get()) != 0) written = errno_error(errno, "cannot write " + name_);
    if (!written) {
      // Half a line at the end is cut off when the journal is opened again, so it matters little if this fails.
      [[maybe_unused]] const auto ignored = cut();
      return written;
    }
    bytes_ += line.size();
    events_.push_back(std::move(event));
    return files_.apply(events_.back());
  }

 private:
  Result<void> cut() {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0)
      return errno_error(errno, "cannot cut the torn last line of " + name_);
    return {};
  }

  LockFile lock_;
  std::string name_;
  RunFiles files_;
  TimeSource clock_;
  UniqueFd fd_;
  std::vector<Event> events_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_utc(std::string_view iso8601) {
  return parse_utc_iso8601(iso8601);
}

std::unique_ptr<Journal> make_memory_journal(TimeSource clock) {
  return std::make_unique<MemoryJournal>(std::move(clock));
}

Result<std::unique_ptr<Journal>> open_run_journal(const fs::path& directory, TimeSource clock) {
  KERNELGEN_CHECK(make_directories(directory));
  KERNELGEN_TRY(auto lock,
                LockFile::acquire({.file = directory / ".lock",
                                   .resource = "the run in " + directory.string(),
                                   .advice = "wait until that one ends, or give the new run a journal of its own"}));
  auto journal = std::make_unique<FileJournal>(directory, std::move(clock), std::move(lock));
  KERNELGEN_CHECK(journal->open());
  return std::unique_ptr<Journal>(std::move(journal));
}

Result<std::vector<Event>> read_run_events(const fs::path& directory) {
  const std::string name = (directory / "events.jsonl").string();
  KERNELGEN_TRY(const auto text, read_file(name, k_max_journal_bytes));
  std::size_t whole = 0;
  return parse_journal(text, name, whole);
}

History history_of(const std::vector<Event>& events) {
  History history;
  for (const auto& event : events) {
    if (const auto* finished = std::get_if<ActionFinished>(&event.body))
      history[finished->result.action.id] = finished->result;
    if (const auto* reopened = std::get_if<ActionReopened>(&event.body)) history.erase(reopened->action_id);
    const auto* taken = std::get_if<ProfileTaken>(&event.body);
    const auto found = taken == nullptr ? history.end() : history.find(taken->action_id);
    if (found == history.end()) continue;
    found->second.profile = taken->profile;
    if (taken->headroom) found->second.headroom = taken->headroom;
  }
  return history;
}

}  // namespace v0
}  // namespace kernelgen
