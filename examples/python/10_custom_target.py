"""A target of your own: a language of one expression, and its compiler.     10_custom_target.py TASK.py

The compiler here goes by way of C++, which kernelgen compiles in a sandbox. One that starts a program of yours returns
`Compiled(path)` for a shared object with the kernel ABI, or `CompileFailed(outcome)`.
"""

import sys

import kernelgen

TEMPLATE = """#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}
KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* in = static_cast<const float*>(args->inputs.items[0]->data);
  auto* out = static_cast<float*>(args->outputs.items[0]->data);
  for (uint64_t i = 0; i < args->inputs.items[0]->element_count; ++i) {
    const float x = in[i];
    out[i] = EXPRESSION;
  }
  return 0;
}
"""


class ExpressionCompiler(kernelgen.KernelCompiler):
    def __init__(self, target: str):
        self.target = target
        self.cpp = kernelgen.open_local_compiler()

    def supports(self, target):
        return target == self.target

    def key(self, request, stop):
        return self.cpp.key(self.translate(request), stop)

    def compile(self, request, stop):
        return self.cpp.compile(self.translate(request), stop)

    def translate(self, request):
        source = TEMPLATE.replace("EXPRESSION", request.candidate.source)
        return kernelgen.CompileRequest(kernelgen.Candidate(source), request.extra_flags, request.timeout)


def main(task: str) -> int:
    target = kernelgen.register_target("expression", file_extension=".expr",
                                       prompt_text="Write one C expression of the element `float x`.")
    options = kernelgen.EvaluationOptions(mode="correctness_only")
    with kernelgen.open_local_judge(compilers=[ExpressionCompiler(target)]) as judge:
        record = judge.evaluate(task, kernelgen.Candidate("x < 0 ? 0 : x", target), options)
    print(f"{record.target}: {record.outcome} {record.outcome.message}".strip())
    return 0 if record.correct else 2


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: 10_custom_target.py TASK.py")
    sys.exit(main(sys.argv[1]))
