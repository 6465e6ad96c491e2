#include "bench/prebuilt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <thread>

#include "bench/verdict.hpp"
#include "compile/content_files.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_log_bytes = 256u << 10;
constexpr std::size_t k_max_diagnostics = 1000;
constexpr std::size_t k_max_message = 4000;
constexpr std::size_t k_max_key = 64;

/// True for the classes that compilers give.
bool is_refusal(const Outcome& outcome) {
  return outcome.kind == OutcomeKind::Syntax || outcome.kind == OutcomeKind::Compile ||
         outcome.kind == OutcomeKind::Resource || outcome.kind == OutcomeKind::Timeout;
}

/// A stop token that is triggered by another one, and after a time.
class Deadline {
 public:
  Deadline(std::chrono::milliseconds timeout, const std::stop_token& stop)
      : outer_(stop, [this] { source_.request_stop(); }), timer_([this, timeout](const std::stop_token& done) {
          if (!sleep_for(timeout, done)) return;
          passed_ = true;
          source_.request_stop();
        }) {}

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  [[nodiscard]] bool passed() const { return passed_; }

 private:
  std::stop_source source_;
  std::atomic<bool> passed_{false};
  std::stop_callback<std::function<void()>> outer_;
  std::jthread timer_;
};

/// Calls code of the embedding program. Its exceptions must not leave the library.
template <class Call>
auto call_safely(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    return Error{ErrorCode::Internal,
                 "the custom compiler threw an exception: " + sanitize_line(error.what(), k_max_message)};
  } catch (...) {
    return Error{ErrorCode::Internal, "the custom compiler threw an exception that is no std::exception"};
  }
}

Outcome too_large(std::uint64_t bytes) {
  return {OutcomeKind::Compile, "other",
          fmt::format("the artifact has {} bytes; a custom compiler's artifact may have {} bytes (32 MiB)", bytes,
                      k_max_prebuilt_bytes)};
}

/// A report that fits into a message, whatever the compiler put there.
void limit(CompileReport& report) {
  if (report.log.size() > k_max_log_bytes) {
    report.log = sanitize_text(report.log, k_max_log_bytes);
    report.log_truncated = true;
  }
  if (report.diagnostics.size() > k_max_diagnostics) report.diagnostics.resize(k_max_diagnostics);
}

Result<Prebuilt> take(Prebuilt prebuilt, CompileOutcome outcome) {
  if (auto* failed = std::get_if<CompileFailed>(&outcome)) {
    if (!is_refusal(failed->outcome))
      return Error{ErrorCode::Internal,
                   fmt::format("the custom compiler gave the outcome {}; expected syntax, compile, resource or timeout",
                               failed->outcome.to_class())};
    failed->outcome.message = sanitize_text(failed->outcome.message, k_max_message);
    prebuilt.report = std::move(failed->report);
    prebuilt.refusal = std::move(failed->outcome);
  } else {
    auto& compiled = std::get<Compiled>(outcome);
    prebuilt.report = std::move(compiled.report);
    std::error_code error;
    const auto size = std::filesystem::file_size(compiled.artifact.path, error);
    if (!error && size > k_max_prebuilt_bytes) {
      prebuilt.refusal = too_large(size);
    } else {
      KERNELGEN_TRY(prebuilt.bytes, read_file(compiled.artifact.path, k_max_prebuilt_bytes)
                                        .context("reading the artifact of the custom compiler"));
    }
  }
  limit(prebuilt.report);
  return prebuilt;
}

Result<Prebuilt> build(KernelCompiler& compiler, const EvaluationRequest& request, Prebuilt prebuilt,
                       const std::stop_token& stop) {
  const CompileRequest asked{.candidate = request.candidate, .timeout = request.options.build_timeout};
  const Deadline deadline(asked.timeout, stop);
  auto outcome = call_safely([&]() -> Result<CompileOutcome> {
    // Without a key the artifact can still be judged.
    if (const auto key = compiler.key(asked, deadline.token())) prebuilt.key = key->digest;
    return compiler.compile(asked, deadline.token());
  });
  if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
  if (!outcome) {
    const auto code = outcome.error().code;
    if (!deadline.passed() || (code != ErrorCode::Cancelled && code != ErrorCode::Timeout))
      return std::move(outcome).error();
    prebuilt.refusal = Outcome{OutcomeKind::Timeout, std::string(k_build_timeout),
                               fmt::format("the custom compiler did not end within {:.1f} s",
                                           std::chrono::duration<double>(asked.timeout).count())};
    return prebuilt;
  }
  return take(std::move(prebuilt), *std::move(outcome));
}

