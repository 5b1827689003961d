"""The tests of a build: GoogleTest programs, lit, and what CMake's add_test knows."""

import functools
import glob
import json
import os
import re
import sys
import threading
import xml.etree.ElementTree as ElementTree

from suites import base
from suites.base import Counts, failure, run, say, side_by_side


# Tests of the interface whose programs are kept (WEFT_TRACE_DIR) run in so many shards: a run keeps at most 200 compilations.
# A few tests compile more by themselves: the same operations for other shapes, or at random. Of those the first 200 are taken.
TRACED_SHARDS = 96


def traced(folder, shard):
    """What a shard of TRACED_SHARDS runs with, so that it keeps its programs in a folder of its own."""
    own = os.path.join(folder, f"tests-{shard}")
    os.makedirs(own, exist_ok=True)
    return {"WEFT_TRACE_DIR": own}


def gtest(binary, label="", environment=None, shard=None, brief=False, **options):
    """Runs a GoogleTest binary, or a shard (number, of how many) of it, and counts from its report; without a report
    it has crashed. In brief, a shard without failures says nothing."""
    name = label + os.path.basename(binary)
    environment = dict(environment or {})
    if shard:
        name += f"-{shard[0] + 1}of{shard[1]}"
        environment.update(GTEST_SHARD_INDEX=str(shard[0]), GTEST_TOTAL_SHARDS=str(shard[1]))
    report = os.path.join(base.LOGS, name + ".json")
    os.makedirs(base.LOGS, exist_ok=True)
    if os.path.exists(report):
        os.remove(report)
    outcome = run(name, [binary, "--gtest_output=json:" + report, "--gtest_color=no"], environment=environment,
                  quiet=brief, **options)
    counts = Counts()
    try:
        with open(report, encoding="utf-8") as file:
            suites = json.load(file)["testsuites"]
        for suite in suites:
            for case in suite["testsuite"]:
                if case.get("failures"):
                    counts.failed += 1
                    say(f"    FAILED: {name}: {suite['name']}.{case['name']}")
                    say("\n".join("    | " + line for failed in case["failures"]
                                  for line in failed["failure"].splitlines()[:30]))
                elif case.get("result") == "COMPLETED":
                    counts.passed += 1
                else:
                    counts.skipped += 1
        if outcome.code != 0 and not counts.failed:
            say(outcome.tail())
            counts += failure(f"{name} {outcome.why()} after its tests ({outcome.log})")
    except (OSError, ValueError, KeyError) as error:
        counts = Counts(passed=len(re.findall(r"^\[       OK \]", outcome.output, re.MULTILINE)))
        started = re.findall(r"^\[ RUN      \] (\S+)", outcome.output, re.MULTILINE)
        say(outcome.tail())
        where = f" in {started[-1]}" if started else ""
        counts += failure(f"{name} {outcome.why()}{where}, and left no report ({error}; {outcome.log})")
    if counts.failed or not brief:
        say(f"    {name}: {counts} ({outcome.took()})")
    return counts


# The GoogleTest programs that link nothing of the compiler.
WITHOUT_COMPILER = ("weft-io-tests", "weft-runtime-tests")


def unit_binaries(build):
    """The GoogleTest programs of a build. The random programs are a suite of their own."""
    return [path for path in sorted(glob.glob(os.path.join(build, "bin", "weft-*-tests")))
            if os.path.basename(path) != "weft-random-tests"]


