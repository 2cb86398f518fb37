"""A real browser for tests: Chromium, driven through a pipe by its own protocol."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
START = """
import os, sys
pipes = os.dup2(int(sys.argv[1]), 100), os.dup2(int(sys.argv[2]), 101)
os.dup2(pipes[0], 3), os.dup2(pipes[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Becomes Chromium, which reads commands from descriptor 3 and writes answers to 4."""

PATIENCE = 60.0
"""Seconds after which a browser that does not answer has failed."""


def chromium() -> str:
    """Where Chromium is; without it the test is skipped."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(NAMES)}); install it to test")
    return found


class Browser:
    """One page in a browser of its own, with an empty profile; `with Browser() as page`."""

    def __enter__(self):
        command, self._profile = chromium(), tempfile.mkdtemp()
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs_in), str(theirs_out)]
            + [command, *FLAGS, f"--user-data-dir={self._profile}"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        os.set_blocking(ours_in, False)
        self._in, self._out, self._rest, self._count = ours_in, ours_out, b"", 0
        self.events, self._session = [], None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, path, *, width=1440, height=900, dark=False):
        """Show a file at a width; what was logged and asked for is counted from here on."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._ask("Emulation.setEmulatedMedia", features=scheme)
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.events.clear()
        self._ask("Page.navigate", url=Path(path).resolve().as_uri())
        self._wait(lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))

    def value(self, expression):
        """What an expression is worth on the page."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def complaints(self):
        """Errors and warnings that the page has caused: of scripts, styles, policies, requests."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event["method"] in kinds]

    def requests(self):
        """Addresses that the page has asked for, its own among them; data: is no request."""
        sent = (e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent")
        addresses = (event["request"]["url"] for event in sent)
        return [address for address in addresses if not address.startswith("data:")]

    def screenshot(self, path):
        """A picture of the whole page."""
        size = self._ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        made = self._ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(made["data"]))

    def _ask(self, method, **params):
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        found = {}

        def answered():
            for event in self._answers:
                if event["id"] == message["id"]:
                    found.update(event)
            return bool(found)

        self._answers = []
        self._wait(answered)
        assert "error" not in found, found
        return found["result"]

    def _wait(self, done):
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, "the browser does not answer"
            assert self._process.poll() is None, "the browser has ended"
            self._read()

    def _read(self):
        try:
            self._rest += os.read(self._in, 2**20)
        except BlockingIOError:
            time.sleep(0.01)
        *messages, self._rest = self._rest.split(b"\0")
        for message in map(json.loads, messages):
            (self._answers if "id" in message else self.events).append(message)
