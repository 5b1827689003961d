#!/usr/bin/env python3
"""The MLP's first 20 losses and final weights, beside PyTorch's from equal weights and batches.

The bound: both sides compute in f32 with other orders of summation (K = 784 at most), so a loss differs by a few ulp of
its largest terms, and each step feeds the difference back. 2e-5 relative holds that with room; a wrong formula (a
missing bias correction, a mean in place of a sum) is off by percents at the second step. The second reference, PyTorch in
f64, says whether Weft is farther from the truth than f32 PyTorch is.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from checks import Checks
from safetensors_file import read_safetensors


def make_optimizer(name, parameters):
    if name == "adam":
        return torch.optim.Adam(parameters, lr=1e-3)
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.1)
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)


def train(name, initial, images, labels, dtype):
    model = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 10)).to(dtype)
    with torch.no_grad():
        for layer, prefix in ((0, "fc1"), (2, "fc2"), (4, "fc3")):
            model[layer].weight.copy_(torch.from_numpy(initial[prefix + ".weight"].copy()))
            model[layer].bias.copy_(torch.from_numpy(initial[prefix + ".bias"].copy()))
    optimizer = make_optimizer(name, model.parameters())
    losses = []
    for step in range(20):
        x = torch.from_numpy(images[step * 128:(step + 1) * 128]).flatten(1).to(dtype) / 255
        y = torch.from_numpy(labels[step * 128:(step + 1) * 128])
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    weights = {}
    for layer, prefix in ((0, "fc1"), (2, "fc2"), (4, "fc3")):
        weights[prefix + ".weight"] = model[layer].weight.detach().numpy()
        weights[prefix + ".bias"] = model[layer].bias.detach().numpy()
    return np.array(losses), weights


def main():
    check = Checks(verbose=True)
    program = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-mlp")
    with tempfile.TemporaryDirectory(prefix="weft-parity-") as folder:
        subprocess.run([program, folder], check=True)
        initial = read_safetensors(os.path.join(folder, "initial.safetensors"))
        images, labels = (np.load(os.path.join(folder, f)) for f in ("images.npy", "labels.npy"))
        for name in ("adam", "adamw", "sgd"):
            ours = np.load(os.path.join(folder, name + ".npy")).astype(np.float64)
            weights = read_safetensors(os.path.join(folder, name + ".safetensors"))
            theirs, their_weights = train(name, initial, images, labels, torch.float32)
            exact, exact_weights = train(name, initial, images, labels, torch.float64)
            check(f"{name}: there are 20 falling losses", 0 if len(ours) == 20 and ours[-1] < ours[0] else 1, 0)
            check(f"{name}: losses beside torch f32", np.max(np.abs(ours - theirs) / np.abs(theirs)), 2e-5)
            error, their_error = (np.max(np.abs(x - exact) / np.abs(exact)) for x in (ours, theirs))
            check(f"{name}: losses beside torch f64 (torch f32 is {their_error:.2g} off)", error,
                  4 * their_error + 1e-5)
            for key, value in weights.items():
                spread = np.max(np.abs(exact_weights[key] - initial[key]))
                # Two things amplify rounding, in PyTorch's f32 as well: Adam divides by the root of tiny second
                # moments, and an activation within rounding of relu's kink takes part or not. One such flip moved
                # fc2.bias by 0.3 % of its way; a wrong update rule moves everything by far more than the 1 % allowed.
                noise = np.max(np.abs(their_weights[key] - exact_weights[key]))
                check(f"{name}: {key} beside torch f64", np.max(np.abs(value - exact_weights[key])),
                      4 * noise + 1e-2 * spread)
    return check.report()


if __name__ == "__main__":
    torch.set_num_threads(2)
    sys.exit(main())
