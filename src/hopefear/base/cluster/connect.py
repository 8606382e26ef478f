"""The connection to a Ray cluster, or a cluster of this machine's cores that ends with the command.

Ray would change the handlers of signals, print to the terminal, and report its use to its makers.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from hopefear.base.errors import OptionError, in_line
from hopefear.base.temporary import temporary_directory

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def load_ray() -> Any:
    """Import Ray; raise an `OptionError` if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
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
    try:
        with _quiet():
            if not (address == "auto" and _try_running(ray)):
                if address == "auto":
                    _start(ray, cores, stack)
                else:
                    _join(ray, address)
        stack.callback(_leave, ray)
        return stack
    except BaseException:
        with _quiet():
            ray.shutdown()
        stack.close()
        raise


def _try_running(ray: Any) -> bool:
    """Connect to the cluster that runs on this machine, or that RAY_ADDRESS names, if any."""
    given = os.environ.get("RAY_ADDRESS")
    if given:
        _join(ray, given)
        return True
    try:
        ray.init(address="auto", **_SILENT)
    except (ConnectionError, FileNotFoundError):
        return False
    return True


def _join(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, **_SILENT)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise OptionError(
            f"--cluster {address}: no cluster to connect to ({in_line(error)}); start one with "
            "'ray start --head', or check it with 'hopefear cluster-check'"
        ) from None


def _start(ray: Any, cores: int, stack: ExitStack) -> None:
    folder = stack.enter_context(temporary_directory("hopefear-ray-"))
    try:
        ray.init(
            num_cpus=cores,
            num_gpus=0,
            include_dashboard=False,
            _temp_dir=str(folder),
            **_SILENT,
        )
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise OptionError(
            f"--cluster auto: Ray cannot start on this machine ({in_line(error)}); run without "
            "--cluster"
        ) from None


def _leave(ray: Any) -> None:
    with _quiet():
        ray.shutdown()


_SILENT: dict[str, Any] = {"log_to_driver": False, "logging_level": "critical"}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the handlers of signals, and Ray's messages from the terminal."""
    handlers: dict[int, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread: Ray sets none either
        for number in _SIGNALS:
            handlers[number] = signal.getsignal(number)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        with contextlib.suppress(ValueError):
            for signum, handler in handlers.items():
                if signal.getsignal(signum) is not handler:
                    signal.signal(signum, handler)
