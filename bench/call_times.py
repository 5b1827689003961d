"""Steps whose calls are timed one by one, and processes in the way of their being quiet."""

import os
import statistics
import subprocess
import sys
import time

STEP_ROWS = ["mlp_step", "deep_step", "lstm_step", "gpt_step"]
# Ends by itself where the one that started it is gone without having ended it.
SPIN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n  for _ in range(100000): pass"


def visit(server, seconds, fewest):
    """Milliseconds of each call for about as long as asked; an error of the process is one of the run."""
    answer = server.ask(f"{seconds} {fewest}")
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["calls_ms"]


def high(times):
    """The 95th of a hundred calls."""
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


class Spinning:
    """Processes that are busy with nothing, for as long as the `with` lasts, however it ends."""

    def __init__(self, count):
        self.count, self.children = count, []

    def __enter__(self):
        try:
            for _ in range(self.count):
                self.children.append(subprocess.Popen([sys.executable, "-c", SPIN, str(os.getpid())],
                                                      stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(0.3)  # until they have started
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()
        self.children = []


def mark(passed):
    return {True: "ok", False: "MISSED", None: "not measured"}[passed]


def aligned(lines):
    """Rows of cells as text: the first two columns and the last to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    left = (0, 1, len(widths) - 1)
    return "\n".join("  ".join(cell.ljust(width) if i in left else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)
