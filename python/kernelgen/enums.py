"""Names that records and options use. Each is a text, and compares equal to it: `Target.CPP == "cpp"`."""

from __future__ import annotations

import enum


class _Name(str, enum.Enum):
    def __str__(self) -> str:
        return str(self.value)


class Target(_Name):
    """How a candidate is written and where it runs."""

    CPP = "cpp"
    CUDA = "cuda"
    HIP = "hip"
    HIPKITTENS = "hipkittens"
    TRITON = "triton"
    TORCH = "torch"


class OutcomeKind(_Name):
    """The stable classes of outcomes."""

    CORRECT = "correct"
    SYNTAX = "syntax"
    IMPORT = "import"
    INTERFACE = "interface"
    WEIGHT_SYNC = "weight_sync"
    COMPILE = "compile"
    RESOURCE = "resource"
    LAUNCH = "launch"
    DEVICE_FAULT = "device_fault"
    ACCURACY = "accuracy"
    OFF_DISTRIBUTION = "off_distribution"
    MUTATED_INPUT = "mutated_input"
    RACE = "race"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASH = "crash"
    CHEAT = "cheat"
    SUSPECT = "suspect"
    LIBRARY_USE = "library_use"
    SANITIZER = "sanitizer"
    NOT_SCORED = "not_scored"


class EvaluationMode(_Name):
    """How much of an evaluation is done."""

    FULL = "full"
    QUICK = "quick"
    CORRECTNESS_ONLY = "correctness_only"


class Precision(_Name):
    """The precision of computing and comparing."""

    STRICT = "strict"
    DEFAULT = "default"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"


class LibraryUse(_Name):
    """The kernels and libraries that may do the work of a right candidate."""

    OWN_KERNELS = "own-kernels"
    ASSISTED = "assisted"
    ANYTHING = "anything"


class BaselineKind(_Name):
    """The reference in another form, with which a candidate is compared besides."""

    COMPILE = "compile"
    COMPILE_MAX_AUTOTUNE = "compile-max-autotune"


class PromptKind(_Name):
    """The purpose of a prompt."""

    SEED = "seed"
    REPAIR = "repair"
    ANALYSIS = "analysis"
    OPTIMIZE = "optimize"
    STAGE = "stage"
    REFLECT = "reflect"
    CRITIC = "critic"
    CROSSOVER = "crossover"


class ActionStatus(_Name):
    """How an action of a search ended."""

    EVALUATED = "evaluated"
    ANALYZED = "analyzed"
    NO_CODE = "no_code"
    DUPLICATE = "duplicate"
    UNCHANGED = "unchanged"
    MODEL_FAILED = "model_failed"
    NOT_JUDGED = "not_judged"
