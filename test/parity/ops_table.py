"""The OpInfos of PyTorch with the functions of Weft that they test, and how arguments are converted.

An entry has the parameters of PyTorch's function in order, and those of Weft's function in its order. If Weft's function lacks a
parameter, the sample must have its default; otherwise the sample is skipped, with the parameter as the reason.
"""

import torch


class Skip(Exception):
    """A sample that Weft has no form for; the text is the reason that is counted."""


class Entry:
    def __init__(self, op, torch_parameters="input", weft_parameters=None, name=None, variant="", function=None,
                 without=(), gradient=True, more_results=False, change=None, samples=None):
        self.op, self.variant = op, variant
        self.name = name or op.split(".")[-1]
        self.torch_parameters = torch_parameters.split()
        self.weft_parameters = (weft_parameters if weft_parameters is not None else torch_parameters).split()
        self.without, self.gradient, self.more_results, self.change = without, gradient, more_results, change
        self.samples = samples  # the most of a dtype; None: as many as of any other
        self._function = function

    @property
    def function(self):
        if self._function:
            return self._function
        target = torch
        for part in self.op.split("."):
            target = getattr(target, part)
        return target

    def bind(self, sample):
        values = [sample.input, *sample.args]
        names = self.torch_parameters
        if names and names[-1].startswith("*"):  # the rest is a list
            fixed = len(names) - 1
            bound = dict(zip(names[:-1], values))
            rest = values[fixed:]
            bound[names[-1][1:]] = rest[0] if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest
        elif len(values) > len(names):
            raise Skip("more arguments than the function of Weft takes")
        else:
            bound = dict(zip(names, values))
        bound.update(sample.kwargs)
        return bound

    def adapt(self, sample):
        bound = self.bind(sample)
        if self.change:
            bound = self.change(dict(bound))
        for key, value in bound.items():
            if key not in self.weft_parameters and value is not None and value is not False:
                raise Skip(f"{self.op} with {key}=")
        arguments = [bound.get(key) for key in self.weft_parameters]
        for value in arguments:
            if isinstance(value, complex):
                raise Skip("complex numbers")
        while arguments and arguments[-1] is None:
            arguments.pop()
        return arguments


def entries(names, *arguments, **keywords):
    return [Entry(name, *arguments, **keywords) for name in names.split()]


def need(*keys):
    """Samples that leave one of these parameters out are skipped."""
    def change(bound):
        for key in keys:
            if bound.get(key) is None:
                raise Skip(f"no {key}=")
        return bound
    return change


def without_dropout(bound):
    """A probability of 0 is what Weft has; another is skipped by its name."""
    if bound.get("dropout_p") == 0:
        del bound["dropout_p"]
    return bound


def method(name):
    return lambda tensor, *arguments, **keywords: getattr(tensor, name)(*arguments, **keywords)


CASTS = {"bool": torch.bool, "char": torch.int8, "short": torch.int16, "int": torch.int32, "long": torch.int64,
         "byte": torch.uint8, "half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32,
         "double": torch.float64}


def cast_to(dtype):
    def change(bound):
        return {"input": bound["input"], "dtype": dtype}
    return change


def correction(bound):
    """`unbiased` is another word for a correction of 1."""
    unbiased = bound.pop("unbiased", None)
    if isinstance(bound.get("dim"), bool):  # var(unbiased), by position
        unbiased = bound.pop("dim")
    if unbiased is not None:
        bound["correction"] = int(unbiased)
    return bound


def constant_mode(bound):
    bound.pop("mode", None)  # of the variant "constant"
    return bound


def whole(*keys):
    """Samples with a tensor for one of these numbers are skipped."""
    def change(bound):
        for key in keys:
            if isinstance(bound.get(key), torch.Tensor):
                raise Skip(f"a tensor for {key}=")
        return bound
    return change


def number(key):
    """A bool for a number."""
    def change(bound):
        if isinstance(bound.get(key), bool):
            bound[key] = int(bound[key])
        return bound
    return change


def source(bound):
    """scatter has two names for it."""
    if "value" in bound:
        bound["src"] = bound.pop("value")
    return bound


def no_mask(bound):
    if any(index.dtype == torch.bool for index in bound["indices"]):
        raise Skip("a mask as an index, whose count is known when it runs only")
    return bound


def einsum(operands, equation):
    return torch.einsum(equation, *operands)


def joined(bound):
    """An equation is one word of the protocol."""
    bound["equation"] = bound["equation"].replace(" ", "")
    return bound


def creation(bound):
    """On the CPU without gradients, as everything here."""
    for key in ("device", "layout", "requires_grad"):
        bound.pop(key, None)
    if "fill_value" in bound:
        bound["fill_value"] = float(bound["fill_value"])
    return bound


def span(bound):
    """arange(end) begins at 0."""
    if bound.get("end") is None:
        bound["start"], bound["end"] = 0, bound.get("start")
    if bound.get("step") is None:
        bound["step"] = 1
    return creation(bound)


def no_dtype(bound):
    if bound.get("dtype") is not None:
        raise Skip("a result of another dtype")
    return bound


def frobenius(bound):
    """`norm` has words for two of its norms."""
    if bound.get("p") == "fro":
        bound["p"] = 2
    return no_dtype(bound)


def sections(bound):
    """A tensor may hold the indices, or their number."""
    where = bound.get("where")
    if isinstance(where, torch.Tensor):
        bound["where"] = where.tolist()
    return bound


