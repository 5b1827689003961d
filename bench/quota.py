"""Steps in a container that may use less than the machine has: `scripts/bench --quota`.

A control group with a quota of processor time sees all processors, and stands still for the rest of a period once its
threads have used it up. So a step in it is compared with one that is pinned to that many processors (whole ones: 1 for
a quota of 1.5). The mean counts, since most calls never meet the end of a period.
"""

import math
import os
import statistics
import time

from call_times import aligned, high, mark, visit
from servers import Server

QUOTAS = [1.0, 1.5]
PERIOD_US = 100000
VISITS, SECONDS, FEWEST_CALLS = 4, 1.5, 5
LIMIT = 1.3
BAR = f"<= {LIMIT} of pinned"


class NotAllowed(Exception):
    """No control group can be made here."""


def places(mounts, own):
    """(folder, whether of version 2) in which a group could be made, the best first, from the texts of
    /proc/self/mounts and /proc/self/cgroup: below the group that we are in, or at the root where that is not seen."""
    paths = {}
    for line in own.splitlines():
        number, controllers, path = line.split(":", 2)
        for controller in controllers.split(",") if controllers else [""]:
            paths[controller] = path
    found = []
    for line in mounts.splitlines():
        _, folder, kind, flags = line.split()[:4]
        if kind == "cgroup2":
            found += [(folder + paths.get("", "").rstrip("/"), True), (folder, True)]
        elif kind == "cgroup" and "cpu" in flags.split(","):
            found += [(folder + paths.get("cpu", "").rstrip("/"), False), (folder, False)]
    return list(dict.fromkeys(found))


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


class Group:
    """A control group with a quota, for as long as the `with` lasts."""

    def __init__(self, processors):
        self.processors, self.folder = processors, None

    def __enter__(self):
        why = "there is no control group of processors"
        for parent, second in places(text_of("/proc/self/mounts"), text_of("/proc/self/cgroup")):
            # Nobody's groups are changed: of version 2 only where the parent gives its children the controller.
            if second and "cpu" not in text_of(parent + "/cgroup.subtree_control").split():
                continue
            folder = f"{parent}/weft-bench-{os.getpid()}"
            try:
                os.mkdir(folder)
            except OSError as error:
                why = str(error)
                continue
            self.folder = folder
            quota = int(self.processors * PERIOD_US)
            try:
                if second:
                    self.write("cpu.max", f"{quota} {PERIOD_US}")
                else:
                    self.write("cpu.cfs_period_us", PERIOD_US)
                    self.write("cpu.cfs_quota_us", quota)
                return self
            except BaseException as error:
                self.__exit__()
                if not isinstance(error, OSError):
                    raise
                why = str(error)
        raise NotAllowed(why)

    def write(self, name, value):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(str(value))

    def join(self):
        """In a process that is to be in the group."""
        self.write("cgroup.procs", os.getpid())

    def __exit__(self, *_):
        """Its processes have ended, but the system may take a moment to notice."""
        for attempt in range(50):
            try:
                if self.folder:
                    os.rmdir(self.folder)
                break
            except OSError:
                if attempt == 49:
                    raise
                time.sleep(0.1)
        self.folder = None


def judge(pinned, limited):
    """Of visits, each a list of calls: the mean of each, and their ratio."""
    of_pinned, of_limited = (statistics.median(statistics.fmean(times) for times in visits) for visits in (pinned, limited))
    ratio = of_limited / of_pinned
    return {"pinned_ms": of_pinned, "limited_ms": of_limited, "ratio": ratio,
            "limited_p95": high([time for times in limited for time in times]) / of_pinned,
            "bars": [{"bar": BAR, "found": ratio, "limit": LIMIT, "passed": ratio <= LIMIT}]}


def measure(row, processors, available, commands, environment):
    own = {key: value for key, value in environment.items() if key != "WEFT_NUM_THREADS"}  # the quota decides
    if len(available) < math.ceil(processors):
        raise NotAllowed(f"a quota of {processors:g} limits nothing on {len(available)} processors")
    servers = []
    with Group(processors) as group:
        def enter():
            os.sched_setaffinity(0, available)
            group.join()

        try:
            servers.append(Server(commands.calls("weft", row), own,
                                  lambda: os.sched_setaffinity(0, available[:math.floor(processors)])))
            servers.append(Server(commands.calls("weft", row), own, enter))
            times = ([], [])
            for _ in range(VISITS):
                for server, into in zip(servers, times):
                    into.append(visit(server, SECONDS, FEWEST_CALLS))
        finally:
            for server in servers:
                server.kill()
    return judge(*times)


def run(names, available, commands, environment, note):
    rows = {}
    for i, name in enumerate(names):
        rows[name] = {}
        for processors in QUOTAS:
            note(f"bench: [{i + 1}/{len(names)}] {name} with a quota of {processors:g} processors")
            try:
                rows[name][processors] = measure(name, processors, available, commands, environment)
            except NotAllowed as error:
                rows[name][processors] = {"not_measured": str(error),
                                          "bars": [{"bar": BAR, "found": None, "limit": LIMIT, "passed": None}]}
            except RuntimeError as error:
                rows[name][processors] = {"error": str(error)}
    return rows


def report(rows, titles):
    lines = [["row", "quota", "pinned ms", "with quota ms", "ratio", "p95", "must reach (means; p95 over the pinned mean)"]]
    for name, by_quota in rows.items():
        for processors, found in by_quota.items():
            head = [titles[name], f"{processors:g}"]
            if "ratio" not in found:
                kind = "failed" if "error" in found else mark(None)
                lines.append(head + ["-", "-", "-", "-", f"{kind}: {BAR}: {found.get('error') or found['not_measured']}"])
                continue
            lines.append(head + [f"{found['pinned_ms']:.3g}", f"{found['limited_ms']:.3g}", f"{found['ratio']:.2f}",
                                 f"{found['limited_p95']:.2f}", f"{mark(found['ratio'] <= LIMIT)}: {BAR}"])
    print(aligned(lines))
