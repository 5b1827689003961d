#!/usr/bin/env python3
"""Tests the runner of the suites (test/suites), with shell scripts in place of test programs: every kind of failure is
counted, and a failing fresh random program is shown and not counted. Also tests the benchmark's verdict on two builds
(bench/paired.py), with given times."""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile

from common import ROOT, Checks

sys.path.insert(0, os.path.join(ROOT, "test"))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import paired  # noqa: E402
from suites import base, builds, device, generated, programs, sanitizers  # noqa: E402  the folder of the tests is no package

# A GoogleTest program of two tests, of which a shard runs its own; the second fails where FAILS is set.
GTEST = """
report=${1#--gtest_output=json:}
case ${GTEST_SHARD_INDEX:-0} in
0) cases='{"name": "One", "result": "COMPLETED"}' ;;
*) cases='{"name": "Two", "result": "COMPLETED"FAILURE}' ;;
esac
echo '{"testsuites": [{"name": "Fake", "testsuite": ['$cases']}]}' > "$report"
"""
# Tests for ctest, of which each is a name, a program, and properties.
CTEST = "add_test({0} {1})\nset_tests_properties({0} PROPERTIES {2})\n"
FAILURE = ', "failures": [{"failure": "expected 1"}]'


class Folder:
    """A build folder with scripts for programs."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "bin"))

    def add(self, name, text):
        path = os.path.join(self.folder, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text)
        os.chmod(path, 0o755)
        return path


def quietly(function, *arguments, **options):
    """What a function of the runner returns, and what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        result = function(*arguments, **options)
    return result, output.getvalue()


