# SPDX-License-Identifier: GPL-2.0
"""Child processes that are killed when this one ends."""

import ctypes
import functools
import queue
import signal
import subprocess
import threading
from typing import Any

PR_SET_PDEATHSIG = 1


class Spawner:
    """
    Starts every child from one thread that lives as long as the process:
    PR_SET_PDEATHSIG follows the thread, not the process.
    """

    def __init__(self):
        self.requests = queue.Queue()
        self.libc = ctypes.CDLL(None, use_errno=True)
        threading.Thread(target=self._serve, daemon=True).start()

    def _die_with_parent(self):
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def _serve(self):
        while True:
            args, kwargs, answer = self.requests.get()
            try:
                # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
                answer.put(subprocess.Popen(args, preexec_fn=self._die_with_parent,
                                            start_new_session=True, **kwargs))
            except OSError as error:
                answer.put(error)

    def popen(self, args: list[str], **kwargs: Any) -> subprocess.Popen:
        answer = queue.Queue()
        self.requests.put((args, kwargs, answer))
        process = answer.get(timeout=30)
        if isinstance(process, OSError):
            raise process
        return process


@functools.cache
def spawner() -> Spawner:
    """The spawner of this process."""
    return Spawner()
