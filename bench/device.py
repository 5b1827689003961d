"""The rows of a CUDA device beside PyTorch and JAX on it: `scripts/bench --device cuda:0`.

Weft's side is `weft-bench --device`, the peers' peer_device.py; both time by the clock of the device where they have one.
Each runs alone. A row says how long a call takes on the device, in microseconds, and Weft's time over that of the fastest peer.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ("weft", "torch", "torch.compile", "torch.compile, graphs", "jax")


def answer(command, environment, what):
    """What a program writes as JSON; it may say that some rows failed, and then ends with 1."""
    outcome = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    try:
        return json.loads(outcome.stdout)
    except ValueError:
        sys.exit(f"bench: {what} ended with exit code {outcome.returncode}, and wrote no results")


def merged(weft, peers):
    """Both with their columns for each row, which must be of one device."""
    if peers and peers.get("device") != weft["device"]:
        sys.exit(f"bench: Weft ran on {weft['device']} and the peers on {peers.get('device')}: choose one by CUDA_VISIBLE_DEVICES, and give "
                 "--device cuda:0")
    rows = {name: dict(columns) for name, columns in weft["rows"].items()}
    for name, columns in peers.get("rows", {}).items():
        rows.setdefault(name, {}).update(columns)
    return {**{key: value for key, value in peers.items() if key != "rows"}, "device": weft["device"], "rows": rows}


def line(name, columns):
    """A row of the table; the ratio is empty where Weft or all peers have no time."""
    times = {column: columns.get(column, {}).get("device") for column in COLUMNS}
    peers = [time for column, time in times.items() if column != "weft" and time]
    ratio = f"{times['weft'] / min(peers):.2f}" if times["weft"] and peers else ""
    cells = [f"{times[column]:.1f}" if times[column] else "failed" if "failed" in columns.get(column, {}) else "" for column in COLUMNS]
    share = columns.get("weft", {}).get("gigabytes_a_second")
    return f"{name:<20}" + "".join(f"{cell:>12}" for cell in cells) + f"{ratio:>8}" + (f"{share:>8.0f}" if share else "")


def run(device, pattern, build, python, with_peers, environment):
    """Runs both and prints the table. Gives the exit code and what was measured."""
    if with_peers and device != "cuda:0":
        sys.exit(f"bench: peers run on the first device, and --device is {device}: choose it by CUDA_VISIBLE_DEVICES, or give --no-peers")
    program = os.path.join(build, "bin", "weft-bench")
    result = merged(answer([program, f"--device={device}", pattern], environment, program),
                    answer([python, os.path.join(HERE, "peer_device.py"), "--rows", pattern or "."], environment, "peer_device.py")
                    if with_peers else {})
    print(f"\n{result['device']}, microseconds of a call on the device")
    print(f"{'row':<20}" + "".join(f"{column:>12}" for column in ("weft", "torch", "compiled", "graphs", "jax")) + f"{'ratio':>8}{'GB/s':>8}")
    for name, columns in result["rows"].items():
        print(line(name, columns))
    failed = [name for name, columns in result["rows"].items() if "failed" in columns.get("weft", {})]
    for name in failed:
        print(f"{name}: {result['rows'][name]['weft']['failed']}")
    return (1 if failed else 0), result
