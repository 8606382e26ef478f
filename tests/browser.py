"""A real browser for tests: headless Chromium, told what to do over a pair of pipes.

Chromium's debugging protocol is JSON objects that end in a zero byte, on its file descriptors 3 and
4 with --remote-debugging-pipe; no package is needed for that.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """Where Chromium is; None if it is not installed."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One page of a browser; `errors` has what the page complained of or asked the network for."""

    def __init__(self, profile: Path) -> None:
        found = program()
        assert found, "no Chromium; see program()"
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        wanted = [commands, answers]

        def keep() -> None:
            # Copies first: 3 and 4 may be among the ends that are to become 3 and 4.
            for number, end in enumerate([os.dup(end) for end in wanted], 3):
                os.dup2(end, number)
                os.set_inheritable(number, True)

        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
        self._process = subprocess.Popen(
            [
                found,
                *flags,
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
            ],
            preexec_fn=keep,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in wanted:
            os.close(end)
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.errors: list[str] = []
        self.loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def open(self, page: Path, *, script: bool = True) -> None:
        """Load a file and wait for it."""
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.errors.clear()
        self.loaded = False
        self._own = page.resolve().as_uri()
        self.call("Page.navigate", url=self._own)
        deadline = time.monotonic() + 60
        while not self.loaded:
            assert time.monotonic() < deadline, "the page did not load"
            self._read()

    def window(self, width: int, height: int, *, dark: bool = False, paper: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=[scheme])

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives, as JSON."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            code = {"Enter": 13, "Tab": 9}.get(key, 0)
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **text,
            )

    def picture(self, file: Path, *, whole: bool = False) -> None:
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(answer["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._in], [], [], 60)
            assert ready, "the browser does not answer"
            block = os.read(self._in, 2**16)
            assert block, "the browser has ended"
            self._left += block
        text, _, self._left = self._left.partition(b"\0")
        message = dict(json.loads(text))
        self._notice(message)
        return message

    def _notice(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent" and parameters["request"]["url"] != self._own:
            self.errors.append(f"asks for {parameters['request']['url']}")
