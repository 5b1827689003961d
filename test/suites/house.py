"""The rules of the tree, its examples, documentation and installation, and the comparison with PyTorch."""

import functools
import glob
import os
import sys

from suites import base
from suites.base import closing_line, Counts, say, side_by_side
from suites.programs import ctest


def house(level):
    def check(script):
        path = os.path.join(base.ROOT, "test", "house", script + ".py")
        return closing_line("house-" + script, [sys.executable, path], timeout=600)

    # Further checks are tests of CMake with this label.
    scripts = ("formatting", "runner", "benchmark", "include_graph", "text_rules", "symbols", "generated", "reasons",
               "environment", "semantics", "messages", "contract", "standard_error", "names", "function_length",
               "without_cuda")
    return side_by_side([functools.partial(check, script) for script in scripts] +
                        [functools.partial(ctest, "house", selection=["-L", "^house$"])])


def examples(level):
    if not glob.glob(os.path.join(base.ROOT, "examples", "**", "*.cpp"), recursive=True):
        say("    this tree has no examples")
        return Counts(skipped=1)
    return ctest("examples", selection=["-L", "^example$"])


def docs(level):
    path = os.path.join(base.ROOT, "test", "house", "docs.py")
    return closing_line("docs", [sys.executable, path, "--build", base.RELEASE])


def install(level):
    path = os.path.join(base.ROOT, "test", "house", "install_test.sh")
    return closing_line("install", ["bash", path, base.RELEASE])


def parity(level):
    folder = os.path.join(base.ROOT, "test", "parity")
    driver = os.path.join(folder, "run.py")
    if not glob.glob(os.path.join(folder, "test_*.py")):
        say("    this tree has no test/parity/test_*.py")
        return Counts(skipped=1)
    return closing_line("parity", [sys.executable, driver, "--build", base.RELEASE], timeout=2 * base.HOUR)
