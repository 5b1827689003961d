"""Helpers of the house checks: the tracked files, and counts in the form that the test runner reads."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CXX_SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".inc")


def tracked_files():
    """Tracked files and new ones that are not ignored: what the next commit may hold."""
    output = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, stdout=subprocess.PIPE).stdout.decode()
    return sorted(name for name in output.split("\0") if name and os.path.isfile(os.path.join(ROOT, name)))


def cxx_files():
    return [name for name in tracked_files() if name.endswith(CXX_SUFFIXES)]


def read(name):
    """The text of a tracked file, or None if it is not text."""
    with open(os.path.join(ROOT, name), "rb") as file:
        data = file.read()
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def without_comments(text):
    """C++ with blanks for its comments, so that lines and columns stay where they are."""
    return COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


DEFINED_TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def defined_tests():
    """The GoogleTests of test/unit, as "Suite.Name"."""
    found = set()
    for name in tracked_files():
        if name.startswith("test/unit/") and name.endswith(".cpp"):
            found |= {f"{suite}.{test}" for suite, test in DEFINED_TEST.findall(read(name) or "")}
    return found


class Checks:
    """Counts checks, prints those that fail, and ends with the closing line."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, holds, message):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print("FAILED: " + message)
        return holds

    def check_tests(self, names, defined, where):
        """That there is a test, and that each is a file of the tree, or one of the GoogleTests `defined`."""
        self.check(names, f"{where} names no test")
        for name in names:
            there = os.path.isfile(os.path.join(ROOT, name)) if "/" in name else name in defined
            self.check(there, f"{where} names {name}, which does not exist")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
