#include <atomic>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <variant>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/content_files.hpp"
#include "compile/toolchain.hpp"
#include "core/json.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// The schema of stored results; keys have a format of their own.
constexpr int k_schema = 2;
constexpr std::size_t k_max_result_bytes = 16u << 20;
constexpr std::size_t k_max_object_bytes = 1u << 30;
constexpr WriteOptions k_result_options{.mode = 0644, .durability = Durability::Rename};

/// True if an outcome may be cached, because the same compiler would return it for the same source again.
bool is_final(const CompileOutcome& outcome) {
  const auto* failed = std::get_if<CompileFailed>(&outcome);
  if (failed == nullptr) return true;
  const Outcome& why = failed->outcome;
  return (why.kind == OutcomeKind::Compile && why.detail != "compiler_crashed") || why.kind == OutcomeKind::Syntax ||
         why.kind == OutcomeKind::Resource;
}

/// True if the error of computing a key means that compiling is impossible, too.
bool ends_compilation(ErrorCode code) {
  return code == ErrorCode::MissingTool || code == ErrorCode::PermissionDenied || code == ErrorCode::Cancelled ||
         code == ErrorCode::Unsupported || code == ErrorCode::UnsuitableDevice;
}

void set_cache(CompileOutcome& outcome, const std::string& what) {
  std::visit([&](auto& one) { one.report.cache = what; }, outcome);
}

/// The key holds the release of the compiler.
void set_compiler(CompileOutcome& outcome, const CompileKey& key) {
  std::visit([&](auto& one) { one.report.compiler = version_in_key(key.text); }, outcome);
}

/// The approximate size of an outcome in the store; the log is the larger part of a result.
std::uint64_t size_of_entry(const CompileOutcome& outcome) {
  std::error_code error;
  std::uint64_t bytes = 4096;
  if (const auto* compiled = std::get_if<Compiled>(&outcome)) {
    const auto size = fs::file_size(compiled->artifact.path, error);
    if (!error) bytes += size;
  }
  return bytes + std::visit([](const auto& one) { return one.report.log.size(); }, outcome);
}

Error damaged(const fs::path& path, const std::string& why) {
  return {ErrorCode::Io, "damaged cache entry " + path.string() + ": " + why, {}};
}

/// Stores results by key and artifacts by content, in a directory that several processes may share.
///
///     results/<2 of key>/<key>.key    the key's text, for people
///     results/<2 of key>/<key>.json   SHA-256 of the rest, a line end, the outcome
///     objects/<2 of content>/<content>.so
class Store {
 public:
  explicit Store(fs::path directory) : directory_(std::move(directory)) {}

  /// Returns the outcome for a key; nothing if there is none, an Error if the entry is unusable.
  [[nodiscard]] Result<std::optional<CompileOutcome>> get(const CompileKey& key, const Candidate& candidate) const {
    const fs::path path = result_path(key, ".json");
    auto text = read_file(path, k_max_result_bytes);
    if (!text) {
      if (text.error().code == ErrorCode::NotFound) return std::optional<CompileOutcome>();
      return std::move(text).error();
    }
    const auto line_end = text->find('\n');
    const std::string_view body =
        line_end == std::string::npos ? std::string_view() : std::string_view(*text).substr(line_end + 1);
    if (line_end == std::string::npos || sha256_hex(body) != text->substr(0, line_end))
      return damaged(path, "cut or changed");
    KERNELGEN_TRY(const auto value, parse_json(body));
    const auto* object = value.if_object();
    if (object == nullptr) return damaged(path, "not an object");
    return parse(*object, path, key, candidate);
  }

  /// Stores an outcome; a compiled one then names the stored artifact.
  [[nodiscard]] Result<void> put(const CompileKey& key, CompileOutcome& outcome) const {
    json::object object{{"schema", k_schema}};
    if (auto* compiled = std::get_if<Compiled>(&outcome)) {
      KERNELGEN_TRY(const auto content, read_file(compiled->artifact.path, k_max_object_bytes));
      const std::string extension = fs::path(compiled->artifact.path).extension().string();
      KERNELGEN_TRY(const auto path, publish_content(directory_, content, extension));
      compiled->artifact.path = path.string();
      compiled->artifact.key = key.digest;
      object["artifact"] = path.stem().string();
      object["extension"] = extension;
      object["report"] = to_value(compiled->report);
    } else {
      const auto& failed = std::get<CompileFailed>(outcome);
      object["outcome"] = to_value(failed.outcome);
      object["report"] = to_value(failed.report);
    }
    const std::string body = json::serialize(object) + "\n";
    KERNELGEN_CHECK(make_directories(result_path(key, ".json").parent_path()));
    KERNELGEN_CHECK(write_file_atomic(result_path(key, ".key"), key.text, k_result_options));
    return write_file_atomic(result_path(key, ".json"), sha256_hex(body) + "\n" + body, k_result_options);
  }

