"""Programs that nobody wrote: random ones, and correct ones with a mistake."""

import os
import secrets

from suites import base
from suites.base import closing_line, Counts, failure, run, say


def random(level):
    program = os.path.join(base.RELEASE, "bin", "weft-random-tests")
    if not os.path.exists(program):
        return failure(f"no weft-random-tests in {base.RELEASE}/bin: it was not built")
    save = "--save-failures=" + os.path.join(base.BUILD, "random-failures")
    count = {"quick": 50, "default": 500, "ci": 2000, "full": 20000}[level]
    counts = closing_line("random-fixed", [program, f"--count={count}", "--seed=1", save], timeout=2 * base.HOUR)
    if level in ("ci", "full"):
        # Every pass by itself: slower, and what fails says which pass did it.
        counts += closing_line("random-passes", [program, "--count=200", "--seed=1000001", "--passes", save])
        fresh(program, save)
    counts += interface_programs(level)
    return counts


def interface_programs(level):
    """Programs as a user writes them, lazy, computed at every step and compiled, whether calls run on their caller or on
    a queue."""
    program = os.path.join(base.RELEASE, "bin", "weft-interface-programs")
    if not os.path.exists(program):
        return failure(f"no weft-interface-programs in {base.RELEASE}/bin: it was not built")
    count = {"quick": 20, "default": 100, "ci": 300, "full": 5000}[level]
    counts = Counts()
    for mode in ("auto", "async"):
        counts += closing_line(f"interface-programs-{mode}", [program, f"--count={count}", "--seed=1"],
                               environment={"WEFT_CPU_QUEUE": mode}, timeout=2 * base.HOUR)
    return counts


def mutated(level):
    """Programs with faults through parser, passes, kernels and runtime: refused with a message, or run."""
    program = os.path.join(base.RELEASE, "bin", "weft-mutate")
    if not os.path.exists(program):
        return failure(f"no weft-mutate in {base.RELEASE}/bin: it was not built")
    count = {"quick": 100, "default": 300, "ci": 1000, "full": 20000}[level]
    command = [program, "--corpus=" + os.path.join(base.ROOT, "test"), "--seed=1",
               "--save-failures=" + os.path.join(base.BUILD, "mutate-failures")]
    counts = closing_line("mutated", [*command, f"--count={count}"])
    # One field of a program's schedule at a time: refused, or the same bits as before.
    edits = {"quick": 50, "default": 150, "ci": 500, "full": 10000}[level]
    counts += closing_line("mutated-schedules", [*command, "--schedules", f"--count={edits}"])
    # One field of the plan of a package at a time.
    plans = os.path.join(base.RELEASE, "bin", "weft-mutate-plans")
    if not os.path.exists(plans):
        return failure(f"no weft-mutate-plans in {base.RELEASE}/bin: it was not built")
    counts += closing_line("mutated-plans", [plans, "--corpus=" + os.path.join(base.ROOT, "test", "tools", "Inputs"),
                                             f"--count={edits}", "--seed=1"])
    return counts


def fresh(program, save):
    """Fresh seeds look for what nobody has found yet. A find is saved, shrunk and printed, but a change is not held up
    by a fault that it did not bring: nothing is counted."""
    seed = secrets.randbelow(2**31)
    command = [program, "--count=200", f"--seed={seed}", save]
    outcome = run("random-fresh", command)
    if outcome.code != 0:
        say(outcome.tail(200))
        say(f"    NOT COUNTED: a fresh random program failed (the run {outcome.why()}); again: {' '.join(command)}")
    else:
        say(f"    random-fresh: 200 programs from seed {seed} agree ({outcome.took()})")
