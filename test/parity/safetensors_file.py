"""Reads what the programs of this folder write."""

import json
import struct

import numpy as np

TYPES = {"F32": np.float32, "I64": np.int64}


def read_safetensors(path, dtypes=("F32",)):
    """The arrays of a safetensors file by name; another dtype than these, which are keys of TYPES, is an error."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            assert entry["dtype"] in dtypes, entry
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors
