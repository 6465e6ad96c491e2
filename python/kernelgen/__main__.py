"""The command kgen of this package: `kgen`, or `python -m kernelgen`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import find_installation
from .errors import Error


def main() -> NoReturn:
    """Becomes kgen. Its judge gets the Python that runs this, unless KGEN_PYTHON names another one."""
    try:
        worker = find_installation()["worker"]
    except Error as error:
        sys.exit(f"kgen: {error}")
    if sys.executable:
        os.environ.setdefault("KGEN_PYTHON", sys.executable)
    os.execv(worker, ["kgen", *sys.argv[1:]])


if __name__ == "__main__":
    main()
