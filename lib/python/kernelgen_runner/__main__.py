"""Starts the zygote of Python runners: `python -m kernelgen_runner --fd N [--support LIB] [--interpreter] [--gpu UUID]`.

A fork request carries two descriptors: the runner's control socket (SOCK_SEQPACKET) and the write end of its status pipe.
It may name a directory in "builds", the only directory of the worker that the runner may write, for builds of candidates. With
"builder" the child is no runner, but compiles what a candidate will need, without the device.
The zygote never touches a GPU's driver: that does not survive a fork. Its children open the device.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import sys
from typing import Any

from kernelgen_common import zygote
from kernelgen_common.platform import PLATFORMS, platform_of


def main() -> int:
    """Imports torch, and triton if it is there, then serves fork requests until the worker closes the connection."""
    parser = argparse.ArgumentParser(prog="kernelgen_runner", description="Runs untrusted ModelNew modules.")
    parser.add_argument("--fd", type=int, required=True, help="a stream socket to the worker")
    parser.add_argument("--support", help="path of libkgen_runner_support.so; without it there is no sandbox")
    parser.add_argument("--interpreter", action="store_true", help="triton kernels run under its interpreter")
    parser.add_argument("--hide", action="append", default=[], help="a directory that candidates must not see")
    parser.add_argument("--log", help="where candidates' output goes; default: nowhere")
    parser.add_argument("--gpu", metavar="UUID", help="runners work on this GPU; default: on the processor")
    parser.add_argument("--gpu-vendor", default="nvidia", choices=sorted(PLATFORMS), help="whose GPU that is")
    parser.add_argument("--gpu-variable", metavar="NAME", default="", help="the variable that makes a process see that GPU only")
    parser.add_argument("--gpu-node", metavar="FILE", action="append", default=[], help="a device node that it needs")
    parser.add_argument("--gpu-facts", metavar="JSON", default="{}", help="what is known of it, for building without it")
    options = parser.parse_args()
    connection = socket.socket(fileno=options.fd)
    os.environ.pop("TRITON_INTERPRET", None)
    if options.interpreter:
        os.environ["TRITON_INTERPRET"] = "1"

    import torch

    triton_version = ""
    try:
        import triton
        import triton.language  # noqa: F401

        triton_version = str(triton.__version__)
    except Exception:  # noqa: BLE001 - optional, and broken installations exist
        pass

    from . import prewarm, standby
    from .support import Support

    prewarmed = prewarm.Prewarmed(platform_of(options.gpu_vendor))
    support = Support(options.support)
    settings = standby.Settings(
        support, options.hide, options.log, options.gpu, options.gpu_variable, options.gpu_node, json.loads(options.gpu_facts), prewarmed
    )
    zygote.import_hidden_dependencies()

    def child(request: dict[str, Any], descriptors: list[int]) -> int:
        status = descriptors[1] if len(descriptors) > 1 else -1
        kept = request.get("builds")
        if request.get("builder") and isinstance(kept, str):
            return standby.build_ahead(descriptors[0], status, settings, kept)
        return standby.main(descriptors[0], status, settings, kept if isinstance(kept, str) else None)

    ready = {"python": platform.python_version(), "torch": str(torch.__version__), "triton": triton_version}
    return zygote.serve(connection, ready, child, prewarmed.warm if options.gpu and prewarmed.platform.is_hardware else None)


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # Extension modules have nothing worth tearing down, and some complain about it.
    os._exit(status)
