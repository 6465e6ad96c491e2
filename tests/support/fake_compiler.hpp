#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include <kernelgen/compile/kernel_compiler.hpp>

/// A KernelCompiler with a scripted answer. Thread-safe if `answer` is.
class FakeCompiler final : public kernelgen::KernelCompiler {
 public:
  using Answer =
      std::function<kernelgen::Result<kernelgen::CompileOutcome>(const kernelgen::CompileRequest&, std::stop_token)>;

  explicit FakeCompiler(Answer answer, std::atomic<int>& calls) : answer_(std::move(answer)), calls_(calls) {}

  [[nodiscard]] bool supports(kernelgen::Target) const override { return true; }
  kernelgen::Result<kernelgen::CompileKey> key(const kernelgen::CompileRequest& request, std::stop_token) override {
    if (key_error) return *key_error;
    // A digest of the usual length, derived from the source alone.
    std::string digest =
        key_is_known ? kernelgen::make_candidate(request.candidate.target, request.candidate.source).id : std::string();
    return kernelgen::CompileKey{"source " + request.candidate.source + "\n", std::move(digest)};
  }
  kernelgen::Result<kernelgen::CompileOutcome> compile(const kernelgen::CompileRequest& request,
                                                       std::stop_token stop) override {
    ++calls_;
    return answer_(request, std::move(stop));
  }

  bool key_is_known = true;
  std::optional<kernelgen::Error> key_error;

 private:
  Answer answer_;
  std::atomic<int>& calls_;
};
