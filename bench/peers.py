#!/usr/bin/env python3
"""The rows of the benchmark in PyTorch, JAX and Dr.Jit.

    python3 bench/peers.py                      every row of every peer that can be imported, as JSON
    python3 bench/peers.py --rows 'softmax|sum' some rows
    python3 bench/peers.py --list               which peers there are

`scripts/bench` starts one process a peer (--serve) and asks for one row at a time, so that peers and Weft take
turns; --first-step runs the training step in a fresh process and reports its first call.
"""

import argparse
import glob
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROWS = ["copy", "mul_add", "gelu_sigmoid", "bias_relu", "transpose_add", "softmax", "layer_norm",
        "residual_norm_gelu", "column_sum", "full_sum", "mlp_step", "small_call", "alternating", "product_i32",
        "product_bf16", "product_f16", "product_f64"]
PEERS = ["torch", "jax", "drjit"]
SAMPLES = 7
N = 1 << 24  # elements of the large vectors
SIDE = 4096
ROWS_2D, COLUMNS_2D = 8192, 1024
PAIRS = 8  # of `alternating`
PRODUCT = 512


# ---------------------------------------------------------------------------------------------------------------
# Timing
# ---------------------------------------------------------------------------------------------------------------

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


def data(shape, seed):
    """The inputs of all peers: normal numbers from a fixed seed."""
    import numpy
    return numpy.random.default_rng(seed).standard_normal(shape, dtype=numpy.float32)


def whole_numbers(seed):
    """For products: from -3 to 3, which every dtype has."""
    import numpy
    return numpy.random.default_rng(seed).integers(-3, 4, (PRODUCT, PRODUCT)).astype(numpy.float32)


def mlp_inputs():
    import numpy
    generator = numpy.random.default_rng(7)
    images = generator.integers(0, 256, (128, 28, 28), dtype=numpy.uint8)
    labels = generator.integers(0, 10, (128,), dtype=numpy.int64)
    return images, labels


# ---------------------------------------------------------------------------------------------------------------
# PyTorch
# ---------------------------------------------------------------------------------------------------------------

class Torch:
    def __init__(self, threads, compiled=True):
        import torch
        self.torch = torch
        torch.set_num_threads(threads)
        self.version = torch.__version__
        self.columns = ["torch eager"] + (["torch.compile"] if compiled else [])

    def tensor(self, shape, seed):
        return self.torch.from_numpy(data(shape, seed))

    def functions(self, row):
        torch, functional = self.torch, self.torch.nn.functional
        if row == "copy":
            source, target = self.tensor((N,), 0), torch.zeros(N)
            return (lambda: target.copy_(source)), ()
        if row == "mul_add":
            return (lambda x, y: x * 2 + y * y - x), (self.tensor((N,), 0), self.tensor((N,), 1))
        if row == "gelu_sigmoid":
            return (lambda x, y, z: functional.gelu(x * y + z, approximate="tanh") * torch.sigmoid(z),
                    tuple(self.tensor((N,), i) for i in range(3)))
        if row == "bias_relu":
            return (lambda x, r, c: torch.relu((x + r) * c),
                    (self.tensor((SIDE, SIDE), 0), self.tensor((SIDE,), 1), self.tensor((SIDE, 1), 2)))
        if row == "transpose_add":
            return (lambda x, y: x.T + y), (self.tensor((SIDE, SIDE), 0), self.tensor((SIDE, SIDE), 1))
        if row == "softmax":
            return (lambda x: torch.softmax(x, 1)), (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        if row == "layer_norm":
            return ((lambda x, w, b: functional.layer_norm(x, (COLUMNS_2D,), w, b)),
                    (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((COLUMNS_2D,), 1), self.tensor((COLUMNS_2D,), 2)))
        if row == "residual_norm_gelu":
            return ((lambda x, r, w, b: functional.gelu(functional.layer_norm(x + r, (COLUMNS_2D,), w, b), approximate="tanh")),
                    (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((ROWS_2D, COLUMNS_2D), 1),
                     self.tensor((COLUMNS_2D,), 2), self.tensor((COLUMNS_2D,), 3)))
        if row.startswith("product_"):
            dtype = {"i32": torch.int32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}[row[8:]]
            return (lambda x, y: x @ y), tuple(torch.from_numpy(whole_numbers(i)).to(dtype) for i in range(2))
        if row == "column_sum":
            return (lambda x: (x * x).sum(0)), (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        if row == "full_sum":
            return (lambda x: (x * x).sum()), (self.tensor((N,), 0),)
        if row == "small_call":
            return (lambda x, y: x * 2 + y * y - x), (self.tensor((8,), 0), self.tensor((8,), 1))
        if row == "alternating":
            def alternating(x, w):
                h = x
                for _ in range(PAIRS):
                    z = h @ w
                    h = torch.tanh(z) * torch.sigmoid(z) + x
                return h
            return alternating, (self.tensor((2048, 128), 0), self.tensor((128, 128), 1) * 0.1)
        return None

    def step(self, compiled):
        torch = self.torch
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256),
                                    torch.nn.ReLU(), torch.nn.Linear(256, 10))
        # fused=True is PyTorch's fastest Adam on a CPU; a compiled step fuses the plain one by itself.
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=None if compiled else True)

        def step(images, labels):
            logits = model(images.flatten(1).float() / 255)
            loss = torch.nn.functional.cross_entropy(logits, labels)
            loss.backward()
            adam.step()
            adam.zero_grad()
            return loss.detach()

        images, labels = (torch.from_numpy(a) for a in mlp_inputs())
        run = torch.compile(step) if compiled else step
        return lambda: run(images, labels)

    def run(self, row):
        torch = self.torch
        wait = lambda: None
        if row == "mlp_step":
            return {column: measure(self.step(column == "torch.compile"), wait, warm_calls=6) for column in self.columns}
        made = self.functions(row)
        if made is None:
            return {}
        function, arguments = made
        results = {}
        with torch.no_grad():
            results["torch eager"] = measure(lambda: function(*arguments), wait)
            if "torch.compile" in self.columns and row != "copy":
                torch._dynamo.reset()
                compiled = torch.compile(function)
                results["torch.compile"] = measure(lambda: compiled(*arguments), wait)
        return results


