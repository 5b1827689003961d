"""What all parts of the suite use: they run programs, with their output in a log file, and count.

A program that crashes, hangs, or has no tests has failed.
"""

import concurrent.futures
import contextlib
import os
import re
import signal
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
RELEASE = os.path.join(BUILD, "release")
LOGS = os.path.join(BUILD, "logs")
CLOSING_LINE = re.compile(r"^(\d+) passed, (\d+) failed\s*$", re.MULTILINE)
# A hang must not hold up CI until someone looks.
HOUR = 3600
# The programs that run, each of them a group of processes. None is left when the suite is interrupted.
RUNNING = set()


def stop_all():
    for each in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(each, signal.SIGKILL)


# What say() keeps for a thread of side_by_side(), and the part of the suite that a thread works for.
BESIDE = threading.local()


class Part:
    """A part of the suite, and the processor's time of the programs that it ran, in seconds."""

    def __init__(self):
        self.processor_seconds = 0.0
        self.adding = threading.Lock()

    def add(self, seconds):
        with self.adding:
            self.processor_seconds += seconds


@contextlib.contextmanager
def working_for(part):
    """What this thread runs, and what side_by_side() runs for it, is added to a part. None: to no part."""
    before, BESIDE.part = getattr(BESIDE, "part", None), part
    try:
        yield
    finally:
        BESIDE.part = before


def count_time(processor_seconds):
    """Adds to the part that this thread works for."""
    if getattr(BESIDE, "part", None):
        BESIDE.part.add(processor_seconds)


def say(text=""):
    """Prints a line; of a part that runs beside others, once it has ended."""
    lines = getattr(BESIDE, "lines", None)
    if lines is None:
        print(text, flush=True)
    else:
        lines.append(text)


def side_by_side(tasks):
    """Runs functions beside each other, one a processor, and adds up their counts. What one says stays together."""
    part_of_all = getattr(BESIDE, "part", None)

    def one(task):
        BESIDE.lines = []
        try:
            with working_for(part_of_all):
                return task()
        finally:
            if BESIDE.lines:
                print("\n".join(BESIDE.lines), flush=True)
            BESIDE.lines = None

    counts = Counts()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for part in pool.map(one, tasks):
            counts += part
    return counts


class Counts:
    """What a suite, or a part of it, came to."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def failure(text):
    say("    FAILED: " + text)
    return Counts(failed=1)


class Outcome:
    def __init__(self, code, output, seconds, processor_seconds, log):
        self.code, self.output, self.seconds, self.log = code, output, seconds, log
        self.processor_seconds = processor_seconds

    def took(self):
        return f"{self.seconds:.1f} s, {self.processor_seconds:.1f} s of a processor"

    def why(self):
        """How the process ended, in words."""
        if self.code is None:
            return "took too long and was stopped"
        if self.code < 0:
            return f"died of {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"

    def tail(self, lines=40):
        return "\n".join("    | " + line for line in self.output.rstrip().splitlines()[-lines:])


def wait(process, timeout):
    """The exit code of a process, or None if it took too long and was killed with its children, and the processor's time, in
    seconds, of it and of those children that it waited for."""
    late = threading.Event()

    def kill():
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    killer = threading.Timer(timeout, kill)
    killer.daemon = True
    killer.start()
    # The process keeps its number until the timer cannot fire any more.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    killer.cancel()
    killer.join()
    _, status, usage = os.wait4(process.pid, 0)
    RUNNING.discard(process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if late.is_set() else process.returncode, usage.ru_utime + usage.ru_stime


def run(name, command, timeout=HOUR, environment=None, cwd=ROOT, quiet=False):
    """Runs a command with its output in a log file; a line now and then shows that it still runs."""
    os.makedirs(LOGS, exist_ok=True)
    log = os.path.join(LOGS, re.sub(r"[^A-Za-z0-9.-]+", "-", name) + ".log")
    started = time.monotonic()
    done = threading.Event()

    def tick():
        while not done.wait(30):
            print(f"    {name}: running for {time.monotonic() - started:.0f} s", flush=True)

    if not quiet:
        threading.Thread(target=tick, daemon=True).start()
    try:
        with open(log, "wb") as file:
            # A session of its own, so that a test which hangs is stopped with all of its children.
            process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
                                       start_new_session=True)
            RUNNING.add(process.pid)
            code, processor_seconds = wait(process, timeout)
    finally:
        done.set()
    count_time(processor_seconds)
    with open(log, encoding="utf-8", errors="replace") as file:
        output = file.read()
    return Outcome(code, output, time.monotonic() - started, processor_seconds, log)


def closing_line(name, command, **options):
    """Runs a program whose last line is "N passed, N failed" and believes it, unless the exit code disagrees."""
    outcome = run(name, command, **options)
    found = CLOSING_LINE.findall(outcome.output)
    if not found:
        say(outcome.tail())
        return failure(f"{name} {outcome.why()} without a line 'N passed, N failed' ({outcome.log})")
    counts = Counts(int(found[-1][0]), int(found[-1][1]))
    if counts.failed:
        say(outcome.tail())
    elif outcome.code != 0:
        say(outcome.tail())
        counts += failure(f"{name} {outcome.why()} ({outcome.log})")
    elif counts.passed == 0:
        counts += failure(f"{name} ran no tests ({outcome.log})")
    say(f"    {name}: {counts} ({outcome.took()})")
    return counts
