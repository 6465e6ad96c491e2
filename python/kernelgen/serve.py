"""The reward service: HTTP and JSON around one judge. `kgen-serve`, or `python -m kernelgen.serve`.

It needs the extra: pip install 'kernelgen[serve]'. docs/python.md describes its endpoints and limits.
"""

from __future__ import annotations

import argparse
import importlib
import ipaddress
import logging
import os
import resource
import signal
import socket
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ._serve_options import QueueLimits, ServiceOptions
from .errors import Error, InvalidArgument, MissingTool, NotFound, PermissionDenied

if TYPE_CHECKING:
    import uvicorn

    from .judges import Benchmarker

__all__ = ["QueueLimits", "ServiceOptions", "main", "make_server"]

_USAGE, _UNAVAILABLE = 64, 69
_EXTRA = ("fastapi", "pydantic", "starlette", "uvicorn", "prometheus_client")
_STOP_SECONDS = 5.0


def make_server(judge: Benchmarker, options: ServiceOptions, ready: str = "") -> uvicorn.Server:
    """A server of uvicorn around a judge. Its run(sockets=[...]) serves until a signal, or until should_exit is set.

    `ready` is a line for the standard error stream once requests are taken. Raises MissingTool without the
    packages of the extra, and NotFound for a folder of tasks that is not there.
    """
    _require_extra()
    import uvicorn

    from ._serve_app import make_app

    app, service = make_app(judge, options)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if ready:
                print(ready, file=sys.stderr, flush=True)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Clients that wait get their answers before uvicorn waits for their connections.
            await service.evaluations.stop(_STOP_SECONDS)
            await super().shutdown(sockets)

    waiting = options.limits.queue + options.limits.running
    # Headers are not logged, so a token is in no log. The limit leaves room for requests that are answered at once.
    return Server(uvicorn.Config(
        app, http="h11", ws="none", log_config=None, log_level="warning", access_log=False, server_header=False,
        limit_concurrency=waiting + 256, backlog=1024, timeout_graceful_shutdown=2))


def _require_extra() -> None:
    try:
        for name in _EXTRA:
            importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise MissingTool(
            f"the package {error.name} is not installed; run: pip install 'kernelgen[serve]'") from None


