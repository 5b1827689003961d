#!/usr/bin/env python3
"""The tests that docs/torch-semantics.md names exist, and every feature of its tables names one."""

import re

from common import DEFINED_TEST, Checks, defined_tests, read

PAGE = "docs/torch-semantics.md"
NAMED = re.compile(r"`([^`]+)`")


def features(page):
    """Of each row of the tables the first cell, and what its last cell has in backquotes."""
    rows = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) > 1 and cells[-1] != "tests" and not set(cells[0]) <= set("-:"):
            rows.append((cells[0], NAMED.findall(cells[-1])))
    return rows


def self_test(checks):
    page = "| feature | tests |\n|---|---|\n| a `x` | `A.B`, `test/c.mlir` |\n| b | none |\n"
    checks.check(features(page) == [("a `x`", ["A.B", "test/c.mlir"]), ("b", [])], "self-test: rows of a table")
    checks.check(DEFINED_TEST.findall("TEST(A, B) {\nTEST_F(C,\n       D) {\n// TEST(E, F)") == [("A", "B"), ("C", "D")],
                 "self-test: tests of a source")


def main():
    checks = Checks()
    self_test(checks)
    defined = defined_tests()
    rows = features(read(PAGE))
    checks.check(len(rows) > 30, f"{PAGE}: found {len(rows)} rows only")
    for feature, names in rows:
        checks.check_tests(names, defined, f"{PAGE}: '{feature}'")
    checks.finish()


if __name__ == "__main__":
    main()