def drawn(function):
    """Draws are compared by shape and dtype."""
    return lambda *arguments, **keywords: torch.zeros_like(function(*arguments, **keywords))


def in_place(name):
    return drawn(lambda tensor, *arguments, **keywords: getattr(tensor.clone(), name)(*arguments, **keywords))


def not_drawn(bound):
    """A dropout that draws is another one here."""
    p, training = bound.get("p", 0.5), bound.get("training", True)
    if training and p not in (0, 1):
        raise Skip("draws")
    return bound


def in_evaluation(input, lower=1 / 8, upper=1 / 3, training=False):
    """Slopes that are not drawn."""
    return torch.nn.functional.rrelu(input, lower, upper)


def evaluated(bound):
    bound.pop("training", None)
    return bound


def range_of_integers(bound):
    """randint(high, size) begins at 0."""
    low, high = bound.pop("low"), bound.pop("high")
    if isinstance(high, (list, tuple)):
        bound["size"], low, high = high, 0, low
    bound["low"], bound["high"] = low, high
    return creation(bound)


def grid_modes(bound):
    """The words of grid_sample for numbers."""
    bound["mode"] = ("bilinear", "nearest", "bicubic")[bound["mode"]]
    bound["padding_mode"] = ("zeros", "border", "reflection")[bound["padding_mode"]]
    return bound


def of_window(bound):
    """A window is symmetric or periodic."""
    bound["periodic"] = not bound.pop("sym", True)
    return creation(bound)


def one_by_one(bound):
    """Shapes as arguments; a number is a shape of one."""
    return {name: [shape] if isinstance(shape, int) else list(shape) for name, shape in zip("abcdef", bound["shapes"])}


def extremes(bound):
    if bound.get("range") is not None:
        bound["low"], bound["high"] = (float(bound.pop("range")[i]) for i in range(2))
    if isinstance(bound["bins"], (list, tuple)):
        raise Skip("bins of several dimensions")
    return bound


def one_tensor(bound):
    if not isinstance(bound["input"], torch.Tensor):
        raise Skip("a list for one tensor")
    return bound


def any_way(bound):
    """How PyTorch computes it does not change the values."""
    bound.pop("compute_mode", None)
    return bound


def two_lists(bound):
    """Dimensions are a number, or a list for each operand."""
    if isinstance(bound.get("dims"), (list, tuple)):
        bound["dims"], bound["dims_b"] = bound["dims"]
    return bound


def pairwise(bound):
    """PyTorch's own distance, which is the default."""
    if isinstance(bound.get("distance_function"), torch.nn.PairwiseDistance):
        del bound["distance_function"]
    return bound


LOSS = "size_average reduce reduction"
def sizes_or_same(bound):
    """None is the size of the operand, which is -1 here."""
    sizes = bound["output_size"]
    if isinstance(sizes, (list, tuple)):
        bound["output_size"] = [-1 if size is None else size for size in sizes]
    return bound


def with_channels(bound):
    if bound["input"].dim() < 2:
        raise Skip("batch_norm of an empty vector, which has no channels")
    return bound


def one_side(bound):
    """`side` is a word for `right`, and the dtype of indices is i64."""
    if bound.pop("side", None) == "right":
        bound["right"] = True
    if bound.pop("out_int32", False):
        raise Skip("indices of another dtype")
    return bound


def any_unique(bound):
    """A promise that changes no result."""
    bound.pop("assume_unique", None)
    return bound


def number_of_elements(key):
    """A tolerance may be a 0-dimensional tensor; of others there is no form."""
    def change(bound):
        for name in key.split():
            if isinstance(bound.get(name), torch.Tensor):
                if bound[name].dim():
                    raise Skip(f"a tensor for {name}=")
                bound[name] = bound[name].item()
        if bound.get("tol") is not None:
            raise Skip("a tolerance by its older name")
        return bound
    return change


def last_dims(bound):
    """The last two, and not the first."""
    bound["offset"], bound["dim1"], bound["dim2"] = bound.get("offset", 0), bound.get("dim1", -2), bound.get("dim2", -1)
    return bound


def any_driver(bound):
    """How PyTorch computes it does not change the solution."""
    bound.pop("driver", None)
    return bound


def pivoted(bound):
    if not bound.pop("pivot", True):
        raise Skip("factors without pivots")
    return bound


def unpacked(bound):
    if not (bound.pop("unpack_data", True) and bound.pop("unpack_pivots", True)):
        raise Skip("a part of the results")
    return bound


def magnitudes_of_svd(function, transposed):
    """Signs of singular vectors are any, and so are those beyond the rank."""
    def change(*arguments, **keywords):
        u, s, v = function(*arguments, **keywords)
        k = s.shape[-1]
        return u[..., :k].abs(), s, (v[..., :k, :] if transposed else v[..., :k]).abs()
    return change


def symmetric(matrix):
    return (matrix + matrix.mT) / 2


def pinv(matrix, *arguments, **keywords):
    return torch.linalg.pinv(symmetric(matrix) if keywords.get("hermitian") else matrix, *arguments, **keywords)


def magnitudes_of_eigh(matrix, *arguments, **keywords):
    values, vectors = torch.linalg.eigh(symmetric(matrix), *arguments, **keywords)
    return values, vectors.abs()


FEW = 5  # of a dtype, where each sample compiles large programs of its own

