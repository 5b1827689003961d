#!/usr/bin/env python3
"""Reads every #include of the tree and fails if a folder may not include the header.

The rules are RULES below: for each folder, the headers that its files may include. Headers of the C++ and C
libraries are free for all. The most specific folder counts. A self-test shows that a planted wrong include of
every kind is found, and that a right one is not.
"""

import re

from common import Checks, cxx_files, read

PUBLIC = r"weft/(models/)?\w+\.(hpp|h)"
COMPILER_LIBRARIES = r"(mlir|llvm|mlir-c|llvm-c)/.+"
# What runtime/ shows to the compiler: the format of packages, plans and images, and what a kernel is called with.
PACKAGE = r"runtime/(package|plan)/\w+\.h"
# Sizes as expressions, strides, roles and options are plain C++: their headers include nothing of MLIR.
PLAIN_IR = r"ir/(ArgumentRole|CompilerOptions|HtmlText|Size|SourceExcerpt|StridedLayout)\.h"
GTEST = r"gtest/.+|gmock/.+"
RUNTIME_HEADERS = r"weft/(status|dtype|export|limits|philox)\.hpp"
SANITIZERS = r"sanitizer/\w+_interface\.h"



def rooms(*names):
    """The headers of these rooms of the frontend."""
    return rf"frontend/({'|'.join(names)})/\w+\.h"