def expect(checks, what, outcome, passed, failed, *words):
    counts, text = outcome
    checks.check((counts.passed, counts.failed) == (passed, failed),
                 f"{what}: {counts}, expected {passed} passed, {failed} failed:\n{text}")
    for word in words:
        checks.check(word in text, f"{what}: '{word}' is not in what was printed:\n{text}")


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        base.LOGS = os.path.join(folder, "logs")
        shards = os.cpu_count() or 1

        build = Folder(os.path.join(folder, "good"))
        build.add("weft-a-tests", GTEST.replace("FAILURE", ""))
        expect(checks, "shards", quietly(programs.unit, "quick", build.folder), shards, 0, "weft-a-tests-1of")
        build.add("weft-b-tests", 'echo "[ RUN      ] Fake.Three"; kill -SEGV $$')
        expect(checks, "a crash", quietly(programs.unit, "quick", build.folder), shards, shards, "SIGSEGV", "Fake.Three")

        build = Folder(os.path.join(folder, "bad"))
        build.add("weft-a-tests", GTEST.replace("0) cases", "9) cases").replace("FAILURE", FAILURE))
        expect(checks, "a failure", quietly(programs.unit, "quick", build.folder), 0, shards, "Fake.Two", "expected 1")

        build = Folder(os.path.join(folder, "empty"))
        expect(checks, "nothing built", quietly(programs.unit, "quick", build.folder), 0, 1)
        build.add("weft-a-tests", 'echo \'{"testsuites": []}\' > "${1#--gtest_output=json:}"')
        expect(checks, "no tests", quietly(programs.unit, "quick", build.folder), 0, 1, "ran no tests")

        for text, passed, failed in (("echo 3 passed, 0 failed", 3, 0), ("echo 3 passed, 1 failed; exit 1", 3, 1),
                                     ("echo 3 passed, 0 failed; exit 1", 3, 1), ("echo 0 passed, 0 failed", 0, 1),
                                     ("echo done", 0, 1)):
            program = build.add("program", text)
            expect(checks, text, quietly(base.closing_line, "program", [program]), passed, failed)
        program = build.add("program", "sleep 60; echo 3 passed, 0 failed")
        expect(checks, "a hang", quietly(base.closing_line, "program", [program], timeout=0.2), 0, 1, "took too long")

        # A part has the processor's time of all programs that it ran, those beside each other too.
        part, program = base.Part(), build.add("program", "for ((i = 0; i < 100000; ++i)); do :; done; echo 1 passed, 0 failed")
        with base.working_for(part):
            _, text = quietly(base.side_by_side, [lambda: base.closing_line("program", [program])] * 2)
        found = sum(float(seconds) for seconds in re.findall(r", ([0-9.]+) s of a processor", text))
        checks.check(found > 0 and abs(found - part.processor_seconds) <= 0.1,
                     f"a part's time is {part.processor_seconds}, that of its programs {found}:\n{text}")

        # Builds that begin before the parts that need them: each part waits for its own, and has its time.
        root, base.ROOT = base.ROOT, os.path.join(folder, "root")
        os.makedirs(os.path.join(base.ROOT, "scripts"))
        os.symlink(Folder(os.path.join(folder, "builds")).add(
            "build", 'sleep 0.2; for ((i = 0; i < 100000; ++i)); do :; done; echo "building $1"; [[ $1 == good ]]'),
            os.path.join(base.ROOT, "scripts", "build"))
        builds.build_meanwhile("good", "bad")
        for name, works in (("bad", False), ("good", True)):
            part = base.Part()
            with base.working_for(part):
                built, text = quietly(builds.build, name, name)
            checks.check(built == works and (works or "building bad" in text) and part.processor_seconds > 0,
                         f"a build meanwhile, {name}: {built}, {part.processor_seconds} s:\n{text}")
        base.ROOT = root

        program = build.add("weft-random-tests", 'echo "$*"; echo "the program, shrunk"; echo "199 passed, 1 failed"; exit 1')
        result, text = quietly(generated.fresh, program, "--save-failures=there")
        checks.check(result is None, "a fresh failure was counted")
        for word in ("NOT COUNTED", "the program, shrunk", "--save-failures=there", "again: " + program):
            checks.check(word in text, f"a fresh failure: '{word}' is not in what was printed:\n{text}")
        result, text = quietly(generated.fresh, build.add("weft-random-tests", "exit 0"), "--save-failures=there")
        checks.check("200 programs" in text and "NOT COUNTED" not in text, f"fresh programs that agree:\n{text}")

        # What has not run has failed, unless it says itself that there is nothing to run.
        build = Folder(os.path.join(folder, "ctest"))
        runs = CTEST.format("runs", build.add("runs", "exit 0"), "LABELS a")
        skips = CTEST.format("skips", build.add("skips", "exit 77"), "SKIP_RETURN_CODE 77")
        says = CTEST.format("says", build.add("says", "echo nothing to do"), 'SKIP_REGULAR_EXPRESSION "nothing to do"')
        fails = CTEST.format("fails", build.add("fails", "exit 1"), "LABELS a")
        disabled = CTEST.format("disabled", build.add("disabled", "exit 1"), "DISABLED ON")
        missing = CTEST.format("missing", os.path.join(build.folder, "nowhere"), "LABELS a")
        for what, tests, passed, failed, skipped, words in (
                ("a test", (runs,), 1, 0, 0, ()), ("no test", (), 0, 1, 0, ()),
                ("skipped tests", (runs, skips, says, disabled), 1, 0, 3, ()),
                ("only skipped tests", (skips,), 0, 1, 1, ("found no tests",)),
                ("a failed test", (runs, fails), 1, 1, 0, ("FAILED: fails",)),
                ("no program", (runs, missing), 1, 1, 0, ("FAILED: missing", "Unable to find executable")),
                ("no program, and skipped tests", (runs, skips, missing), 1, 1, 1, ("FAILED: missing",))):
            with open(os.path.join(build.folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
                file.write("".join(tests))
            outcome = quietly(programs.ctest, "fake", build.folder)
            expect(checks, "ctest: " + what, outcome, passed, failed, *words)
            checks.check(outcome[0].skipped == skipped, f"ctest: {what}: {outcome[0]}, expected {skipped} skipped")
        # All that ran passed, and ctest fails all the same.
        with open(os.path.join(build.folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write(runs)
        path = os.environ["PATH"]
        real = shutil.which("ctest")
        build.add("ctest", f'PATH="${{PATH#*:}}"\n{real} "$@"\nexit 3')
        os.environ["PATH"] = os.path.join(build.folder, "bin") + os.pathsep + path
        expect(checks, "ctest: an exit code of its own", quietly(programs.ctest, "fake", build.folder), 1, 1,
               "exit code 3")
        os.environ["PATH"] = path

        # A sanitizer that finds nothing where there is something has failed.
        build = Folder(os.path.join(folder, "sanitized"))
        faults = {"overflow": "found an overflow", "race": "found a race"}
        expect(checks, "no planted faults", quietly(sanitizers.planted_faults, build.folder, faults, {}), 0, 1,
               "no weft-planted-fault")
        build.add("weft-planted-fault", 'echo "found an overflow"; [[ $1 != overflow ]]')
        expect(checks, "a planted fault that is missed", quietly(sanitizers.planted_faults, build.folder, faults, {}), 1, 1,
               "does not find the planted race")
        expect(checks, "no objects", quietly(sanitizers.instrumented, build.folder, "__asan_"), 0, 1, "no object files")

        # A program that is right where a launch was spoilt is none that shows anything.
        build = Folder(os.path.join(folder, "spoilt"))
        said = "echo \"CUSIM_SPOIL: launch $CUSIM_SPOIL, of '%s', has another bit\"; "
        for what, text, passed, failed, *words in (
                ("noticed", said % "weft_kernel" + "echo 0 passed, 1 failed; exit 1", 2, 0),
                ("not noticed", said % "weft_kernel" + "echo 1 passed, 0 failed", 0, 3, "does not notice that launch 3"),
                ("a crash", said % "weft_kernel" + "kill -SEGV $$", 0, 3, "does not notice"),
                ("launches of the runtime", said % "weft_begin_call" + "echo 1 passed, 0 failed", 0, 1, "no kernels of its own"),
                ("no launch", "echo 0 passed, 1 failed; exit 1", 0, 3, "has no launch 2")):
            program = build.add("program", text)
            expect(checks, "a spoilt launch: " + what, quietly(device.spoilt, program, 2, {}), passed, failed, *words)

        base.RELEASE = os.path.join(folder, "empty")
        os.remove(os.path.join(folder, "empty", "bin", "weft-random-tests"))
        for suite, program in ((generated.random, "weft-random-tests"), (generated.mutated, "weft-mutate")):
            expect(checks, "no " + program, quietly(suite, "quick"), 0, 1, f"no {program} in")
    verdicts(checks)
    checks.finish()


def verdicts(checks):
    """Rounds of (median, fastest) of the old build and the new one, in milliseconds."""
    steady = [(1.0, 0.9)] * 5
    cases = [("same", steady, [(1.01, 0.91)] * 5), ("SLOWER", steady, [(1.05, 0.95)] * 5),
             ("faster", steady, [(0.9, 0.8)] * 5),
             ("not settled", steady, [(1.05, 0.9)] * 5),  # the fastest samples are equal
             ("not settled", steady, [(1.3, 0.95), (0.9, 0.95), (1.1, 0.95), (0.9, 0.95), (1.4, 0.95)]),
             ("SLOWER", steady[:1], [(1.2, 1.1)])]
    for verdict, old, new in cases:
        found = paired.judge(old, new)["verdict"]
        checks.check(found == verdict, f"bench: {old} and {new} are '{found}', expected '{verdict}'")
    answers = iter([{"results": {"weft": {"ms": 1, "samples_ms": [1]}}}, {"results": {}, "error": "it ended"}])
    rows = paired.compare(["row"], lambda which, name: next(answers), 2, lambda text: None)
    checks.check(rows == {"row": {"error": "new build: it ended"}}, f"bench: a row that fails is {rows}")


if __name__ == "__main__":
    main()
