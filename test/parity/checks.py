"""Distances that a test compares with bounds, and how many were within them."""


class Checks:
    def __init__(self, verbose=False):
        self.passed = self.failed = 0
        self.verbose = verbose  # whether those that hold are printed, too

    def __call__(self, what, value, bound):
        ok = bool(value <= bound)
        self.passed, self.failed = self.passed + ok, self.failed + (not ok)
        if self.verbose or not ok:
            print(f"{'ok    ' if ok else 'FAILED'} {what}: {value:.3g} (bound {bound:.3g})")

    def report(self):
        """Prints the last line. Returns the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
