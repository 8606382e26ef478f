"""A process that exchanges lines with us, with a time limit on every wait.

    peer = Peer("cdec -c cdec.ini --mr_mira_compat", "decoder 'cdec …'")
    peer.send("<seg> das haus </seg>", Deadline(60))
    line = peer.line(Deadline(60))
    peer.close()

The command runs in a shell, in the current directory and a session of its own. Output is read while
input is written, so that a full pipe cannot block both sides. When the process has ended, output of
its children is not waited for. Only the end of stderr is kept, for messages. Any failure kills the
process with its children and raises an `InputError` with its last line.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
import time
from pathlib import Path

from hopefear._engine import poll_interrupt
from hopefear.base.config import Size
from hopefear.base.errors import InputError
from hopefear.decode.remote.process import DecoderProcess, describe_exit, last_line

_POLL_INTERVAL = 0.1  # seconds between checks for an interrupt during a wait
_GRACE = 2.0  # seconds that a process has to end after its input is closed
_CHUNK = 1 << 16
_KEPT = 4096  # bytes of stderr


class Deadline:
    """A point in time, `seconds` from now; 0: no deadline."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds if seconds else None

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self._end is not None and time.monotonic() > self._end


class Peer:
    """The process. One thread at a time may use it."""

    def __init__(
        self,
        command: str,
        name: str,
        max_line: int,
        *,
        max_answer: int = 0,
        directory: Path | None = None,
    ) -> None:
        """Start the command.

        `name`: its name in messages; `max_line`: bytes in a line at most; `max_answer`: bytes of
        the answer to a line at most, 0: unlimited; `directory`: its temporary files.
        """
        self._name, self._max_line, self._max_answer = name, max_line, max_answer
        self._returned = 0  # bytes of the answer returned by `line`
        self._process = DecoderProcess(
            command,
            directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._stderr = self._process.stderr.fileno()
        self._closing = threading.RLock()  # another thread may close it when a run is stopped
        self._selector = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe, False)
        for pipe in (self._stdout, self._stderr):
            self._selector.register(pipe, selectors.EVENT_READ)
        self._output = bytearray()  # output not yet returned by `line`
        self._searched = 0  # number of its first bytes known to have no end of line
        self._stderr_end = b""
        self._last = b""  # the last line returned that is not blank

    def send(self, line: str, deadline: Deadline) -> None:
        """Write a line; raise an error if the process wrote output without a request."""
        self._poll(0)
        if self._output:
            raise self.error("wrote more than it was asked for")
        self._returned = 0
        unsent = memoryview(line.encode("utf-8", "surrogateescape") + b"\n")
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            while unsent:
                if self._process.poll() is not None:
                    raise self._ended()
                if self._poll(_POLL_INTERVAL):
                    unsent = unsent[self._write(unsent) :]
                self._check(deadline)
        finally:
            if not self.closed:
                self._selector.unregister(self._stdin)

    def line(self, deadline: Deadline) -> str:
        """Return the next line of its output."""
        if self._max_answer and self._returned > self._max_answer:
            raise self.error(
                f"gave an answer of more than {Size(self._max_answer)} bytes and was stopped; if "
                "its lists are so long, set a larger max_answer"
            )
        while (end := self._output.find(b"\n", self._searched)) < 0:
            self._searched = len(self._output)
            self._check(deadline)
            # After its end all its output is in the pipe, which a child process may keep open.
            ended = self._process.poll() is not None
            self._poll(_POLL_INTERVAL)
            if ended and len(self._output) == self._searched:
                raise self._ended()
        line = bytes(self._output[:end])
        if line.strip():
            self._last = line
        del self._output[: end + 1]
        self._returned += end + 1
        self._searched = 0
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise self.malformed("bytes that are not UTF-8") from None

    def malformed(self, reason: str) -> InputError:
        """Kill the process; return an error about the line that `line` returned last."""
        return self.error(f"gave a malformed answer: {reason}", self._last)

    def error(self, event: str, *output: bytes) -> InputError:
        """Kill the process; return an error with its name, the event and the last line of `output`,
        by default of stderr.
        """
        self.close(grace=0)
        for text in output or (self._stderr_end, bytes(self._output[-_KEPT:]), self._last):
            last = last_line(text)
            if last:
                return InputError(f"{self._name} {event}; its last line: {last}")
        return InputError(f"{self._name} {event}; it wrote no output")

    @property
    def closed(self) -> bool:
        """Whether the process was ended, by `close` or by an error."""
        return self._selector.get_map() is None

    def close(self, *, grace: float = _GRACE) -> None:
        """Close its input; kill it if it does not end within `grace` seconds."""
        with self._closing:
            if self.closed:
                return
            try:
                with contextlib.suppress(BrokenPipeError):
                    assert self._process.stdin is not None
                    self._process.stdin.close()
                until = time.monotonic() + grace
                while self._process.poll() is None and time.monotonic() < until:
                    self._poll(0.05)
            finally:
                self._process.stop()
                self._drain()
                self._selector.close()
                for pipe in (self._process.stdout, self._process.stderr):
                    assert pipe is not None
                    pipe.close()

    # -- internal --

    def _poll(self, seconds: float) -> bool:
        """Read available output, waiting `seconds` for it; return whether stdin is writable."""
        poll_interrupt()
        writable, events = False, list[tuple[selectors.SelectorKey, int]]()
        with contextlib.suppress(ValueError, OSError):  # closed meanwhile: handled below
            events = self._selector.select(seconds)
        with self._closing:
            if self.closed:
                raise self._stopped()
            for key, _ in events:
                if key.fd == self._stdin:
                    writable = True
                else:
                    self._read(key.fd)
        return writable

    def _stopped(self) -> InputError:
        """Return the error for a process that another thread has closed."""
        poll_interrupt()
        return InputError(f"{self._name} was stopped while its answer was waited for")

    def _read(self, pipe: int) -> None:
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(pipe)
        elif pipe == self._stderr:
            self._stderr_end = (self._stderr_end + data)[-_KEPT:]
        else:
            self._output += data

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._stdin, data[:_CHUNK])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise self._ended() from None

    def _check(self, deadline: Deadline) -> None:
        """Raise an error if the process has ended, its line is too long, or time is up."""
        if len(self._output) > self._max_line:
            raise self.error(
                f"gave a malformed answer: a line of more than {self._max_line:,} bytes",
                bytes(self._output[:_KEPT]),
            )
        pipes = self._selector.get_map()
        if pipes is None:
            raise self._stopped()
        if self._stdout not in pipes:
            raise self._ended()
        if deadline.passed:
            raise self.error(
                f"has not answered for {deadline.seconds:g} seconds and was stopped; if it is only "
                "slow, set a larger timeout"
            )

    def _ended(self) -> InputError:
        """Return the error for a process that closed its input or output, usually by ending."""
        poll_interrupt()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        code = self._process.returncode
        if code is None:
            return self.error("closed its input or output")
        return self.error(f"{describe_exit(code)} in the middle of the exchange")

    def _drain(self) -> None:
        """Read the remaining output of an ended process, up to a limit."""
        for pipe in (self._stdout, self._stderr):
            for _ in range(64):
                if pipe not in self._selector.get_map():
                    break
                before = len(self._output), self._stderr_end
                self._read(pipe)
                if before == (len(self._output), self._stderr_end):
                    break
