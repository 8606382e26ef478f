"""A process that is talked to in lines, and that is never waited for without end.

    peer = Peer("cdec -c cdec.ini --mr_mira_compat", "decoder 'cdec …'")
    peer.send("<seg> das haus </seg>", Deadline(60))
    line = peer.line(Deadline(60))
    peer.close()

The command runs in a shell, in the current directory and a session of its own. While we write we
read, so neither side can wait for the other for ever, and when the process has ended nobody waits
for what its children may write; what it says on stderr is kept as far as somebody may want its last
line. Whatever goes wrong ends the process with all it started, and is
an `InputError` with that line.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
import time

from hopefear._engine import poll_interrupt
from hopefear.base.errors import InputError
from hopefear.decode.remote.process import how_it_ended, kill, last_line

_LOOK_EVERY = 0.1  # seconds between looks for an interrupt, while we wait
_GRACE = 2.0  # seconds that a process has to end when its input does
_CHUNK = 1 << 16
_KEPT = 4096  # bytes of stderr


class Deadline:
    """A moment by which something must have happened; after 0 seconds: never."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds if seconds else None

    @property
    def passed(self) -> bool:
        return self._end is not None and time.monotonic() > self._end


class Peer:
    """The process. One thread at a time may use it."""

    def __init__(self, command: str, name: str, longest: int) -> None:
        """`name` is how messages call it, `longest` the length of the lines it may write."""
        self._name, self._longest = name, longest
        self._process = subprocess.Popen(
            command,
            shell=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._stderr = self._process.stderr.fileno()
        self._closing = threading.RLock()  # another thread closes it when a run is stopped
        self._selector = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe, False)
        for pipe in (self._stdout, self._stderr):
            self._selector.register(pipe, selectors.EVENT_READ)
        self._output = bytearray()  # that nobody took yet
        self._looked = 0  # so much of it has no end of a line
        self._said = b""  # the end of stderr
        self._last = b""  # the last line that was taken and has something in it

    def send(self, line: str, deadline: Deadline) -> None:
        """Write a line. What the peer wrote without being asked is a fault."""
        self._look(0)
        if self._output:
            raise self.error("wrote more than it was asked for")
        left = memoryview(line.encode("utf-8", "surrogateescape") + b"\n")
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            while left:
                if self._process.poll() is not None:
                    raise self._ended()
                if self._look(_LOOK_EVERY):
                    left = left[self._write(left) :]
                self._check(deadline)
        finally:
            if not self.closed:
                self._selector.unregister(self._stdin)

    def line(self, deadline: Deadline) -> str:
        """The next line that it writes."""
        while (end := self._output.find(b"\n", self._looked)) < 0:
            self._looked = len(self._output)
            self._check(deadline)
            # All that it wrote is in the pipe then, which a child of it may hold open for ever.
            ended = self._process.poll() is not None
            self._look(_LOOK_EVERY)
            if ended and len(self._output) == self._looked:
                raise self._ended()
        line = bytes(self._output[:end])
        if line.strip():
            self._last = line
        del self._output[: end + 1]
        self._looked = 0
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise self.nonsense("bytes that are not UTF-8") from None

    def nonsense(self, why: str) -> InputError:
        """The line that was taken last is wrong."""
        return self.error(f"answered nonsense: {why}", self._last)

    def error(self, what: str, *words: bytes) -> InputError:
        """What happened, to whom, and its last words, by default on stderr; it has ended then."""
        self.close(grace=0)
        for heard in words or (self._said, bytes(self._output[-_KEPT:]), self._last):
            last = last_line(heard)
            if last:
                return InputError(f"{self._name} {what}; its last line: {last}")
        return InputError(f"{self._name} {what}; it said nothing")

    @property
    def closed(self) -> bool:
        """Whether it has ended, by `close` or by a fault."""
        return self._selector.get_map() is None

    def close(self, *, grace: float = _GRACE) -> None:
        """Its input ends, and so should it; it is killed if it does not."""
        with self._closing:
            if self.closed:
                return
            try:
                with contextlib.suppress(BrokenPipeError):
                    assert self._process.stdin is not None
                    self._process.stdin.close()
                until = time.monotonic() + grace
                while self._process.poll() is None and time.monotonic() < until:
                    self._look(0.05)
            finally:
                kill(self._process)
                self._drain()
                self._selector.close()
                for pipe in (self._process.stdout, self._process.stderr):
                    assert pipe is not None
                    pipe.close()

    # -- inside --

    def _look(self, seconds: float) -> bool:
        """Read what is there, or wait for it so long; whether it may be written to."""
        poll_interrupt()
        writable, found = False, list[tuple[selectors.SelectorKey, int]]()
        with contextlib.suppress(ValueError, OSError):  # closed meanwhile: seen below
            found = self._selector.select(seconds)
        with self._closing:
            if self.closed:
                raise self._stopped()
            for key, _ in found:
                if key.fd == self._stdin:
                    writable = True
                else:
                    self._read(key.fd)
        return writable

    def _stopped(self) -> InputError:
        """Another thread closed it."""
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
            self._said = (self._said + data)[-_KEPT:]
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
        """That it lives, writes lines of a sane length, and is not too late."""
        if len(self._output) > self._longest:
            raise self.error(
                f"answered nonsense: a line of more than {self._longest:,} bytes",
                bytes(self._output[:_KEPT]),
            )
        pipes = self._selector.get_map()
        if pipes is None:
            raise self._stopped()
        if self._stdout not in pipes:
            raise self._ended()
        if deadline.passed:
            raise self.error(
                f"has not answered for {deadline.seconds:g} seconds and was stopped; if it only "
                "is slow, set a larger timeout"
            )

    def _ended(self) -> InputError:
        """It closed its input or output: because it ends, as a rule."""
        poll_interrupt()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        code = self._process.returncode
        if code is None:
            return self.error("closed its input or output")
        return self.error(f"{how_it_ended(code)} in the middle of the exchange")

    def _drain(self) -> None:
        """What it said before it ended; of a great deal the beginning."""
        for pipe in (self._stdout, self._stderr):
            for _ in range(64):
                if pipe not in self._selector.get_map():
                    break
                before = len(self._output), self._said
                self._read(pipe)
                if before == (len(self._output), self._said):
                    break