# Folder -> patterns of what may be included from it, besides the standard and system headers.
RULES = {
    # No header of the interface knows the library of models, which is above it.
    "include/weft": [r"weft/\w+\.(hpp|h)"],
    "include/weft/models": [PUBLIC],
    "models": [r"models/\w+\.h", PUBLIC],
    # The rooms of the runtime, from the lowest up.
    **{f"runtime/{room}": [rf"runtime/({'|'.join([room, *lower])})/.+", RUNTIME_HEADERS, *more] for room, lower, more in (
        ("support", (), ()),
        # The one room that includes a header of CUDA: it loads the driver, and searches for other libraries.
        ("cuda", (), (r"cuda\.h",)),
        ("memory", ("support",), (SANITIZERS,)),
        ("threads", ("support",), ()),
        ("device", ("support", "memory"), ()),
        ("queue", ("support", "memory", "device"), ()),
        ("gemm", ("support", "threads"), (r"dnnl\.hp*",)),
        ("sort", ("support", "threads"), ()),
        ("fourier", ("support", "threads"), ()),
        ("linalg", ("support", "threads"), ()),
        ("package", ("support",), ()),
        ("plan", ("support", "memory", "gemm", "sort", "linalg", "fourier", "package"), (r"flatbuffers/.+",)),
        ("execution", ("support", "memory", "device", "threads", "queue", "gemm", "sort", "linalg", "fourier", "package", "plan"), ()),
        # The backend of CUDA devices, on the driver that the room above has loaded.
        ("cuda/device", ("cuda", "support", "memory", "device", "queue", "gemm", "sort", "linalg", "fourier", "package", "plan", "execution"), (r"cuda\.h",)),
        ("capi", ("cuda", "support", "memory", "device", "threads", "queue", "package", "execution"), (r"weft/weft\.h",)))},
    "ir": [r"ir/.+", r"weft/(status|dtype|limits|philox)\.hpp", COMPILER_LIBRARIES],
    # A pass knows the rooms that it uses; a room knows neither passes nor another room.
    "passes": [r"passes/.+", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    "passes/fusion": [r"passes/fusion/.+", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    "passes/reverse": [r"passes/reverse/.+", r"ir/.+", COMPILER_LIBRARIES],
    "passes/launch": [r"passes/launch/.+", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    "passes/simplify": [r"passes/simplify/.+", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    "codegen": [r"codegen/.+", r"ir/.+", PACKAGE, r"weft/(status|dtype)\.hpp", r"flatbuffers/.+",
                COMPILER_LIBRARIES],
    # What is shared by targets includes nothing of any. Kernel IR, its functions, and the compilation of images know
    # upstream dialects only, so that other front ends can use them.
    "codegen/kernel": [r"codegen/kernel/.+", r"runtime/package/Kernel\.h", r"runtime/support/TemporaryFile\.h", r"weft/status\.hpp", COMPILER_LIBRARIES],
    "codegen/math": [r"codegen/math/.+", COMPILER_LIBRARIES],
    "codegen/emit": [r"codegen/(emit|kernel)/.+", r"ir/.+", PACKAGE, r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    "codegen/cpu": [r"codegen/(cpu|kernel|math)/\w+\.h", r"runtime/package/Kernel\.h", r"weft/(status|dtype|philox)\.hpp", COMPILER_LIBRARIES],
    # The skeletons of a target's kernels are made with the builder that all share.
    "codegen/cpu/skeletons": [r"codegen/(emit|cpu/skeletons)/.+", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    # CUDA's headers declare what is loaded at run time, in the one file that loads it. What a kernel divides by are sizes,
    # which are plain C++.
    "codegen/cuda": [r"codegen/(cuda|kernel|math)/\w+\.h", r"ir/Size\.h", r"runtime/cuda/Libraries\.h", r"weft/status\.hpp",
                     r"cuda\.h|nvrtc\.h", COMPILER_LIBRARIES],
    # A thread that has a task for itself runs the skeletons of a CPU.
    "codegen/cuda/skeletons": [r"codegen/(emit|cuda/skeletons)/.+", r"codegen/kernel/KernelIR\.h", r"codegen/cpu/skeletons/CpuMapping\.h", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    # Contractions and attention are text that is made of a description; kernel IR has no part in it, but attention calls
    # the elementary functions that are printed from it.
    "codegen/cuda/contractions": [r"codegen/cuda/contractions/.+", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    "codegen/cuda/sorts": [r"codegen/cuda/(sorts/.+|contractions/(DeviceText|TextKernels)\.h)", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    "codegen/cuda/raw": [r"codegen/cuda/(raw/.+|CudaCompiler\.h)", r"codegen/kernel/KernelCache\.h", r"runtime/cuda/Libraries\.h", r"ir/.+", r"weft/status\.hpp", COMPILER_LIBRARIES],
    "codegen/cuda/attention": [r"codegen/cuda/attention/.+", r"codegen/cuda/PrintKernel\.h", r"codegen/cuda/contractions/DeviceText\.h", r"ir/.+", r"weft/(status|dtype)\.hpp", COMPILER_LIBRARIES],
    # The frontend's rooms, the lowest first; a file that stands in none is refused. What nn/ and the rooms after it do,
    # programs could do too: they need neither the runtime nor the IR.
    "frontend/graph": [rooms("graph"), PLAIN_IR, r"runtime/(queue/Buffer|device/Registry|memory/(Layout|Overlap))\.h", PUBLIC],
    "frontend/compiler": [rooms("graph", "compiler"), r"frontend/io/AtomicFile\.h", PLAIN_IR, r"runtime/.+", PUBLIC],
    "frontend/lazy": [rooms("graph", "compiler", "lazy"), r"runtime/.+", PUBLIC],
    "frontend/device": [rooms("graph", "lazy", "device"), r"runtime/.+", PUBLIC],
    "frontend/ops": [rooms("graph", "lazy", "ops"), r"runtime/support/TensorText\.h", PUBLIC],
    "frontend/compiled": [rooms("graph", "compiler", "lazy", "ops", "compiled"), PLAIN_IR, r"runtime/.+", PUBLIC],
    "frontend/nn": [rooms("graph", "ops", "nn"), PUBLIC],
    "frontend/optim": [rooms("graph", "lazy", "ops", "optim"), PUBLIC],
    "frontend/files": [rooms("graph", "ops", "io", "files"), PUBLIC],
    "frontend/data": [rooms("graph", "lazy", "ops", "io", "files", "data"), PUBLIC],
    "frontend/program": [rooms("graph", "lazy", "ops", "io", "program"), PUBLIC],
    "frontend/io": [r"frontend/io/.+", r"runtime/support/(JsonText|TemporaryFile)\.h", r"weft/(status|dtype|limits|philox|export)\.hpp", r"zlib\.h"],
    "tools": [r"tools/.+", r"(ir|passes|codegen|frontend|runtime)/.+", PUBLIC, COMPILER_LIBRARIES],
    "examples": [PUBLIC, r"common/\w+\.h"],
    # The peers of a benchmark are whatever is installed; of Weft it sees what its users see.
    "bench": [r"bench/.+", PUBLIC, r"dnnl\.h|dnnl_\w+\.h"],
    # Headers that are compiled once, for the files that include them.
    "cmake": [r"cmake/.+", r"ir/Dialect\.h", GTEST, COMPILER_LIBRARIES],
    "test": [r".+"],
    "test/fuzz": [r"(frontend|runtime|ir|passes|codegen|tools|test)/.+", PUBLIC, COMPILER_LIBRARIES],
}
# Single files that join what their folders keep apart.
EXCEPTIONS = {
    "include/weft/models.hpp": [PUBLIC],  # the library of models
    # One library, WeftCodegen, joins passes, kernels and plan.
    "codegen/Compile.cpp": [r"passes/.+", r"runtime/.+"],
    "codegen/LaunchAmounts.cpp": [r"passes/launch/.+"],
    "codegen/PlanWriter.cpp": [r"passes/launch/.+"],
    "codegen/Report.cpp": [r"passes/launch/.+"],
    # A device that is asked for by name is opened by its backend.
    "runtime/device/Registry.cpp": [r"runtime/cuda/device/Devices\.h"],
    # What the compiler asks a library of contractions, the runtime of this process answers.
    "codegen/HostLibrary.cpp": [r"runtime/gemm/Contraction\.h"],
    # The files of the frontend that speak MLIR.
    "frontend/compiler/Session.cpp": [r"(ir|passes|codegen)/.+", COMPILER_LIBRARIES],
    "frontend/compiler/CompilerContext.cpp": [r"ir/Dialect\.h", COMPILER_LIBRARIES],
}
# These embed the runtime alone, which has no public header yet for all that they need.
EXCEPTION_PATTERNS = {
    r"examples/[\w/]*runtime[\w/]*\.cpp": [r"runtime/\w+/\w+\.h"],
}
SYSTEM_NAMES = r"[a-z0-9_]+(\.h)?"
SYSTEM_FOLDERS = r"(sys|linux|arpa|netinet)/[a-z0-9_]+\.h"
LIBRARY_NAMES = r"(zlib|mpfr|gmp|gmpxx|dnnl|fmt|omp|cuda|nvrtc)\.h"

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def folder_of(path):
    parts = path.split("/")[:-1]
    while parts:
        if "/".join(parts) in RULES:
            return "/".join(parts)
        parts.pop()
    return None


def resolve(path, name, files):
    """The path of an included file as the tree knows it: "Common.h" beside the includer is its folder's."""
    beside = "/".join(path.split("/")[:-1] + [name])
    return beside if "/" not in name and beside in files else name


def wrong(path, quoted, name, files):
    """Why `path` may not include `name`, or None if it may."""
    name = resolve(path, name, files)
    if not quoted and re.fullmatch(SYSTEM_NAMES + "|" + SYSTEM_FOLDERS, name) and not re.fullmatch(LIBRARY_NAMES, name):
        return None
    if ".." in name.split("/"):
        return "a path with '..' hides where it leads; include from the root of the tree"
    folder = folder_of(path)
    if folder is None:
        return "there is no rule for this folder; add one to RULES of test/house/include_graph.py"
    allowed = RULES[folder] + EXCEPTIONS.get(path, [])
    for pattern, more in EXCEPTION_PATTERNS.items():
        if re.fullmatch(pattern, path):
            allowed = allowed + more
    if any(re.fullmatch(pattern, name) for pattern in allowed):
        return None
    return f"{folder}/ must not depend on it (CONTRIBUTING.md, 'Which folder may use which')"


def includes(text):
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == '"', match.group(2)


# (file, include line, whether it is right). Every rule has its wrong include here.
SELF_TEST = [
    ("include/weft/tensor.hpp", '#include "weft/dtype.hpp"', True),
    ("include/weft/tensor.hpp", '#include <source_location>', True),
    ("include/weft/tensor.hpp", '#include "frontend/graph/Graph.h"', False),
    ("include/weft/tensor.hpp", '#include "mlir/IR/Value.h"', False),
    ("include/weft/tensor.hpp", '#include <llvm/ADT/SmallVector.h>', False),
    ("include/weft/tensor.hpp", '#include <dnnl.h>', False),
    ("include/weft/tensor.hpp", '#include <fmt/format.h>', False),
    ("runtime/queue/Queue.cpp", '#include "runtime/queue/Queue.h"', True),
    ("runtime/queue/Queue.cpp", '#include <sys/mman.h>', True),
    ("runtime/queue/Queue.cpp", '#include "runtime/execution/Executable.h"', False),
    ("runtime/memory/Layout.cpp", '#include "runtime/queue/Buffer.h"', False),
    ("runtime/gemm/Contraction.cpp", '#include <dnnl.hpp>', True),
    ("runtime/plan/Image.cpp", '#include <dnnl.hpp>', False),
    ("runtime/Queue.cpp", '#include "runtime/queue/Queue.h"', False),
    ("runtime/queue/Queue.cpp", '#include "ir/Dialect.h"', False),
    ("runtime/queue/Queue.cpp", '#include "passes/Passes.h"', False),
    ("runtime/queue/Queue.cpp", '#include "codegen/Compile.h"', False),
    ("runtime/queue/Queue.cpp", '#include "frontend/lazy/Lazy.h"', False),
    ("runtime/queue/Queue.cpp", '  #  include "llvm/Support/Error.h"', False),
    ("runtime/queue/Queue.cpp", '#include "../ir/Dialect.h"', False),
    ("ir/Dialect.cpp", '#include "mlir/IR/Builders.h"', True),
    ("ir/Dialect.cpp", '#include "passes/Passes.h"', False),
    ("ir/interp/Interpreter.cpp", '#include "runtime/package/Kernel.h"', False),
    ("ir/Dialect.cpp", '#include "weft/tensor.hpp"', False),
    ("passes/Pipeline.cpp", '#include "ir/Dialect.h"', True),
    ("passes/Pipeline.cpp", '#include "codegen/Compile.h"', False),
    ("passes/Pipeline.cpp", '#include "runtime/package/Package.h"', False),
    ("passes/Fuse.cpp", '#include "passes/fusion/FusionGraph.h"', True),
    ("passes/PlanMemory.cpp", '#include "passes/launch/LaunchList.h"', True),
    ("passes/fusion/FusionGraph.cpp", '#include "passes/fusion/FusionCost.h"', True),
    ("passes/fusion/FusionGraph.cpp", '#include "passes/Passes.h"', False),
    ("passes/fusion/FusionGraph.cpp", '#include "passes/launch/LaunchList.h"', False),
    ("passes/launch/LaunchList.cpp", '#include "ir/Dialect.h"', True),
    ("passes/launch/LaunchList.cpp", '#include "passes/Passes.h.inc"', False),
    ("passes/launch/LaunchList.cpp", '#include "passes/fusion/FusionCost.h"', False),
    ("passes/simplify/Shapes.cpp", '#include "passes/Passes.h"', False),
    ("passes/simplify/Shapes.cpp", '#include "passes/fusion/FusionGraph.h"', False),
    ("codegen/Compile.cpp", '#include "passes/Pipeline.h"', True),
    ("codegen/Report.cpp", '#include "passes/launch/PlanReport.h"', True),
    ("codegen/Report.cpp", '#include "passes/Pipeline.h"', False),
    ("codegen/HostLibrary.cpp", '#include "runtime/gemm/Contraction.h"', True),
    ("codegen/HostLibrary.cpp", '#include "runtime/queue/Queue.h"', False),
    ("codegen/Emit.cpp", '#include "passes/Pipeline.h"', False),
    ("codegen/Emit.cpp", '#include "runtime/queue/Queue.h"', False),
    ("codegen/Emit.cpp", '#include "runtime/package/Package.h"', True),
    ("codegen/cpu/LinkImage.cpp", '#include "ir/Dialect.h"', False),
    ("codegen/cpu/LinkImage.cpp", '#include "codegen/kernel/KernelIR.h"', True),
    ("codegen/cpu/LinkImage.cpp", '#include "codegen/emit/Mapping.h"', False),
    ("codegen/cpu/LowerKernel.cpp", '#include "codegen/cpu/skeletons/CpuKernels.h"', False),
    ("codegen/cpu/skeletons/EmitRow.cpp", '#include "codegen/emit/Mapping.h"', True),
    ("codegen/cpu/skeletons/EmitRow.cpp", '#include "codegen/cpu/LowerKernel.h"', False),
    ("codegen/emit/EmitLoop.cpp", '#include "codegen/kernel/KernelIR.h"', True),
    ("codegen/emit/EmitLoop.cpp", '#include "codegen/cpu/skeletons/CpuMapping.h"', False),
    ("codegen/cuda/Nvrtc.cpp", '#include <nvrtc.h>', True),
    ("codegen/cuda/Nvrtc.cpp", '#include "runtime/cuda/Libraries.h"', True),
    ("codegen/cuda/Nvrtc.cpp", '#include "runtime/cuda/Driver.h"', False),
    ("runtime/cuda/DriverTable.h", '#include <cuda.h>', True),
    ("runtime/cuda/CublasLtTable.h", '#include <cublasLt.h>', False),
    ("runtime/device/Device.cpp", '#include <cuda.h>', False),
    ("codegen/cuda/PrintOps.cpp", '#include "codegen/emit/Mapping.h"', False),
    ("codegen/cuda/skeletons/CudaMapping.cpp", '#include "codegen/emit/KernelBuilder.h"', True),
    ("codegen/emit/EmitLoop.cpp", '#include "codegen/cpu/LowerKernel.h"', False),
    ("codegen/kernel/KernelCache.cpp", '#include "codegen/cpu/LowerKernel.h"', False),
    ("codegen/kernel/KernelText.cpp", '#include "ir/Dialect.h"', False),
    ("codegen/math/ExpandMath.cpp", '#include "codegen/cpu/LowerKernel.h"', False),
    ("frontend/Tensor.cpp", '#include "weft/tensor.hpp"', False),
    ("frontend/graph/Slot.cpp", '#include "frontend/graph/View.h"', True),
    ("frontend/graph/Slot.cpp", '#include "ir/Size.h"', True),
    ("frontend/graph/Slot.cpp", '#include "ir/Dialect.h"', False),
    ("frontend/graph/Slot.cpp", '#include "mlir/IR/MLIRContext.h"', False),
    ("frontend/graph/Slot.cpp", '#include "runtime/queue/Queue.h"', False),
    ("frontend/graph/Slot.cpp", '#include "frontend/lazy/Lazy.h"', False),
    ("frontend/graph/Record.cpp", '#include "frontend/compiler/Session.h"', False),
    ("frontend/graph/Trace.cpp", '#include "frontend/compiled/Compiled.h"', False),
    ("frontend/compiler/Session.cpp", '#include "passes/Pipeline.h"', True),
    ("frontend/compiler/Session.cpp", '#include "frontend/graph/Region.h"', True),
    ("frontend/compiler/Session.cpp", '#include "frontend/lazy/Lazy.h"', False),
    ("frontend/compiler/CompilerContext.cpp", '#include "passes/Pipeline.h"', False),
    ("frontend/compiler/CompilerContext.h", '#include "mlir/IR/MLIRContext.h"', False),
    ("frontend/compiler/TraceFolder.cpp", '#include "passes/Pipeline.h"', False),
    ("frontend/compiler/TraceFolder.cpp", '#include "frontend/io/AtomicFile.h"', True),
    ("frontend/compiler/TraceFolder.cpp", '#include "frontend/io/Npy.h"', False),
    ("frontend/lazy/Lazy.cpp", '#include "frontend/compiler/Session.h"', True),
    ("frontend/lazy/Lazy.cpp", '#include "frontend/ops/Handle.h"', False),
    ("frontend/device/Stream.cpp", '#include "runtime/queue/Queue.h"', True),
    ("frontend/device/Stream.cpp", '#include "frontend/ops/Ops.h"', False),
    ("frontend/ops/Tensor.cpp", '#include "frontend/lazy/Lazy.h"', True),
    ("frontend/ops/Tensor.cpp", '#include "frontend/compiler/Session.h"', False),
    ("frontend/ops/Tensor.cpp", '#include "frontend/compiled/Variant.h"', False),
    ("frontend/ops/Tensor.cpp", '#include "passes/Pipeline.h"', False),
    ("frontend/ops/Tensor.cpp", '#include "mlir/IR/MLIRContext.h"', False),
    ("frontend/compiled/Build.cpp", '#include "frontend/ops/Ops.h"', True),
    ("frontend/compiled/Build.cpp", '#include "frontend/nn/ModuleState.h"', False),
    ("frontend/nn/Module.cpp", '#include "frontend/ops/State.h"', True),
    ("frontend/nn/Module.cpp", '#include "frontend/optim/OptimState.h"', False),
    ("frontend/nn/Module.cpp", '#include "runtime/queue/Buffer.h"', False),
    ("frontend/optim/Optim.cpp", '#include "frontend/lazy/Lazy.h"', True),
    ("frontend/optim/Optim.cpp", '#include "frontend/nn/ModuleState.h"', False),
    ("frontend/files/TensorFiles.cpp", '#include "frontend/io/Npy.h"', True),
    ("frontend/files/TensorFiles.cpp", '#include "frontend/data/RowSource.h"', False),
    ("frontend/data/Datasets.cpp", '#include "frontend/files/TensorFiles.h"', True),
    ("frontend/data/Datasets.cpp", '#include "frontend/nn/ModuleState.h"', False),
    ("frontend/program/Report.cpp", '#include "frontend/io/Progress.h"', True),
    ("frontend/program/Report.cpp", '#include "frontend/optim/OptimState.h"', False),
    ("frontend/io/Npy.cpp", '#include "frontend/graph/Graph.h"', False),
    ("frontend/io/Npy.cpp", '#include "frontend/io/Message.h"', True),
    ("frontend/io/Npy.cpp", '#include <zlib.h>', True),
    ("examples/mnist.cpp", '#include <weft/weft.hpp>', True),
    ("examples/mnist.cpp", '#include "common/digits.h"', True),
    ("examples/common/digits.cpp", '#include <weft/data.hpp>', True),
    ("examples/mnist.cpp", '#include "frontend/compiler/Session.h"', False),
    ("bench/bench.cpp", '#include "passes/Pipeline.h"', False),
    ("somewhere/File.cpp", '#include "weft/dtype.hpp"', False),
]


def room_cycle(rules, files):
    """Rooms of the frontend that may include headers of each other, in order, or None: arrows go one way only."""
    names = [folder for folder in rules if folder.startswith("frontend/")]
    below = {folder: [other for other in names if other != folder and
                      any(re.fullmatch(pattern, path) for pattern in rules[folder]
                          for path in files if folder_of(path) == other)] for folder in names}
    done = set()

    def walk(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        if folder in done:
            return None
        for other in below[folder]:
            if found := walk(other, way + [folder]):
                return found
        done.add(folder)
        return None

    return next((found for folder in names if (found := walk(folder, []))), None)


def main():
    checks = Checks()
    for path, line, right in SELF_TEST:
        [(_, quoted, name)] = includes(line)
        found = wrong(path, quoted, name, set())
        checks.check((found is None) == right,
                     f"self-test: '{line}' in {path} was {'refused' if found else 'accepted'}")
    above = RULES | {"frontend/graph": [rooms("graph", "lazy")]}
    checks.check(room_cycle(above, ["frontend/graph/Slot.h", "frontend/lazy/Lazy.h"]) is not None,
                 "self-test: rooms that may include each other were accepted")
    files = cxx_files()
    cycle = room_cycle(RULES, files)
    checks.check(cycle is None, f"RULES let rooms include each other: {' -> '.join(cycle or [])}")
    known = set(files)
    for path in files:
        found = [f"{path}:{line}: includes '{name}': {reason}" for line, quoted, name in includes(read(path) or "")
                 if (reason := wrong(path, quoted, name, known))]
        checks.check(not found, "\n        ".join(found))
    checks.finish()


if __name__ == "__main__":
    main()