# ---------------------------------------------------------------------------------------------------------------
# JAX
# ---------------------------------------------------------------------------------------------------------------

class Jax:
    columns = ["jax"]

    def __init__(self, threads):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        self.jax = jax
        self.version = jax.__version__

    def array(self, shape, seed):
        return self.jax.device_put(data(shape, seed))

    def functions(self, row):
        jax = self.jax
        np = jax.numpy
        if row == "mul_add":
            return (lambda x, y: x * 2 + y * y - x), (self.array((N,), 0), self.array((N,), 1))
        if row == "gelu_sigmoid":
            return (lambda x, y, z: jax.nn.gelu(x * y + z, approximate=True) * jax.nn.sigmoid(z),
                    tuple(self.array((N,), i) for i in range(3)))
        if row == "bias_relu":
            return (lambda x, r, c: jax.nn.relu((x + r) * c),
                    (self.array((SIDE, SIDE), 0), self.array((SIDE,), 1), self.array((SIDE, 1), 2)))
        if row == "transpose_add":
            return (lambda x, y: x.T + y), (self.array((SIDE, SIDE), 0), self.array((SIDE, SIDE), 1))
        if row == "softmax":
            return (lambda x: jax.nn.softmax(x, axis=1)), (self.array((ROWS_2D, COLUMNS_2D), 0),)
        def layer_norm(x, w, b):
            return jax.nn.standardize(x, axis=1, epsilon=1e-5) * w + b

        if row == "layer_norm":
            return layer_norm, (self.array((ROWS_2D, COLUMNS_2D), 0), self.array((COLUMNS_2D,), 1), self.array((COLUMNS_2D,), 2))
        if row == "residual_norm_gelu":
            return ((lambda x, r, w, b: jax.nn.gelu(layer_norm(x + r, w, b), approximate=True)),
                    (self.array((ROWS_2D, COLUMNS_2D), 0), self.array((ROWS_2D, COLUMNS_2D), 1),
                     self.array((COLUMNS_2D,), 2), self.array((COLUMNS_2D,), 3)))
        if row.startswith("product_") and row != "product_f64":  # which JAX has not without a switch for the process
            dtype = {"i32": np.int32, "bf16": np.bfloat16, "f16": np.float16}[row[8:]]
            return (lambda x, y: x @ y), tuple(jax.device_put(whole_numbers(i)).astype(dtype) for i in range(2))
        if row == "column_sum":
            return (lambda x: (x * x).sum(0)), (self.array((ROWS_2D, COLUMNS_2D), 0),)
        if row == "full_sum":
            return (lambda x: (x * x).sum()), (self.array((N,), 0),)
        if row == "small_call":
            return (lambda x, y: x * 2 + y * y - x), (self.array((8,), 0), self.array((8,), 1))
        if row == "alternating":
            def alternating(x, w):
                h = x
                for _ in range(PAIRS):
                    z = h @ w
                    h = np.tanh(z) * jax.nn.sigmoid(z) + x
                return h
            return alternating, (self.array((2048, 128), 0), self.array((128, 128), 1) * 0.1)
        return None

    def step(self):
        jax = self.jax
        np = jax.numpy
        sizes = [(784, 512), (512, 256), (256, 10)]
        params = []
        for i, (fan_in, fan_out) in enumerate(sizes):
            bound = fan_in ** -0.5
            key_w, key_b = jax.random.split(jax.random.PRNGKey(i))
            params.append((jax.random.uniform(key_w, (fan_out, fan_in), minval=-bound, maxval=bound),
                           jax.random.uniform(key_b, (fan_out,), minval=-bound, maxval=bound)))
        zeros = jax.tree_util.tree_map(np.zeros_like, params)
        state = (params, zeros, jax.tree_util.tree_map(np.zeros_like, params), np.zeros((), np.int32))

        def loss_of(params, images, labels):
            h = images.reshape(images.shape[0], -1).astype(np.float32) / 255
            for i, (weight, bias) in enumerate(params):
                h = h @ weight.T + bias
                if i + 1 < len(params):
                    h = jax.nn.relu(h)
            return -np.take_along_axis(jax.nn.log_softmax(h), labels[:, None], axis=1).mean()

        def step(state, images, labels):
            params, m, v, count = state
            loss, grads = jax.value_and_grad(loss_of)(params, images, labels)
            count = count + 1
            tree_map = jax.tree_util.tree_map
            m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
            v = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
            a = 1e-3 / (1 - 0.9 ** count.astype(np.float32))
            b = 1 - 0.999 ** count.astype(np.float32)
            params = tree_map(lambda p, m, v: p - a * m / (np.sqrt(v / b) + 1e-8), params, m, v)
            return (params, m, v, count), loss

        run = jax.jit(step, donate_argnums=0)
        images, labels = (jax.device_put(a) for a in mlp_inputs())
        box = [state]

        def call():
            box[0], loss = run(box[0], images, labels)
            box.append(loss)
            del box[1:-1]
            return loss

        return call, lambda: jax.block_until_ready(box)

    def run(self, row):
        if row == "mlp_step":
            call, wait = self.step()

            def waited():
                call()
                wait()
            return {"jax": measure(waited, lambda: None, warm_calls=4)}
        made = self.functions(row)
        if made is None:
            return {}
        function, arguments = made
        compiled = self.jax.jit(function)
        if row == "small_call":  # calls follow each other; only the last is waited for
            last = [None]

            def call():
                last[0] = compiled(*arguments)
            return {"jax": measure(call, lambda: last[0].block_until_ready())}
        return {"jax": measure(lambda: compiled(*arguments).block_until_ready(), lambda: None)}


