"""What each row must reach, and whether it did.

A bar is (text, value, limit): the row passes where value(row) <= limit. `row` is a view on one row's figures; a
value is None where what it compares with was not measured.
"""


class View:
    """Medians of one row in milliseconds, by column."""

    def __init__(self, medians, figures):
        self.medians, self.figures = medians, figures

    def __getattr__(self, name):
        return self.medians.get({"torch": "torch eager", "compiled": "torch.compile"}.get(name, name))


def over(row, *names):
    """Ours over the best of these that were measured."""
    there = [value for name in names if (value := getattr(row, name)) is not None]
    return row.weft / min(there) if there and row.weft is not None else None


HAND_95 = ("hand loop's speed >= 0.95", lambda row: over(row, "hand"), 1 / 0.95)
HAND_85 = ("hand loop's speed >= 0.85", lambda row: over(row, "hand"), 1 / 0.85)
HAND_90 = ("hand loop's speed >= 0.9", lambda row: over(row, "hand"), 1 / 0.9)
HAND_80 = ("hand loop's speed >= 0.8", lambda row: over(row, "hand"), 1 / 0.8)
FASTER_THAN_DRJIT = ("<= 1 of drjit", lambda row: over(row, "drjit"), 1.0)
HALF_OF_COMPILERS = ("<= 0.5 of best(torch.compile, jax)", lambda row: over(row, "compiled", "jax"), 0.5)
HALF_OF_F32 = ("f32's GFLOP/s >= 0.5", lambda row: over(row, "f32"), 1 / 0.5)
QUARTER_OF_F32 = ("f32's GFLOP/s >= 0.25", lambda row: over(row, "f32"), 1 / 0.25)
NO_SLOWER_THAN_TORCH = ("<= 1 of torch", lambda row: over(row, "torch"), 1.0)
NO_SLOWER_THAN_JAX = ("<= 1 of jax", lambda row: over(row, "jax"), 1.0)


def plain(name):
    return lambda row: row.figures.get(name)


def of_best(limit):
    """Ours over the fastest of three peers."""
    return (f"<= {limit} of best(torch, torch.compile, jax)", lambda row: over(row, "torch", "compiled", "jax"), limit)


def first_call(limit):
    return (f"first call <= {limit} s", plain("first_s"), limit)


BARS = {
    "mul_add": [HAND_95, FASTER_THAN_DRJIT],
    "gelu_sigmoid": [("<= 0.8 of drjit", lambda row: over(row, "drjit"), 0.8)],
    "bias_relu": [HAND_95, FASTER_THAN_DRJIT],
    "transpose_add": [HAND_80],
    "softmax": [HAND_90, HALF_OF_COMPILERS],
    "layer_norm": [HAND_90, HALF_OF_COMPILERS],
    "residual_norm_gelu": [HAND_90, HALF_OF_COMPILERS],
    "column_sum": [HAND_95, NO_SLOWER_THAN_JAX],
    "full_sum": [HAND_95, NO_SLOWER_THAN_JAX],
    "softmax_middle": [HAND_85],
    "norm_middle": [HAND_85],
    "mean_middle": [HAND_85],
    "var_middle": [HAND_85],
    "one_row": [of_best(0.9)],
    "mlp_step": [of_best(0.75)],
    "deep_step": [of_best(0.75)],
    "lstm_step": [of_best(0.5)],
    "lstm_layers_step": [of_best(0.8)],
    "gpt_step": [of_best(0.65)],
    "gpt_long_step": [of_best(0.65)],
    "gpt_token": [("<= 0.3 of torch", lambda row: over(row, "torch"), 0.3)],
    "resnet_step": [of_best(0.6)],
    "resnet_fast_step": [of_best(0.6)],
    "adam_300": [first_call(0.3)],
    "adam_3000": [first_call(1)],
    "loader_step": [("<= 1.5 of the step without a loader", lambda row: over(row, "plain"), 1.5)],
    "alternating": [("<= 1.1 of the sum of its parts", lambda row: over(row, "parts"), 1.1)],
    "small_call": [("<= 1 us", lambda row: row.weft * 1e3 if row.weft is not None else None, 1.0)],
    "product_i32": [HALF_OF_F32],
    "product_bf16": [HALF_OF_F32],
    "product_f16": [HALF_OF_F32],
    "product_f64": [QUARTER_OF_F32],
    **{f"conv_{kind}{back}": [NO_SLOWER_THAN_TORCH] for back in ("", "_gradients")
       for kind in ("3x3", "3x3_deep", "1x1", "7x7", "depthwise")},
    **{row: [HAND_85] for row in ("batch_norm", "max_pool", "bilinear")},
    **{row: [NO_SLOWER_THAN_TORCH] for row in ("sort", "topk", "topk_1000", "solve_batch", "svd_batch")},
    **{row: [NO_SLOWER_THAN_TORCH] for row in ("fft", "fft_long", "fft_one", "fft_prime", "fft2", "rfft")},
    # One matrix is computed by one thread here, and by all in PyTorch.
    **{row: [("<= 1.2 of torch", lambda row: over(row, "torch"), 1.2)]
       for row in ("cholesky", "linalg_solve", "qr", "eigh", "svd")},
    "cold_compile": [("<= 500 ms", lambda row: row.weft, 500.0)],
    "disk_compile": [("<= 50 ms", lambda row: row.weft, 50.0)],
    "gpt_compile": [("<= 800 ms", lambda row: row.weft, 800.0), ("passes <= 150 ms", plain("pass_ms"), 150.0)],
    "lstm_compile": [("<= 500 ms", lambda row: row.weft, 500.0)],
    "resnet_compile": [("<= 2,000 ms", lambda row: row.weft, 2000.0)],
    "runtime_size": [("<= 10 MB", plain("megabytes"), 10.0)],
}


def judge(name, medians, figures):
    """[(text, value, limit, passed)]; passed is None where the comparison is missing."""
    row = View(medians, figures)
    verdicts = []
    for text, value, limit in BARS.get(name, []):
        found = value(row)
        verdicts.append((text, found, limit, None if found is None else found <= limit))
    return verdicts
