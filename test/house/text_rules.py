#!/usr/bin/env python3
"""Text that is not allowed in the tree: paths of one machine, reminders, and files without their heading."""

import re

from common import Checks, read, tracked_files

# Paths that exist on somebody's machine only. /usr, /tmp, /proc and the like are everybody's.
MACHINE_PATH = re.compile(r"(?<![\w.~$}\])/-])/(work|opt|root|home|mnt|srv|Users)/")
REMINDER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# Text that was written in passing by a program, not for the reader of this project.
FOREIGN_WORDS = re.compile(r"\b(ai assistant|language model|chat ?bot|coding agent|as an ai|co-authored-by)\b",
                           re.IGNORECASE)
SOURCE = (".cpp", ".h", ".hpp", ".td")
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
# This file spells what it forbids.
SELF = "test/house/text_rules.py"

SELF_TEST = [
    ("see /" + "work/notes.txt", MACHINE_PATH, True),
    ('path = "/' + 'home/me/x"', MACHINE_PATH, True),
    ("/usr/lib/llvm-19", MACHINE_PATH, False),
    ("${prefix}/opt/lib", MACHINE_PATH, False),
    ("at home/work/life", MACHINE_PATH, False),
    ("// TO" + "DO: later", REMINDER, True),
    ("the XXXXXX of mkdtemp", REMINDER, False),
]


def main():
    checks = Checks()
    for text, pattern, found in SELF_TEST:
        checks.check(bool(pattern.search(text)) == found, f"self-test: '{text}'")
    for name in tracked_files():
        text = read(name)
        if text is None or name == SELF:
            continue
        found = []
        # Corpora are data; nobody reads them as text.
        if not name.startswith("test/fuzz/corpus/"):
            for number, line in enumerate(text.splitlines(), 1):
                for pattern, what in ((MACHINE_PATH, "a path of one machine"), (REMINDER, "a reminder"),
                                      (FOREIGN_WORDS, "text that is not about this project")):
                    if pattern.search(line):
                        found.append(f"{name}:{number}: {what}: {line.strip()[:100]}")
        if name.endswith(SOURCE) and LICENCE not in text[:1000]:
            found.append(f"{name}:1: the heading with '{LICENCE}' is missing (see include/weft/status.hpp)")
        checks.check(not found, "\n        ".join(found))
    checks.finish()


if __name__ == "__main__":
    main()
