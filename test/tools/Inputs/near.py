"""Compares the losses of two runs of a demo: near.py A.csv B.csv BOUND."""
import csv
import sys

first, second, bound = sys.argv[1:]
losses = []
for path in (first, second):
    with open(path, encoding="utf-8") as file:
        losses.append([float(row["loss"]) for row in csv.DictReader(file)])
assert len(losses[0]) == len(losses[1]) > 0, f"{len(losses[0])} and {len(losses[1])} losses"
apart = max(abs(a - b) for a, b in zip(*losses))
assert apart <= float(bound), f"the losses are {apart} apart, at most {bound} was expected"
print(f"{len(losses[0])} losses, at most {apart:.2g} apart")
