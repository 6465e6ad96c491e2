#include <array>

#include "prompt/error_rules.hpp"

namespace kernelgen {
inline namespace v0 {

// Wordings of Python 3.10 to 3.13 and of torch 2.4 to 2.13. An exception with the candidate's own words leaves only its
// type: the last rules match a lone type.
std::span<const ErrorRule> python_rules() {
  using enum ErrorTool;
  using enum ErrorRank;
  static constexpr auto k_rules = std::to_array<ErrorRule>({
      {"torch.no_device", Python, Specific,
       "not compiled with CUDA|requires CUDA support|0 active drivers|Found no NVIDIA driver",
       "AssertionError: Torch not compiled with CUDA enabled"},
      {"torch.device", Python, Specific,
       "is not on the expected device|same device|copy out of meta tensor|device type tensor to numpy",
       "NotImplementedError: Cannot copy out of meta tensor; no data!"},
      {"torch.device", Python, Specific, R"(torch\.cuda\.\w+\) and weight type)",
       "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor)"},
      {"python.recursion", Python, Specific, "^RecursionError", "RecursionError: maximum recursion depth exceeded"},
      {"python.import", Python, Specific, "^(?:ModuleNotFound|Import)Error",
       "ModuleNotFoundError: No module named 'cupy'"},
      {"python.name", Python, General, "^(?:Name|UnboundLocal)Error", "NameError: name 'y' is not defined"},
      {"torch.module_init", Python, Specific, R"(before Module\.__init__\(\) call)",
       "AttributeError: cannot assign module before Module.__init__() call"},
      {"torch.missing_function", Python, Specific,
       "^AttributeError: (?:module 'torch|'Tensor' object has no attribute)",
       "AttributeError: module 'torch' has no attribute 'gelu'"},
      {"python.attribute", Python, Fallback, "^AttributeError",
       "AttributeError: module 'extension' has no attribute 'g'"},
      {"torch.contiguous", Python, Specific, "view size is not compatible with input tensor's size and stride",
       "RuntimeError: view size is not compatible with input tensor's size and stride (at"},
      {"torch.autograd", Python, Specific, "requires? grad",
       "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"},
      {"torch.ambiguous_bool", Python, Specific, "Boolean value of Tensor with",
       "RuntimeError: Boolean value of Tensor with more than one value is ambiguous"},
      {"torch.dtype", Python, Specific, "same dtype|expected scalar type|not implemented for '|can't be cast to",
       "RuntimeError: expected scalar type Double but found Float"},
      {"torch.dtype", Python, Specific,
       "of the following scalar types|[Uu]nsupported dtype|tensors used as indices must be|Input dtype|Expected dtype",
       "RuntimeError: Unsupported dtype BFloat16"},
      {"torch.dtype", Python, General, "^RuntimeError: .*(?:dtype|LongTensor)",
       "RuntimeError: quantile() input tensor must be either float or double dtype"},
      {"torch.dimension", Python, Specific,
       "Dimension out of range|number of dimensions in the tensor input does not match the length",
       "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {"python.index", Python, Specific, "(?:list|tuple) index out of range", "IndexError: list index out of range"},
      {"python.index", Module, General, "^KeyError", "KeyError: 'x'"},
      {"torch.index", Python, Specific,
       "is out of bounds for dimension|index out of range in self|too many indices for tensor",
       "IndexError: index out of range in self"},
      {"torch.shape", Python, Specific, R"(einsum\(\):)",
       "RuntimeError: einsum(): subscript j has size 64 for operand 1 which does not broadcast"},
      {"torch.shape", Python, General,
       R"(^(?:RuntimeError|ValueError|AssertionError|NotImplementedError): .*(?:shape|size|\dD |imension|elements|matrices|columns))",
       "RuntimeError: batch1 must be a 3D tensor"},
      {"torch.arguments", Python, Specific, R"(^TypeError: \w+\(\) received an invalid combination of arguments)",
       "TypeError: view() received an invalid combination of arguments - got (float, int),"},
      {"torch.arguments", Python, Specific, R"(^TypeError: \w+\(\): argument ')",
       "TypeError: gelu(): argument 'approximate' must be str, not bool"},
      {"torch.arguments", Python, Specific, R"(^TypeError: \w+\(\) missing .* positional arguments: ")",
       R"(TypeError: softmax() missing 1 required positional arguments: "dim")"},
      {"torch.arguments", Python, Fallback,
       "^(?:RuntimeError|ValueError|AssertionError): .*(?:divisible|has to be|should not be|to be true|requires)",
       "RuntimeError: stride should not be zero"},
      {"python.arguments", Module, General,
       R"(^TypeError: .*(?:\(\) missing|unexpected keyword argument|positional argument|multiple values for))",
       "TypeError: f() got multiple values for argument 'a'"},
      {"python.type", Python, Fallback, "^TypeError", "TypeError: 'int' object is not callable"},
      {"python.value", Python, Specific, "^ZeroDivisionError|values to unpack",
       "ZeroDivisionError: integer division or modulo by zero"},
      {"python.value", Python, Fallback, "^ValueError$", "ValueError"},
      {"python.other", Python, Specific, R"(Error: \[Errno)",
       "FileNotFoundError: [Errno 2] No such file or directory: 'weights.pt'"},
      {"python.assertion", Python, Fallback, "^AssertionError$", "AssertionError"},
      {"out_of_memory", Python, Specific, "out of memory",
       "OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 GiB. GPU 0 has a total"},
  });
  return k_rules;
}

// Names and sentences of the errors of CUDA and HIP.
std::span<const ErrorRule> runtime_rules() {
  using enum ErrorTool;
  using enum ErrorRank;
  static constexpr auto k_rules = std::to_array<ErrorRule>({
      {"device.reported", Runtime, Specific, "a kernel reported (?:'|code )",
       "a kernel reported 'h_full' in block 37, 2000140 us after the call began"},
      {"out_of_memory", Runtime, Specific, "out of memory|hipErrorOutOfMemory", "a call failed: out of memory"},
      {"device.illegal_address", Runtime, Specific,
       "illegal memory access|hipErrorIllegalAddress|global/shared address space",
       "a call failed: hipErrorIllegalAddress"},
      {"device.misaligned_address", Runtime, Specific, "misaligned address",
       "RuntimeError: CUDA error: misaligned address"},
      {"device.assert", Runtime, Specific, "device-side assert|hipErrorAssert", "a call failed: hipErrorAssert"},
      {"device.launch_timeout", Runtime, Specific, "launch timed out|hipErrorLaunchTimeOut",
       "a call failed: hipErrorLaunchTimeOut"},
      {"device.illegal_instruction", Runtime, Specific, "illegal instruction",
       "AcceleratorError: CUDA error: an illegal instruction was encountered"},
      {"device.launch_failure", Runtime, Specific, "unspecified launch failure|hipErrorLaunchFailure",
       "a call failed: hipErrorLaunchFailure"},
      {"device.stack_overflow", Runtime, Specific, "hardware stack error",
       "AcceleratorError: CUDA error: hardware stack error"},
      {"device.invalid_pc", Runtime, Specific, "invalid program counter",
       "AcceleratorError: CUDA error: invalid program counter"},
      {"device.ecc", Runtime, Specific, "uncorrectable ECC",
       "a call failed: waiting for the device: uncorrectable ECC error encountered (214)"},
      {"torch.capture", Runtime, Specific, "capturing|during capture|hipErrorStreamCapture",
       "a call failed: hipErrorStreamCaptureUnsupported"},
      {"resource.registers", Runtime, Specific, "too many resources requested|hipErrorLaunchOutOfResources",
       "a call failed: hipErrorLaunchOutOfResources"},
      {"launch.cooperative", Runtime, Specific,
       "too many blocks in cooperative launch|hipErrorCooperativeLaunchTooLarge",
       "a call failed: hipErrorCooperativeLaunchTooLarge"},
      {"launch.configuration", Runtime, Specific, "invalid configuration|hipErrorInvalidConfiguration",
       "a call failed: hipErrorInvalidConfiguration"},
      {"launch.invalid_function", Runtime, Specific, "invalid device function|hipErrorInvalidDeviceFunction",
       "a call failed: invalid device function"},
      {"device.architecture", Runtime, Specific,
       "no kernel image is available|hipErrorNoBinaryForGpu|unsupported toolchain",
       "a call failed: hipErrorNoBinaryForGpu"},
      {"launch.invalid_value", Runtime, General, "invalid (?:argument|device symbol)|hipErrorInvalid",
       "a call failed: invalid argument"},
  });
  return k_rules;
}

}  // namespace v0
}  // namespace kernelgen
