"""The connection to a Ray cluster, or a cluster of this machine's cores that ends with the command.

Ray would change the handlers of signals, print to the terminal, report its use to its makers, wait
minutes for an address where no cluster is, and write a token for its own connections to the user's
home. None of this happens here.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from hopefear.base.errors import HopefearError, OptionError, Terminated, in_line
from hopefear.base.memory import available_memory
from hopefear.base.temporary import temporary_directory

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PROBE = 3.0  # seconds to wait for an answer from an address
_LONGEST_PATH = 20  # of the parent of Ray's folder: paths of sockets have 107 characters at most
_MEMORY = 1 << 30  # bytes of shared memory for objects on the way
_LEAST_MEMORY = 100 << 20
_SILENT: dict[str, Any] = {"log_to_driver": False, "logging_level": "critical"}
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_MARK = "HOPEFEAR_CLUSTER"  # variable of all processes of a cluster of ours: its folder
_token = ""  # of the clusters that this process starts


def load_ray() -> Any:
    """Import Ray; raise an `OptionError` if it is not installed."""
    for name, value in (
        ("RAY_USAGE_STATS_ENABLED", "0"),
        ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"),
        ("RAY_BACKEND_LOG_LEVEL", "fatal"),  # of this process; lines would go to the terminal
        ("RAY_NUM_REDIS_GET_RETRIES", "3"),  # seconds of trying to connect
    ):
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
    except ImportError as error:
        raise OptionError(
            f"--cluster: needs Ray ({in_line(error)}); pip install 'hopefear[cluster]'"
        ) from None
    return ray


def connect(address: str, cores: int) -> ExitStack:
    """Connect to a cluster and return what ends the connection.

    `address`: HOST:PORT, or auto: the running cluster, else a new one of this machine's `cores`.
    """
    ray = load_ray()
    stack = ExitStack()
    if ray.is_initialized():  # by the program that calls the Python API: its cluster
        return stack
    there = running_address() if address == "auto" else address
    if there or address != "auto":
        check_address(there)
    stack.callback(_leave, ray)
    try:
        stack.enter_context(_no_reports(ray))
        # A signal is not put off: starting may take long, and what was started ends with us.
        with _quiet() as printed:
            if there:
                own = address == "auto" and not os.environ.get("RAY_ADDRESS")
                if own:  # started here by this user, whose token Ray uses then, as `ray.init` does
                    stack.enter_context(_with_token())
                _join(ray, there, printed)
            else:
                _start(ray, cores, stack)
        return stack
    except BaseException as error:
        stack.close()
        if isinstance(error, SystemExit) and not isinstance(error, Terminated):
            raise Terminated(128 + signal.SIGTERM) from None  # Ray has changed it
        raise


@contextmanager
def undisturbed() -> Iterator[None]:
    """Call the handlers of signals after the block: within Ray, an exit would get another code.

    A second signal is not put off.
    """
    came: list[int] = []
    handlers: dict[int, Any] = {}

    def note(number: int, frame: Any) -> None:
        came.append(number)
        if len(came) > 1:
            handlers[number](number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    for number in _SIGNALS:
        if callable(handler := signal.getsignal(number)):
            handlers[number] = handler
            signal.signal(number, note)
    try:
        yield
    finally:
        for caught, handler in handlers.items():
            signal.signal(caught, handler)
        if came:
            handlers[came[0]](came[0], None)


@contextmanager
def _no_reports(ray: Any) -> Iterator[None]:
    """Drop what Ray prints to stdout of workers that died; there is no option for it."""
    name = "print_to_stdstream"
    module = ray._private.worker
    before = getattr(module, name, None)
    setattr(module, name, lambda *_, **__: None)
    try:
        yield
    finally:
        setattr(module, name, before)


def running_address() -> str:
    """The cluster that RAY_ADDRESS names or that 'ray start' started here; empty if none runs."""
    given = os.environ.get("RAY_ADDRESS", "")
    if given:
        return "" if given == "local" else given
    folder = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    try:
        address = (Path(folder) / "ray" / "ray_current_cluster").read_text("utf-8").strip()
        check_address(address)
    except (OSError, ValueError, OptionError):  # that cluster has ended
        return ""
    return address


def check_address(address: str) -> None:
    """Raise an `OptionError` soon if there is no cluster at an address."""
    start = f"--cluster {address}: "
    host, colon, port = address.rpartition(":")
    if "://" in address or not (colon and host and port.isdecimal() and 0 < int(port) < 65536):
        raise OptionError(
            f"{start}expected auto, or HOST:PORT as 'ray start --head' prints it; run the command "
            "on a machine of the cluster"
        )
    answer = b""
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), _PROBE)
    except OSError as error:
        raise OptionError(
            f"{start}nothing answers there ({error.strerror or in_line(error)}); start a cluster "
            "with 'ray start --head', or correct the address"
        ) from None
    with connection, contextlib.suppress(OSError):  # a server that is silent, or hangs up
        connection.settimeout(_PROBE)
        connection.sendall(_HTTP2)
        answer = connection.recv(4)
    if answer[3:] != b"\4":  # the type of the frame that every server of gRPC sends first
        raise OptionError(
            f"{start}what answers there is not Ray; give the address that 'ray start --head' prints"
        )


class Heartbeat:
    """Notices the end of the cluster, after which Ray would end the process without a word."""

    _EVERY = 2.0  # seconds
    _LONGEST = 20.0  # seconds that the head may be away; Ray waits for a minute

    def __init__(self, ray: Any) -> None:
        node = getattr(ray._private.worker.global_worker, "node", None)
        self._socket: str | None = getattr(node, "raylet_socket_name", None)
        self._head = ray.get_runtime_context().gcs_address
        self._looked = self._heard = time.monotonic()

    def check(self) -> None:
        """Raise a `HopefearError` if the cluster has ended; cheap, looks at times only."""
        now = time.monotonic()
        if now - self._looked < self._EVERY:
            return
        self._looked = now
        gone = ""
        if self._socket is not None and not _listens(self._socket):
            gone = "Ray has ended on this machine"
        elif _listens(self._head):
            self._heard = now
        elif now - self._heard > self._LONGEST:
            gone = "the machine that started it is gone"
        if gone:
            raise HopefearError(
                f"--cluster: the cluster has ended ({gone}); start it again, and the command with "
                "--resume if it has that option"
            )


def _listens(address: str) -> bool:
    """Whether a process listens at HOST:PORT, or at the path of a socket."""
    host, _, port = address.rpartition(":")
    try:
        if address.startswith("/"):
            with socket.socket(socket.AF_UNIX) as local:
                local.settimeout(_PROBE)
                local.connect(address)
        else:
            socket.create_connection((host.strip("[]"), int(port)), _PROBE).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:  # too busy to answer
        return True
    return True


@contextmanager
def _with_token() -> Iterator[None]:
    """Have Ray use the token of its user if there is one; it sends none to an address given."""
    before = os.environ.get("RAY_AUTH_MODE")
    with contextlib.suppress(ImportError):  # before Ray 2.52
        from ray._private.authentication import authentication_token_setup as setup

        setup.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("RAY_AUTH_MODE", None)


def _join(ray: Any, address: str, printed: IO[bytes]) -> None:
    try:
        ray.init(address=address, **_SILENT)
    except (ConnectionError, ValueError, RuntimeError, OSError, AssertionError) as error:
        raise OptionError(
            f"--cluster {address}: {_reason(error, printed)}; check it with 'hopefear "
            f"cluster-check {address}'"
        ) from None


def _reason(error: Exception, printed: IO[bytes]) -> str:
    """Why Ray does not connect, from its error and what it printed."""
    printed.seek(0)
    text = f"{error} {printed.read().decode('utf-8', 'replace')}"
    if "InvalidAuthToken" in text or "AuthenticationError" in text:
        return (
            "the cluster asks for a token; copy ~/.ray/auth_token from the machine that started "
            "it, and set RAY_AUTH_MODE=token"
        )
    if "Version mismatch" in text or "different version" in text.lower():
        return f"other versions there ({in_line(error, 300)})"
    if "This node has an IP address" in text or "raylet" in text.lower():
        return (
            "this machine does not belong to the cluster; run the command on one that does, or "
            "add it with 'ray start --address'"
        )
    return f"cannot connect ({in_line(error)})"


def _start(ray: Any, cores: int, stack: ExitStack) -> None:
    """Start a cluster for this process: only with its token can anybody connect to it."""
    global _token
    if "RAY_AUTH_MODE" not in os.environ and "RAY_AUTH_TOKEN" not in os.environ:
        _token = _token or secrets.token_hex(32)
        os.environ["RAY_AUTH_TOKEN"] = _token
        for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_MODE"):  # Ray sets the other
            stack.callback(os.environ.pop, name, None)
    parent = Path(tempfile.gettempdir())
    if len(str(parent)) > _LONGEST_PATH:
        parent = Path("/tmp")
    # Left after the connection has ended (`connect`), before the token is forgotten.
    folder = stack.enter_context(temporary_directory("hopefear-ray-", parent))
    stack.callback(_end_helpers, folder)
    stack.callback(_leave, ray)
    os.environ[_MARK] = str(folder)
    memory = max(_LEAST_MEMORY, min(_MEMORY, available_memory() // 5))
    try:
        ray.init(
            address="local",
            num_cpus=cores,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=memory,
            _node_ip_address="127.0.0.1",
            _temp_dir=str(folder),
            **_SILENT,
        )
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise OptionError(
            f"--cluster auto: Ray cannot start on this machine ({in_line(error)}); run without "
            "--cluster"
        ) from None
    finally:
        del os.environ[_MARK]


def _end_helpers(folder: Path) -> None:
    """Kill what is left of a cluster of ours: some of its processes wait a minute for others."""
    mark = f"{_MARK}={folder}\0".encode()
    for entry in Path("/proc").glob("[0-9]*"):  # of Linux; elsewhere they end by themselves
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)


def _leave(ray: Any) -> None:
    with undisturbed(), _quiet():
        ray.shutdown()


@contextmanager
def _quiet() -> Iterator[IO[bytes]]:
    """Keep the handlers of signals, and Ray's messages from the terminal: in the file."""
    handlers: dict[int, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread: Ray sets none either
        for number in _SIGNALS:
            handlers[number] = signal.getsignal(number)
    with tempfile.TemporaryFile() as printed, ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
            with contextlib.suppress(OSError, ValueError):  # it is closed
                stream.flush()
                saved = os.dup(descriptor)
                stack.callback(os.close, saved)
                stack.callback(os.dup2, saved, descriptor)
                os.dup2(printed.fileno(), descriptor)
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        try:
            yield printed
        finally:
            with contextlib.suppress(ValueError):
                for signum, handler in handlers.items():
                    if signal.getsignal(signum) is not handler:
                        signal.signal(signum, handler)
