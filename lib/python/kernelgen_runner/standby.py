"""A runner without a candidate: it enters the sandbox, opens its device, and says hello."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelgen_common.gpu import GpuError
from kernelgen_common.platform import CHOOSING_VARIABLES

from . import builds, protocol
from .ahead import Builder
from .device import Device, architecture_setting, device_failure, open_device
from .prewarm import Prewarmed
from .protocol import Channel
from .runner import Runner
from .support import Support, library_paths

ISOLATION_MOUNT = 2
ISOLATION_SEAL = 256


@dataclass(frozen=True)
class Settings:
    """The settings that all runners of a zygote share."""

    support: Support
    #: Directories that candidates must not see.
    hidden: Sequence[str] = ()
    #: The file for candidates' output; None: it is dropped.
    log: str | None = None
    #: The UUID of their GPU; None: the processor.
    gpu: str | None = None
    #: The variable that makes a process see that GPU only, and the device nodes that it needs.
    gpu_variable: str = ""
    gpu_nodes: Sequence[str] = ()
    #: The facts about that GPU, GpuFacts as JSON; builders need them.
    gpu_facts: Mapping[str, Any] = field(default_factory=dict)
    prewarmed: Prewarmed = field(default_factory=Prewarmed)


def build_ahead(control: int, status: int, settings: Settings, kept: str) -> int:
    """Enters the sandbox without a device, and builds what one candidate will need.

    Returns in the sandboxed process only.
    """
    for variable in CHOOSING_VARIABLES:
        os.environ[variable] = ""
    # Compilers need as many files and as much scratch space as a candidate with a device.
    channel, isolation = _enter_sandbox(control, status, settings, [], kept, watched=False)
    settings.support.driver_started()
    directory = builds.place(kept, private=bool(isolation & ISOLATION_MOUNT))
    facts = settings.gpu_facts if settings.gpu is not None else {}
    architecture = architecture_setting(str(facts["vendor"]), str(facts["architecture"])) if facts else {}
    made = builds.Builds(directory, architecture, settings.prewarmed.triton_files)
    return Builder(channel, made, facts).serve(isolation)


def _enter_sandbox(
    control: int, status: int, settings: Settings, devices: Sequence[str] | None, kept: str | None, watched: bool
) -> tuple[Channel, int]:
    """The worker's channel, and the isolation bits of the sandbox."""
    _redirect_output(settings.log)
    # The library is loaded again in the sandbox, for a device.
    ours = [os.path.realpath(settings.support.path)] if settings.support.path else []
    visible = [*ours, *library_paths(), *builds.toolchains()]
    isolation = settings.support.enter_sandbox(status, [control], settings.hidden, devices, visible, kept, watched)
    if isolation & ISOLATION_MOUNT:
        os.environ["HOME"] = os.environ["TMPDIR"] = "/tmp"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return Channel(socket.socket(fileno=control)), isolation


def main(control: int, status: int, settings: Settings, kept: str | None = None) -> int:
    """Enters the sandbox and serves. Returns in the sandboxed process only.

    kept: a directory of the worker's for what candidates build.
    """
    on_gpu = settings.gpu is not None
    devices = settings.gpu_nodes if on_gpu else None
    channel, isolation = _enter_sandbox(control, status, settings, devices, kept, watched=True)
    if on_gpu and isolation & ISOLATION_MOUNT:
        settings.support.keep_error_output()
    try:
        device = _start_device(settings) if on_gpu else None
    except GpuError as error:
        channel.send(protocol.OP_HELLO, 0, device_failure(error).reply)
        return 69
    made = None
    if device is not None or kept is not None:
        directory = builds.place(kept, private=bool(isolation & ISOLATION_MOUNT))
        architecture = device.architecture if device is not None else {}
        made = builds.Builds(directory, architecture, settings.prewarmed.triton_files)
    seals_itself = not isolation & ISOLATION_SEAL
    return Runner(channel, settings.support, device, made, seals_itself).serve(isolation)


def _start_device(settings: Settings) -> Device:
    try:
        return open_device(settings.support.path, settings.gpu or "", settings.gpu_variable)
    finally:
        settings.support.driver_started()


def _redirect_output(log: str | None) -> None:
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if log else os.open(os.devnull, os.O_RDWR)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(nowhere)
    os.close(target)
