"""The table of PyTorch's names, torch_names.txt: how it is read, and which names it must have.

A line of the table is a name and, unless Weft has it with PyTorch's meaning, a mark and a sentence:

    name                 it is there
    name ~ sentence      it is there and differs
    name > spelling      it is there by another spelling
    name - reason        it is missing
    name ! sentence      it is missing, and using it is an error of the compiler with this sentence

A reason may be `@word`, which a line `@word sentence` before it explains for all. A section `[namespace = C++
namespace]` begins with its own line; after `partial` it has only some of PyTorch's names.
"""

import os
import re

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_names.txt")
MARKS = {"~": "differs", ">": "spelled", "-": "missing", "!": "refused"}


class Name:
    def __init__(self, name, status, text):
        self.name, self.status, self.text = name, status, text


class Section:
    def __init__(self, torch, weft, partial):
        self.torch, self.weft, self.partial, self.names = torch, weft, partial, []

    @property
    def is_members(self):
        return self.torch == "torch.Tensor"


def read_table(path=TABLE):
    """The sections in order; ValueError names a line that is wrong."""
    sections, reasons = [], {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            where = f"{os.path.basename(path)}:{number}"
            if line.startswith("@"):
                word, _, sentence = line.partition(" ")
                reasons[word] = sentence.strip()
                continue
            if head := re.fullmatch(r"\[([\w.]+) = ([\w:]+)( partial)?\]", line):
                sections.append(Section(head.group(1), head.group(2), bool(head.group(3))))
                continue
            found = re.fullmatch(r"(\w+)(?: ([~>!-]) (.+))?", line)
            if not found:
                raise ValueError(f"{where}: not a name with a mark and a sentence: {line}")
            name, mark, text = found.groups()
            if text and text.startswith("@"):
                if text not in reasons:
                    raise ValueError(f"{where}: nothing explains {text}")
                text = reasons[text]
            if name in (other.name for other in sections[-1].names):
                raise ValueError(f"{where}: {name} is there twice")
            sections[-1].names.append(Name(name, MARKS.get(mark, "there"), text or ""))
    return sections


# Which names of a namespace count: what a program calls. The page says these rules.
PUBLIC_TYPES = {
    "torch": {"Event", "Generator", "GradScaler", "Size", "Stream", "Tensor", "autocast", "device", "dtype", "enable_grad",
              "finfo", "iinfo", "inference_mode", "no_grad", "set_grad_enabled"},
    "torch.autograd": {"Function", "detect_anomaly", "enable_grad", "inference_mode", "no_grad", "set_detect_anomaly",
                       "set_grad_enabled", "set_multithreading_enabled"},
}
EXCLUDED = [re.compile(pattern + r"\Z") for pattern in (
    r"(cudnn|miopen|mkldnn|fbgemm|quantized|native|batch_norm|sym)_\w+",  # kernels of single libraries
    r"\w*(autocast|quantize|qparams|q_per_channel|q_scale|q_zero_point|int_repr|qscheme)\w*",
    r"(is_)?(ipu|maia|mkldnn|mps|mtia|vulkan|xla|xpu)(_\w+)?", r"to_mkldnn", r"init_num_threads",
    r"\w*(has_torch_function|handle_torch_function|overload|classproperty)\w*",
    r"(boolean_dispatch|assert_int_or_pair|unify_type_list|prepare_multiprocessing_environment|get_file_path)",
    r"(import_ir_module\w*|parse_\w+|merge_type_from_type_comment|BroadcastingList\d|thread_safe_generator)",
    r"profiler_allow_\w+", r"(fused|choose)_\w+", r"is_tensor_like", r"compiled_with_cxx11_abi", r"cast", r"variable",
    r"(NestedIOFunction|Variable|kineto_available|enforce_grad_layout_policy)", r"(typename|get_device_module)",
    r"(slice_inverse|hash_tensor|solve|lstsq|eig|symeig|matrix_rank|norm_except_dim|NLLLoss2d|Container)",  # removed, or not public
    r"(reinforce|resize|resize_as|volatile|storage_type|module_load|map2_|new|output_nr|as_subclass|is_set_to)",
)]
# These are in use although a pattern above is about their like.
KEPT = {("torch.linalg", name) for name in ("solve", "lstsq", "eig", "matrix_rank")} | {("torch", "Generator")}


def torch_names(section):
    """The names of PyTorch that a section of the table must have."""
    import torch
    import torch.nn.utils.rnn  # noqa: F401
    target = torch
    for part in section.split(".")[1:]:
        target = getattr(target, part)
    names = set()
    for name in dir(target):
        if name.startswith("_") or (section, name) not in KEPT and any(pattern.match(name) for pattern in EXCLUDED):
            continue
        value = getattr(target, name, None)
        kind = type(value).__name__
        if section == "torch.Tensor":
            names.add(name)
        elif isinstance(value, type):
            own = section in ("torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.linalg")
            module = getattr(value, "__module__", "")
            if own and (module.startswith(section) or module.startswith("torch._C")) or name in PUBLIC_TYPES.get(section, ()):
                names.add(name)
        elif kind in ("builtin_function_or_method", "function", "float") and not (
                getattr(value, "__module__", None) or "torch").startswith(("typing", "_bisect", "functools", "math")):
            if section == "torch.nn.init" and not name.endswith("_") and name != "calculate_gain":
                continue  # deprecated names
            if section == "torch.optim.lr_scheduler" and kind != "type":
                continue
            names.add(name)
    return names
