#!/usr/bin/env python3
"""clang-format 19 changes no C or C++ file of the tree.

The hashes of well formatted files are kept in build/house, so that a second run only checks changed files.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from common import ROOT, Checks, cxx_files

MEMORY = os.path.join(ROOT, "build", "house", "formatted")
COMPLAINT = re.compile(r"^(.+?):\d+:\d+: (?:error|warning): .*clang-format", re.MULTILINE)
# Files for one process: few enough that both processors have work to the end.
BATCH = 40


def key(data, salt):
    return hashlib.sha256(salt + data).hexdigest()


def content(path):
    with open(path, "rb") as file:
        return file.read()


def badly_formatted(tool, names, cwd=ROOT):
    """The names of those that clang-format would change, and what it said where it failed for another reason."""
    batches = [names[i:i + BATCH] for i in range(0, len(names), BATCH)]
    found, errors, waiting = {}, [], []
    workers = os.cpu_count() or 1
    while batches or waiting:
        while batches and len(waiting) < workers:
            output = tempfile.TemporaryFile()
            command = [tool, "--dry-run", "-Werror", *batches.pop(0)]
            waiting.append((subprocess.Popen(command, cwd=cwd, stderr=output), output))
        process, output = waiting.pop(0)
        code = process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
        output.close()
        complaints = {}
        for match in COMPLAINT.finditer(text):
            complaints.setdefault(match.group(1), match.group(0))
        if code != 0 and not complaints:
            errors.append(f"clang-format ended with exit code {code}: {text.strip()[:500]}")
        found.update(complaints)
    return found, errors


def self_test(checks, tool):
    """A planted fault is found, in a file between good ones, and forgotten when the file is mended."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("a.cpp", "planted.cpp", "z.cpp")]
        for name, text in zip(names, ("int a;\n", "int  main( ){return 0 ;}\n", "int z;\n")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        found, errors = badly_formatted(tool, names)
        checks.check(list(found) == names[1:2] and not errors,
                     f"self-test: of one badly formatted file in three, {sorted(found)} was found {errors}")
        found, errors = badly_formatted(tool, [os.path.join(folder, "missing.cpp")])
        checks.check(bool(errors) and not found, "self-test: a file that is not there was accepted")
    checks.check(key(b"int  a;", b"s") != key(b"int a;", b"s"), "self-test: two texts have one key")


def main():
    checks = Checks()
    tool = shutil.which("clang-format-19")
    if not checks.check(tool is not None, "clang-format-19 is not installed: scripts/install-deps"):
        checks.finish()
    self_test(checks, tool)

    version = subprocess.run([tool, "--version"], check=True, stdout=subprocess.PIPE).stdout
    salt = version + content(os.path.join(ROOT, ".clang-format")) + content(__file__)
    try:
        known = set(content(MEMORY).decode().split())
    except (OSError, UnicodeDecodeError):
        known = set()
    names = cxx_files()
    # The name belongs to the key: it decides the language.
    keys = {name: key(content(os.path.join(ROOT, name)), salt + name.encode()) for name in names}
    found, errors = badly_formatted(tool, [name for name in names if keys[name] not in known])
    for error in errors:
        checks.check(False, error)
    for name in names:
        checks.check(name not in found,
                     f"{name} is not formatted; run: clang-format-19 -i {name} ({found.get(name)})")

    if not errors:
        os.makedirs(os.path.dirname(MEMORY), exist_ok=True)
        fresh = tempfile.NamedTemporaryFile("w", dir=os.path.dirname(MEMORY), delete=False)
        with fresh:
            fresh.write("\n".join(keys[name] for name in names if name not in found) + "\n")
        os.replace(fresh.name, MEMORY)
    checks.finish()


if __name__ == "__main__":
    main()
