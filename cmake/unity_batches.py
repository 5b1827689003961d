#!/usr/bin/env python3
"""Says which sources of a target may be compiled as one file (cmake/WeftUnity.cmake).

Names that are local to a file meet when files are one: two definitions of a name, or one file's name where another one
calls an outer function of the same name. So no batch has a file that declares a name locally which another file of the
batch has anywhere in its text, or in a header that it includes. Files of a batch use the same namespaces.

usage: unity_batches.py MOST FILE...

Prints a line for each file: its batch, or "alone".
"""

import functools
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Declarations begin in the first column, because namespaces are not indented (.clang-format).
NO_DECLARATION = re.compile(r"[#/}\s]|$|(namespace|using namespace|extern|template|friend|public|private|protected)\b|[A-Z_]+\(")
# What has no external linkage outside of an unnamed namespace.
LOCAL = re.compile(r"(static|constexpr|const|using)\b")
INCLUDE = re.compile(r'^#include "(.+)"', re.MULTILINE)
DIRECTIVE = re.compile(r"^using namespace (.+);", re.MULTILINE)
MACRO = re.compile(r"#\s*define\s+(\w+)")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"//[^\n]*")


def declared_name(line):
    """The name that a line declares, as `f` of `static int f(int x) {` and of `constexpr int f = 3;`."""
    while (shorter := re.sub(r"<[^<>]*>", "", line)) != line:
        line = shorter
    words = IDENTIFIER.findall(re.split(r"[({=;\[]|(?<!:):(?!:)", re.sub(r"\w+::", "", line), maxsplit=1)[0])
    return next((word for word in reversed(words) if word not in ("final", "operator")), None)


def identifiers(text):
    return set(IDENTIFIER.findall(COMMENT.sub("", text)))


@functools.cache
def header_names(header):
    """The identifiers of a header of the project; none of another one."""
    path = os.path.join(ROOT, header)
    if not os.path.exists(path):
        return frozenset()
    with open(path, encoding="utf-8") as file:
        return frozenset(identifiers(file.read()))


def names_of(text):
    """The names that are local to a file, all identifiers of its text and of the headers that it names, and the namespaces that
    it uses."""
    local, unnamed = set(MACRO.findall(text)), False
    for line in text.splitlines():
        if line == "namespace {":
            unnamed = True
        elif line == "} // namespace":
            unnamed = False
        elif (unnamed or LOCAL.match(line)) and not NO_DECLARATION.match(line):
            local.add(declared_name(line))
    return local - {None}, identifiers(text).union(*map(header_names, INCLUDE.findall(text))), set(DIRECTIVE.findall(text))


def batches(files, most):
    """The number of each file's batch: the first one that has room, and no name in common."""
    made = []  # of each batch, how many files it has, their local names, all their names, and the namespaces that they use
    chosen = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            local, named, used = names_of(file.read())
        for number, batch in enumerate(made):
            if batch[0] < most and batch[3] == used and not local & batch[2] and not batch[1] & named:
                break
        else:
            number = len(made)
            made.append([0, set(), set(), used])
        made[number][0] += 1
        made[number][1] |= local
        made[number][2] |= named
        chosen.append(number)
    return [str(number) if made[number][0] > 1 else "alone" for number in chosen]


def main():
    most, files = int(sys.argv[1]), sys.argv[2:]
    print("\n".join(batches(files, most)))


if __name__ == "__main__":
    main()
