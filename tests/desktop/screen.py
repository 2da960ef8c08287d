"""A screen without a monitor, a server, and the programs on it; all of them end with it."""
import contextlib
import os
import pathlib
import select
import subprocess
import time

TIMEOUT_S = 60
WIDTH, HEIGHT = 1000, 640
# The window's own look, wherever it runs.
SETTINGS = "[Settings]\ngtk-font-name=Cantarell 11\ngtk-enable-animations=false\n"


def wait_for(what, condition):
    """Asks `condition` again and again until it gives something true, which is returned."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"after {TIMEOUT_S} s there is still not: {what}")
        select.select([], [], [], 0.02)


class Screen:
    def __init__(self, stack, folder):
        self.stack, self.folder = stack, pathlib.Path(folder)
        reading, writing = os.pipe()
        # Without -noreset it starts again when its only client, such as xdotool, has ended, and refuses who comes meanwhile.
        self.start("xvfb", ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp",
                            "-noreset"], pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as display:
            self.display = f":{display.readline().strip()}"
        settings = self.folder / "config/gtk-4.0"
        settings.mkdir(parents=True)
        (settings / "settings.ini").write_text(SETTINGS)
        self.environment = {**os.environ, "DISPLAY": self.display, "GDK_BACKEND": "x11", "GSK_RENDERER": "cairo",
                            "XDG_CONFIG_HOME": str(self.folder / "config"), "TMPDIR": str(self.folder), "LANG": "C.UTF-8"}
        self.environment.pop("WAYLAND_DISPLAY", None)

    def log_of(self, name):
        return self.folder / f"{name}.log"

    def start(self, name, command, **options):
        """A program that ends with the screen, and its output in a log."""
        with open(self.log_of(name), "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, **options)
        self.stack.callback(end, process)
        return process

    def server(self, program, plugin):
        """Starts kedge-server; returns its address."""
        command = [program, "--data", str(self.folder / "server"), "--listen", "127.0.0.1:0", "--open", "--mutators", plugin]
        self.serving = process = self.start("server", command)

        def address():
            assert process.poll() is None, self.log_of("server").read_text()
            words = self.log_of("server").read_text().split("kedge-server ready on ")
            return words[1].split()[0] if len(words) > 1 and words[1].split() else None
        return wait_for("a server that is ready", address)

    def run(self, *command):
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def keys(self, *keys):
        """Presses keys and combinations, such as ctrl+n."""
        self.run("xdotool", "key", "--clearmodifiers", *keys)

    def type(self, text):
        self.run("xdotool", "type", "--clearmodifiers", "--delay", "4", text)

    def click(self, x, y):
        self.run("xdotool", "mousemove", str(x), str(y), "click", "1")

    def focus(self, title):
        """Gives the keyboard to the window with a title: there is no window manager that does."""
        wait_for(f"the focus on {title}", lambda: subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--name", f"^{title}$", "windowfocus", "--sync"], env=self.environment,
            capture_output=True).returncode == 0)

    def shot(self, path):
        """A picture of the screen, with few colours: a page of docs shows it."""
        self.run("xdotool", "mousemove", str(WIDTH - 2), str(HEIGHT // 2))
        self.run("import", "-window", "root", "+dither", "-colors", "64", "-define", "png:compression-level=9", f"png8:{path}")


def end(process):
    process.terminate()
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def screen(folder):
    with contextlib.ExitStack() as stack:
        yield Screen(stack, folder)