class PrebuiltCompiler final : public KernelCompiler {
 public:
  PrebuiltCompiler(const Prebuilt& prebuilt, std::string directory)
      : prebuilt_(prebuilt), directory_(std::move(directory)) {}

  bool supports(Target) const override { return true; }

  Result<CompileKey> key(const CompileRequest&, std::stop_token) override {
    return CompileKey{.text = {}, .digest = prebuilt_.key};
  }

  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token) override {
    if (prebuilt_.refusal) return CompileOutcome(CompileFailed{*prebuilt_.refusal, prebuilt_.report});
    const bool is_native = prebuilt_.artifact == ArtifactKind::SharedObject;
    KERNELGEN_TRY(const auto path, publish_content(directory_, prebuilt_.bytes, is_native ? ".so" : ".py"));
    const CompileCacheOptions limits;
    // A store that cannot be tidied now is tidied later.
    [[maybe_unused]] const auto tidied =
        evict(directory_, {.max_bytes = limits.max_bytes.value_or(UINT64_MAX), .keep_idle = limits.keep_idle});
    return CompileOutcome(
        Compiled{{request.candidate.id, request.candidate.target, path.string(), prebuilt_.key}, prebuilt_.report});
  }

 private:
  const Prebuilt& prebuilt_;
  std::string directory_;
};

}  // namespace

Result<std::optional<Prebuilt>> build_on_client(const std::vector<std::shared_ptr<KernelCompiler>>& compilers,
                                                const EvaluationRequest& request, const std::stop_token& stop) {
  const auto target = request.candidate.target;
  if (!is_registered(target))
    return Error{
        ErrorCode::Unsupported,
        fmt::format("target {} is not registered in this program: register_target() adds it", to_string(target))};
  const auto& traits = traits_of(target);
  Prebuilt prebuilt{.artifact = traits.artifact, .device = traits.device};
  for (const auto& compiler : compilers) {
    if (compiler == nullptr || !compiler->supports(target)) continue;
    KERNELGEN_TRY(prebuilt, build(*compiler, request, std::move(prebuilt), stop));
    return std::optional(std::move(prebuilt));
  }
  if (is_built_in(target)) return std::optional<Prebuilt>();
  if (traits.artifact == ArtifactKind::SharedObject)
    return Error{ErrorCode::Unsupported,
                 fmt::format("no compiler for target {}: add one to the compilers of the benchmarker", traits.name)};
  prebuilt.key = "none";
  prebuilt.report.cache = "off (Python source)";
  if (request.candidate.source.size() > k_max_prebuilt_bytes) {
    prebuilt.refusal = too_large(request.candidate.source.size());
  } else {
    prebuilt.bytes = request.candidate.source;
  }
  return std::optional(std::move(prebuilt));
}

Result<void> check_prebuilt(const Prebuilt& prebuilt, Target target) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, "prebuilt: " + std::move(why)}; };
  if (prebuilt.bytes.size() > k_max_prebuilt_bytes) return refuse(too_large(prebuilt.bytes.size()).message);
  if (prebuilt.refusal && !is_refusal(*prebuilt.refusal))
    return refuse(fmt::format("{} is no outcome of a compiler", prebuilt.refusal->to_class()));
  if (prebuilt.refusal.has_value() == !prebuilt.bytes.empty())
    return refuse("expected either the bytes of an artifact or a refusal");
  if (!is_built_in(target)) return {};
  const auto& traits = traits_of(target);
  if (prebuilt.artifact == traits.artifact) return {};
  return refuse(fmt::format("target {} takes a {}, not a {}", traits.name, to_string(traits.artifact),
                            to_string(prebuilt.artifact)));
}

std::string label_of(const Prebuilt& prebuilt) {
  const auto key = sanitize_line(prebuilt.key, k_max_key);
  return "custom-compiler: " + (key.empty() ? "unidentified" : key);
}

std::unique_ptr<KernelCompiler> make_prebuilt_compiler(const Prebuilt& prebuilt, std::string directory) {
  return std::make_unique<PrebuiltCompiler>(prebuilt, std::move(directory));
}

}  // namespace v0
}  // namespace kernelgen
