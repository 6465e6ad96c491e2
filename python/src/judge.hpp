#pragma once

/// \file
/// How judges of the library are opened.

#include <memory>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/bench/local_judge.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen_python {

/// Opens judges on this machine. It has a name, so that a search finds in a NativeJudge that it is one of these.
struct LocalJudgeOpener {
  kernelgen::LocalJudgeOptions options;
  kernelgen::Result<std::unique_ptr<kernelgen::Benchmarker>> operator()() const {
    return kernelgen::open_local_judge(options);
  }
};

}  // namespace kernelgen_python
