"""Steps beside other busy processes: `scripts/bench --neighbours N`.

Every call is timed, in visits that alternate between a quiet machine and one with N processes that spin. Beside each
step a plain loop on one thread runs as long as the step does: what becomes of it is what the system's scheduler does
to anybody, since neighbours take at least their share.
"""

import statistics

from call_times import Spinning, aligned, high, mark, visit
from servers import Server

VISITS, SECONDS, FEWEST_CALLS = 5, 1.0, 12
BARS = [("quiet p95 <= 1.3", "quiet_p95", 1.3), ("loaded median <= 2.6", "loaded_median", 2.6),
        ("loaded p95 <= 6", "loaded_p95", 6.0)]


def judge(quiet, loaded):
    """What the calls of a contender come to, all over the median of the quiet ones."""
    middle = statistics.median(quiet)
    return {"quiet_ms": middle, "quiet_p95": high(quiet) / middle, "loaded_median": statistics.median(loaded) / middle,
            "loaded_p95": high(loaded) / middle, "calls": [len(quiet), len(loaded)]}


def verdicts(found):
    return [{"bar": text, "found": found[key], "limit": limit, "passed": found[key] <= limit} for text, key, limit in BARS]


def measure(row, columns, count, commands, environment):
    """One row: Weft, the loop, and peers, by turns."""
    contenders = {}
    try:
        for column in columns:
            contenders[column] = Server(commands.calls(column, row), environment)
        length = statistics.median(visit(contenders["weft"], SECONDS / 2, FEWEST_CALLS))
        contenders["one thread"] = Server(commands.calls("weft", f"loop:{length:.4g}"), environment)
        quiet, loaded = ({column: [] for column in contenders} for _ in range(2))
        for _ in range(VISITS):
            for column, server in contenders.items():
                quiet[column] += visit(server, SECONDS, FEWEST_CALLS)
            with Spinning(count):
                for column, server in contenders.items():
                    loaded[column] += visit(server, SECONDS, FEWEST_CALLS)
    finally:
        for server in contenders.values():
            server.kill()
    found = {column: judge(quiet[column], loaded[column]) for column in contenders}
    found["weft"]["bars"] = verdicts(found["weft"])
    return found


def run(names, count, columns, commands, environment, note):
    rows = {}
    for i, name in enumerate(names):
        note(f"bench: [{i + 1}/{len(names)}] {name}, quiet and beside {count} busy processes")
        try:
            rows[name] = measure(name, columns, count, commands, environment)
        except RuntimeError as error:
            rows[name] = {"error": str(error)}
    return rows


def report(rows, count, titles):
    lines = [["row", "", "quiet ms", "p95", f"median beside {count}", f"p95 beside {count}",
              "must reach (all but the first over the quiet median)"]]
    for name, row in rows.items():
        if "error" in row:
            lines.append([titles[name], "failed", "", "", "", "", row["error"]])
            continue
        for column, found in row.items():
            bars = "; ".join(f"{mark(bar['passed'])}: {bar['bar']}" for bar in found.get("bars", []))
            lines.append([titles[name] if column == "weft" else "", column, f"{found['quiet_ms']:.3g}",
                          *(f"{found[key]:.2f}" for key in ("quiet_p95", "loaded_median", "loaded_p95")), bars or "-"])
    print(aligned(lines))
