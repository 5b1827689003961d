#!/usr/bin/env python3
"""examples/resnet_cifar10.cpp in PyTorch: the same network, optimiser and images, in an order of its own.

usage: peer_cifar10.py FOLDER [--epochs N] [--batch N]

FOLDER has CIFAR-10's binary files. Prints the loss and the test accuracy of each epoch, and the time of a step.
"""

import argparse
import glob
import os
import time

import numpy as np
import torch
from torch.nn import functional

from peer_torch_steps import resnet

BYTES = 1 + 3 * 32 * 32  # a label and an image
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def read(pattern):
    rows = np.concatenate([np.fromfile(path, np.uint8).reshape(-1, BYTES) for path in sorted(glob.glob(pattern))])
    images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).copy()).float() / 255
    mean, deviation = (torch.tensor(values).reshape(3, 1, 1) for values in (MEAN, DEVIATION))
    return (images - mean) / deviation, torch.from_numpy(rows[:, 0].astype(np.int64))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    torch.manual_seed(0)
    images, labels = read(os.path.join(options.folder, "data_batch_*.bin"))
    tests, expected = read(os.path.join(options.folder, "test_batch.bin"))
    model = resnet()
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, fused=True)
    steps = len(images) // options.batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(sgd, 0.05, total_steps=options.epochs * steps)
    for epoch in range(1, options.epochs + 1):
        model.train()
        order = torch.randperm(len(images))
        total, start = 0.0, time.perf_counter()
        for chosen in order[:steps * options.batch].split(options.batch):
            x, mirrored = images[chosen], torch.rand(options.batch, 1, 1, 1) < 0.5
            loss = functional.cross_entropy(model(torch.where(mirrored, x.flip(3), x)), labels[chosen])
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            schedule.step()
            total += loss.item()
        seconds = time.perf_counter() - start
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item()
                       for x, y in zip(tests.split(options.batch), expected.split(options.batch)))
        print(f"epoch {epoch}: loss {total / steps:.4f}, test accuracy {100 * hits / len(tests):.2f} %, "
              f"{1000 * seconds / steps:.1f} ms a step", flush=True)


if __name__ == "__main__":
    main()
