#!/usr/bin/env python3
"""The dependencies and the exported symbols of the shared libraries.

libweft-runtime.so needs neither LLVM nor MLIR, and neither library needs one of CUDA, which are loaded at first use. Both export
only symbols of Weft, so that they do not conflict with other libraries of a process. What the runtime has for CUDA devices, which
every program carries, is small. Another build folder can be passed as argument.
"""

import glob
import os
import re
import subprocess
import sys

from common import ROOT, Checks

COMPILER = re.compile(r"lib(LLVM|MLIR|clang)")
CUDA = re.compile(r"lib(cuda|cudart|cublas|cublasLt|nvrtc|nvrtc-builtins)\.so")
# Weft's namespace in mangled names (functions, and type information and tables of its classes), and the C API.
OURS = re.compile(r"_ZN?[KVRO]*(4weft|[A-Z]+N?[KVRO]*4weft)|_ZG[VR]N?4weft|_ZT[hcv][\w]*4weft|weft_\w+$")
# Instantiations that the C++ library leaves in every shared library, with weak binding (nm: V, W, u).
STANDARD = re.compile(r"_Z(N?[KVRO]*(St|S[abdiost]|9__gnu_cxx|10__cxxabiv)|[A-Z]+N?[KVRO]*(St|9__gnu_cxx))|_Z(nw|na|dl|da)")
LINKER = {"_init", "_fini", "_end", "_edata", "__bss_start"}


MOST_CUDA_BYTES = 2 << 20


def loaded_bytes(objects):
    """The bytes that object files bring into memory: code and data."""
    output = subprocess.run(["size", *objects], check=True, capture_output=True, text=True).stdout
    return sum(int(line.split()[0]) + int(line.split()[1]) + int(line.split()[2]) for line in output.splitlines()[1:])


def needed(library):
    output = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+?)\]", output)


def exported(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        fields = line.split()
        yield fields[-2], fields[-1].split("@")[0]


def foreign(library):
    for kind, symbol in exported(library):
        if OURS.match(symbol) or symbol in LINKER:
            continue
        if kind in "VWu" and STANDARD.match(symbol):
            continue
        yield f"{kind} {symbol}"


SELF_TEST = [
    (OURS, "_ZN4weft6TensorC1Ev", True),
    (OURS, "_ZNK4weft6Tensor3dimEv", True),
    (OURS, "_ZTVN4weft5ErrorE", True),
    (OURS, "weft_package_open", True),
    (OURS, "_ZN4mlir7ContextC1Ev", False),
    (OURS, "_ZN4llvm9StringRefC1Ev", False),
    (OURS, "ZSTD_compress", False),
    (STANDARD, "_ZNSt6vectorIiSaIiEED1Ev", True),
    (STANDARD, "_ZTSSt11_Mutex_baseILN9__gnu_cxx12_Lock_policyE2EE", True),
    (STANDARD, "_ZN4llvm9StringRefC1Ev", False),
    (CUDA, "libcuda.so.1", True),
    (CUDA, "libcublasLt.so.13", True),
    (CUDA, "libcurl.so.4", False),
]


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "release")
    checks = Checks()
    for pattern, symbol, ours in SELF_TEST:
        checks.check(bool(pattern.match(symbol)) == ours, f"self-test: {symbol}")
    libraries = ["libweft-runtime.so"]
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        if "WEFT_COMPILER:BOOL=ON" in file.read():
            libraries += ["libweft.so", "libweft-models.so"]
    for name in libraries:
        library = os.path.join(build, "lib", name)
        if not checks.check(os.path.exists(library), f"{library} was not built"):
            continue
        if name == "libweft-runtime.so":
            wrong = [soname for soname in needed(library) if COMPILER.match(soname)]
            checks.check(not wrong, f"{name} needs {', '.join(wrong)}; the runtime must run without a compiler")
        linked = [soname for soname in needed(library) if CUDA.match(soname)]
        checks.check(not linked, f"{name} needs {', '.join(linked)}, which are loaded at first use")
        symbols = list(exported(library))
        checks.check(any(OURS.match(symbol) for _, symbol in symbols), f"{name} exports nothing of Weft")
        found = list(foreign(library))
        checks.check(not found, f"{name} exports {len(found)} symbols that are not Weft's:\n        " +
                     "\n        ".join(found[:40]))
        if name == "libweft-runtime.so":
            # The C interface is whole: what the header declares is there, and nothing else has its prefix.
            with open(os.path.join(ROOT, "include", "weft", "weft.h"), encoding="utf-8") as file:
                declared = set(re.findall(r"^WEFT_C_API [^;(]*?(weft_\w+)\(", file.read(), re.MULTILINE))
            found = {symbol for _, symbol in symbols if re.fullmatch(r"weft_\w+", symbol)}
            checks.check(len(declared) > 40, f"only {len(declared)} functions were found in weft.h")
            checks.check(declared == found, f"weft.h and {name} differ in {', '.join(sorted(declared ^ found))}")
    objects = glob.glob(os.path.join(build, "runtime", "CMakeFiles", "weft_runtime.dir", "cuda", "**", "*.o"), recursive=True)
    if checks.check(bool(objects), f"{build} has no objects of runtime/cuda"):
        size = loaded_bytes(objects)
        checks.check(0 < size <= MOST_CUDA_BYTES, f"runtime/cuda has {size} bytes, and {MOST_CUDA_BYTES} are allowed")
    checks.finish()


if __name__ == "__main__":
    main()