TABLE = [
    *entries("abs ceil cos erf exp expm1 floor isnan log log1p logical_not neg reciprocal rsqrt sigmoid sign sin sqrt "
             "tanh trunc"),
    Entry("round"),
    *entries("acos acosh asin asinh atan atanh bitwise_not cosh exp2 isfinite isinf log10 log2 signbit sinh square tan"),
    *entries("atan2 bitwise_and bitwise_or bitwise_xor copysign floor_divide fmax fmin fmod logical_and logical_or "
             "logical_xor remainder", "input other"),
    Entry("div", "input other rounding_mode", name="div_rounding", variant="floor_rounding"),
    Entry("div", "input other rounding_mode", name="div_rounding", variant="trunc_rounding"),
    *entries("addcmul addcdiv", "input tensor1 tensor2 value"),
    Entry("lerp", "input end weight"),
    Entry("clamp", "input min max"),
    Entry("nan_to_num", "input nan posinf neginf"),
    *entries("nn.functional.hardsigmoid nn.functional.hardswish nn.functional.relu6 nn.functional.silu",
             "input inplace", "input"),
    Entry("nn.functional.softplus", "input beta threshold"),
    Entry("nn.functional.leaky_relu", "input negative_slope inplace", "input negative_slope"),
    *entries("nn.functional.elu nn.functional.celu", "input alpha inplace", "input alpha"),
    Entry("nn.functional.hardtanh", "input min_val max_val inplace", "input min_val max_val"),
    Entry("nn.functional.softshrink", "input lambd"),
    Entry("nn.functional.threshold", "input threshold value inplace", "input threshold value"),
    Entry("nn.functional.relu", "input inplace", "input"),
    Entry("nn.functional.gelu", "input approximate"),
    *entries("add sub", "input other alpha", "input other", change=number("alpha")),
    *entries("mul eq ne lt le gt ge maximum minimum pow", "input other"),
    Entry("div", "input other rounding_mode", "input other", variant="no_rounding_mode"),
    Entry("where", "input condition other", "condition input other", function=lambda x, c, o: torch.where(c, x, o)),
    Entry("reshape", "input shape"),
    Entry("flatten", "input start_dim end_dim"),
    Entry("t"),
    Entry("transpose", "input dim0 dim1"),
    Entry("permute", "input dims"),
    Entry("expand", "input *sizes", "input sizes", function=method("expand")),
    Entry("unsqueeze", "input dim"),
    Entry("squeeze", "input dim"),
    Entry("squeeze", "input dim", variant="multiple"),
    Entry("mT", function=lambda x: x.mT),
    Entry("T", function=lambda x: x.T),
    Entry("movedim", "input source destination"),
    Entry("unflatten", "input dim sizes"),
    Entry("diagonal", "input offset dim1 dim2"),
    *(Entry(name, "input other", function=method(name)) for name in ("expand_as", "view_as", "reshape_as")),
    Entry("select", "input dim index"),
    Entry("gather", "input dim index sparse_grad", "input dim index"),
    Entry("index_select", "input dim index"),
    Entry("take", "input index"),
    Entry("nn.functional.embedding", "weight input padding_idx max_norm norm_type scale_grad_by_freq sparse",
          "weight input padding_idx max_norm norm_type scale_grad_by_freq",
          function=lambda weight, *index, **keywords: torch.nn.functional.embedding(*index, weight, **keywords)),
    Entry("nn.functional.one_hot", "input num_classes", gradient=False),
    Entry("scatter", "input dim index src reduce", "input dim index src", change=source),
    Entry("scatter_add", "input dim index src"),
    *(Entry("scatter_reduce", "input dim index src reduce include_self", variant=kind)
      for kind in ("sum", "mean", "prod", "amax", "amin")),
    Entry("index_add", "input dim index source alpha", change=number("alpha")),
    Entry("index_copy", "input dim index source"),
    Entry("index_put", "input indices values accumulate", change=no_mask),
    Entry("masked_fill", "input mask value"),
    Entry("view", "input *shape", "input shape", function=method("view")),
    *(Entry(name, "input", function=method(name)) for name in ("clone", "contiguous")),
    *entries("cat stack", "tensors dim"),
    Entry("split", "input split_size dim"),
    Entry("split", "input split_sizes dim", name="split_with_sizes", variant="list_args"),
    Entry("split_with_sizes", "input split_sizes dim"),
    Entry("chunk", "input chunks dim"),
    Entry("unbind", "input dim"),
    Entry("narrow", "input dim start length", change=whole("start")),
    *(Entry("meshgrid", "*tensors", "tensors indexing", variant=variant)
      for variant in ("variadic_tensors", "list_of_tensors")),
    Entry("tile", "input dims"),
    Entry("repeat", "input *repeats", "input repeats", function=method("repeat")),
    Entry("repeat_interleave", "input repeats dim output_size", "input repeats dim", change=whole("repeats")),
    Entry("flip", "input *dims", "input dims"),
    Entry("roll", "input shifts dims"),
    Entry("constant_pad_nd", "input pad value", name="pad"),
    Entry("nn.functional.pad", "input pad mode value", "input pad value", variant="constant", change=constant_mode),
    *entries("tril triu", "input diagonal"),
    *entries("zeros_like ones_like", "input dtype", gradient=False, change=creation),
    Entry("full_like", "input fill_value dtype", gradient=False, change=creation),
    Entry("arange", "start end step", "start end step dtype", gradient=False, change=span),
    Entry("linspace", "start end steps", "start end steps dtype", gradient=False, change=creation),
    Entry("eye", "n m", "n m dtype", gradient=False, change=creation),
    *entries("sum mean", "input dim keepdim dtype"),
    *entries("amax amin", "input dim keepdim"),
    Entry("prod", "input dim keepdim dtype"),
    *entries("any all", "input dim keepdim", gradient=False),
    *entries("argmax argmin", "input dim keepdim", gradient=False),
    *(Entry(name, "input dim keepdim", "input", variant="reduction_no_dim") for name in ("max", "min")),
    *(Entry(name, "input dim keepdim", name=name + "_dim", variant="reduction_with_dim") for name in ("max", "min")),
    *entries("var std var_mean", "input dim unbiased correction keepdim", "input dim correction keepdim",
             change=correction),
    Entry("linalg.vector_norm", "input ord dim keepdim dtype", "input ord dim keepdim"),
    Entry("logsumexp", "input dim keepdim"),
    Entry("count_nonzero", "input dim", gradient=False),
    *entries("cumsum cumprod", "input dim dtype"),
    Entry("slice", "input dim start end step", function=torch.ops.aten.slice.Tensor),
    *(Entry(name, "input *rest", "input dtype", name="to", function=method(name), change=cast_to(dtype), gradient=False)
      for name, dtype in CASTS.items()),
    *entries("softmax log_softmax", "input dim dtype"),
    Entry("matmul", "input other"),
    *entries("mm bmm", "input mat2"),
    Entry("mv", "input vec"),
    Entry("dot", "input other"),
    Entry("outer", "input vec2"),
    Entry("addmm", "input mat1 mat2 beta alpha"),
    Entry("addmm", "input mat1 mat2 beta alpha", variant="decomposed"),
    Entry("baddbmm", "input batch1 batch2 beta alpha"),
    Entry("einsum", "operands equation", "equation operands", function=einsum, change=joined),
    Entry("diag", "input diagonal"),
    Entry("trace"),
    Entry("isclose", "input other rtol atol equal_nan", gradient=False),
    Entry("nn.functional.linear", "input weight bias"),
    Entry("nn.functional.mse_loss", "input target size_average reduce reduction", "input target reduction"),
    Entry("nn.functional.ctc_loss", "log_probs targets input_lengths target_lengths reduction zero_infinity blank"),
    Entry("nn.functional.embedding_bag",
          "weight input offsets mode per_sample_weights include_last_offset padding_idx max_norm norm_type scale_grad_by_freq "
          "sparse", "weight input offsets mode per_sample_weights include_last_offset padding_idx",
          function=lambda weight, index, **keywords: torch.nn.functional.embedding_bag(index, weight, **keywords)),
    Entry("nn.functional.cross_entropy",
          "input target weight size_average ignore_index reduce reduction label_smoothing",
          "input target weight ignore_index reduction label_smoothing"),
    Entry("nn.functional.nll_loss", "input target weight size_average ignore_index reduce reduction",
          "input target weight ignore_index reduction"),
    *(Entry("nn.functional." + name, "input target size_average reduce reduction" + last, "input target reduction" + last)
      for name, last in (("l1_loss", ""), ("smooth_l1_loss", " beta"))),
    Entry("nn.functional.huber_loss", "input target reduction delta"),
    Entry("nn.functional.binary_cross_entropy_with_logits",
          "input target weight size_average reduce reduction pos_weight", "input target weight reduction pos_weight"),
    Entry("nn.functional.kl_div", "input target size_average reduce reduction log_target",
          "input target reduction log_target"),
    *entries("deg2rad frac isneginf isposinf positive rad2deg sgn sinc"),
    *entries("float_power hypot ldexp logaddexp logaddexp2 true_divide xlogy", "input other"),
    Entry("heaviside", "input values", gradient=False),
    Entry("rsub", "input other alpha", change=number("alpha")),
    Entry("logit", "input eps"),
    Entry("clamp_min", "input min"),
    Entry("clamp_max", "input max"),
    *(Entry(name, "input other", name=name + "imum", variant="binary", function=getattr(torch, name))
      for name in ("max", "min")),
    *entries("nn.functional.mish nn.functional.selu", "input inplace", "input"),
    *entries("nn.functional.logsigmoid nn.functional.softsign nn.functional.tanhshrink"),
    Entry("nn.functional.hardshrink", "input lambd"),
    Entry("nn.functional.glu", "input dim"),
    Entry("nn.functional.prelu", "input weight"),
    Entry("nn.functional.softmin", "input dim _stacklevel dtype", "input dim dtype"),
    *(Entry("atleast_%dd" % n, change=one_tensor) for n in (1, 2, 3)),
    *entries("hstack vstack dstack column_stack", "tensors"),
    *entries("block_diag broadcast_tensors cartesian_prod", "*tensors", "tensors"),
    Entry("broadcast_to", "input size"),
    Entry("tensor_split", "input where dim", change=sections),
    *entries("hsplit vsplit dsplit", "input where", change=sections),
    *entries("fliplr flipud ravel"),
    Entry("rot90", "input k dims"),
    *(Entry("nn.functional.pad", "input pad mode value", name="pad_mode", variant=variant)
      for variant in ("reflect", "replicate", "replicate_negative", "circular")),
    Entry("nn.functional.pixel_shuffle", "input upscale_factor"),
    Entry("nn.functional.pixel_unshuffle", "input downscale_factor"),
    Entry("nn.functional.channel_shuffle", "input groups"),
    Entry("diag_embed", "input offset dim1 dim2"),
    Entry("diagflat", "input offset"),
    Entry("diagonal_scatter", "input src offset dim1 dim2"),
    Entry("select_scatter", "input src dim index"),
    Entry("slice_scatter", "input src dim start end step"),
    *entries("tril_indices triu_indices", "row col offset dtype", gradient=False, change=creation),
    Entry("take_along_dim", "input indices dim"),
    Entry("index_fill", "input dim index value"),
    Entry("logspace", "start end steps base", "start end steps base dtype", gradient=False, change=creation),
    *entries("zeros ones", "size", "size dtype", gradient=False, change=creation),
    Entry("full", "size value", "size value dtype", gradient=False, change=creation),
    *(Entry(name, "input size", "input size dtype", function=method(name), gradient=False, change=creation)
      for name in ("new_zeros", "new_ones")),
    Entry("new_full", "input size value", "input size value dtype", function=method("new_full"), gradient=False,
          change=creation),
    Entry("norm", "input p dim keepdim out dtype", "input p dim keepdim", change=frobenius),
    *(Entry("norm", "input p dim keepdim out dtype", "input p dim keepdim", variant=variant, change=frobenius)
      for variant in ("fro", "inf")),
    *(Entry(name, "input dim unbiased correction keepdim", "input dim correction keepdim", variant="unbiased",
            change=correction) for name in ("var", "std", "var_mean", "std_mean")),
    Entry("std_mean", "input dim unbiased correction keepdim", "input dim correction keepdim", change=correction),
    *entries("nansum nanmean", "input dim keepdim dtype"),
    Entry("aminmax", "input dim keepdim"),
    Entry("cov", "input correction fweights aweights", "input correction"),
    Entry("corrcoef"),
    Entry("diff", "input n dim prepend append"),
    *entries("trapezoid cumulative_trapezoid", "y x dx dim"),
    Entry("trapz", "y x dx dim", name="trapezoid"),
    *entries("addmv addr addbmm", "input a b beta alpha"),
    Entry("tensordot", "a b dims", "a b dims dims_b", change=two_lists),
    *entries("inner vdot kron", "input other"),
    Entry("cross", "input other dim"),
    Entry("dist", "input other p"),
    Entry("cdist", "x1 x2 p compute_mode", "x1 x2 p", change=any_way),
    Entry("nn.functional.normalize", "input p dim eps"),
    Entry("nn.functional.cosine_similarity", "x1 x2 dim eps"),
    Entry("nn.functional.pairwise_distance", "x1 x2 p eps keepdim"),
    Entry("nn.functional.binary_cross_entropy", "input target weight " + LOSS, "input target weight reduction"),
    Entry("nn.functional.poisson_nll_loss", "input target log_input full size_average eps reduce reduction",
          "input target log_input full eps reduction"),
    Entry("nn.functional.gaussian_nll_loss", "input target var full eps reduction"),
    Entry("nn.functional.margin_ranking_loss", "x1 x2 target margin " + LOSS, "x1 x2 target margin reduction"),
    Entry("nn.functional.hinge_embedding_loss", "input target margin " + LOSS, "input target margin reduction"),
    Entry("nn.functional.soft_margin_loss", "input target " + LOSS, "input target reduction"),
    Entry("nn.functional.cosine_embedding_loss", "x1 x2 target margin " + LOSS, "x1 x2 target margin reduction"),
    Entry("nn.functional.multilabel_soft_margin_loss", "input target weight " + LOSS,
          "input target weight reduction"),
    Entry("nn.functional.multi_margin_loss", "input target p margin weight " + LOSS,
          "input target p margin weight reduction"),
    Entry("nn.functional.triplet_margin_loss", "anchor positive negative margin p eps swap " + LOSS,
          "anchor positive negative margin p eps swap reduction"),
    Entry("nn.functional.triplet_margin_with_distance_loss",
          "anchor positive negative distance_function margin swap reduction",
          "anchor positive negative margin swap reduction", change=pairwise),
    Entry("nn.functional.rms_norm", "input normalized_shape weight eps"),
    *(Entry(f"nn.functional.conv{extents}d", "input weight bias stride padding dilation groups", samples=FEW)
      for extents in (1, 2, 3)),
    *(Entry(f"nn.functional.conv_transpose{extents}d",
            "input weight bias stride padding output_padding groups dilation", samples=FEW) for extents in (1, 2, 3)),
    *(Entry(f"nn.functional.max_pool{extents}d", "input kernel_size stride padding dilation ceil_mode return_indices",
            samples=FEW) for extents in (1, 2, 3)),
    *(Entry(f"nn.functional.avg_pool{extents}d",
            "input kernel_size stride padding ceil_mode count_include_pad divisor_override",
            without=(torch.int64,), samples=FEW) for extents in (1, 2, 3)),  # the mean of integers is an error
    *(Entry(f"nn.functional.adaptive_avg_pool{extents}d", "input output_size", change=sizes_or_same, samples=FEW)
      for extents in (1, 2, 3)),
    *(Entry(f"nn.functional.adaptive_max_pool{extents}d", "input output_size return_indices", change=sizes_or_same,
            samples=FEW) for extents in (1, 2, 3)),
    Entry("nn.functional.batch_norm", "input running_mean running_var weight bias training momentum eps",
          change=with_channels),
    Entry("nn.functional.group_norm", "input num_groups weight bias eps"),
    Entry("nn.functional.layer_norm", "input normalized_shape weight bias eps"),
    *entries("alias_copy t_copy conj conj_physical resolve_conj resolve_neg real angle"),
    *(Entry(name, function=lambda x, name=name: getattr(x, name)) for name in ("mH", "H")),
    Entry("isreal", gradient=False),
    Entry("view_copy", "input *shape", "input shape"),
    Entry("expand_copy", "input *sizes", "input sizes"),
    Entry("permute_copy", "input dims"),
    Entry("transpose_copy", "input dim0 dim1"),
    Entry("squeeze_copy", "input dim"),
    Entry("unsqueeze_copy", "input dim"),
    Entry("narrow_copy", "input dim start length", change=whole("start")),
    Entry("diagonal_copy", "input offset dim1 dim2"),
    Entry("unfold", "input dim size step", function=method("unfold")),
    Entry("unfold_copy", "input dim size step"),
    *entries("as_strided as_strided_copy", "input size stride storage_offset"),
    Entry("as_strided_scatter", "input src size stride storage_offset"),
    Entry("unbind_copy", "input dim"),
    Entry("split_with_sizes_copy", "input split_sizes dim"),
    Entry("unsafe_chunk", "input chunks dim"),
    Entry("unsafe_split", "input split_size dim"),
    Entry("sum_to_size", "input *size", "input size", function=method("sum_to_size")),
    Entry("put", "input index source accumulate"),
    *(Entry("index_reduce", "input dim index source reduce include_self", variant=kind)
      for kind in ("mean", "prod", "amin", "amax")),
    *entries("bitwise_left_shift bitwise_right_shift gcd lcm", "input other", gradient=False),
    Entry("fill", "input value"),
    Entry("zero_", function=lambda x: x.clone().zero_(), gradient=False),
    Entry("scalar_tensor", "value dtype", gradient=False, change=creation),
    Entry("equal", "input other", function=lambda x, y: torch.tensor(torch.equal(x, y)), gradient=False),
    Entry("allclose", "input other rtol atol equal_nan", gradient=False,
          function=lambda *rest, **keywords: torch.tensor(torch.allclose(*rest, **keywords))),
    Entry("item", function=lambda x: torch.tensor(float(x.item()), dtype=torch.float64), gradient=False),
    *(Entry("nn.functional.interpolate", "input size scale_factor mode align_corners recompute_scale_factor antialias",
            "input size scale_factor mode align_corners recompute_scale_factor", variant=variant,
            without=(torch.uint8,)) for variant in ("nearest", "nearest-exact", "linear", "bilinear", "bicubic",
                                                    "trilinear", "area")),
    *entries("nn.functional.upsample_nearest nn.functional.upsample_bilinear", "input size scale_factor",
             without=(torch.uint8,)),
    Entry("nn.functional.grid_sample", "input grid mode padding_mode align_corners"),
    Entry("nn.functional.unfold", "input kernel_size dilation padding stride", name="im2col"),
    *(Entry(f"nn.functional.max_unpool{extents}d", "input indices kernel_size stride padding output_size")
      for extents in (1, 2, 3)),
    Entry("nn.functional.pdist", "input p"),
    Entry("renorm", "input p dim maxnorm"),
    Entry("nn.functional.bilinear", "input1 input2 weight bias"),
    Entry("nn.functional.instance_norm",
          "input running_mean running_var weight bias use_input_stats momentum eps"),
    Entry("nn.functional.local_response_norm", "input size alpha beta k", without=(torch.int64,)),  # as avg_pool
    Entry("cholesky", "input upper"),
    *(Entry("linalg." + name, "input upper", name="linalg_" + name) for name in ("cholesky", "cholesky_ex")),
    Entry("cholesky_inverse", "input upper"),
    Entry("cholesky_solve", "input input2 upper"),
    Entry("linalg.lu", "input pivot", "input", name="linalg_lu", change=pivoted),
    Entry("lu", "input pivot get_infos", "input get_infos", change=pivoted),
    Entry("linalg.lu_factor", "input pivot", "input", name="lu", change=pivoted),
    Entry("linalg.lu_factor_ex", "input pivot", "input", name="linalg_lu_factor_ex", change=pivoted),
    Entry("lu_solve", "input LU pivots"),
    Entry("linalg.lu_solve", "LU pivots B left adjoint", name="linalg_lu_solve"),
    Entry("lu_unpack", "LU pivots unpack_data unpack_pivots", "LU pivots", change=unpacked),
    Entry("qr", "input some"),
    Entry("linalg.qr", "input mode", name="linalg_qr"),
    Entry("svd", "input some", function=magnitudes_of_svd(torch.svd, False)),
    Entry("linalg.svd", "input full_matrices", name="linalg_svd",
          function=magnitudes_of_svd(torch.linalg.svd, True)),
    *entries("linalg.svdvals linalg.inv linalg.inv_ex linalg.det linalg.slogdet logdet"),
    Entry("linalg.eigh", "input UPLO", function=magnitudes_of_eigh),
    Entry("linalg.eigvalsh", "input UPLO"),
    Entry("linalg.matrix_norm", "input ord dim keepdim dtype", "input ord dim keepdim"),
    *(Entry("linalg.norm", "input ord dim keepdim dtype", "input ord dim keepdim", name="linalg_norm", variant=variant,
            gradient=not variant) for variant in ("", "subgradients_at_zero")),
    Entry("linalg.cond", "input p"),
    *(Entry("linalg.matrix_rank", "input atol rtol hermitian tol", "input atol rtol hermitian", variant=variant,
            gradient=False, change=number_of_elements("atol rtol")) for variant in ("", "hermitian")),
    *(Entry("linalg.pinv", "input atol rtol hermitian", variant=variant, change=number_of_elements("atol rtol"),
            function=pinv)
      for variant in ("", "hermitian")),
    Entry("pinverse", "input rcond"),
    Entry("linalg.matrix_power", "input n"),
    Entry("linalg.multi_dot", "tensors"),
    Entry("linalg.vander", "x N"),
    Entry("linalg.vecdot", "x y dim"),
    Entry("linalg.tensorinv", "input ind"),
    Entry("linalg.tensorsolve", "input other dims"),
    *entries("linalg.solve linalg.solve_ex", "input other left"),
    *(Entry("linalg.lstsq", "input other rcond driver", "input other rcond", variant=variant, change=any_driver,
            function=lambda *rest, **keywords: torch.linalg.lstsq(*rest, **keywords)[0])
      for variant in ("", "grad_oriented")),
    Entry("linalg.solve_triangular", "input other upper left unitriangular"),
    Entry("triangular_solve", "input A upper transpose unitriangular",
          function=lambda *rest, **keywords: torch.triangular_solve(*rest, **keywords)[0]),
    Entry("linalg.cross", "input other dim"),
    Entry("linalg.diagonal", "input offset dim1 dim2", "input offset dim1 dim2", change=last_dims),
    *entries("sort argsort", "input dim descending stable"),
    Entry("msort"),
    Entry("topk", "input k dim largest sorted"),
    Entry("kthvalue", "input k dim keepdim"),
    *entries("median nanmedian mode", "input dim keepdim"),
    *entries("quantile nanquantile", "input q dim keepdim interpolation"),
    *entries("cummax cummin logcumsumexp", "input dim"),
    Entry("searchsorted", "sorted_sequence input out_int32 right side sorter", "sorted_sequence input right sorter",
          change=one_side, gradient=False),
    Entry("bucketize", "input boundaries out_int32 right", "input boundaries right", gradient=False),
    Entry("isin", "elements test_elements assume_unique invert", "elements test_elements invert", change=any_unique,
          gradient=False),
    Entry("nonzero", "input as_tuple", gradient=False),
    Entry("argwhere", gradient=False),
    Entry("nonzero_static", "input size fill_value", gradient=False),
    Entry("masked_select", "input mask"),
    Entry("masked_scatter", "input mask source"),
    Entry("unique", "input sorted return_inverse return_counts dim", gradient=False),
    Entry("unique_consecutive", "input return_inverse return_counts dim", gradient=False),
    Entry("bincount", "input weights minlength", gradient=False),
    Entry("histc", "input bins min max", gradient=False),
    Entry("combinations", "input r with_replacement"),
    Entry("unravel_index", "indices shape", gradient=False),
    *entries("lgamma digamma erfc erfinv i0 special.i0e special.i1 special.i1e special.erfcx special.ndtr special.ndtri "
             "special.log_ndtr special.entr"),
    *entries("special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0 "
             "special.modified_bessel_k1 special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 "
             "special.spherical_bessel_j0", gradient=False),
    *(Entry(op, "input n", "n input", variant=f"{prefix}polygamma_n_{n}", function=lambda x, n: torch.polygamma(n, x))
      for op, prefix, orders in (("polygamma", "", 5), ("special.polygamma", "special_", 1)) for n in range(orders)),
    *(Entry("mvlgamma", "input p", variant=f"mvlgamma_p_{p}") for p in (1, 3, 5)),
    Entry("special.xlog1py", "input other"),
    Entry("special.zeta", "input other", gradient=False),
    Entry("nn.functional.scaled_dot_product_attention",
          "query key value attn_mask dropout_p is_causal scale enable_gqa",
          "query key value attn_mask is_causal scale enable_gqa", change=without_dropout),
    *(Entry(name, "input other", function=method(name))
      for name in ("__radd__", "__rsub__", "__rmul__", "__rdiv__", "__rmod__", "__rpow__", "__rmatmul__")),
    *(Entry(name, "input other", function=method(name), gradient=False) for name in ("__rand__", "__ror__", "__rxor__")),
    Entry("bernoulli", "input", function=drawn(torch.bernoulli), gradient=False),
    Entry("multinomial", "input num_samples replacement", function=drawn(torch.multinomial), gradient=False),
    Entry("cauchy", "input median sigma", function=in_place("cauchy_"), gradient=False),
    Entry("exponential", "input lambd", function=in_place("exponential_"), gradient=False),
    Entry("geometric", "input p", function=in_place("geometric_"), gradient=False),
    Entry("log_normal", "input mean std", function=in_place("log_normal_"), gradient=False),
    Entry("normal", "input mean std", variant="in_place", name="normal_", function=in_place("normal_"), gradient=False),
    Entry("uniform", "input from to", function=in_place("uniform_"), gradient=False),
    *(Entry(name, "input", function=drawn(getattr(torch, name)), gradient=False, change=creation)
      for name in ("rand_like", "randn_like")),
    Entry("randn", "size", "size dtype", function=drawn(torch.randn), gradient=False, change=creation),
    Entry("randint", "low high size", "low high size dtype", function=drawn(torch.randint), gradient=False,
          change=range_of_integers),
    *(Entry("nn.functional." + name, "input p training", change=not_drawn)
      for name in ("dropout", "dropout2d", "dropout3d", "alpha_dropout")),
    *(Entry("nn.functional.feature_alpha_dropout", "input p training", variant=variant, change=not_drawn)
      for variant in ("with_train", "without_train")),
    Entry("nn.functional.rrelu", "input lower upper training", "input lower upper", function=in_evaluation,
          change=evaluated),
    *(Entry("signal.windows." + name, "M", "M periodic dtype", change=of_window, gradient=False)
      for name in ("bartlett", "blackman", "hann")),
    Entry("signal.windows.hamming", "M", "M periodic dtype", change=of_window, gradient=False),
    Entry("signal.windows.general_hamming", "M alpha", "M periodic dtype alpha", change=of_window, gradient=False),
    Entry("signal.windows.kaiser", "M beta", "M periodic dtype beta", change=of_window, gradient=False),
    Entry("matrix_exp"),
    Entry("linalg.householder_product", "input tau", name="householder_product"),
    Entry("frexp"),
    Entry("histogram", "input bins weight density low high", change=extremes, gradient=False),
    Entry("nn.functional.multilabel_margin_loss", "input target reduction"),
    *(Entry("grid_sampler_" + extents, "input grid mode padding_mode align_corners", name="grid_sample",
            change=grid_modes) for extents in ("2d", "3d")),
    Entry("broadcast_shapes", "*shapes", "a b c d e f", gradient=False, change=one_by_one,
          function=lambda *shapes: torch.tensor(torch.broadcast_shapes(*shapes), dtype=torch.int64)),
    Entry("empty", "size", "size dtype", function=drawn(torch.empty), gradient=False, change=creation),
    Entry("empty_like", "input", function=drawn(torch.empty_like), gradient=False, change=creation),
    Entry("new_empty", "input size", "input size dtype", function=drawn(method("new_empty")), gradient=False,
          change=creation),
]

