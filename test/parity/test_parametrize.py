#!/usr/bin/env python3
"""Networks with parametrized weights, trained for 20 steps beside their PyTorch twins from one state.

Both sides load the state by PyTorch's names. In f64 losses, weights, and the vectors of the power method agree to
rounding; a power method that runs once more, or in eval mode, differs by percents.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from checks import Checks
from torch import nn
from torch.nn.utils import parametrizations as p
from torch.nn.utils.parametrize import register_parametrization

STEPS = 20


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


class Tanh3(nn.Module):
    def forward(self, x):
        return x.tanh() * 3


def networks():
    yield "weight_norm", (5, 6), nn.Sequential(p.weight_norm(nn.Linear(6, 8)), nn.Tanh(),
                                               p.weight_norm(nn.Linear(8, 7), "weight", None),
                                               p.weight_norm(nn.Linear(7, 4), "weight", -1), p.weight_norm(nn.Linear(4, 3), "weight", 1))
    yield "spectral_norm", (5, 2, 5, 5), nn.Sequential(
        p.spectral_norm(nn.Conv2d(2, 4, 3)), nn.ReLU(),
        p.spectral_norm(nn.ConvTranspose2d(4, 3, 3), "weight", 2), nn.Flatten(),
        p.spectral_norm(p.spectral_norm(nn.Linear(75, 4)), "bias"))
    yield "orthogonal", (5, 6), nn.Sequential(p.orthogonal(nn.Linear(6, 6)), nn.Tanh(), p.orthogonal(nn.Linear(6, 3)),
                                              nn.Tanh(), p.orthogonal(nn.Linear(3, 5), "weight", "cayley"))
    both = nn.Linear(4, 4)
    register_parametrization(both, "weight", Symmetric())
    register_parametrization(both, "weight", Tanh3())
    last = nn.Linear(4, 2)
    register_parametrization(last, "bias", Tanh3())
    yield "own", (5, 4), nn.Sequential(both, nn.Tanh(), last)


def train(net, state, inputs, dtype):
    net = net.to(dtype)
    net.load_state_dict(state)
    net.train()
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), []
    for x in torch.tensor(inputs).to(dtype):
        optimizer.zero_grad()
        loss = (net(x) - 0.25).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        result = net(torch.tensor(inputs[0]).to(dtype)).numpy()
    return np.array(losses), result, net.state_dict()


def main():
    check = Checks()
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    given, twins = {}, []
    for name, shape, net in networks():
        state = {k: v.double().clone() for k, v in net.state_dict().items()}
        inputs = random.standard_normal((STEPS,) + shape)
        given |= {f"{name}.state.{k}": v.numpy() for k, v in state.items()} | {f"{name}.inputs": inputs}
        twins.append((name, net, state, inputs))
    with tempfile.TemporaryDirectory(prefix="weft-parity-") as folder:
        np.savez(os.path.join(folder, "in.npz"), **given)
        subprocess.run([os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-parametrize"), folder], check=True)
        ours = dict(np.load(os.path.join(folder, "out.npz")))
    for name, net, state, inputs in twins:
        for dtype, key, bound in ((torch.float32, "f32", 1e-4), (torch.float64, "f64", 1e-10)):
            losses, result, after = train(net, state, inputs, dtype)
            prefix = f"{name}.{key}."
            check(prefix + "losses", np.max(np.abs(ours[prefix + "losses"] - losses) / losses), bound)
            check(prefix + "eval", np.max(np.abs(ours[prefix + "eval"] - result)), bound * np.max(np.abs(result)))
            names = sorted(k[len(prefix) + 6:] for k in ours if k.startswith(prefix + "state."))
            check(f"{prefix}: names {names}", names != sorted(after), 0)
            for k, theirs in after.items():
                check(prefix + k, np.max(np.abs(ours[f"{prefix}state.{k}"] - theirs.numpy())), bound)
    return check.report()


if __name__ == "__main__":
    torch.set_num_threads(2)
    sys.exit(main())
