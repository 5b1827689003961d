"""Compares the plans and kernels of a package for several targets with those of packages for one: byte for byte."""
import json
import subprocess
import sys


def sections(path):
    """Name and size of each section, as the tool lists them."""
    text = subprocess.run(["weft", "explain", path, "--json"], check=True, capture_output=True, text=True).stdout
    return {section["name"]: section["bytes"] for section in json.loads(text)["sections"]}


whole, *parts = sys.argv[1:]
known = sections(whole)
with open(whole, "rb") as file:
    content = file.read()
for part in parts:
    for name, size in sections(part).items():
        assert known.get(name) == size, f"{name} has {size} bytes in {part}, and {known.get(name)} in {whole}"
    # Sections begin at multiples of 4 KiB: what fills one whole page stands in both files.
    with open(part, "rb") as file:
        page = file.read()[4096:8192]
    assert content.find(page) >= 0, f"{part} holds bytes that {whole} does not"
print(f"{len(parts)} packages are parts of one")
