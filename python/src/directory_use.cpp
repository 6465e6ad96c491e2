#include "directory_use.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace kernelgen_python {

using namespace kernelgen;
namespace fs = std::filesystem;

struct DirectoryUse::Entry {
  fs::path directory;
  std::stop_token stop;
};

namespace {

struct Uses {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::vector<const DirectoryUse::Entry*> entries;
};

/// The uses of this process. A forked child has none of its parent's calls, and gets a new list: a thread that does not
/// exist there may hold the lock of the old one.
Uses*& uses() {
  static Uses* current = [] {
    ::pthread_atfork(nullptr, nullptr, [] { uses() = new Uses; });
    return new Uses;
  }();
  return current;
}

/// Whether one directory is the other one, or below it.
bool overlap(const fs::path& one, const fs::path& other) {
  const auto [in_one, in_other] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return in_one == one.end() || in_other == other.end();
}

}  // namespace

DirectoryUse::DirectoryUse(std::unique_ptr<Entry> entry) : entry_(std::move(entry)) {}
DirectoryUse::DirectoryUse(DirectoryUse&&) noexcept = default;

DirectoryUse::~DirectoryUse() {
  if (!entry_) return;
  auto& shared = *uses();
  const std::scoped_lock lock(shared.mutex);
  std::erase(shared.entries, entry_.get());
  shared.changed.notify_all();
}

Result<DirectoryUse> DirectoryUse::begin(const fs::path& directory, const std::stop_token& stop) {
  std::error_code error;
  auto absolute = fs::weakly_canonical(fs::absolute(directory, error), error);
  if (error) absolute = directory.lexically_normal();
  // A trailing slash would be an empty last part.
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  auto entry = std::make_unique<Entry>(Entry{std::move(absolute), stop});
  auto& shared = *uses();
  std::unique_lock lock(shared.mutex);
  const auto is_ending = [&](const Entry* other) {
    return other->stop.stop_requested() && overlap(other->directory, entry->directory);
  };
  const bool is_free = shared.changed.wait(
      lock, stop, [&] { return std::none_of(shared.entries.begin(), shared.entries.end(), is_ending); });
  if (!is_free) return Error{ErrorCode::Cancelled, "the call was stopped while an earlier one was ending"};
  shared.entries.push_back(entry.get());
  return DirectoryUse(std::move(entry));
}

}  // namespace kernelgen_python
