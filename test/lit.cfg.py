# Runs the .mlir and .test files under test/ with lit and FileCheck.
import os

import lit.formats

config.name = "weft"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# The programs in cudasim are for its own tools.
config.excludes = ["Inputs", "unit", "fuzz", "cudasim"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.weft_build_test_dir

# The tools are found by name: those of this build first, then FileCheck, not and split-file of LLVM.
config.environment["PATH"] = os.pathsep.join(
    [config.weft_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "HOME", "LD_LIBRARY_PATH", "WEFT_CPU_QUEUE", "WEFT_CUDA_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%weft_source", config.weft_source_dir))
config.substitutions.append(("%python", config.python))
for library in ("driver", "cublaslt"):
    config.substitutions.append((f"%fake_{library}", os.path.join(config.weft_build_test_dir, "fakes", library)))
if config.weft_cuda:
    config.substitutions.append(("%software_driver", os.path.join(config.weft_build_test_dir, "..", "cudasim", "driver")))
# Where programs run that a tool is not told a device for.
device = os.environ.get("WEFT_TEST_DEVICE", "cpu")
if device != "cpu":
    lit_config.fatal(f"the suite runs on the device 'cpu', found WEFT_TEST_DEVICE={device}: tests that need "
                     "another one name it")
config.environment["WEFT_DEVICE"] = device
if os.environ.get("WEFT_TEST_LEVEL") == "quick":
    config.available_features.add("quick")
if config.weft_cuda:
    config.available_features.add("nvrtc")
if config.weft_sanitize:
    config.available_features.add("sanitizer")
