#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/llm/clients.hpp>

#include "llm/recording.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Answers from a recording. Immutable.
class ReplayClient final : public LLMClient {
 public:
  ReplayClient(std::string file, Recording recording, ReplayMode mode)
      : file_(std::move(file)), recording_(std::move(recording)), mode_(mode) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", {}};
    const auto found = recording_.find(request.id);
    if (found == recording_.end())
      return failure(ErrorCode::NotFound, fmt::format("no reply to \"{}\" in {}", shown(request.id), file_));
    const auto& replies = found->second;
    const auto same = std::find_if(replies.rbegin(), replies.rend(), [&](const RecordedReply& recorded) {
      return request.fingerprint.empty() || recorded.fingerprint == request.fingerprint;
    });
    if (same != replies.rend()) return same->reply;
    if (mode_ == ReplayMode::Lenient) return replies.back().reply;
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("the prompt of \"{}\" is not the one that {} has a reply to (fingerprint {}, recorded {})",
                    shown(request.id), file_, abbreviate(request.fingerprint), abbreviate(replies.back().fingerprint)));
  }

  [[nodiscard]] std::string identity() const override { return "replay"; }
  [[nodiscard]] std::string endpoint() const override { return shown(file_); }

 private:
  static std::string shown(std::string_view text) { return sanitize_line(text, 200); }

  static std::string abbreviate(const std::string& fingerprint) {
    return fingerprint.empty() ? "none" : shown(fingerprint.substr(0, 12));
  }

  [[nodiscard]] Error failure(ErrorCode code, const std::string& what) const {
    return {code, fmt::format("{}; record the replies anew into {}", what, file_), {}};
  }

  std::string file_;
  Recording recording_;
  ReplayMode mode_;
};

/// Has the identity of its inner client: a run is the same whether it is recorded or not.
class RecordingClient final : public LLMClient {
 public:
  RecordingClient(std::unique_ptr<LLMClient> inner, std::unique_ptr<RecordingFile> file, RecordingFailure on_failure)
      : inner_(std::move(inner)), file_(std::move(file)), on_failure_(std::move(on_failure)) {}

  RecordingClient(const RecordingClient&) = delete;
  RecordingClient& operator=(const RecordingClient&) = delete;
  ~RecordingClient() override {
    const auto appended = append_missing();
    if (!appended && on_failure_) on_failure_(appended.error());
  }

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    {
      // No further reply is paid for while an earlier one cannot be recorded.
      const std::scoped_lock lock(mutex_);
      KERNELGEN_CHECK(append_missing());
    }
    KERNELGEN_TRY(auto reply, inner_->complete(request, std::move(stop)));
    RecordedReply recorded;
    recorded.id = request.id;
    recorded.fingerprint = request.fingerprint;
    recorded.reply = reply;
    const std::scoped_lock lock(mutex_);
    missing_.push_back(std::move(recorded));
    // A failure becomes the error of the next request, or goes to on_failure_ when there is none.
    static_cast<void>(append_missing());
    return reply;
  }

  [[nodiscard]] std::string identity() const override { return inner_->identity(); }
  [[nodiscard]] std::string endpoint() const override { return inner_->endpoint(); }
  [[nodiscard]] ModelTerms terms(PromptKind kind) const override { return inner_->terms(kind); }

 private:
  /// Appends the replies that are not in the file yet, oldest first.
  Result<void> append_missing() {
    while (!missing_.empty()) {
      KERNELGEN_CHECK(file_->append(missing_.front()).context("recording the reply to " + missing_.front().id));
      missing_.pop_front();
    }
    return {};
  }

  std::unique_ptr<LLMClient> inner_;
  std::unique_ptr<RecordingFile> file_;
  RecordingFailure on_failure_;
  std::mutex mutex_;
  std::deque<RecordedReply> missing_;
};

}  // namespace

Result<std::unique_ptr<LLMClient>> make_replay_client(const std::filesystem::path& file, ReplayMode mode) {
  KERNELGEN_TRY(auto recording, read_recording(file).context("reading recorded replies"));
  return std::unique_ptr<LLMClient>(std::make_unique<ReplayClient>(file.string(), std::move(recording), mode));
}

Result<std::unique_ptr<LLMClient>> make_recording_client(std::unique_ptr<LLMClient> inner,
                                                         const std::filesystem::path& file,
                                                         RecordingFailure on_failure) {
  if (inner == nullptr) return Error{ErrorCode::InvalidArgument, "recording needs a client to record", {}};
  KERNELGEN_TRY(auto opened, RecordingFile::open(file));
  return std::unique_ptr<LLMClient>(
      std::make_unique<RecordingClient>(std::move(inner), std::move(opened), std::move(on_failure)));
}

}  // namespace v0
}  // namespace kernelgen