# What differs on purpose: (entry, dtype, sample, message) -> bool, and the reason that is counted.
DEVIATIONS = [
    (lambda entry, dtype, sample, message: entry.op in ("topk", "kthvalue", "mode") and "result 1" in message
     and (not dtype.is_floating_point or dtype.itemsize == 2),
     "of equal elements the first one, and of mode the last one, is chosen; PyTorch chooses any"),
    (lambda entry, dtype, sample, message: entry.op in ("sort", "argsort") and not sample.kwargs.get("stable")
     and (not dtype.is_floating_point or dtype.itemsize == 2) and ("result 1" in message or entry.op == "argsort"),
     "every sort is stable; PyTorch's is where it is asked for"),
    (lambda entry, dtype, sample, message: dtype == torch.float64 and (
        entry.op == "digamma" and "gradient" in message or entry.op.endswith("polygamma")),
     "PyTorch's trigamma of f64 has ten digits"),
    (lambda entry, dtype, sample, message: entry.op == "linalg.eigh" and dtype == torch.float64 and "result 1" in message,
     "eigenvectors have the rounding error of the matrix divided by the distance of eigenvalues, PyTorch's in f64 too"),
    (lambda entry, dtype, sample, message: entry.op == "linalg.lstsq" and dtype == torch.float64 and "gradient" in message,
     "the derivative of a least-squares solution goes through singular vectors, whose rounding errors are divided by the "
     "distances of singular values"),
    (lambda entry, dtype, sample, message: entry.op in ("cholesky_solve", "cholesky_inverse") and "gradient" in message,
     "the triangle that is not read has no gradient; PyTorch's gradient of a factor is a whole matrix"),
    (lambda entry, dtype, sample, message: entry.op == "special.ndtr" and "result" in message,
     "PyTorch's ndtr is (1 + erf) / 2, which cancels where it is small"),
    (lambda entry, dtype, sample, message: "gradient" in message and (
        entry.op == "as_strided_scatter" or "max_unpool" in entry.op),
     "of several elements written to one place the one that stays has the gradient; PyTorch gives it to all of them"),
    (lambda entry, dtype, sample, message: entry.name == "scaled_dot_product_attention" and dtype == torch.float64
     and "result" in message,
     "scores of nearly a hundred are rounded on both sides, PyTorch's in f64 too, and exp makes their error as many times "
     "larger"),
    (lambda entry, dtype, sample, message: entry.op == "matrix_exp" and dtype == torch.float64,
     "squarings of large matrices double the rounding error each, PyTorch's in f64 too"),
    (lambda entry, dtype, sample, message: entry.op.startswith("grid_sampler") and dtype == torch.float64,
     "a place has the rounding error of its coordinate, PyTorch's in f64 too"),
    (lambda entry, dtype, sample, message: entry.op == "logsumexp" and dtype == torch.float64 and "gradient" in message,
     "PyTorch's f64 gradient of logsumexp is exp(a - result), which has the rounding error of the result"),
    (lambda entry, dtype, sample, message: entry.name == "hardsigmoid" and dtype == torch.float64 and "gradient" in message,
     "PyTorch's gradient of hardsigmoid has the sixth in f32"),
    (lambda entry, dtype, sample, message: entry.name == "normalize" and sample.input.dim() == 0 and "in f64 0" in message,
     "the gradient of one element divided by itself is 0 up to rounding"),
    (lambda entry, dtype, sample, message: entry.op in ("addmm", "baddbmm", "addmv", "addbmm") and "must be whole numbers" in message,
     "PyTorch drops the fraction of alpha and beta beside integers; here it is an error"),
]
