#include <kernelgen/bench/compiling_profiler.hpp>

#include <utility>
#include <variant>

#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

class CompilingProfiler final : public Profiler {
 public:
  CompilingProfiler(std::unique_ptr<Profiler> profiler, std::unique_ptr<KernelCompiler> compiler)
      : profiler_(std::move(profiler)), compiler_(std::move(compiler)) {}

  Result<Profile> profile(const ProfileRequest& request, std::stop_token stop) override {
    const bool needs_building = request.candidate && is_native(request.candidate->target) && request.artifact.empty();
    if (!needs_building) return profiler_->profile(request, std::move(stop));
    KERNELGEN_TRY(const auto outcome, compiler_->compile({.candidate = *request.candidate, .extra_flags = {}}, stop));
    if (const auto* failed = std::get_if<CompileFailed>(&outcome)) {
      Profile profile;
      profile.unavailable =
          ProfileUnavailable{"it does not compile: " + failed->outcome.to_class() + ": " + failed->outcome.message, ""};
      return profile;
    }
    auto built = request;
    built.artifact = std::get<Compiled>(outcome).artifact.path;
    return profiler_->profile(built, std::move(stop));
  }

 private:
  std::unique_ptr<Profiler> profiler_;
  std::unique_ptr<KernelCompiler> compiler_;
};

}  // namespace

Result<std::unique_ptr<Profiler>> make_compiling_profiler(std::unique_ptr<Profiler> profiler,
                                                          std::unique_ptr<KernelCompiler> compiler) {
  if (!profiler || !compiler)
    return Error{ErrorCode::InvalidArgument, "a compiling profiler needs a profiler and a compiler", {}};
  return std::unique_ptr<Profiler>(std::make_unique<CompilingProfiler>(std::move(profiler), std::move(compiler)));
}

}  // namespace v0
}  // namespace kernelgen
