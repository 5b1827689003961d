#!/usr/bin/env python3
"""Writes functions of the interface as programs, with PyTorch's sample inputs and what PyTorch gives for them.

usage: record.py FOLDER [COUNT]

For each entry of ops_table.py, the first COUNT if that is given, one sample in f32, or in another dtype where there is none:
FOLDER/sample-NAME.mlir is the program, and FOLDER/sample-NAME.case its arguments and expected results, with what each
element may be off (test/gpu/RecordedCase.h). Left out are samples that Weft has no form for, large ones, functions that read
values while they are recorded, and those that bring numbers of the host as further arguments, as indices of windows. scripts/gpu-check packs these; WEFT_BUILD is the build folder.
"""

import itertools
import os
import random
import re
import struct
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ops_table import TABLE, Skip  # noqa: E402
from test_ops import (NAMES, ORDER, Server, allowance, difference, evaluate_in, leaves_of, operator_database, results_of,  # noqa: E402
                      to_bytes)

MAGIC = 0x3145534143544657
# As DType counts (include/weft/dtype.hpp).
NUMBERS = {name: i for i, name in enumerate(("i1", "i8", "i16", "i32", "i64", "ui8", "f16", "bf16", "f32", "f64"))}
MOST_ELEMENTS = 1 << 14
LOOKED_AT = 12  # samples of a function and dtype, until one is fit


def array(data, item):
    return struct.pack("<Q", len(data) // item) + data


def result(plain, wide):
    """A result as RecordedCase has it: the bytes, and the error of each element, which is infinite where the value is not known."""
    if not plain.is_floating_point():
        return plain, np.zeros(plain.numel())
    rounded = wide.detach().to(plain.dtype)
    error = allowance(plain, wide) + (rounded.double() - wide.detach().double()).abs().nan_to_num(0, 0, 0)
    error[plain.isnan() != rounded.isnan()] = float("inf")
    error[plain.isfinite() != rounded.isfinite()] = float("inf")
    return rounded, error.nan_to_num(0, float("inf"), 0).reshape(-1).numpy()


def write_case(path, program, arguments, plain, wide):
    """`program` says which of the arguments are the program's."""
    tensors = list(leaves_of(arguments))
    used = [int(number) for number in re.findall(r'weft\.name = "arg(\d+)"', program)]
    data = struct.pack("<QqqQ", MAGIC, 0, 0, len(used))
    for number in used:
        data += array(to_bytes(tensors[number]), 1)
    data += struct.pack("<Q", len(plain))
    for one, two in zip(plain, wide):
        value, error = result(one, two)
        data += struct.pack("<BB", NUMBERS[NAMES[value.dtype]], 0) + array(to_bytes(value), 1)
        data += array(np.ascontiguousarray(error, np.float64).tobytes(), 8)
    with open(path, "wb") as file:
        file.write(data)


def record(server, entry, sample, path):
    """Whether the sample is a program now."""
    arguments = entry.adapt(sample)
    tensors = list(leaves_of(arguments))
    if any(leaf.dtype not in NAMES or leaf.layout != torch.strided or leaf.numel() > MOST_ELEMENTS for leaf in tensors):
        return False
    given = (sample.input, *sample.args)
    plain = [r.detach() for r in results_of(entry.function(*given, **sample.kwargs))]
    wide, _ = evaluate_in(torch.float64, entry.function, given, sample.kwargs, [])
    if not plain or any(r.dtype not in NAMES or r.numel() == 0 or r.numel() > MOST_ELEMENTS for r in plain):
        return False
    outcome = server.call(entry.name, arguments, [], record=path + ".mlir")
    if isinstance(outcome, str) or any(difference(mine, one, two) for mine, one, two in zip(outcome[0], plain, wide)):
        return False
    with open(path + ".mlir", encoding="utf-8") as file:
        program = file.read()
    if re.search(r'weft\.role = "(?!argument")', program):
        return False
    write_case(path + ".case", program, arguments, plain, wide)
    return True


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else len(TABLE)
    server, by_name = Server(), operator_database()
    recorded, left_out = set(), set()
    for entry in TABLE:
        if len(recorded) == most:
            break
        op = by_name[(entry.op, entry.variant)]
        if entry.name in recorded:
            continue
        path = os.path.join(folder, "sample-" + entry.name)
        good = False
        for dtype in ORDER:
            if good or dtype not in op.dtypes or dtype in entry.without:
                continue
            torch.manual_seed(0)
            np.random.seed(0)
            random.seed(0)
            for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), LOOKED_AT):
                try:
                    good = record(server, entry, sample, path)
                except Skip:
                    continue
                except (RuntimeError, BrokenPipeError):
                    if server.process.poll() is not None:
                        server.start()
                if good:
                    break
        if good:
            recorded.add(entry.name)
            left_out.discard(entry.name)
            continue
        if os.path.exists(path + ".mlir"):
            os.remove(path + ".mlir")
        left_out.add(entry.name)
    print(f"{len(recorded)} functions recorded, {len(left_out)} left out: {' '.join(sorted(left_out))}")
    return 0 if recorded or not most else 1


if __name__ == "__main__":
    sys.exit(main())