def unit(level, build=base.RELEASE, label="", environment=None, runtime_environment=None, left_out=(), keep_programs=None):
    """All GoogleTest programs of a build, each in as many shards as there are processors. Those without the compiler may
    have an environment of their own. Tests may be left out, by their names or patterns of them. What the tests of the
    interface compile may be kept in a folder."""
    runs = []
    # What follows a minus is left out of what stands before it.
    left_out = "-" + ":".join(left_out) if left_out else ""
    all_but = {"GTEST_FILTER": "*" + left_out} if left_out else {}
    for binary in unit_binaries(build):
        in_environment = environment or {}
        if runtime_environment and os.path.basename(binary) in WITHOUT_COMPILER:
            in_environment = runtime_environment
        runs.append((binary, label, {**in_environment, **all_but}))
        # The contract holds whether calls run on their caller or on a queue.
        if os.path.basename(binary) == "weft-frontend-tests" and level != "quick":
            runs.append((binary, label + "async-",
                         {**in_environment, "WEFT_CPU_QUEUE": "async", "GTEST_FILTER": "Contract*" + left_out}))
        # Programs on GPUs run in two orders of what nothing orders, with and without a library of products.
        if os.path.basename(binary) == "weft-cuda-tests" and level != "quick":
            # Functions that fail, and plans that the loader refuses, are the same there; so is who has which memory,
            # whoever multiplies, and our own kernels take long for it.
            some = {"GTEST_FILTER": "*" + (left_out or "-") + ":CudaFaults.*:CudaPlanMutants.*"}
            own = {"GTEST_FILTER": some["GTEST_FILTER"] + ":CudaLoops.ShareTheirTemporaries", "WEFT_TEST_CUBLASLT": "0"}
            runs.append((binary, label + "race-", {**in_environment, **some, "CUSIM_RACE": "1", "CUSIM_ORDER": "7"}))
            runs.append((binary, label + "own-", {**in_environment, **own}))
    if not runs:
        return failure(f"no weft-*-tests in {build}/bin: nothing was built")
    found = [Counts() for _ in runs]
    adding = threading.Lock()
    shards = os.cpu_count() or 1
    # Every value of every elementary function takes longer than anything else.
    timeout = 6 * base.HOUR if level == "full" else base.HOUR

    def keeps_programs(number):
        binary, name, _ = runs[number]
        return keep_programs and os.path.basename(binary) == "weft-frontend-tests" and name == label

    def part(number, shard):
        binary, name, variables = runs[number]
        of_all = shards
        if keeps_programs(number):
            of_all, variables = TRACED_SHARDS, {**variables, **traced(keep_programs, shard)}
        counts = gtest(binary, name, environment=variables, shard=(shard, of_all), brief=of_all != shards, timeout=timeout)
        with adding:
            found[number] += counts
        return counts

    counts = side_by_side([functools.partial(part, number, shard) for number in range(len(runs))
                           for shard in range(TRACED_SHARDS if keeps_programs(number) else shards)])
    for number, ((binary, name, _), of_one) in enumerate(zip(runs, found)):
        if keeps_programs(number):
            say(f"    {name}{os.path.basename(binary)}, whose programs are kept: {of_one}")
        if of_one.passed + of_one.failed == 0:
            counts += failure(f"{name}{os.path.basename(binary)} ran no tests (the logs are in {base.LOGS})")
    return counts


def lit(level, build=base.RELEASE, label="", environment=None, folders=("",)):
    """The lit tests of a build, or of some folders of test/."""
    report = os.path.join(base.LOGS, label + "lit.json")
    os.makedirs(base.LOGS, exist_ok=True)
    if os.path.exists(report):
        os.remove(report)
    # The package can be called neither with -m nor, in every version, as lit.main.
    outcome = run(label + "lit", [sys.executable, "-c", "from lit.main import main; main()", "-s", "--no-progress-bar", "--output", report,
                                  *(os.path.join(build, "test", folder) for folder in folders)], environment=environment)
    counts = Counts()
    try:
        with open(report, encoding="utf-8") as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError, KeyError) as error:
        say(outcome.tail())
        return failure(f"lit {outcome.why()} and left no report ({error}; {outcome.log})")
    for test in tests:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            counts.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            counts.skipped += 1
        else:
            counts.failed += 1
            say(f"    FAILED: {test['code']} {test['name']}")
            say("\n".join("    | " + line for line in test.get("output", "").rstrip().splitlines()[-30:]))
    if not counts.passed and not counts.failed:
        counts += failure(f"lit found no tests in {build}/test ({outcome.log})")
    elif outcome.code != 0 and not counts.failed:
        say(outcome.tail())
        counts += failure(f"lit {outcome.why()} ({outcome.log})")
    say(f"    {label}lit: {counts} ({outcome.took()})")
    return counts


def ctest(label, build=base.RELEASE, environment=None, selection=()):
    """Runs what CMake's add_test knows under a selection, and counts from the JUnit report."""
    report = os.path.join(base.LOGS, f"ctest-{label}.xml")
    os.makedirs(base.LOGS, exist_ok=True)
    if os.path.exists(report):
        os.remove(report)
    outcome = run("ctest-" + label, ["ctest", "--test-dir", build, "--output-on-failure", "--timeout", "600",
                                     "--output-junit", report, *selection], environment=environment)
    counts = Counts()
    try:
        cases = ElementTree.parse(report).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        say(outcome.tail())
        return failure(f"ctest {outcome.why()} and left no report ({error}; {outcome.log})")
    for case in cases:
        skipped = case.find("skipped")
        why = skipped.get("message", "") if skipped is not None else ""
        if case.get("status") == "run":
            counts.passed += 1
        # A program that is missing is reported like one that chose to skip; the message tells them apart.
        elif case.get("status") == "disabled" or (case.get("status") == "notrun" and why.startswith("SKIP_")):
            counts.skipped += 1
        else:
            counts.failed += 1
            say(f"    FAILED: {case.get('name')}" + (f": {why}" if why else ""))
    if counts.failed:
        say(outcome.tail(60))
    elif outcome.code != 0:
        say(outcome.tail(60))
        counts += failure(f"ctest {outcome.why()} ({outcome.log})")
    elif not counts.passed:
        counts += failure(f"ctest found no tests under {' '.join(selection)} ({outcome.log})")
    say(f"    {label}: {counts} ({outcome.took()})")
    return counts
