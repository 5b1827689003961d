#!/usr/bin/env python3
"""Failures are data: nothing reads the text of a message to find out what failed.

Two rules for the sources of the product. The text of a failure (`message()` of a Status, `what()` of an exception, or
a variable that holds one) is not searched, cut or compared. And in ir/ and passes/ a reason code is an argument of a
diagnostic of its own (`<< " (" << "WEFT-P001" << ")"`), by which ir/Diagnostics.h finds it: within a longer literal it
would be text. Tests may read messages: they are about them. A self-test shows that each rule finds what it forbids.
"""

import re

from common import Checks, cxx_files, read, without_comments

FOLDERS = ("codegen/", "frontend/", "include/", "ir/", "passes/", "runtime/", "tools/")
READS = (r"(?:find\w*|rfind|substr|starts_with|ends_with|contains|consume_front|consume_back|split|rsplit|compare|"
         r"erase|replace|remove_prefix|remove_suffix)")
# A call of message() or what(), as it is, or in something that looks at it: StringRef(error.what()).
TEXT = r"(?:\b\w+(?:\(\))?(?:\.|->))+(?:message|what)\(\)"
DIRECT = re.compile(TEXT + r"\s*\)*\s*\.\s*" + READS + r"\s*\(")
COMPARED = re.compile(TEXT + r"\s*\)?\s*[!=]=|[!=]=\s*" + TEXT)
HELD = re.compile(r"\b(\w+)\s*(?:=|\{|\()\s*" + TEXT)
CODE = re.compile(r'"(?:[^"\\\n]|\\.)*[( ]WEFT-[A-Z]\d{3}(?:[^"\\\n]|\\.)*"')


def findings(name, text):
    """(line, what is wrong) of a file."""
    text = without_comments(text)
    found = []

    def add(match, what):
        found.append((text.count("\n", 0, match.start()) + 1, what))

    for match in DIRECT.finditer(text):
        add(match, "the text of a failure is read: ask its FailureInfo")
    for match in COMPARED.finditer(text):
        add(match, "the text of a failure is compared: ask its code or its FailureInfo")
    for holder in HELD.finditer(text):
        # Where the variable is in scope at most: to the end of the function, a closing brace in the first column.
        end = text.find("\n}", holder.end())
        scope = text[holder.end():end if end >= 0 else len(text)]
        reading = re.search(r"\b" + holder.group(1) + r"\s*\.\s*" + READS + r"\s*\(", scope)
        if reading:
            add(holder, f"'{holder.group(1)}' holds the text of a failure, and is read: ask the FailureInfo")
    if name.startswith(("ir/", "passes/")):
        for match in CODE.finditer(text):
            add(match, "a reason code within a longer literal: stream it as an argument of its own")
    return found


# (file, text, whether something is found)
SELF_TEST = [
    ("runtime/A.cpp", 'if (status.message().ends_with("x")) {}', True),
    ("frontend/A.cpp", "fail(made.status().message().substr(0, 4));", True),
    ("frontend/A.cpp", "size_t at = result->status().message().rfind(' ');", True),
    ("tools/A.cpp", "if (std::string_view(error.what()).starts_with(word)) {}", True),
    ("tools/A.cpp", 'if (status.message() == "no") {}', True),
    ("codegen/A.cpp", "void f() {\n  std::string text = status.message();\n  text.erase(0, 3);\n}\n", True),
    ("codegen/A.cpp", "void f() {\n  const std::string text(error.what());\n  g(text.find(' '));\n}\n", True),
    ("codegen/A.cpp", "void f() {\n  std::string text = status.message();\n}\nvoid g() {\n  text.erase(0, 3);\n}\n", False),
    ("runtime/A.cpp", "return status.context(place);", False),
    ("runtime/A.cpp", 'std::fprintf(stderr, "%s", status.message().c_str());', False),
    ("runtime/A.cpp", '// status.message().find("x") is what nobody writes', False),
    ("runtime/A.cpp", 'if (status.code() == "WEFT-M001") {}', False),
    ("passes/A.cpp", 'op.emitOpError() << "is on two devices (WEFT-P001)";', True),
    ("ir/A.cpp", 'op.emitOpError() << "no derivative (WEFT-G001); detach it";', True),
    ("ir/A.cpp", 'op.emitOpError() << "is on two devices (" << "WEFT-P001" << ")";', False),
    ("ir/A.cpp", "// the verifier says (WEFT-P001)", False),
    ("frontend/A.cpp", 'fail("built without CUDA (WEFT-E001)", loc, {}, "WEFT-E001");', False),
]


def main():
    checks = Checks()
    for name, text, wrong in SELF_TEST:
        checks.check(bool(findings(name, text)) == wrong, f"self-test: {text!r}: {findings(name, text)}")
    for name in cxx_files():
        if not name.startswith(FOLDERS):
            continue
        found = findings(name, read(name) or "")
        checks.check(not found, "\n        ".join(f"{name}:{line}: {what}" for line, what in found))
    checks.finish()


if __name__ == "__main__":
    main()
