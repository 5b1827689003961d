#!/usr/bin/env python3
"""Runs the test suites of a build and adds up what they report.

Called by scripts/test, which installs and builds first. Every suite is a row of SUITES: its name, the levels
that it belongs to, and a function that runs it. A suite that crashes, hangs, or has no tests has failed. The
last line is "N passed, N failed". The functions are in test/suites.
"""

import argparse
import functools
import os
import signal
import sys
import time

from suites.base import Counts, Part, say, side_by_side, stop_all, working_for
from suites.builds import build_meanwhile, debian, lint, static, without_cuda
from suites.device import device
from suites.generated import mutated, random
from suites.house import docs, examples, house, install, parity
from suites.kernels import cuda, unit_with_programs
from suites.programs import lit
from suites.sanitizers import asan_full, sanitizers, tsan

# What parts build, of those that take long; it begins with the first part, and takes what the others leave of the processors.
BUILT_MEANWHILE = {"sanitizers": "asan-subset", "tsan": "tsan-subset"}
# In their order, except that those of ONE_PROCESS_EACH run beside each other.
SUITES = [
    ("house", ("quick", "default", "ci", "full"), house),
    ("lit", ("quick", "default", "ci", "full"), lit),
    ("unit", ("quick", "default", "ci", "full"), unit_with_programs),
    ("examples", ("default", "ci", "full"), examples),
    ("docs", ("default", "ci", "full"), docs),
    ("install", ("default", "ci", "full"), install),
    ("random", ("quick", "default", "ci", "full"), random),
    ("mutated", ("quick", "default", "ci", "full"), mutated),
    ("cuda", ("quick", "default", "ci", "full"), cuda),
    ("device", ("quick", "default", "ci", "full"), device),
    ("parity", ("parity", "ci", "full"), parity),
    ("sanitizers", ("ci", "full"), sanitizers),
    ("static", ("full",), static),
    ("without-cuda", ("full",), without_cuda),
    ("tsan", ("ci", "full"), tsan),
    ("asan-full", ("full",), asan_full),
    ("lint", ("full",), lint),
    ("debian", ("full",), debian),
]
# Suites that leave a processor idle when they run alone, those first that take longest. They neither build nor change
# anything that another one uses.
ONE_PROCESS_EACH = ("parity", "random", "install", "mutated", "docs", "examples")


def interrupted(number, _):
    stop_all()
    os._exit(128 + number)  # other threads would go on with what comes next


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", choices=["quick", "default", "ci", "full", "parity"], default="default")
    parser.add_argument("--only", help="parts to run, separated by commas, whatever the level")
    arguments = parser.parse_args()
    names = [name for name, _, _ in SUITES]
    wanted = arguments.only.split(",") if arguments.only else [
        name for name, levels, _ in SUITES if arguments.level in levels]
    for name in wanted:
        if name not in names:
            say(f"there is no part '{name}'; there are {', '.join(names)}")
            say("0 passed, 1 failed")
            return 1
    level = "default" if arguments.level == "parity" else arguments.level
    # Tests look at these to decide how much to do.
    os.environ["WEFT_TEST_LEVEL"] = level
    os.environ.setdefault("CTEST_PARALLEL_LEVEL", "1")
    # One run compiles more kernels than the cache keeps: those of one part would be gone when the next one needs them.
    os.environ.setdefault("WEFT_CACHE_MAX_MB", "4096")
    # Threads that wait for each other let the programs beside them run.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

    total, table = Counts(), []
    suites = {name: suite for name, _, suite in SUITES}

    def run_suite(name):
        say(f"==> {name}")
        started, part = time.monotonic(), Part()
        with working_for(part):
            counts = suites[name](level)
        table.append((name, counts, time.monotonic() - started, part.processor_seconds))
        return counts

    if any(name not in BUILT_MEANWHILE for name in wanted):
        build_meanwhile(*(preset for name, preset in BUILT_MEANWHILE.items() if name in wanted))
    beside = [name for name in ONE_PROCESS_EACH if name in wanted]
    for name in suites:
        if name in beside:
            total += side_by_side([functools.partial(run_suite, each) for each in beside])
            beside = []
        elif name in wanted and name not in ONE_PROCESS_EACH:
            total += run_suite(name)
    say("==> Summary")
    for name, counts, seconds, processor_seconds in table:
        say(f"    {name:<12} {seconds:8.1f} s  {processor_seconds:8.1f} s of a processor   {counts}")
    say(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
