#include "bench/json.hpp"

#include "core/json_codec.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(BaselineOptions, (), (kinds, timeout))
BOOST_DESCRIBE_STRUCT(SanitizerOptions, (), (enabled, timeout))
BOOST_DESCRIBE_STRUCT(HipCpuOptions, (), (wave_size))
BOOST_DESCRIBE_STRUCT(CompileForOptions, (), (architectures))
BOOST_DESCRIBE_STRUCT(EvaluationOptions, (),
                      (mode, precision, rtol, atol, measure, call_timeout, build_timeout, task_timeout, memory_limit,
                       threads, device, shrink, allow_weak_isolation, library_use, baselines, sanitizers, hip_cpu,
                       compile_for))
BOOST_DESCRIBE_STRUCT(EvaluationRequest, (), (task, candidate, options))
BOOST_DESCRIBE_STRUCT(EvaluationProgress, (), (phase, detail))
/// The bytes are base64, which the protocol adds.
BOOST_DESCRIBE_STRUCT(Prebuilt, (), (artifact, device, key, report, refusal))
BOOST_DESCRIBE_STRUCT(HelloMessage, (), (protocol, kernelgen_version, device, pid))
BOOST_DESCRIBE_STRUCT(WireError, (), (code, message, context))

template <>
inline constexpr auto json_codec::k_former_names<EvaluationOptions> =
    std::array{FormerName{"build_timeout_ms", "compile_timeout_ms"}};
template <>
inline constexpr bool json_codec::k_left_out_when_empty<BaselineOptions> = true;
template <>
inline constexpr bool json_codec::k_left_out_when_empty<SanitizerOptions> = true;
template <>
inline constexpr bool json_codec::k_left_out_when_empty<HipCpuOptions> = true;
template <>
inline constexpr bool json_codec::k_left_out_when_empty<CompileForOptions> = true;

KERNELGEN_JSON_TYPE_(, EvaluationOptions)
KERNELGEN_JSON_TYPE_(, EvaluationRequest)
KERNELGEN_JSON_TYPE_(, EvaluationProgress)
KERNELGEN_JSON_TYPE_(, Prebuilt)
KERNELGEN_JSON_TYPE_(, HelloMessage)
KERNELGEN_JSON_TYPE_(, WireError)

}  // namespace v0
}  // namespace kernelgen
