#!/usr/bin/env python3
"""The table of environment variables in docs/debugging.md has every variable that the libraries and the examples read, and
no other; the tool that looks for misspelt ones knows those that the section names."""

import re

from common import Checks, read, tracked_files

PAGE = "docs/debugging.md"
SECTION = "## Environment"
DOCTOR = "tools/weft/Doctor.cpp"
SOURCES = ("codegen/", "examples/", "frontend/", "include/", "ir/", "passes/", "runtime/")
SUFFIXES = (".cpp", ".h", ".hpp")
NAME = r"[A-Z][A-Z0-9_]*"
LITERAL = re.compile(rf'\bgetenv\(\s*"({NAME})"\s*\)')
# A function of one file that reads the variable that it is given.
READER = re.compile(r"\b(\w+) = \[[^\]]*\]\(const char \*(\w+)\) \{[^}]*\bgetenv\(\2\)")
CALL = re.compile(r"\bgetenv\(")


def read_by(text):
    """The variables that a source reads, and how many reads could not be understood."""
    names = set(LITERAL.findall(text))
    understood = len(LITERAL.findall(text))
    for function, _ in READER.findall(text):
        names |= set(re.findall(rf'\b{function}\("({NAME})"\)', text))
        understood += 1
    return names, len(CALL.findall(text)) - understood


def section_of(page):
    return page.split(f"\n{SECTION}\n", 1)[1].split("\n## ", 1)[0]


def table(page):
    """The variables in the first column of the section's table."""
    section = section_of(page)
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(rf"`({NAME})`", cell)}


def self_test(checks):
    checks.check(read_by('std::getenv("A_B"); getenv("C")') == ({"A_B", "C"}, 0), "self-test: literals")
    reader = 'auto get = [](const char *name) { const char *v = std::getenv(name); return v; };'
    checks.check(read_by(reader + ' get("A"); get("B");') == ({"A", "B"}, 0), "self-test: a function that reads")
    checks.check(read_by("std::getenv(name)")[1] == 1, "self-test: a read of an unknown variable was missed")
    checks.check(table(f"x\n{SECTION}\n| v |\n|---|\n| `A`, `B` | `C` |\n\n## Next\n| `D` | |\n") == {"A", "B"},
                 "self-test: the table")


def main():
    checks = Checks()
    self_test(checks)
    found = {}
    for name in tracked_files():
        if name.startswith(SOURCES) and name.endswith(SUFFIXES):
            names, unknown = read_by(read(name) or "")
            checks.check(unknown == 0, f"{name}: {unknown} calls of getenv read no variable that can be told from the text")
            for variable in names:
                found.setdefault(variable, name)
    listed = table(read(PAGE))
    for variable, name in sorted(found.items()):
        checks.check(variable in listed, f"{name} reads {variable}, which the table of {PAGE} does not have")
    for variable in sorted(listed - set(found)):
        checks.check(False, f"{PAGE}: no library and no example reads {variable}")
    named = set(re.findall(r"`(WEFT_[A-Z0-9_]+)", section_of(read(PAGE))))
    known = set(re.findall(r'"(WEFT_[A-Z0-9_]+)"', read(DOCTOR).split("knownVariables[]", 1)[1].split(";", 1)[0]))
    checks.check(named == known, f"{DOCTOR} and {PAGE} differ in: {', '.join(sorted(named ^ known))}")
    checks.finish()


if __name__ == "__main__":
    main()
