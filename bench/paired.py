"""Two builds of Weft, row by row in turn: `scripts/bench --against FOLDER`.

The machine's speed changes within a run by more than a change of the compiler may cost. So each row is visited in
rounds, of which each measures both builds, the first one in every other round first. A round gives one ratio; what is
said of a row are the median and the quartiles of its ratios, and the ratio of the fastest samples. A row is slower
where the median and the fastest agree that it is, by more than the limit, and three quarters of the rounds that it is at
all.
"""

import os
import statistics

LIMIT = 1.03


def measured(answer):
    """Median and fastest sample of Weft in a visit to a row, in milliseconds; None where it failed."""
    found = answer["results"].get("weft")
    return None if found is None or "error" in answer else (found["ms"], min(found["samples_ms"]))


def judge(old, new):
    """What the visits of a row come to: lists of (median, fastest) of the two builds, round by round."""
    ratios = [after[0] / before[0] for before, after in zip(old, new)]
    low, middle, high = (statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1
                         else (ratios[0], ratios[0], ratios[0]))
    fastest_old, fastest_new = min(visit[1] for visit in old), min(visit[1] for visit in new)
    fastest = fastest_new / fastest_old
    if middle > LIMIT and fastest > LIMIT and low > 1:
        verdict = "SLOWER"
    elif middle < 1 / LIMIT and fastest < 1 / LIMIT and high < 1:
        verdict = "faster"
    elif max(middle, fastest) > LIMIT or high - low > 2 * (LIMIT - 1):
        verdict = "not settled"
    else:
        verdict = "same"
    return {"old_ms": fastest_old, "new_ms": fastest_new, "fastest": fastest, "median": middle, "quartiles": [low, high],
            "rounds": len(ratios), "verdict": verdict}


def environment_of(build, environment):
    """A build that was moved finds its own libraries, and not those of the folder where it was made."""
    return dict(environment, LD_LIBRARY_PATH=os.path.abspath(os.path.join(build, "lib")))


def compare(names, visit, rounds, note):
    """Visits every row in rounds; `visit(which, name)` asks build 0 (old) or 1 (new)."""
    rows = {}
    for i, name in enumerate(names):
        note(f"bench: [{i + 1}/{len(names)}] {name}")
        found = ([], [])
        failed = ""
        for number in range(rounds):
            for which in ((0, 1), (1, 0))[number % 2]:
                answer = visit(which, name)
                sample = measured(answer)
                if sample is None:
                    failed = f"{('old', 'new')[which]} build: {answer.get('error', 'no result')}"
                    break
                found[which].append(sample)
            if failed:
                break
        rows[name] = {"error": failed} if failed else judge(*found)
    return rows


def report(rows, titles):
    print(f"{'row':<40}{'old ms':>10}{'new ms':>10}{'fastest':>9}{'median':>8}  quartiles     new / old")
    for name, row in rows.items():
        if "error" in row:
            print(f"{titles[name]:<40}  failed: {row['error']}")
            continue
        low, high = row["quartiles"]
        print(f"{titles[name]:<40}{row['old_ms']:>10.4g}{row['new_ms']:>10.4g}{row['fastest']:>9.3f}{row['median']:>8.3f}"
              f"  {low:.3f}-{high:.3f}  {row['verdict']}")
    slower = [name for name, row in rows.items() if row.get("verdict") == "SLOWER" or "error" in row]
    print(f"\n{len(rows) - len(slower)} of {len(rows)} rows are not slower by more than {round(100 * (LIMIT - 1))} %"
          + (": " + ", ".join(slower) + " are" if slower else ""))
    return bool(slower)