 private:
  [[nodiscard]] Result<std::optional<CompileOutcome>> parse(const json::object& object, const fs::path& path,
                                                            const CompileKey& key, const Candidate& candidate) const {
    const auto text = [&](const char* name) {
      const auto* member = object.if_contains(name);
      return member != nullptr && member->is_string() ? std::string(member->get_string()) : std::string();
    };
    const auto* schema = object.if_contains("schema");
    if (schema == nullptr || *schema != json::value(k_schema)) return std::optional<CompileOutcome>();
    const auto* report_value = object.if_contains("report");
    if (report_value == nullptr) return damaged(path, "no report");
    KERNELGEN_TRY(auto report, from_value<CompileReport>(*report_value));
    mark_used(path);
    mark_used(result_path(key, ".key"));
    if (const auto* outcome_value = object.if_contains("outcome")) {
      KERNELGEN_TRY(auto outcome, from_value<Outcome>(*outcome_value));
      return std::optional<CompileOutcome>(CompileFailed{std::move(outcome), std::move(report)});
    }
    const std::string digest = text("artifact");
    const fs::path object_file = content_path(directory_, digest, text("extension"));
    auto content_digest = sha256_file(object_file);
    if (!content_digest) {
      // It was evicted.
      if (content_digest.error().code == ErrorCode::NotFound) return std::optional<CompileOutcome>();
      return std::move(content_digest).error();
    }
    if (*content_digest != digest) return damaged(object_file, "its content does not match its name");
    Artifact artifact;
    artifact.candidate_id = candidate.id;
    artifact.target = candidate.target;
    artifact.path = object_file.string();
    artifact.key = key.digest;
    mark_used(object_file);
    return std::optional<CompileOutcome>(Compiled{std::move(artifact), std::move(report)});
  }

  [[nodiscard]] fs::path result_path(const CompileKey& key, const char* extension) const {
    return directory_ / "results" / key.digest.substr(0, 2) / (key.digest + extension);
  }

  fs::path directory_;
};

/// A compilation that other requests may wait for.
struct Flight {
  bool done = false;
  /// The outcome, if it is valid for all waiting requests.
  std::optional<CompileOutcome> outcome;
};

class StoreCachingCompiler final : public CachingCompiler {
 public:
  StoreCachingCompiler(std::unique_ptr<KernelCompiler> inner, CompileCacheOptions options)
      : inner_(std::move(inner)), options_(std::move(options)), store_(options_.directory) {}

  [[nodiscard]] bool supports(Target target) const override { return inner_->supports(target); }
  Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) override {
    return inner_->key(request, std::move(stop));
  }
  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override;
  [[nodiscard]] CacheCounters counters() const override { return {hits_, misses_, failures_, evicted_}; }

 private:
  Result<CompileOutcome> compile_uncached(const CompileRequest& request, const std::string& why, std::stop_token stop);
  Result<CompileOutcome> look_up_or_compile(const CompileRequest& request, const CompileKey& key, std::stop_token stop);
  Result<void> evict_if_full(std::uint64_t added);
  enum class Ticket { Own, Cancelled };
  std::variant<Ticket, CompileOutcome> join_flight(const CompileKey& key, const std::stop_token& stop);
  void end_flight(const CompileKey& key, const Result<CompileOutcome>& result);

  std::unique_ptr<KernelCompiler> inner_;
  CompileCacheOptions options_;
  Store store_;
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> evicted_{0};
  /// Bytes added since the size of the store was last computed. It starts high, so that the first addition computes the
  /// size.
  std::atomic<std::uint64_t> unexamined_{UINT64_MAX / 2};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  /// Shared pointers, so that waiting requests keep a flight after the compiling one has left.
  std::map<std::string, std::shared_ptr<Flight>> flights_;
};

Result<CompileOutcome> StoreCachingCompiler::compile_uncached(const CompileRequest& request, const std::string& why,
                                                              std::stop_token stop) {
  auto outcome = inner_->compile(request, std::move(stop));
  if (outcome) set_cache(*outcome, "off (" + why + ")");
  return outcome;
}

