"""What the peers share: sizes, inputs, and how a call is timed, which is as in Timing.h."""

import statistics
import time

SAMPLES = 7
N = 1 << 24  # elements of the large vectors
SIDE = 4096
ROWS_2D, COLUMNS_2D = 8192, 1024
PAIRS = 8  # of `alternating`
PRODUCT = 512
MIDDLE = (64, 197, 768)
STEPS = ("mlp_step", "deep_step", "lstm_step", "lstm_layers_step", "gpt_step", "gpt_long_step", "resnet_step",
         "resnet_fast_step")


def measure(call, wait, samples=SAMPLES, block_seconds=0.03, warm_calls=2):
    """Milliseconds a call, by `samples` blocks of calls, each block about `block_seconds` long. As in Timing.h, a
    block's number is the median of its calls, or the mean where they take less than a millisecond."""
    for _ in range(warm_calls):
        call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = max(time.perf_counter() - start, 1e-7)
    calls = max(1, min(20000, int(block_seconds / once)))
    times = []
    for _ in range(samples):
        single = []
        start = last = time.perf_counter()
        for _ in range(calls):
            call()
            if once >= 1e-3:
                wait()
                now = time.perf_counter()
                single.append(now - last)
                last = now
        wait()
        mean = (time.perf_counter() - start) / calls
        times.append((statistics.median(single) if single else mean) * 1e3)
    return {"ms": statistics.median(times), "min_ms": min(times), "samples_ms": times}


# Channels, extent, outputs, window, stride, padding, groups of the convolutions of ConvolutionRows.cpp; batch 32.
CONVOLUTIONS = {"3x3": (64, 32, 64, 3, 1, 1, 1), "3x3_deep": (256, 8, 256, 3, 1, 1, 1), "1x1": (64, 32, 64, 1, 1, 0, 1),
                "7x7": (3, 32, 64, 7, 2, 3, 1), "depthwise": (64, 32, 64, 3, 1, 1, 64)}


def data(shape, seed):
    """The inputs of all peers: normal numbers from a fixed seed."""
    import numpy
    return numpy.random.default_rng(seed).standard_normal(shape, dtype=numpy.float32)


def whole_numbers(seed):
    """For products: from -3 to 3, which every dtype has."""
    import numpy
    return numpy.random.default_rng(seed).integers(-3, 4, (PRODUCT, PRODUCT)).astype(numpy.float32)


def whole(shape, limit, seed, dtype="int64"):
    """Numbers below `limit`: bytes of images, labels, words."""
    import numpy
    return numpy.random.default_rng(seed).integers(0, limit, shape, dtype=dtype)


def step_inputs(row):
    """One batch of a training step, with the shapes of Steps.cpp."""
    if row == "mlp_step":
        return whole((128, 28, 28), 256, 7, "uint8"), whole((128,), 10, 8)
    if row == "deep_step":
        return data((32, 64), 1), data((32, 64), 2)
    if row == "lstm_step":
        return data((32, 20, 64), 1), whole((32,), 10, 2)
    if row == "lstm_layers_step":
        return data((32, 64, 256), 1), whole((32,), 10, 2)
    if row in ("resnet_step", "resnet_fast_step"):
        return data((32, 3, 32, 32), 1), whole((32,), 10, 2)
    tokens = (4, 512) if row == "gpt_long_step" else (16, 128)
    return whole(tokens, 65, 1), whole(tokens, 65, 2)
