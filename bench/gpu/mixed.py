"""Forty candidates for KernelBench's level 1: CUDA and Triton, right and wrong, made from the kernels in candidates/.

A candidate is a kernel with a few exact edits. An edit is an error unless its text occurs exactly once: a kernel that
changed must not quietly turn a wrong candidate into a right one.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

CANDIDATES = pathlib.Path(__file__).resolve().parent / "candidates"

RELU, SIGMOID, TANH, GELU = 19, 21, 22, 26
SOFTMAX, SUM, MATMUL = 23, 47, 1


@dataclass(frozen=True)
class Candidate:
    """One source to judge, the number of its task in level 1, and whether it is correct."""

    name: str
    problem: int
    target: str
    source: str
    right: bool


CUDA_BODY = "x < 0.0f ? 0.0f : x;"
TRITON_BODY = "tl.where(x < 0, 0.0, x)"

CUDA_BODIES = {
    RELU: CUDA_BODY,
    SIGMOID: "1.0f / (1.0f + expf(-x));",
    TANH: "tanhf(x);",
    GELU: "0.5f * x * (1.0f + erff(x * 0.70710678f));",
}
TRITON_BODIES = {
    RELU: TRITON_BODY,
    SIGMOID: "1.0 / (1.0 + tl.exp(-x))",
    TANH: "tl.where(x < 0, -1.0, 1.0) * (1.0 - 2.0 / (tl.exp(2.0 * tl.abs(x)) + 1.0))",
    GELU: "0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))",
}


def edited(file: str, edits: list[tuple[str, str]]) -> str:
    """The kernel in a file with the edits applied, each exactly once."""
    source = (CANDIDATES / file).read_text(encoding="utf-8")
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"{file}: {old!r} is there {source.count(old)} times, not once")
        source = source.replace(old, new)
    return source


def _elementwise(problem: int, target: str, body: str, edits: list[tuple[str, str]]) -> str:
    if target == "cuda":
        return edited("elementwise.cu", [("return " + CUDA_BODY, "return " + body), *edits])
    return edited("elementwise.py", [(TRITON_BODY, body), *edits])


def _right() -> list[tuple[str, int, str, str]]:
    found = []
    for problem, name in ((RELU, "relu"), (SIGMOID, "sigmoid"), (TANH, "tanh"), (GELU, "gelu")):
        found.append((name, problem, "cuda", _elementwise(problem, "cuda", CUDA_BODIES[problem], [])))
        found.append((name, problem, "triton", _elementwise(problem, "triton", TRITON_BODIES[problem], [])))
    for problem, name in ((SOFTMAX, "softmax"), (SUM, "sum"), (MATMUL, "matmul")):
        found.append((name, problem, "cuda", edited(f"{name}.cu", [])))
        found.append((name, problem, "triton", edited(f"{name}.py", [])))
    # The same work in another form, as a search would try it.
    def again(name: str, problem: int, target: str, old: str, new: str) -> None:
        found.append((name, problem, target, _elementwise(problem, target, bodies[target][problem], [(old, new)])))

    bodies = {"cuda": CUDA_BODIES, "triton": TRITON_BODIES}
    again("relu-512-threads", RELU, "cuda", "k_threads = 256", "k_threads = 512")
    again("relu-block-1024", RELU, "triton", "block = 4096", "block = 1024")
    again("gelu-few-blocks", GELU, "cuda", "= 1 << 20", "= 1 << 11")
    found += [
        ("softmax-1024", SOFTMAX, "cuda", edited("softmax.cu", [("k_threads = 512", "k_threads = 1024")])),
        ("sum-16-groups", SUM, "cuda", edited("sum.cu", [("k_groups = 8", "k_groups = 16")])),
        ("matmul-deeper", MATMUL, "cuda", edited("matmul.cu", [("k_depth = 16", "k_depth = 32")])),
    ]
    return found


def _wrong() -> list[tuple[str, int, str, str]]:
    def cuda(problem: int, body: str | None = None, *edits: tuple[str, str]) -> str:
        return _elementwise(problem, "cuda", body or CUDA_BODIES[problem], list(edits))

    def triton(problem: int, body: str | None = None, *edits: tuple[str, str]) -> str:
        return _elementwise(problem, "triton", body or TRITON_BODIES[problem], list(edits))

    def other(problem: int, target: str, old: str, new: str) -> str:
        name = {SOFTMAX: "softmax", SUM: "sum", MATMUL: "matmul"}[problem]
        return edited(name + (".cu" if target == "cuda" else ".py"), [(old, new)])

    outside = ("    y[i] = make_float4", "    y[i + (1LL << 40)] = make_float4")
    half = ("tl.store(y_ptr + offsets, y,", "tl.store(y_ptr + offsets, y.to(tl.float16),")
    first_warp = ("for (const Part& other : parts)", "for (const Part& other : {parts[0]})")
    b_columns = ("b_ptr + steps[:, None] * n + columns[None, :]", "b_ptr + columns[None, :] * k + steps[:, None]")
    return [
        ("relu-is-echo", RELU, "cuda", cuda(RELU, "x;")),
        ("relu-undeclared", RELU, "cuda", cuda(RELU, "fmaxf(x, zero);")),
        ("relu-out-of-bounds", RELU, "cuda", cuda(RELU, None, outside)),
        ("relu-unknown-function", RELU, "triton", triton(RELU, "tl.relu(x)")),
        ("sigmoid-sign", SIGMOID, "cuda", cuda(SIGMOID, "1.0f / (1.0f + expf(x));")),
        ("sigmoid-straight", SIGMOID, "triton", triton(SIGMOID, "0.5 + 0.25 * x")),
        ("sigmoid-not-launched", SIGMOID, "cuda", cuda(SIGMOID, None, ("if (vectors > 0)", "if (vectors < 0)"))),
        ("tanh-overflows", TANH, "triton", triton(TANH, "(tl.exp(60.0 * x) - 1) / (tl.exp(60.0 * x) + 1)")),
        ("tanh-short", TANH, "cuda", cuda(TANH, None, ("i < vectors; i += stride", "i < vectors / 2; i += stride"))),
        ("tanh-2048-threads", TANH, "cuda", cuda(TANH, None, ("k_threads = 256", "k_threads = 2048"))),
        ("gelu-of-tanh", GELU, "cuda", cuda(GELU, "0.5f * x * (1.0f + tanhf(x));")),
        ("gelu-half", GELU, "triton", triton(GELU, "0.5 * x", half)),
        ("softmax-unscaled", SOFTMAX, "cuda", other(SOFTMAX, "cuda", "= 1.0f / part.sum", "= 1.0f")),
        ("softmax-one-warp", SOFTMAX, "cuda", other(SOFTMAX, "cuda", *first_warp)),
        ("softmax-zeros", SOFTMAX, "triton", other(SOFTMAX, "triton", "tl.exp(x - maximum) / total", "x * 0.0")),
        ("sum-mean", SUM, "triton", other(SUM, "triton", "tl.sum(totals, axis=0)", "tl.sum(totals, axis=0) / length")),
        ("sum-one-group", SUM, "cuda", other(SUM, "cuda", "group < k_groups", "group < 1")),
        ("matmul-transposed", MATMUL, "triton", other(MATMUL, "triton", *b_columns)),
        ("matmul-step-short", MATMUL, "cuda", other(MATMUL, "cuda", "k0 < depth; k0", "k0 + k_depth < depth; k0")),
        ("matmul-missing-name", MATMUL, "triton", other(MATMUL, "triton", "steps = first +", "steps = begin +")),
    ]


def candidates() -> list[Candidate]:
    """All forty, those of one task together."""
    made = [Candidate(*fields, right=True) for fields in _right()]
    made += [Candidate(*fields, right=False) for fields in _wrong()]
    return sorted(made, key=lambda candidate: candidate.problem)
