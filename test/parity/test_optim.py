#!/usr/bin/env python3
"""Optimisers over 100 steps, learning-rate schedules, clipping of gradients and initial values, beside PyTorch's.

The gradients are given, so nothing amplifies a difference but the update itself. In f64 both sides agree to 1e-11 of
the way that a parameter went: another formula differs by percents. In f32 each step rounds a few times on both sides,
and Adam divides by roots: 100 steps of 2e-6 each bound that. Initial values are compared by their distribution: the
largest distance of the two empirical distribution functions of 100,000 samples is below 0.0087 in all but one of 1,000
cases (Kolmogorov and Smirnov), and a deviation that is off by 5 % makes it 0.012 and more.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from checks import Checks

SGD = {
    "sgd": {},
    "sgd_momentum": {"momentum": 0.9, "weight_decay": 0.01},
    "sgd_dampening": {"momentum": 0.9, "dampening": 0.4},
    "sgd_nesterov": {"momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
    "sgd_maximize": {"momentum": 0.5, "weight_decay": 0.01, "maximize": True},
}
ADAM = {
    "": {"weight_decay": 0},
    "_decay": {"weight_decay": 0.1},
    "_amsgrad": {"betas": (0.8, 0.7), "eps": 1e-4, "amsgrad": True, "weight_decay": 0},
    "_maximize": {"weight_decay": 0.1, "maximize": True},
}


OTHERS = {
    "rmsprop": (torch.optim.RMSprop, {}),
    "rmsprop_momentum": (torch.optim.RMSprop, {"alpha": 0.8, "momentum": 0.9, "weight_decay": 0.1}),
    "rmsprop_centered": (torch.optim.RMSprop, {"centered": True, "eps": 1e-4}),
    "rmsprop_both": (torch.optim.RMSprop, {"centered": True, "momentum": 0.5, "maximize": True, "eps": 1e-4}),
    "adagrad": (torch.optim.Adagrad, {}),
    "adagrad_options": (torch.optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5,
                                              "maximize": True}),
    "adadelta": (torch.optim.Adadelta, {}),
    "adadelta_options": (torch.optim.Adadelta, {"rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    "adamax": (torch.optim.Adamax, {}),
    "adamax_options": (torch.optim.Adamax, {"betas": (0.8, 0.7), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    "nadam": (torch.optim.NAdam, {}),
    "nadam_options": (torch.optim.NAdam, {"betas": (0.8, 0.7), "weight_decay": 0.1, "momentum_decay": 0.1, "maximize": True}),
    "nadam_decoupled": (torch.optim.NAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": (torch.optim.RAdam, {}),
    "radam_options": (torch.optim.RAdam, {"betas": (0.8, 0.95), "weight_decay": 0.1, "maximize": True}),
    "radam_decoupled": (torch.optim.RAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "asgd": (torch.optim.ASGD, {}),
    "asgd_options": (torch.optim.ASGD, {"lambd": 0.1, "alpha": 0.5, "t0": 20, "weight_decay": 0.1, "maximize": True}),
    "adafactor": (torch.optim.Adafactor, {}),
    "adafactor_options": (torch.optim.Adafactor, {"beta2_decay": -0.5, "eps": (1e-4, 1e-2), "d": 1.5, "weight_decay": 0.1,
                                                  "maximize": True}),
    "rprop": (torch.optim.Rprop, {}),
    "rprop_options": (torch.optim.Rprop, {"etas": (0.3, 1.5), "step_sizes": (0.01, 0.3), "maximize": True}),
}


def optimizers():
    for name, (kind, options) in OTHERS.items():
        yield name, lambda p, kind=kind, o=options: kind(p, lr=0.1, **o)
    for name, options in SGD.items():
        yield name, lambda p, o=options: torch.optim.SGD(p, lr=0.1, **o)
    for name, options in ADAM.items():
        yield "adam" + name, lambda p, o=options: torch.optim.Adam(p, lr=0.1, **o)
        yield "adamw" + name, lambda p, o=options: torch.optim.AdamW(p, lr=0.1, **o)
    yield "groups", lambda p: torch.optim.Adam(
        [{"params": p[:1]}, {"params": p[1:], "betas": (0.5, 0.999), "weight_decay": 0.1}], lr=0.1)


def train(make, start, gradients, dtype):
    parameters = [torch.tensor(start[k]).to(dtype).requires_grad_() for k in "abc"]
    optimizer = make(parameters)
    for i in range(100):
        if i == 50:
            for group in optimizer.param_groups:
                group["lr"] /= 2
        for k, parameter in zip("abc", parameters):
            parameter.grad = None if k == "c" and i % 3 == 2 else torch.tensor(gradients[k][i]).to(dtype)
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


MUON = {
    "muon": {},
    "muon_options": {"weight_decay": 0.01, "momentum": 0.8, "nesterov": False, "ns_steps": 3,
                     "adjust_lr_fn": "match_rms_adamw"},
}
LBFGS = {
    "lbfgs": {"lr": 0.2, "max_iter": 3},
    "lbfgs_wolfe": {"max_iter": 4, "history_size": 5, "line_search_fn": "strong_wolfe"},
}


def muon(start, gradients, options):
    """A wide and a tall matrix after 100 steps."""
    parameters = [torch.tensor(start["a"]).float().requires_grad_(), torch.tensor(start["a"].T.copy()).float().requires_grad_()]
    optimizer = torch.optim.Muon(parameters, lr=0.02, **options)
    for i in range(100):
        parameters[0].grad = torch.tensor(gradients["a"][i]).float()
        parameters[1].grad = torch.tensor(gradients["a"][i].T.copy()).float()
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


def lbfgs(start, options):
    """The losses of 100 steps on a function of curvatures from 1 to 1,000, and the parameters after 3 and all."""
    parameters = [torch.tensor(start[k]).requires_grad_() for k in "ab"]
    optimizer = torch.optim.LBFGS(parameters, **options)
    weights = [10 ** (3 * torch.arange(p.numel(), dtype=torch.float64) / p.numel()).reshape(p.shape) for p in parameters]

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - 0.5) ** 2 * w).sum() / 2 + ((p - 0.5) ** 4).sum() / 4 for p, w in zip(parameters, weights))
        loss = loss + 0.1 * (parameters[0].sum() - parameters[1].sum()) ** 2
        loss.backward()
        return loss

    losses, early = [], None
    for i in range(100):
        losses.append(optimizer.step(closure).item())
        if i == 2:
            early = [p.detach().numpy().copy() for p in parameters]
    return np.array(losses), early, [p.detach().numpy() for p in parameters]


def averages(start, gradients):
    """(name, state) of averages of a layer over 20 steps."""
    swa = torch.optim.swa_utils
    for name, options in (("mean", {}), ("mean_buffers", {"use_buffers": True}),
                          ("exponential", {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)}),
                          ("function", {"avg_fn": lambda a, v, n: a + (v - a) / (n + 2)})):
        model = torch.nn.Sequential(torch.nn.Linear(7, 5, bias=False), torch.nn.BatchNorm1d(5)).double()
        with torch.no_grad():
            model[0].weight.copy_(torch.tensor(start["a"]))
            average = swa.AveragedModel(model, **options)
            for i in range(20):
                change = torch.tensor(gradients["a"][i])
                model[0].weight += change * 0.1
                model(change)
                average.update_parameters(model)
        yield name, average.state_dict()


def initial_values():
    torch.manual_seed(1)
    init = torch.nn.init
    blank = lambda: torch.empty(200, 100, 5)
    yield "xavier_uniform_", init.xavier_uniform_(blank(), 1.5)
    yield "xavier_normal_", init.xavier_normal_(blank(), 1.5)
    yield "kaiming_uniform_", init.kaiming_uniform_(blank(), 0.3)
    yield "kaiming_normal_", init.kaiming_normal_(blank(), 0, "fan_out", "relu")
    yield "trunc_normal_", init.trunc_normal_(blank(), 0.5, 2, -1, 3)
    yield "orthogonal_", init.orthogonal_(blank(), 1.5)
    yield "linear_weight", torch.nn.Linear(500, 200).weight.detach()
    yield "linear_bias", torch.nn.Linear(400, 100000).bias.detach()


def schedules():
    """(name, learning rates, momenta) of 30 epochs."""
    lr = torch.optim.lr_scheduler
    make = {
        "LambdaLR": lambda o: lr.LambdaLR(o, lambda i: 1 / (1 + i)),
        "MultiplicativeLR": lambda o: lr.MultiplicativeLR(o, lambda i: 0.9 if i % 2 else 1.05),
        "StepLR": lambda o: lr.StepLR(o, 7, 0.3),
        "MultiStepLR": lambda o: lr.MultiStepLR(o, [3, 3, 12], 0.5),
        "ConstantLR": lambda o: lr.ConstantLR(o, 0.5, 8),
        "LinearLR": lambda o: lr.LinearLR(o, 0.25, 0.75, 11),
        "ExponentialLR": lambda o: lr.ExponentialLR(o, 0.9),
        "ChainedScheduler": lambda o: lr.ChainedScheduler([lr.LinearLR(o, 0.2, 1, 6), lr.ExponentialLR(o, 0.95),
                                                           lr.StepLR(o, 8, 0.5)]),
        "CyclicLR": lambda o: lr.CyclicLR(o, 0.1, 0.5, 4),
        "CyclicLR.halves": lambda o: lr.CyclicLR(o, 0.1, 0.5, 3, 5, mode="triangular2"),
        "CyclicLR.range": lambda o: lr.CyclicLR(o, 0.1, 0.5, 6, mode="exp_range", gamma=0.95, cycle_momentum=False),
        "CyclicLR.scale": lambda o: lr.CyclicLR(o, 0.1, 0.5, 5, scale_fn=lambda cycle: 1 / (5 * cycle)),
        "PolynomialLR": lambda o: lr.PolynomialLR(o, 20, 2),
        "CosineAnnealingLR": lambda o: lr.CosineAnnealingLR(o, 9, 0.01),
        "CosineAnnealingWarmRestarts": lambda o: lr.CosineAnnealingWarmRestarts(o, 4, 2, 0.01),
        "OneCycleLR": lambda o: lr.OneCycleLR(o, 1.0, 40),
        "OneCycleLR.three": lambda o: lr.OneCycleLR(o, 1.0, 30, pct_start=0.4, anneal_strategy="linear",
                                                    cycle_momentum=False, three_phase=True),
        "SequentialLR": lambda o: lr.SequentialLR(o, [lr.LinearLR(o, 0.1, 1, 5), lr.CosineAnnealingLR(o, 20),
                                                      lr.ExponentialLR(o, 0.5)], [5, 25]),
        "together": lambda o: lr.ChainedScheduler([lr.LinearLR(o, 0.2, 1, 6), lr.ExponentialLR(o, 0.95)]),
    }
    for name, of in make.items():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4, momentum=0.9)
        scheduler, rates, momenta = of(optimizer), [], []
        for _ in range(30):
            rates.append(optimizer.param_groups[0]["lr"])
            momenta.append(optimizer.param_groups[0]["momentum"])
            optimizer.step()
            scheduler.step()
        yield name, rates, momenta
    for mode in ("min", "max"):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
        scheduler = lr.ReduceLROnPlateau(optimizer, mode, 0.5, 2, 0.01, "abs" if mode == "max" else "rel", 1)
        rates = []
        for i in range(30):
            metric = 10 - i if i < 8 else 2.5 + 0.001 * (i % 3)
            scheduler.step(-metric if mode == "max" else metric)
            rates.append(optimizer.param_groups[0]["lr"])
        yield "plateau_" + mode, rates, None


def distance(a, b):
    """The largest distance between the empirical distribution functions."""
    points = np.concatenate([a, b])
    return np.max(np.abs(np.searchsorted(np.sort(a), points, "right") / len(a)
                         - np.searchsorted(np.sort(b), points, "right") / len(b)))


def main():
    check = Checks()
    random = np.random.default_rng(0)
    shapes = {"a": (5, 7), "b": (11,), "c": (3, 2, 2)}
    start = {k: random.standard_normal(shape) for k, shape in shapes.items()}
    gradients = {k: random.standard_normal((100,) + shape) + 0.2 for k, shape in shapes.items()}
    with tempfile.TemporaryDirectory(prefix="weft-parity-") as folder:
        np.savez(os.path.join(folder, "in.npz"), **{"start." + k: v for k, v in start.items()},
                 **{"gradients." + k: v for k, v in gradients.items()})
        subprocess.run([os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-optim"), folder], check=True)
        ours = dict(np.load(os.path.join(folder, "out.npz")))

    for name, make in optimizers():
        for dtype, key, bound in ((torch.float64, "f64", 1e-11), (torch.float32, "f32", 2e-4)):
            for k, theirs in zip("abc", train(make, start, gradients, dtype)):
                way = np.max(np.abs(theirs - start[k]))
                check(f"{name} {key} {k}", np.max(np.abs(ours[f"{name}.{key}.{k}"] - theirs)), bound * way)

    # Products of bf16 round at other places on both sides; a wrong formula moves the matrices by tenths of the way.
    for name, options in MUON.items():
        for k, theirs in enumerate(muon(start, gradients, options)):
            way = np.max(np.abs(theirs - (start["a"].T if k else start["a"])))
            check(f"{name} {k}", np.max(np.abs(ours[f"{name}.{k}"] - theirs)), 0.01 * way)
    for name, options in LBFGS.items():
        losses, early, late = lbfgs(start, options)
        check(f"{name} losses", np.max(np.abs(ours[f"{name}.losses"] - losses) / losses), 1e-6)
        for k, theirs in zip("ab", early):
            check(f"{name} {k} after 3 steps", np.max(np.abs(ours[f"{name}.early.{k}"] - theirs)), 1e-10)
        for k, theirs in zip("ab", late):
            check(f"{name} {k}", np.max(np.abs(ours[f"{name}.late.{k}"] - theirs)), 1e-7)

    for name, state in averages(start, gradients):
        for key, theirs in state.items():
            if key.endswith("num_batches_tracked") and name == "mean_buffers":
                continue  # an average of counts, which are whole numbers, is no average
            check(f"average {name} {key}", np.max(np.abs(ours[f"average.{name}.{key}"] - theirs.numpy())), 1e-12)

    for name, kind in (("1", 1.0), ("2", 2.0), ("3", 3.0), ("inf", float("inf"))):
        for tightness, most in (("tight", 0.5), ("loose", 1e6)):
            parameters = [torch.zeros(shape, dtype=torch.float64) for shape in shapes.values()]
            for k, parameter in zip(shapes, parameters):
                parameter.grad = torch.tensor(gradients[k][0])
            norm = torch.nn.utils.clip_grad_norm_(parameters, most, kind).item()
            prefix = f"clip{name}.{tightness}"
            check(prefix + " norm", abs(ours[prefix + ".norm"] - norm), 1e-13 * norm)
            check(prefix + " norm of tensors", abs(ours[prefix + ".norm2"] - norm), 1e-13 * norm)
            check(prefix + " gradient in two steps", np.max(np.abs(ours[prefix + ".a2"] - parameters[0].grad.numpy())), 1e-12)
            check(prefix + " gradient", np.max(np.abs(ours[prefix + ".a"] - parameters[0].grad.numpy())), 1e-12)

    for name, rates, momenta in schedules():
        check("learning rates of " + name, np.max(np.abs(ours["lr." + name] - rates)), 1e-14)
        if momenta and name != "together":
            check("momenta of " + name, np.max(np.abs(ours["momentum." + name] - momenta)), 1e-14)
    dirac = torch.nn.init.dirac_(torch.empty(6, 2, 3, 4), 2).numpy()
    check("dirac_", np.max(np.abs(ours["dirac"] - dirac)), 0)

    for name, theirs in initial_values():
        mine, theirs = ours["init." + name].ravel(), theirs.numpy().ravel()
        check(f"{name}: number of values", abs(len(mine) - len(theirs)), 0)
        check(f"{name}: distance of the distributions", distance(mine, theirs), 0.0087)
    q = ours["init.orthogonal_"].reshape(200, 500).astype(np.float64)
    check("orthogonal_ is orthogonal", np.max(np.abs(q @ q.T - 2.25 * np.eye(200))), 1e-6)
    return check.report()


if __name__ == "__main__":
    torch.set_num_threads(2)
    sys.exit(main())
