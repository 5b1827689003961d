"""Every option in the help of every command of weft is used by a test of that command.

usage: flags.py WEFT FOLDER_OF_TESTS
"""

import pathlib
import re
import subprocess
import sys

weft, folder = sys.argv[1:]
overview = subprocess.run([weft, "--help"], capture_output=True, text=True, check=True).stdout
commands = re.findall(r"^  ([a-z]+)  ", overview, re.MULTILINE)
lines = [line for path in pathlib.Path(folder).glob("*.test") for line in path.read_text().splitlines() if "RUN:" in line]
missing = []
for command in commands:
    text = subprocess.run([weft, command, "--help"], capture_output=True, text=True, check=True).stdout
    assert "\nexample: weft " + command in text, f"the help of '{command}' has no example"
    for option in re.findall(r"^  (?:-\w, )?--([a-z-]+)", text, re.MULTILINE):
        used = [line for line in lines if f"weft {command} " in line
                and (re.search(rf" --{option}\b(?!-)", line) or option == "output" and " -o " in line)]
        if not used:
            missing.append(f"weft {command} --{option}")
assert len(commands) >= 7, commands
assert not missing, "no test uses " + ", ".join(missing)
print(f"{len(commands)} commands, every option has a test")