/// Waits while another request compiles the same source. Returns its outcome, or a ticket to compile; then the caller
/// must call end_flight.
std::variant<StoreCachingCompiler::Ticket, CompileOutcome> StoreCachingCompiler::join_flight(
    const CompileKey& key, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stop.stop_requested()) return Ticket::Cancelled;
    const auto [place, is_new] = flights_.try_emplace(key.digest);
    if (is_new) {
      place->second = std::make_shared<Flight>();
      return Ticket::Own;
    }
    const auto flight = place->second;
    changed_.wait(lock, stop, [&flight] { return flight->done; });
    if (flight->outcome) return *flight->outcome;
  }
}

void StoreCachingCompiler::end_flight(const CompileKey& key, const Result<CompileOutcome>& result) {
  std::lock_guard lock(mutex_);
  const auto found = flights_.find(key.digest);
  // A timeout or an error is the answer to one request only; waiting ones try again.
  if (result.has_value() && is_final(*result)) found->second->outcome = *result;
  found->second->done = true;
  flights_.erase(found);
  changed_.notify_all();
}

/// Evicts files if the store is too large. The size is computed once at the beginning, and whenever the store may have
/// grown by a twentieth of its limit.
Result<void> StoreCachingCompiler::evict_if_full(std::uint64_t added) {
  if (!options_.max_bytes) return {};
  if ((unexamined_ += added) < *options_.max_bytes / 20) return {};
  unexamined_ = 0;
  KERNELGEN_TRY(const auto done,
                evict(options_.directory, {.max_bytes = *options_.max_bytes, .keep_idle = options_.keep_idle}));
  evicted_ += done.files_removed;
  return {};
}

Result<CompileOutcome> StoreCachingCompiler::look_up_or_compile(const CompileRequest& request, const CompileKey& key,
                                                                std::stop_token stop) {
  std::string warning;
  auto stored = store_.get(key, request.candidate);
  if (stored && stored->has_value()) {
    ++hits_;
    set_cache(**stored, "hit");
    return std::move(**stored);
  }
  if (!stored) {
    ++failures_;
    warning = stored.error().to_line();
  }
  ++misses_;
  KERNELGEN_TRY(auto outcome, inner_->compile(request, std::move(stop)));
  if (is_final(outcome)) {
    auto written = store_.put(key, outcome);
    if (written) written = evict_if_full(size_of_entry(outcome));
    if (!written) {
      ++failures_;
      warning += (warning.empty() ? "" : "; ") + written.error().to_line();
    }
  }
  set_cache(outcome, warning.empty() ? "miss" : "miss (warning: " + sanitize_line(warning, 500) + ")");
  return outcome;
}

Result<CompileOutcome> StoreCachingCompiler::compile(const CompileRequest& request, std::stop_token stop) {
  auto asked = inner_->key(request, stop);
  if (!asked) {
    const Error& error = asked.error();
    if (ends_compilation(error.code)) return error;
    ++failures_;
    return compile_uncached(request, sanitize_line(error.to_line(), 300), std::move(stop));
  }
  const CompileKey& key = *asked;
  if (key.digest.size() < 3) return compile_uncached(request, "the compiler could not be identified", std::move(stop));
  auto joined = join_flight(key, stop);
  if (auto* shared = std::get_if<CompileOutcome>(&joined)) {
    ++hits_;
    if (auto* compiled = std::get_if<Compiled>(shared)) compiled->artifact.candidate_id = request.candidate.id;
    set_cache(*shared, "hit");
    return std::move(*shared);
  }
  if (std::get<Ticket>(joined) == Ticket::Cancelled)
    return Error{ErrorCode::Cancelled, "cancelled while another thread compiled the same source", {}};
  try {
    auto result = look_up_or_compile(request, key, std::move(stop));
    if (result) set_compiler(*result, key);
    end_flight(key, result);
    return result;
  } catch (...) {  // waiting requests must not wait for ever
    end_flight(key, Error{ErrorCode::Internal, "the compiler threw", {}});
    throw;
  }
}

}  // namespace

Result<std::unique_ptr<CachingCompiler>> make_caching_compiler(std::unique_ptr<KernelCompiler> inner,
                                                               CompileCacheOptions options) {
  if (inner == nullptr || options.directory.empty())
    return Error{ErrorCode::InvalidArgument, "a compiler cache needs a compiler and a directory", {}};
  std::error_code error;
  const auto absolute = fs::absolute(options.directory, error);
  if (error) return Error{ErrorCode::InvalidArgument, "bad cache directory " + options.directory, {}};
  options.directory = absolute.string();
  return std::unique_ptr<CachingCompiler>(std::make_unique<StoreCachingCompiler>(std::move(inner), std::move(options)));
}

}  // namespace v0
}  // namespace kernelgen
