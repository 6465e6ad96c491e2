#include <kernelgen/bench/compiling_profiler.hpp>

#include <utility>
#include <variant>

#include "bench/profiling.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

class CompilingProfiler final : public Profiler {
 public:
  CompilingProfiler(std::unique_ptr<Profiler> profiler, std::unique_ptr<KernelCompiler> compiler)
      : profiler_(std::move(profiler)), compiler_(std::move(compiler)) {}

  Result<Profile> profile(const ProfileRequest& request, std::stop_token stop) override {
    auto built = request;
    KERNELGEN_TRY(auto failed, build_for_profile(built, *compiler_, stop));
    return failed ? Result<Profile>(*std::move(failed)) : profiler_->profile(built, std::move(stop));
  }

 private:
  std::unique_ptr<Profiler> profiler_;
  std::unique_ptr<KernelCompiler> compiler_;
};

}  // namespace

Result<std::optional<Profile>> build_for_profile(ProfileRequest& request, KernelCompiler& compiler,
                                                 const std::stop_token& stop) {
  if (!request.candidate || !is_native(request.candidate->target) || !request.artifact.empty())
    return std::optional<Profile>();
  KERNELGEN_TRY(const auto outcome, compiler.compile({.candidate = *request.candidate, .extra_flags = {}}, stop));
  if (const auto* failed = std::get_if<CompileFailed>(&outcome))
    return std::optional(
        unavailable_profile("it does not compile: " + failed->outcome.to_class() + ": " + failed->outcome.message));
  request.artifact = std::get<Compiled>(outcome).artifact.path;
  return std::optional<Profile>();
}

Result<std::unique_ptr<Profiler>> make_compiling_profiler(std::unique_ptr<Profiler> profiler,
                                                          std::unique_ptr<KernelCompiler> compiler) {
  if (!profiler || !compiler)
    return Error{ErrorCode::InvalidArgument, "a compiling profiler needs a profiler and a compiler", {}};
  return std::unique_ptr<Profiler>(std::make_unique<CompilingProfiler>(std::move(profiler), std::move(compiler)));
}

}  // namespace v0
}  // namespace kernelgen
