"""Starts the judge's zygote: `python -m kernelgen_judge --fd N`, N being a stream socket to the worker."""

from __future__ import annotations

import argparse
import os
import platform
import socket
import sys
from importlib import metadata
from typing import Any

from kernelgen_common import zygote


def _child(request: dict[str, Any], descriptors: list[int]) -> int:
    from . import server

    server.silence()
    return server.serve(socket.socket(fileno=descriptors[0]))


def _version_of(package: str) -> str:
    """The installed version of a package, without importing it; empty if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def main() -> int:
    """Does the slow imports, then serves fork requests until the worker closes the connection."""
    parser = argparse.ArgumentParser(prog="kernelgen_judge", description="The trusted side of an evaluation.")
    parser.add_argument("--fd", type=int, required=True, help="a stream socket to the worker")
    options = parser.parse_args()
    connection = socket.socket(fileno=options.fd)

    import torch

    from . import server  # noqa: F401 - its imports are what children must not pay for

    zygote.import_hidden_dependencies()
    ready = {"python": platform.python_version(), "torch": str(torch.__version__), "triton": _version_of("triton")}
    return zygote.serve(connection, ready, _child)


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # Extension modules have nothing worth tearing down, and some complain about it.
    os._exit(status)
