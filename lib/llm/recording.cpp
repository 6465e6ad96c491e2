#include "llm/recording.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <cerrno>

#include <fmt/format.h>

#include "core/json_codec.hpp"
#include "support/errno_error.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(RecordedReply, (), (schema, id, fingerprint, reply))

namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

/// Longer than any reply; keeps a file without line ends out of memory.
constexpr off_t k_longest_line = off_t{256} << 20;

/// Locks the file against other processes. Threads share the descriptor and with it the lock, so they need a mutex as
/// well. Where files cannot be locked, appending works without, because it is one write.
class RecordingLock {
 public:
  RecordingLock(int fd, const std::string& name) : fd_(fd) {
    static_cast<void>(wait_for_lock(fd_, name, std::chrono::steady_clock::now() + k_forever, {}));
  }
  RecordingLock(const RecordingLock&) = delete;
  RecordingLock& operator=(const RecordingLock&) = delete;
  ~RecordingLock() { unlock(fd_); }

 private:
  int fd_;
};

Result<std::string> read_at(int fd, off_t offset, std::size_t bytes, const std::string& name) {
  std::string text(bytes, '\0');
  for (std::size_t used = 0; used < bytes;) {
    const auto count = ::pread(fd, text.data() + used, bytes - used, offset + static_cast<off_t>(used));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return errno_error(count == 0 ? EIO : errno, "cannot read " + name);
    used += static_cast<std::size_t>(count);
  }
  return text;
}

/// Position after the last line end before `size`.
Result<off_t> start_of_last_line(int fd, off_t size, const std::string& name) {
  constexpr off_t k_block = 1 << 16;
  if (size == 0) return off_t{0};
  for (off_t end = size; end > 0 && size - end < k_longest_line;) {
    const off_t begin = std::max<off_t>(0, end - k_block);
    KERNELGEN_TRY(const auto block, read_at(fd, begin, static_cast<std::size_t>(end - begin), name));
    if (const auto at = block.rfind('\n'); at != std::string::npos) return begin + static_cast<off_t>(at) + 1;
    if (begin == 0) return off_t{0};
    end = begin;
  }
  return Error{ErrorCode::InvalidArgument, name + " is no recording: its last line does not begin", {}};
}

}  // namespace

std::string write_recorded_reply(const RecordedReply& recorded) {
  return json::serialize(json_codec::write(recorded)) + '\n';
}

Result<RecordedReply> parse_recorded_reply(std::string_view line) {
  const auto refuse = [](std::string why) {
    return Error{ErrorCode::InvalidArgument, "not a recorded reply: " + std::move(why), {}};
  };
  const auto parsed = parse_json(line);
  if (!parsed) return refuse(parsed.error().message);
  const auto* object = parsed->if_object();
  const auto* schema = object != nullptr ? object->if_contains("schema") : nullptr;
  if (schema == nullptr || !schema->is_int64() || schema->get_int64() < 1) return refuse("it has no schema number");
  if (schema->get_int64() > k_recording_schema)
    return Error{ErrorCode::Unsupported,
                 fmt::format("recording schema {} is not known; this kernelgen reads up to {}", schema->get_int64(),
                             k_recording_schema),
                 {}};
  auto recorded = from_value<RecordedReply>(*parsed);
  if (!recorded) return refuse(recorded.error().message);
  if (recorded->id.empty()) return refuse("it has no id");
  // Members that are missing keep their defaults, but a reply without a text is none.
  const auto* reply = object->if_contains("reply");
  if (reply == nullptr || !reply->is_object() || !reply->get_object().contains("text")) return refuse("it has no text");
  return recorded;
}

Result<Recording> read_recording(const fs::path& file) {
  KERNELGEN_TRY(const auto text, read_file(file));
  Recording recording;
  const bool torn = !text.empty() && text.back() != '\n';
  const auto lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i]).empty()) continue;
    auto recorded = parse_recorded_reply(lines[i]);
    if (!recorded && torn && i + 1 == lines.size()) break;
    if (!recorded) {
      recorded.error().message = fmt::format("{}:{}: {}", file.string(), i + 1, recorded.error().message);
      return std::move(recorded).error();
    }
    auto& same = recording[recorded->id];
    same.push_back(*std::move(recorded));
  }
  return recording;
}

Result<std::unique_ptr<RecordingFile>> RecordingFile::open(const fs::path& file) {
  const std::string what = "cannot record to " + file.string();
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644));
  if (!fd.valid()) return errno_error(errno, what);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, what);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::InvalidArgument, what + ": not a regular file", {}};
  return std::unique_ptr<RecordingFile>(new RecordingFile(std::move(fd), file.string()));
}

Result<void> RecordingFile::append(const RecordedReply& recorded) {
  const std::scoped_lock threads(mutex_);
  const RecordingLock processes(fd_.get(), name_);
  return append_locked(write_recorded_reply(recorded));
}

Result<void> RecordingFile::append_locked(std::string line) {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return errno_error(errno, "cannot record to " + name_);
  off_t size = info.st_size;
  KERNELGEN_TRY(const off_t start, start_of_last_line(fd_.get(), size, name_));
  if (start < size) {
    KERNELGEN_TRY(const auto last, read_at(fd_.get(), start, static_cast<std::size_t>(size - start), name_));
    if (parse_recorded_reply(last)) {
      line.insert(0, 1, '\n');
    } else {
      if (::ftruncate(fd_.get(), start) != 0) return errno_error(errno, "cannot cut the torn last line of " + name_);
      size = start;
    }
  }
  // One write: readers never see half a line unless the disk is full.
  auto written = write_all(fd_.get(), line, name_);
  if (written && ::fsync(fd_.get()) != 0) written = errno_error(errno, "cannot record to " + name_);
  // Half a line would count as damage once another one follows it. When even this fails, the next append repairs it.
  if (!written && ::ftruncate(fd_.get(), size) != 0) written.error().context.push_back("half a line was left");
  return written;
}

}  // namespace v0
}  // namespace kernelgen
