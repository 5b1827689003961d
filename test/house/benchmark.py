#!/usr/bin/env python3
"""All lists of the benchmark's rows have the same rows, and verdicts about times beside neighbours and with a quota are
computed correctly."""

import os
import re
import sys

from common import ROOT, Checks, read

sys.path.insert(0, os.path.join(ROOT, "bench"))
import bars  # noqa: E402
import call_times  # noqa: E402
import neighbours  # noqa: E402
import peers  # noqa: E402
import quota  # noqa: E402
import run  # noqa: E402


def rows(checks):
    """Of run.py, weft-bench, peers.py, bars.py and the table of the README."""
    program = re.findall(r'\{"(\w+)", run_\w+, (?:true|false)\}', read("bench/main.cpp"))
    own = [*run.COMPILE_ROWS, "runtime_size"]  # which run.py measures itself
    checks.check(set(program) == set(run.TITLES) - set(own),
                 f"bench/main.cpp and bench/run.py: {sorted(set(program) ^ (set(run.TITLES) - set(own)))} are in one of them")
    for where, names in (("bench/bars.py", bars.BARS), ("bench/peers.py", peers.ROWS),
                         ("bench/call_times.py", call_times.STEP_ROWS)):
        unknown = set(names) - set(run.TITLES)
        checks.check(not unknown, f"{where} has rows that bench/run.py has not: {sorted(unknown)}")
    documented = []
    for line in read("bench/README.md").splitlines():
        if line.startswith("| `"):
            documented += re.findall(r"`(\w+)`", line.split("|")[1])
    whole = [name for name in documented if not name.startswith("_")]
    whole += [prefix + name for name in documented if name.startswith("_")
              for prefix in {known[:-len(name)] for known in run.TITLES if known.endswith(name)}]
    checks.check(set(whole) == set(run.TITLES), f"bench/README.md: {sorted(set(whole) ^ set(run.TITLES))} are in its table or "
                 "in bench/run.py, but not in both")


def judged(checks):
    """`adam_300` has a bar of a first call, `softmax_middle` one of a loop."""
    for row, medians, figures, passed in (("adam_300", {"weft": 1}, {"first_s": 0.2}, True),
                                          ("adam_300", {"weft": 1}, {"first_s": 0.4}, False),
                                          ("adam_300", {"weft": 1}, {}, None),
                                          ("softmax_middle", {"weft": 1.1, "hand": 1}, {}, True),
                                          ("softmax_middle", {"weft": 1.3, "hand": 1}, {}, False),
                                          ("one_row", {"weft": 1, "torch eager": 3, "jax": 1.05}, {}, False),
                                          ("loader_step", {"weft": 1.4, "plain": 1}, {}, True)):
        found = [verdict[3] for verdict in bars.judge(row, medians, figures)]
        checks.check(found == [passed], f"bars of {row} with {medians} and {figures}: {found}, expected {passed}")


def disturbed(checks):
    found = neighbours.judge([1.0] * 90 + [1.2] * 10, [2.0] * 90 + [9.0] * 10)
    checks.check([found[key] for key in ("quiet_p95", "loaded_median", "loaded_p95")] == [1.2, 2.0, 9.0],
                 f"times beside neighbours come to {found}")
    passed = [verdict["passed"] for verdict in neighbours.verdicts(found)]
    checks.check(passed == [True, True, False], f"verdicts of {found} are {passed}")
    with call_times.Spinning(2) as spinning:
        children = list(spinning.children)
        checks.check([child.poll() for child in children] == [None, None], "the busy processes ended by themselves")
    checks.check(None not in [child.poll() for child in children], "a busy process was left over")

    found = quota.judge([[1.0], [1.0, 1.0]], [[1.0, 1.0, 4.0], [2.0]])
    checks.check((found["ratio"], found["bars"][0]["passed"]) == (2.0, False), f"times with a quota come to {found}")
    for what, mounts, own, expected in (
            ("version 2", "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n", "0::/user.slice\n",
             [("/sys/fs/cgroup/user.slice", True), ("/sys/fs/cgroup", True)]),
            ("version 1", "cgroup /c/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /c/memory cgroup rw,memory 0 0\n",
             "3:cpu,cpuacct:/docker/a\n2:memory:/docker/a\n", [("/c/cpu/docker/a", False), ("/c/cpu", False)]),
            ("none", "proc /proc proc rw 0 0\n", "", [])):
        found = quota.places(mounts, own)
        checks.check(found == expected, f"control groups, {what}: {found}, expected {expected}")


def main():
    checks = Checks()
    rows(checks)
    judged(checks)
    disturbed(checks)
    checks.finish()


if __name__ == "__main__":
    main()
