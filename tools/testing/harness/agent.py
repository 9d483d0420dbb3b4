# SPDX-License-Identifier: GPL-2.0
"""Commands that run in a guest, by its agent: see qemu/guest/agent.c."""

import socket
import threading
import time
from typing import Any, Callable

from harness.errors import ClusterError

OnOutput = Callable[[bytes], None]


class Job:
    """A command that runs in a guest."""

    def __init__(self, vm: Any, ident: str, on_output: OnOutput | None):
        self.vm = vm
        self.ident = ident
        self.chunks: list[bytes] = []
        self.status: int | None = None
        self.on_output = on_output
        self.ended = threading.Event()

    @property
    def output(self) -> str:
        return b"".join(self.chunks).decode(errors="replace")

    def wait(self, timeout: float) -> tuple[int | None, str]:
        """(status, output). None as the status: out of time, or the guest is gone."""
        deadline = time.monotonic() + timeout
        while not self.ended.wait(max(0, min(1, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                break
            # A job that was added as the guest went is not among those that its end has ended.
            if not self.vm.is_on():
                self.ended.wait(1)
                self.ended.set()
        return self.status, self.output

    def kill(self) -> None:
        self.vm.send(f"K {self.ident}\n")


class Channel:
    """The guest's virtio port: see qemu/guest/agent.c for the frames."""

    def __init__(self, path: str, on_frame: Callable[[str | None], None]):
        self.socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + 20
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise ClusterError(f"no {path}") from None
                time.sleep(0.02)
        self.lock = threading.Lock()
        self.on_frame = on_frame
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        rest = b""
        while True:
            try:
                data = self.socket.recv(65536)
            except OSError:
                data = b""
            if not data:
                self.on_frame(None)
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.on_frame(line.decode("ascii", "replace").strip())

    def send(self, text: str) -> None:
        with self.lock:
            try:
                self.socket.sendall(text.encode())
            except OSError:
                pass

    def close(self) -> None:
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
