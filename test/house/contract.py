#!/usr/bin/env python3
"""Every rule of docs/contract.md names its tests, and they exist.

A rule is an item of a list, or a row of a table, on one line. It ends in a comment that readers do not see:
`- A rule. <!-- tests: Suite.Name, test/file.py -->`, in a row before its last bar. Of other text the page has headings, an
introduction, and lines that end in a colon before a list: a rule in a paragraph would have no test.
"""

import re

from common import Checks, defined_tests, read

PAGE = "docs/contract.md"
TESTS = re.compile(r"<!-- tests: ([^>]*?) -->(?: \|)?$")


def parse(page):
    """The rules as (line number, text, names of tests), and the lines that are none and may hide one."""
    rules, stray = [], []
    section = 0
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("#"):
            section += 1
            continue
        row = line.startswith("|")
        if row and (set(line) <= set("|-: ") or line.startswith("| code |")):
            continue
        if line.startswith("- ") or row:
            named = TESTS.search(line)
            names = [name.strip() for name in named.group(1).split(",") if name.strip()] if named else []
            rules.append((number, TESTS.sub("", line).strip("-| "), names))
        elif line.strip() and section > 1 and not line.endswith(":"):
            stray.append((number, line))
    return rules, stray


def sentences(text):
    """How many sentences a rule has."""
    return len(re.findall(r"[.!?](?=\s+[A-Z`])", re.sub(r"`[^`]*`", "x", text))) + 1


def self_test(checks):
    page = "\n".join(["# P", "Any introduction. Of two sentences.", "## A", "- One rule. <!-- tests: S.A, test/b.py -->",
                      "- No test.", "It is valid for:", "A rule that hides.", "| code | what |", "|---|---|",
                      "| X1 | that <!-- tests: S.C --> |", "| X2 | this |"])
    rules, stray = parse(page)
    checks.check(rules == [(4, "One rule.", ["S.A", "test/b.py"]), (5, "No test.", []), (10, "X1 | that", ["S.C"]),
                           (11, "X2 | this", [])], f"self-test: rules are {rules}")
    checks.check(stray == [(7, "A rule that hides.")], f"self-test: stray lines are {stray}")
    checks.check(sentences("One rule, e.g. `a. B`, with 1.5 of it.") == 1, "self-test: one sentence")
    checks.check(sentences("One rule. And another.") == 2, "self-test: two sentences")


def main():
    checks = Checks()
    self_test(checks)
    defined = defined_tests()
    rules, stray = parse(read(PAGE))
    checks.check(len(rules) > 100, f"{PAGE}: found {len(rules)} rules only")
    for number, line in stray:
        checks.check(False, f"{PAGE}:{number}: text beside the rules: make it an item with its tests: {line[:80]}")
    for number, text, names in rules:
        where = f"{PAGE}:{number}: '{text[:70]}'"
        checks.check_tests(names, defined, where)
        checks.check(sentences(text) == 1, f"{where} is more than one rule: give each sentence an item of its own")
    checks.finish()


if __name__ == "__main__":
    main()
