#!/usr/bin/env python3
"""Runs one example in an empty folder and checks its output and its files.

Usage: run.py [--memory-check=LIBRARY] PROGRAM [SECOND], or run.py FILE.mlir WEFT for text that the tool compiles and runs.
The second program uses the files that the first one wrote to the folder. With the library of memory_check.cpp, calls must use as
much memory as their plans say. MNIST is read from WEFT_DATA_DIR or from shared/data beside the project. If it is in neither, a
small set of images that are easy to distinguish replaces it. WEFT_TEST_DEVICE=cuda:0 says that WEFT_DEVICE names a device in software,
which is slow: there are few images and few steps then.
"""

import os
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SLOW = os.environ.get("WEFT_TEST_DEVICE", "cpu") != "cpu"


def mnist_folder(folder):
    """A folder with MNIST, and whether it is the real one."""
    for base in () if SLOW else (os.environ.get("WEFT_DATA_DIR"), os.path.join(ROOT, "..", "shared", "data")):
        for real in ((os.path.join(base, "mnist"), base) if base else ()):
            if os.path.isdir(real) and any("-images-idx3-ubyte" in name for name in os.listdir(real)):
                return os.path.abspath(real), True
    made = os.path.join(folder, "made")
    os.mkdir(made)
    generator = random.Random(0)
    shapes = [bytes(255 if generator.random() < 0.2 else 0 for _ in range(784)) for _ in range(10)]
    for name, count in (("train", 256 if SLOW else 2000), ("t10k", 500)):
        labels = bytes(generator.randrange(10) for _ in range(count))
        with open(os.path.join(made, name + "-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">IIII", 0x803, count, 28, 28))
            for label in labels:
                file.write(bytes(max(0, pixel - generator.randrange(60)) for pixel in shapes[label]))
        with open(os.path.join(made, name + "-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x801, count) + labels)
    return made, False


def fail(text, output=""):
    print(output[-4000:])
    print("FAILED: " + text)
    sys.exit(1)


def expect_file(path, start):
    if not os.path.exists(path) or not open(path, "rb").read().lstrip().startswith(start):
        fail(f"{path} is missing or does not begin with {start!r}")


def run(folder, *command):
    """What the command prints; it must succeed."""
    result = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=500, check=False)
    output = result.stdout.decode(errors="replace")
    if result.returncode != 0:
        fail(f"{os.path.basename(command[0])} ended with {result.returncode}", output)
    return output


def check_saved_step(folder, first, second):
    """The loss falls from program to program, and the second one has no compiler in it."""
    saved, resumed = run(folder, first), run(folder, second)
    losses = [float(text) for text in re.findall(r"loss ([\d.]+)", saved + resumed)]
    if len(losses) != 7 or losses[3] > losses[2] or losses[-1] > 0.7 * losses[2]:
        fail("the second program must go on where the first one was, and learn", saved + resumed)
    if "fc1.weight" not in resumed or "adam.fc1.weight.exp_avg" not in resumed:
        fail("the state must have the names of the modules", resumed)
    libraries = run(folder, "ldd", second)
    if re.search(r"libweft\.so|LLVM|MLIR", libraries):
        fail("the second program must need the runtime alone", libraries)


def check_text(folder, text, tool):
    run(folder, tool, "compile", text, "-o", "scaled.weft")
    output = run(folder, tool, "run", "scaled.weft", "--input", "4x3xf32=2", "--input", "3xf32=0.5")
    if "4x3xf32 = 1 1 1" not in output:
        fail("2 * 0.5 must be 1", output)
    if "agrees" not in run(folder, tool, "run", text, "--against=interp"):
        fail("the kernel must agree with the interpreter")


def check_raw_kernel(folder, program, driver=None):
    """Without a device it says why; on the software driver (docs/cudasim.md) it draws the set, by launches and by graphs."""
    if "needs a CUDA device: " not in run(folder, "env", "CUDA_VISIBLE_DEVICES=", program):
        fail("without a device the example must say why it does nothing")
    if not driver:
        return
    drawn = run(folder, "env", f"LD_PRELOAD={driver}", "CUSIM_RACE=1", program)
    # A float may be rounded otherwise, but the middle of the set is inside, and its corners are not.
    rows = drawn.splitlines()[6:]
    if len(rows) != 24 or "#" * 20 not in rows[12] or "#" in rows[0] or "after 48 steps" not in drawn:
        fail("the set must be drawn", drawn)


# What the networks of the models library are called with, so that they take seconds. On a device in software, which is slow,
# each takes a few steps.
MODELS = {"dcgan": (["--width", "4"], 4), "gpt_shakespeare": (["--layers", "1", "--features", "32", "--write", "64"], 60),
          "lstm_shakespeare": (["--layers", "1", "--features", "32", "--write", "64"], 100),
          "resnet_cifar10": (["--width", "4", "--epochs", "1"], 8), "vae": ([], 60)}


def check_model(folder, program):
    """A network of the models library learns, and draws or writes something."""
    name = os.path.basename(program)
    arguments, steps = MODELS[name]
    output = run(folder, program, *arguments, "--steps", str(2 if SLOW else steps))
    losses = [float(text) for text in re.findall(r"(?:loss|discriminator) ([\d.]+)", output)]
    if not losses or name in ("vae", "gpt_shakespeare", "lstm_shakespeare") and not SLOW and losses[-1] > 0.9 * losses[0]:
        fail(f"{name} must print losses, and learn", output)
    if name in ("dcgan", "vae"):
        expect_file(os.path.join(folder, "samples.ppm"), b"P6\n%d %d\n255\n" % ((224, 224) if name == "vae" else (256, 256)))
    if name in ("gpt_shakespeare", "lstm_shakespeare") and "written by 1 compiled function" not in output:
        fail("one function must write every character", output)
    if name == "resnet_cifar10" and not re.search(r"epoch 1: .*test accuracy [\d.]+ %, [\d.]+ ms a step", output):
        fail("each epoch must have a line", output)
    for wrong in (["--steps", "0" if name != "resnet_cifar10" else "-1x"], ["--colour", "red"]):
        code = subprocess.run([program, *wrong], cwd=folder, stdin=subprocess.DEVNULL, timeout=500, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode
        if code not in (1, 2):
            fail(f"{name} {' '.join(wrong)} ended with {code}; a user's mistake is 1 or 2")


def check_memory(path):
    """The plan of every program that ran was compared with what its first calls took, and agrees."""
    text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    counts = [[int(number) for number in line] for line in
              re.findall(r"^compared (\d+), disturbed (\d+), wrong (\d+)$", text, re.MULTILINE)]
    compared, disturbed, wrong = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    if wrong or not compared:
        fail(f"planned memory: {compared} calls compared, {disturbed} disturbed, {wrong} wrong", text)
    print(f"planned memory: {compared} calls agree, {disturbed} could not be compared")


def main():
    library = None
    if sys.argv[1].startswith("--memory-check="):
        library = sys.argv.pop(1).partition("=")[2]
    with tempfile.TemporaryDirectory(prefix="weft-memory-") as folder:
        report = os.path.join(folder, "report")
        if library:
            os.environ.update(LD_PRELOAD=library, WEFT_MEMORY_CHECK=report)
        run_example()
        if library:
            check_memory(report)


def run_example():
    program = os.path.abspath(sys.argv[1])
    name = os.path.basename(program)
    with tempfile.TemporaryDirectory(prefix="weft-example-") as folder:
        if name == "raw_kernel":
            check_raw_kernel(folder, program, *map(os.path.abspath, sys.argv[2:]))
            print(f"{name}: as it should be")
            return
        if name in MODELS:
            check_model(folder, program)
            print(f"{name}: as it should be")
            return
        if name in ("save_step", "scaled.mlir"):
            check = check_saved_step if name == "save_step" else check_text
            check(folder, program, os.path.abspath(sys.argv[2]))
            print(f"{name}: as it should be")
            return
        data, real = mnist_folder(folder)
        os.symlink(data, os.path.join(folder, "mnist"))
        arguments = ["--data", data, "--output", os.path.join(folder, "out")] if name == "mnist" else []
        if SLOW and name == "mnist":
            arguments += ["--steps", "20"]
        if name == "cnn":
            arguments = ["--data", data, *(["--steps", "3", "--batch", "16"] if SLOW else [])]
        result = subprocess.run([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=500, check=False)
        output = result.stdout.decode(errors="replace")
        if result.returncode != 0:
            fail(f"{name} ended with {result.returncode}", output)
        if not output.strip():
            fail(f"{name} printed nothing")
        if name == "mnist":
            accuracy = re.search(r"test accuracy: ([\d.]+) %", output)
            if not accuracy or float(accuracy.group(1)) < 95:
                fail(f"the accuracy must be 95 % or more{' on MNIST' if real else ''}", output)
            if SLOW and f"on {os.environ['WEFT_DEVICE']} (" not in output:
                fail(f"the steps must run on {os.environ['WEFT_DEVICE']}", output)
            expect_file(os.path.join(folder, "out", "loss.svg"), b"<")
            if not os.path.getsize(os.path.join(folder, "out", "mlp.safetensors")):
                fail("mlp.safetensors is empty", output)
            # What is wrong with the arguments is said, and is no crash.
            for wrong in (["--data", os.path.join(folder, "nowhere")], ["--epochs", "0"], ["--colour", "red"]):
                code = subprocess.run([program, *wrong], cwd=folder, stdin=subprocess.DEVNULL, timeout=500,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
                if code not in (1, 2):
                    fail(f"{name} {' '.join(wrong)} ended with {code}; a user's mistake is 1 or 2")
        if name == "cnn" and not SLOW:
            accuracy = re.search(r"test accuracy: ([\d.]+) %", output)
            if not accuracy or float(accuracy.group(1)) < 85:
                fail("the accuracy must be 85 % or more", output)
        if name == "resume":
            # Stopped at 40 and gone on, in other processes: the last line is that of the run in one go.
            whole = output.splitlines()[-1].split(",")[0]
            for steps in ("40", "100"):
                parts = subprocess.run([program, "--file", "parts.safetensors", "--steps", steps], cwd=folder, timeout=500,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       check=False).stdout.decode(errors="replace")
            if "resumed after step 40" not in parts or parts.splitlines()[-1].split(",")[0] != whole:
                fail(f"a resumed run must end as the whole one, with '{whole}'", parts)
        if name in ("graph", "streams") and not re.search("compiled again: no|events passed: yes", output):
            fail(f"{name} must say that it went as it should", output)
        if name == "train_mlp":
            found = re.search(r"(\d+) of (\d+) right", output)
            if not found or int(found.group(1)) < 0.95 * int(found.group(2)):
                fail("the network must get 95 % or more right", output)
            if not os.path.getsize(os.path.join(folder, "mlp.safetensors")):
                fail("mlp.safetensors is empty", output)
        print(f"{name}: as it should be")


if __name__ == "__main__":
    main()
