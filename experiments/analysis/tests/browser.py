# SPDX-License-Identifier: GPL-2.0-only
"""A real headless Chromium, driven over its debugging pipe: no port, no extra package."""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe")


class Browser:
    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._in, self._out, self._buffer, self._id = read_fd, write_fd, b"", 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        message: dict[str, Any] = {"id": self._id, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read_next()
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _read_next(self, limit: float = 60) -> dict[str, Any]:
        deadline = time.monotonic() + limit
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, page: Path, width: int = 1200, height: int = 900) -> None:
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read_next())

    def evaluate(self, expression: str) -> Any:
        """On the next page, where the browser goes there meanwhile."""
        try:
            answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        except RuntimeError as error:
            if "navigated" not in str(error):
                raise
            answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def list_problems(self) -> list[str]:
        """Everything that the console showed as warning or error, and every exception."""
        self.evaluate("new Promise(done => setTimeout(done, 50))")
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(f"console.{params['type']}: {params['args']}")
            elif event.get("method") == "Log.entryAdded":
                found.append(f"{params['entry']['level']}: {params['entry']['text']}")
        return found

    def list_requests(self) -> list[str]:
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def check_narrow(self, page: Path) -> None:
        """Opens a page on a screen as narrow as a telephone's: no problem, nothing from a network, nothing beside the screen."""
        self.open(page, width=390)
        self.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert self.list_problems() == []
        assert [url for url in self.list_requests() if not url.startswith(("file:", "data:"))] == []
        assert self.evaluate("document.documentElement.scrollWidth") <= 390

    def list_double_ids(self) -> list[str]:
        return self.evaluate("""(() => {
            const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
            return ids.filter((id, i) => ids.indexOf(id) !== i); })()""")


@contextmanager
def start_chromium(profile: Path) -> Iterator[Browser]:
    """Starts a browser with a profile of its own and ends it, whatever happens."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        raise FileNotFoundError("chromium: not installed; 'apt-get install chromium'")
    to_browser, from_browser = os.pipe(), os.pipe()
    # The browser reads from descriptor 3 and writes to descriptor 4; bash puts them there
    # (a plain sh may not know descriptors of two digits).
    script = f'exec "$0" "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}'
    process = subprocess.Popen(["bash", "-c", script, program, *FLAGS, f"--user-data-dir={profile}"],
                               pass_fds=(to_browser[0], from_browser[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        yield Browser(from_browser[0], to_browser[1])
    finally:
        os.close(to_browser[1])
        os.close(from_browser[0])
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
