#!/usr/bin/env python3
"""Functions of the library, its compiler and its tools have at most 80 lines, from the first line to the closing brace. The
functions of a class count each by itself. This reads the layout that clang-format makes: whatever a brace closes that ends a
function stands where its first line stands."""

import re

from common import Checks, read, tracked_files

MOST = 80
FOLDERS = ("bench/", "codegen/", "examples/", "frontend/", "include/", "ir/", "passes/", "runtime/", "tools/")
# Strings and comments: a brace in them closes nothing.
TEXT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
CLASS = re.compile(r"\s*(template <.*> )?(class|struct|union)\b")
# Lines in the column of declarations that begin none.
OTHER = re.compile(r"(inline )?namespace\b.*{|extern .*{|(public|protected|private):")

SELF_TEST = """namespace a {
extern "C" {
void c(void) {
}
}
struct B : C<int> {
  int f() const { return 1; }

  template <typename T>
  T g(T x = {},
      T y = {}) {
    if (x) {
      return "} {"[0]; // }
    }
    return y;
  }

public:
  class D {
    D() : first{1}, second(2) {
    }
  };
};
#define OPEN {
int table[] = {
  1, 2,
};
std::vector<int> h() {
  struct Local {
    int i;
  };
#if 1
  return {};
#endif
}
} // namespace a
"""
SELF_FOUND = [(3, 2), (9, 8), (20, 2), (28, 8)]


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def functions_in(lines, begin, end, indent):
    """The functions of a scope whose declarations stand in column `indent`, as (first line, number of lines)."""
    found, first = [], None
    for number in range(begin, end):
        line = lines[number]
        if len(line) - len(line.lstrip()) != indent or not line.strip() or OTHER.match(line.strip()):
            continue
        text = line[indent:].rstrip()
        if not text.startswith("}"):
            # `template <...>` on a line of its own begins what follows.
            if first is None or not re.fullmatch(r"template <.*>", lines[number - 1].strip()):
                first = number
            if text.endswith((";", "}")):
                first = None
        elif first is not None:
            if text == "}":
                found.append((first + 1, number - first + 1))
            elif CLASS.match(" ".join(lines[first:first + 2])):
                found += functions_in(lines, first + 1, number, indent + 2)
            first = None
    return found


def functions(text):
    lines = DIRECTIVE.sub(blank, TEXT.sub(blank, text)).split("\n")
    return functions_in(lines, 0, len(lines), 0)


def main():
    checks = Checks()
    found = functions(SELF_TEST)
    checks.check(found == SELF_FOUND, f"self-test: found {found}, expected {SELF_FOUND}")
    count = 0
    for name in tracked_files():
        if not name.startswith(FOLDERS) or not name.endswith((".c", ".cpp", ".h", ".hpp")):
            continue
        there = functions(read(name))
        count += len(there)
        long = [f"{name}:{line}: the function has {lines} lines, and functions have at most {MOST}"
                for line, lines in there if lines > MOST]
        checks.check(not long, "\n        ".join(long))
    checks.check(count > 3000, f"only {count} functions were found")
    checks.finish()


if __name__ == "__main__":
    main()