def listen_at_address(host: str, port: int) -> tuple[socket.socket, bool]:
    """A socket that listens, and whether only this machine reaches it. Raises InvalidArgument and Unavailable."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidArgument(f"--host {host} is no address of this machine: {error.strerror}") from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise InvalidArgument(f"{host} port {port} cannot be used: {error.strerror}") from None
    return listener, ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback


def listen_at_path(path: str) -> socket.socket:
    """A Unix socket that only this user may use. One that a service left behind is replaced.

    Raises InvalidArgument for a path that is in use, or is no socket.
    """
    try:
        is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except FileNotFoundError:
        pass
    else:
        if not is_socket:
            raise InvalidArgument(f"{path} is no socket; --unix must name a socket or a path that does not exist")
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                raise InvalidArgument(f"{path} is in use by another service")
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    # The mode is there from the first moment on.
    earlier = os.umask(0o177)
    try:
        listener.bind(path)
    except OSError as error:
        listener.close()
        raise InvalidArgument(f"{path} cannot be used: {error.strerror or error}") from None
    finally:
        os.umask(earlier)
    return listener


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE, f"{self.prog}: {message}\n")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:20]) < 1 << 40:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _port(text: str) -> int:
    # getaddrinfo() would take the remainder of a larger number.
    if not text.isdecimal() or int(text[:20]) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port from 0 to 65535")
    return int(text)


def _make_parser() -> argparse.ArgumentParser:
    limits, defaults = QueueLimits(), ServiceOptions()
    parser = _Parser(
        prog="kgen-serve", allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Serves verdicts over HTTP and JSON. See docs/python.md.", argument_default=argparse.SUPPRESS)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen at; one beyond this machine needs --token-file")
    add("--port", type=_port, default=8471, help="port to listen at; 0: any")
    add("--unix", metavar="PATH", help="listen at a Unix socket that only this user may use, instead of a port")
    add("--token-file", metavar="FILE", help="tokens that clients must send, one per line")
    add("--tasks", metavar="FOLDER", action="append", help="a folder whose tasks clients may name; repeatable")
    add("--allow-task-text", action="store_true", default=False,
        help="take the text of tasks from clients; it runs with the rights of this service")
    add("--allow-option", metavar="NAME", action="append",
        help="let clients set an option that weakens verdicts: rtol, precision, ...; repeatable")
    add("--trust-client-id", action="store_true", default=False,
        help="X-Client-Id divides the share of a token, for a proxy that sets it")
    add("--running", type=_count, default=limits.running, metavar="N", help="evaluations at once")
    add("--queue", type=_count, default=limits.queue, metavar="N", help="evaluations that wait")
    add("--queue-per-client", type=_count, default=limits.queue_per_client, metavar="N",
        help="evaluations of one client that wait")
    add("--deadline", type=_seconds, default=limits.deadline, metavar="SECONDS", help="of one evaluation")
    add("--keep", type=_count, default=limits.keep, metavar="N", help="answers to keep")
    add("--keep-seconds", type=_seconds, default=limits.keep_seconds, metavar="SECONDS",
        help="time for which an answer is kept")
    add("--keep-bytes", type=_count, default=limits.keep_bytes, metavar="BYTES", help="memory for answers that are kept")
    add("--max-code", type=_count, default=defaults.code_bytes, metavar="BYTES", help="of a candidate's source")
    add("--max-body", type=_count, default=defaults.body_bytes, metavar="BYTES", help="of a request's body")
    add("--python", metavar="PATH", help="Python with torch; without it, KGEN_PYTHON, else the one that runs this")
    add("--cache-dir", metavar="FOLDER", default="", help="keeps what was built; empty: the one of kgen")
    add("--quiet", action="store_true", default=False, help="no line per evaluation")
    return parser


def _options_of(arguments: argparse.Namespace, serves_this_machine: bool, has_port: bool) -> ServiceOptions:
    from ._serve_requests import OPTIONS_THAT_WEAKEN, read_tokens

    token_file = getattr(arguments, "token_file", None)
    if not serves_this_machine and token_file is None:
        raise InvalidArgument(f"--host {arguments.host} is reached from other machines; give --token-file as well")
    tasks, allowed = getattr(arguments, "tasks", []), getattr(arguments, "allow_option", [])
    if not tasks and not arguments.allow_task_text:
        raise InvalidArgument("the service has no tasks; give --tasks FOLDER or --allow-task-text")
    for name in allowed:
        if name not in OPTIONS_THAT_WEAKEN:
            raise InvalidArgument(f"--allow-option is {name!r}; it must be one of {', '.join(OPTIONS_THAT_WEAKEN)}")
    tokens = tuple(read_tokens(token_file)) if token_file is not None else ()
    return ServiceOptions(
        tasks=tuple(tasks), allow_task_text=arguments.allow_task_text, allowed_options=tuple(allowed), tokens=tokens,
        trust_client_ids=arguments.trust_client_id, code_bytes=arguments.max_code, body_bytes=arguments.max_body,
        allowed_hosts=("localhost", "127.0.0.1", "::1", arguments.host) if has_port and not tokens else (),
        limits=QueueLimits(arguments.running, arguments.queue, arguments.queue_per_client, arguments.deadline,
                           arguments.keep, arguments.keep_seconds, arguments.keep_bytes))


def _serve(arguments: argparse.Namespace) -> None:
    _require_extra()
    path = getattr(arguments, "unix", None)
    if path is not None:
        listener, serves_this_machine = listen_at_path(path), True
    else:
        listener, serves_this_machine = listen_at_address(arguments.host, arguments.port)
    judge = None
    try:
        options = _options_of(arguments, serves_this_machine, path is None)

        from .judges import open_local_judge

        judge = open_local_judge(python=getattr(arguments, "python", None), cache_dir=arguments.cache_dir)
        server = make_server(judge, options, f"kgen-serve: listening at {path or _url_of(listener)}")

        def stop(*_: Any) -> None:
            server.should_exit = True

        _allow_open_files(options.limits.queue + options.limits.running + 512)
        # uvicorn has handlers of its own while it serves, and raises the signals again at its end.
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", level=logging.WARNING)
        logging.getLogger("kernelgen.serve").setLevel(logging.WARNING if arguments.quiet else logging.INFO)
        server.run(sockets=[listener])
    finally:
        listener.close()
        if path is not None:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
        if judge is not None:
            judge.close()


def _allow_open_files(count: int) -> None:
    """Raises the limit of open files: every client that waits has a connection, and the usual limit is 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serves until SIGTERM or Ctrl-C. Exit codes: 0; 64 for wrong arguments; 69 for a part that is missing."""
    given = _make_parser().parse_args(arguments)
    try:
        _serve(given)
    except (InvalidArgument, NotFound, PermissionDenied) as error:
        print(f"kgen-serve: {error}", file=sys.stderr)
        sys.exit(_USAGE)
    except Error as error:
        print(f"kgen-serve: {error}", file=sys.stderr)
        sys.exit(_UNAVAILABLE)
    except KeyboardInterrupt:
        pass  # It came before the service was ready.
    sys.exit(0)


if __name__ == "__main__":
    main()
