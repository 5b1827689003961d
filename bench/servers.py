"""Processes that stay alive between their visits."""

import json
import subprocess
import threading

VERBOSE = False  # whether they may write on our standard error


class Server:
    """A process that answers lines, such as names of rows, with lines of JSON. One that ends is started again at the
    next line. `before` runs in the new process before its program."""

    def __init__(self, command, environment, before=None):
        self.command, self.environment, self.before = command, environment, before
        self.child, self.hello = None, {}
        self.start()

    def start(self):
        self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env=self.environment, stderr=subprocess.PIPE if not VERBOSE else None,
                                      preexec_fn=self.before)
        if self.child.stderr:  # drained, so that it cannot fill up
            self.errors = []
            threading.Thread(target=lambda stream, kept: [kept.append(line) for line in stream],
                             args=(self.child.stderr, self.errors), daemon=True).start()
        line = self.child.stdout.readline()
        self.hello = json.loads(line) if line else {"error": self.why()}

    def why(self):
        code = self.child.wait()
        tail = "".join(getattr(self, "errors", [])[-1:]).strip()
        return f"the process ended with status {code}" + (f": {tail}" if tail else "")

    def ask(self, question):
        if self.child.poll() is not None:
            self.start()
        if "error" in self.hello:
            return {"results": {}, "error": self.hello["error"]}
        try:
            self.child.stdin.write(question + "\n")
            self.child.stdin.flush()
            line = self.child.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"results": {}, "error": self.why()}

    def stop(self):
        if self.child.poll() is None:
            self.child.stdin.close()
            self.child.wait()

    def kill(self):
        """Whatever it does just now."""
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
