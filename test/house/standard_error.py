#!/usr/bin/env python3
"""The table of docs/embedding.md has everything that the libraries write to standard error.

A row lists the files that write its text, in a comment that readers do not see:
`<!-- writes: frontend/ops/Losses.cpp -->`. A file is listed once for each place that writes. A call of noteOnce() counts for
the caller, and for the function itself.
"""

import collections
import re

from common import Checks, cxx_files, read, without_comments

PAGE = "docs/embedding.md"
LIBRARIES = ("codegen/", "frontend/", "include/", "ir/", "passes/", "runtime/")
WRITES = re.compile(r"\bf(?:printf|puts|putc|write)\s*\([^;]*?\bstderr\b|\bcerr\b|\bperror\s*\(|\berrs\(\)|(?<!void )\bnoteOnce\(")
NAMED = re.compile(r"<!-- writes: ([^>]*?) -->")


def writes(text):
    """How often a file writes to standard error."""
    return len(WRITES.findall(without_comments(text)))


def named(page):
    """How often each file is named."""
    return collections.Counter(name.strip() for row in NAMED.findall(page) for name in row.split(","))


def self_test(checks):
    for text, count in [('std::fprintf(stderr, "a: %s", b);', 1), ("std::fwrite(a.data(), 1, a.size(), stderr);", 1),
                        ("std::fflush(stderr);", 0), ("std::fputs(text, stdout); f(stderr);", 0), ("std::cerr << 1;", 1),
                        ("// fprintf(stderr)", 0), ('noteOnce("x");', 1), ("void noteOnce(const std::string &text) {", 0),
                        ("std::fprintf(\n    stderr,\n    text);\nllvm::errs() << 1;", 2)]:
        checks.check(writes(text) == count, f"self-test: {text!r} writes {writes(text)} times, not {count}")
    checks.check(named("| a <!-- writes: x, y --> |\n| b <!-- writes: x --> |") == {"x": 2, "y": 1}, "self-test: names")


def main():
    checks = Checks()
    self_test(checks)
    page = named(read(PAGE))
    for path in cxx_files():
        if not path.startswith(LIBRARIES):
            continue
        count = writes(read(path) or "")
        stated = page.pop(path, 0)
        checks.check(count == stated, f"{path} writes to standard error in {count} places, {PAGE} names it {stated} times: "
                                      "say in its table when the file writes what")
    checks.check(not page, f"{PAGE} names {', '.join(page)}, which is no file of the libraries")
    checks.finish()


if __name__ == "__main__":
    main()