# ---------------------------------------------------------------------------------------------------------------
# Dr.Jit
# ---------------------------------------------------------------------------------------------------------------

class DrJit:
    columns = ["drjit"]

    def __init__(self, threads):
        if "DRJIT_LIBLLVM_PATH" not in os.environ:
            # The newest of the LLVM libraries that the system has.
            found = glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*") + glob.glob("/usr/lib/*-linux-gnu/libLLVM*.so*")
            number = lambda path: max([int(n) for n in re.findall(r"\d+", path.split("x86_64")[-1])] or [0])
            if found:
                os.environ["DRJIT_LIBLLVM_PATH"] = max(found, key=number)
        import drjit
        import drjit.llvm
        self.dr, self.llvm = drjit, drjit.llvm
        drjit.set_thread_count(threads)
        self.version = drjit.__version__
        drjit.eval(drjit.llvm.Float([1, 2]) + 1)  # fails here where there is no LLVM

    def vector(self, seed, n=N):
        return self.llvm.Float(data((n,), seed))

    def tensor(self, shape, seed):
        return self.llvm.TensorXf(data(shape, seed))

    def functions(self, row):
        dr = self.dr
        sigmoid = lambda z: 1 / (1 + dr.exp(-z))
        if row == "mul_add":
            return (lambda x, y: x * 2 + y * y - x), (self.vector(0), self.vector(1))
        if row == "gelu_sigmoid":
            def chain(x, y, z):
                v = x * y + z
                inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
                return 0.5 * v * (1 + dr.tanh(inner)) * sigmoid(z)
            return chain, (self.vector(0), self.vector(1), self.vector(2))
        if row == "bias_relu":
            return (lambda x, r, c: dr.maximum((x + r) * c, 0),
                    (self.tensor((SIDE, SIDE), 0), self.tensor((1, SIDE), 1), self.tensor((SIDE, 1), 2)))
        if row == "softmax":
            def softmax(x):
                e = dr.exp(x - dr.max(x, axis=1, mode="evaluated")[:, None])
                return e / dr.sum(e, axis=1, mode="evaluated")[:, None]
            return softmax, (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        def layer_norm(x, w, b):
            centred = x - dr.mean(x, axis=1, mode="evaluated")[:, None]
            variance = dr.mean(centred * centred, axis=1, mode="evaluated")
            return centred * dr.rsqrt(variance + 1e-5)[:, None] * w + b

        if row == "layer_norm":
            return layer_norm, (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((1, COLUMNS_2D), 1), self.tensor((1, COLUMNS_2D), 2))
        if row == "residual_norm_gelu":
            def residual_norm_gelu(x, r, w, b):
                v = layer_norm(x + r, w, b)
                return 0.5 * v * (1 + dr.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))
            return residual_norm_gelu, (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((ROWS_2D, COLUMNS_2D), 1),
                                        self.tensor((1, COLUMNS_2D), 2), self.tensor((1, COLUMNS_2D), 3))
        if row == "column_sum":
            return (lambda x: dr.sum(x * x, axis=0)), (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        if row == "full_sum":
            return (lambda x: dr.sum(x * x)), (self.vector(0),)
        if row == "small_call":
            return dr.freeze(lambda x, y: x * 2 + y * y - x), (self.vector(0, 8), self.vector(1, 8))
        return None

    def run(self, row):
        made = self.functions(row)
        if made is None:
            return {}
        function, arguments = made
        dr = self.dr
        dr.eval(*arguments)

        def call():
            dr.eval(function(*arguments))
            if row != "small_call":
                dr.sync_thread()
        return {"drjit": measure(call, dr.sync_thread)}


# ---------------------------------------------------------------------------------------------------------------
# Processes
# ---------------------------------------------------------------------------------------------------------------

def limit_threads(threads):
    """Before any library starts its own: every peer gets the same processors and thread count."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > threads:
        os.sched_setaffinity(0, cpus[:threads])


def make(peer, threads, compiled):
    if peer == "torch":
        return Torch(threads, compiled)
    return Jax(threads) if peer == "jax" else DrJit(threads)


def own_stdout():
    """The real stdout for our lines alone; what libraries print goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return out


def describe(error):
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"[:300]


def serve(peer, threads, compiled):
    out = own_stdout()

    def say(message):
        print(json.dumps(message), file=out, flush=True)

    try:
        framework = make(peer, threads, compiled)
    except Exception as error:  # a peer that cannot start is reported, not fatal
        say({"peer": peer, "error": describe(error)})
        return 1
    say({"peer": peer, "version": framework.version, "columns": framework.columns})
    for line in sys.stdin:
        row = line.strip()
        if not row:
            continue
        try:
            say({"row": row, "results": framework.run(row)})
        except Exception as error:
            say({"row": row, "results": {}, "error": describe(error)})
    return 0


def first_step(column, threads):
    """The first call of the training step in this process, which is fresh; imports are not counted."""
    out = own_stdout()
    wait = lambda: None
    if column == "jax":
        framework = Jax(threads)
        framework.jax.block_until_ready(framework.jax.numpy.zeros(1) + 1)
        call, wait = framework.step()
    else:
        framework = Torch(threads)
        call = framework.step(column == "torch.compile")
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"column": column, "first_ms": times[0], "third_ms": times[2]}), file=out, flush=True)
    return 0


def everything(rows, threads, compiled):
    report = {"threads": threads, "peers": {}, "rows": {}}
    for peer in PEERS:
        if importlib.util.find_spec(peer) is None:
            report["peers"][peer] = "missing"
            print(f"{peer}: missing", file=sys.stderr)
            continue
        command = [sys.executable, os.path.abspath(__file__), "--serve", peer, "--threads", str(threads)]
        command += [] if compiled else ["--no-torch-compile"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        hello = json.loads(child.stdout.readline() or '{"error": "ended at once"}')
        report["peers"][peer] = hello.get("version", hello.get("error"))
        for row in rows if "version" in hello else []:
            print(f"{peer}: {row}", file=sys.stderr, flush=True)
            child.stdin.write(row + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline() or '{"results": {}, "error": "the process ended"}')
            report["rows"].setdefault(row, {}).update(answer["results"])
            if "error" in answer:
                report["rows"][row][peer + " error"] = answer["error"]
        child.stdin.close()
        child.wait()
    print(json.dumps(report, indent=1))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", metavar="REGEX", help="only the rows whose names match")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-torch-compile", action="store_true", help="leave out torch.compile, which compiles for minutes")
    parser.add_argument("--list", action="store_true", help="print which peers can be imported")
    parser.add_argument("--serve", choices=PEERS, help="read row names on stdin, answer each with a line of JSON")
    parser.add_argument("--first-step", choices=["torch eager", "torch.compile", "jax"], help="time the first call of the training step")
    options = parser.parse_args()
    limit_threads(options.threads)
    if options.list:
        print(json.dumps({peer: importlib.util.find_spec(peer) is not None for peer in PEERS}))
        return 0
    if options.serve:
        return serve(options.serve, options.threads, not options.no_torch_compile)
    if options.first_step:
        return first_step(options.first_step, options.threads)
    rows = [row for row in ROWS if re.search(options.rows, row)]
    return everything(rows, options.threads, not options.no_torch_compile)


if __name__ == "__main__":
    sys.exit(main())
