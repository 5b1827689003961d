#!/usr/bin/env python3
"""Compares what two devices answered: a file of `scripts/gpu-check run`, or one of test/cudasim/calibration, and what
weft-gpu-check --fixtures writes on the software device.

usage: replay.py PROGRAM FIXTURES.json...

The software device is asked with the inputs of the files, which may each have a part of the answers. Instructions must give
the same bits, approximate ones within their bound; calls after a fault, attributes that the software device takes from
ir/devices, and whether cuBLASLt has an algorithm must be equal. What only one side has is left out, and counted.
"""

import json
import os
import struct
import subprocess
import sys

# The distance in floats that an approximate instruction may have (test/unit/cudasim/HardwareTest.cpp).
ULPS = {"ex2.approx.f32": 2, "ex2.approx.ftz.f32": 2, "rcp.approx.f32": 1, "rcp.approx.ftz.f32": 1, "rsqrt.approx.f32": 2,
        "rsqrt.approx.ftz.f32": 2, "sqrt.approx.f32": 1, "div.full.f32": 2}
# Attributes that programs are compiled for: blocks, grids, registers, shared memory, warps, multiprocessors, capability.
ATTRIBUTES = ("1", "2", "3", "4", "5", "6", "7", "8", "10", "12", "16", "39", "75", "76", "81", "82", "97", "106", "111")
# The driver's file has other functions for some calls; the same names are compared.
GROUPS = ("of_one", "of_two_of_the_first_24")


def words(text):
    return [int(text[i:i + 8], 16) for i in range(0, len(text), 8)]


def distance(a, b):
    nan = [(x & 0x7FFFFFFF) > 0x7F800000 for x in (a, b)]
    if any(nan):
        return 0 if all(nan) else 1 << 40

    def order(x):
        return -(x & 0x7FFFFFFF) if x >> 31 else x

    return abs(order(a) - order(b))


class Replay:
    def __init__(self):
        self.passed, self.problems, self.left_out = 0, [], 0

    def check(self, good, text):
        if good:
            self.passed += 1
        else:
            self.problems.append(text)

    def attributes(self, real, ours):
        for number in ATTRIBUTES:
            if number in real and number in ours:
                self.check(real[number] == ours[number],
                           f"attribute {number} is {ours[number]}, and {real[number]} on the device")
        self.left_out += len(set(real) ^ set(ours))

    def faults(self, real, ours):
        known = {fault["fault"]: fault for fault in ours}
        for fault in real:
            mine = known.get(fault["fault"])
            if mine is None:
                self.left_out += 1
                continue
            for call, code in fault.items():
                if call in mine:
                    self.check(mine[call] == code, f"after '{fault['fault']}', {call} gives {mine[call]}, and {code} on the device")

    def vectors(self, real, ours):
        if real["inputs"] != ours["inputs"]:
            self.problems.append("the software device was given other inputs of instructions")
            return
        for group in GROUPS:
            for name, expected in real[group].items():
                if name not in ours[group]:
                    self.left_out += 1
                    continue
                most = ULPS.get(name, 0)
                pairs = list(zip(words(expected), words(ours[group][name])))
                bad = [(a, b) for a, b in pairs if a != b and (not most or distance(a, b) > most)]
                self.check(not bad and len(pairs) * 8 == len(expected),
                           f"{name}: {len(bad)} of {len(pairs)} results differ" +
                           (f", first {bad[0][1]:08x}, and {bad[0][0]:08x} on the device" if bad else ""))

    def answers(self, real, ours):
        known = {(answer["type"], answer["product"]): answer for answer in ours}
        for answer in real:
            mine = known.get((answer["type"], answer["product"]))
            if mine is None:
                self.left_out += 1
                continue
            self.check((mine["status"] == 0) == (answer["status"] == 0),
                       f"cuBLASLt {'has' if mine['status'] == 0 else 'has no'} algorithm for {answer['type']}, {answer['product']}, "
                       "otherwise than on the device")

    def file(self, program, path):
        with open(path, encoding="utf-8") as file:
            real = json.load(file)
        capability = real.get("capability") or int(real.get("attributes", {}).get("75", 9)) * 10 + int(
            real.get("attributes", {}).get("76", 0))
        run = subprocess.run([program, "--fixtures", "cuda:0", path if "vectors" in real else ""], check=False, text=True,
                             capture_output=True, env={**os.environ, "CUSIM_CC": str(capability)})
        if run.returncode:
            self.problems.append(f"{program} fails: {run.stderr}")
            return
        ours = json.loads(run.stdout)
        for part, compare in (("attributes", self.attributes), ("calls_after_a_fault", self.faults), ("vectors", self.vectors),
                              ("answers", self.answers)):
            if part in real:
                compare(real[part], ours[part])


def self_test():
    replay = Replay()
    replay.attributes({"1": 1024, "75": 9}, {"1": 512, "75": 9})
    replay.faults([{"fault": "trap", "again": "CUDA_SUCCESS"}], [{"fault": "trap", "again": "CUDA_ERROR_LAUNCH_FAILED"}])
    one = f"{struct.unpack('<I', struct.pack('<f', 1.0))[0]:08x}"
    near = f"{int(one, 16) + 1:08x}"
    replay.vectors({"inputs": one, "of_one": {"rcp.rn.f32": one, "rcp.approx.f32": one}, "of_two_of_the_first_24": {}},
                   {"inputs": one, "of_one": {"rcp.rn.f32": near, "rcp.approx.f32": near}, "of_two_of_the_first_24": {}})
    replay.answers([{"type": "f32", "product": "1 x 1 x 1", "status": 0}], [{"type": "f32", "product": "1 x 1 x 1", "status": 15}])
    if len(replay.problems) != 4 or replay.passed != 3:
        sys.exit(f"replay.py: the self-test finds {replay.problems}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    self_test()
    replay = Replay()
    for path in sys.argv[2:]:
        replay.file(sys.argv[1], path)
    for problem in replay.problems:
        print("FAILED:", problem)
    print(f"{replay.left_out} answers that only one side has")
    print(f"{replay.passed} passed, {len(replay.problems)} failed")
    sys.exit(1 if replay.problems or not replay.passed else 0)


if __name__ == "__main__":
    main()
