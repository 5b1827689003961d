#!/usr/bin/env python3
"""Times PyTorch (eager) on the training step of scripts/demo.

The same network (784-512-256-10 with ReLU), batch (128), optimiser (Adam, lr 1e-3) and data type (f32), on the
processor. The pixels are random: the time of a step does not depend on them. Prints one line of JSON:

  {"peer": "torch", "version": "2.13.0+cpu", "threads": 2, "steps": 200, "ms_per_step": 2.71, ...}
"""

import argparse
import json
import sys
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--warmup", type=int, default=30, help="steps before the clock starts, at most")
    parser.add_argument("--steps", type=int, default=50, help="steps of one measurement, at most")
    parser.add_argument("--repeats", type=int, default=5, help="measurements, of which the median is reported")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        print(f"PyTorch is not installed ({error}): scripts/install-deps --torch", file=sys.stderr)
        return 1

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 10))
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)
    images = torch.randint(0, 256, (16, arguments.batch, 28, 28), dtype=torch.uint8)
    labels = torch.randint(0, 10, (16, arguments.batch))

    def step(i):
        loss = torch.nn.functional.cross_entropy(model(images[i % 16].flatten(1).float() / 255), labels[i % 16])
        loss.backward()
        adam.step()
        adam.zero_grad()
        return loss

    # On a busy machine a step can take a hundred times as long; the whole must still end in a few seconds.
    started = time.perf_counter()
    for i in range(arguments.warmup):
        step(i)
        if time.perf_counter() - started > 2:
            break
    per_step = (time.perf_counter() - started) / (i + 1)
    steps = max(1, min(arguments.steps, int(1 / per_step)))
    times = []
    for _ in range(arguments.repeats):
        started = time.perf_counter()
        for i in range(steps):
            loss = step(i)
        loss.item()
        times.append((time.perf_counter() - started) / steps * 1e3)
    times.sort()
    print(json.dumps({
        "peer": "torch", "version": torch.__version__, "threads": torch.get_num_threads(),
        "steps": steps * arguments.repeats, "ms_per_step": round(times[len(times) // 2], 4),
        "ms_fastest": round(times[0], 4), "ms_slowest": round(times[-1], 4)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
