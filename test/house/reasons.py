#!/usr/bin/env python3
"""Checks that sources, the table of reason codes (ir/Reasons.inc) and the pages in docs/errors/ name the same codes.

A code that the sources can print has a row and a page; a row is of a code that is printed somewhere, and that some test
expects; a page has the row's title and remedy, and says what the message looks like, what it means, where it comes from
and what to do.
"""

import os
import re

from common import Checks, read, tracked_files, without_comments

TABLE = "ir/Reasons.inc"
PAGES = "docs/errors/"
CODE = re.compile(r"WEFT-[A-Z][0-9]{3}\b")
ROW = re.compile(r'^WEFT_(REFUSAL|REASON)\("([^"]*)", "((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"\)$', re.MULTILINE)
SOURCES = ("codegen/", "frontend/", "include/", "ir/", "passes/", "runtime/", "tools/")
SUFFIXES = (".cpp", ".h", ".hpp", ".td", ".inc")
SECTIONS = ["## Message", "## Meaning", "## Causes", "## What to do"]


# Where tests are, and what in a text test expects something: "// CHECK: ...", "REPORT-SAME: ...", "expected-error".
TESTS = "test/"
TEXT_EXPECTS = re.compile(r"expected-(?:error|warning|note|remark)|^(?://|#)?\s*[A-Z][A-Z0-9_-]*:\s")
NO_EXPECTATION = re.compile(r"^(?://|#)?\s*(?:RUN|[A-Z0-9_-]*-NOT):")
# A statement that expects the text it names to be absent.
ABSENT = re.compile(r"(?:EXPECT|ASSERT)_FALSE\([^;]*;|(?:EXPECT|ASSERT)_EQ\([^;]*\bnpos\b[^;]*;")


def expected(name, text):
    """The codes that a test expects to see. A comment expects nothing, nor does a check that something is absent."""
    if name.endswith((".cpp", ".h", ".c")):
        return set(CODE.findall(ABSENT.sub("", without_comments(text))))
    if name.endswith((".mlir", ".test")):
        return {code for line in text.splitlines()
                if TEXT_EXPECTS.search(line) and not NO_EXPECTATION.search(line) for code in CODE.findall(line)}
    return set()


def self_test(checks):
    cases = [
        ("a.cpp", 'EXPECT_ERROR(f(), "WEFT-A001");', True),
        ("a.cpp", '// WEFT-A001 is for later', False),
        ("a.cpp", 'EXPECT_EQ(text.find("WEFT-A001"), std::string::npos);', False),
        ("a.cpp", 'EXPECT_FALSE(mentions(text, "WEFT-A001"));', False),
        ("a.cpp", 'EXPECT_EQ(status.code(), "WEFT-A001");', True),
        ("a.mlir", '// CHECK-SAME: code = "WEFT-A001"', True),
        ("a.mlir", '// CHECK-NOT: WEFT-A001', False),
        ("a.mlir", '// expected-error @+1 {{no (WEFT-A001)}}', True),
        ("a.mlir", '// RUN: weft-opt %s | grep WEFT-A001', False),
        ("a.test", '# of WEFT-A001', False),
        ("a.test", 'REPORT: code WEFT-A001', True),
        ("a.py", 'WEFT-A001', False),
    ]
    for name, text, seen in cases:
        checks.check(bool(expected(name, text)) == seen,
                     f"self-test: in {name}, {text!r} {'expects' if seen else 'expects no'} code")


def main():
    checks = Checks()
    self_test(checks)
    names = tracked_files()
    rows = ROW.findall(read(TABLE))
    lines = [line for line in read(TABLE).splitlines() if line.startswith("WEFT_")]
    checks.check(len(rows) == len(lines), f"{TABLE}: {len(lines) - len(rows)} rows are not of the form that is read")
    codes = [code for _, code, _, _ in rows]
    checks.check(codes == sorted(set(codes)), f"{TABLE}: codes are not in order, or not distinct")

    printed = {}
    for name in names:
        if name.startswith(SOURCES) and name.endswith(SUFFIXES) and name != TABLE:
            for code in CODE.findall(without_comments(read(name))):
                printed.setdefault(code, name)
    for code, name in sorted(printed.items()):
        checks.check(code in codes, f"{name}: {code} has no row in {TABLE}")
    for code in codes:
        checks.check(code in printed, f"{TABLE}: nothing prints {code}")

    provoked = set()
    for name in names:
        if name.startswith(TESTS):
            provoked |= expected(name, read(name) or "")
    for code in codes:
        checks.check(code in provoked, f"{TABLE}: no test expects {code}: provoke it, and let a test look for the code")

    pages = {name for name in names if name.startswith(PAGES) and name.endswith(".md")}
    index = read(PAGES + "README.md") or ""
    for kind, code, title, remedy in rows:
        name = f"{PAGES}{code}.md"
        if not checks.check(name in pages, f"{code} has no page {name}"):
            continue
        text = read(name)
        checks.check(text.splitlines()[0] == f"# {code}: {title}", f"{name}: the first line is not '# {code}: {title}'")
        found = [line for line in text.splitlines() if line.startswith("## ")]
        checks.check(found == SECTIONS, f"{name}: sections are {found}, expected {SECTIONS}")
        words = " ".join(text.split()).lower()
        checks.check(remedy.replace('\\"', '"').lower() in words, f"{name}: does not say what the table does: {remedy}")
        checks.check(f"[{code}]({code}.md) | {title} |" in index, f"{PAGES}README.md: {code} is missing")
    for name in sorted(pages):
        stem = os.path.basename(name)[:-3]
        checks.check(stem == "README" or stem in codes, f"{name}: a page without a row in {TABLE}")
    checks.finish()


if __name__ == "__main__":
    main()
