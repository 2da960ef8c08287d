"""The window of bindings/java with a kedge-server, on a screen without a monitor, by keyboard and mouse: notes are made offline,
another copy gets them, an edit of both is merged, and the window shows it. While another process has the turn to write, the window
goes on, too. Skips (77) without what it needs.

usage: window_test.py SERVER PLUGIN WINDOW NOTES PICTURE   (WINDOW, NOTES: the programs; PICTURE: the screenshot that it makes)"""
import fcntl
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "desktop"))
from screen import screen, wait_for

SERVER, PLUGIN, WINDOW, NOTES, PICTURE = sys.argv[1:]


def skip_without_tools():
    for tool in ("Xvfb", "xdotool", "import"):
        if not shutil.which(tool):
            print(f"there is no {tool}")
            sys.exit(77)
    java = pathlib.Path(shutil.which("java")).resolve().parents[1]
    if not (java / "lib/libawt_xawt.so").exists():
        print("this Java has no windows")
        sys.exit(77)


class Window:
    """A window, of which the title says what it shows."""

    def __init__(self, on, folder, url):
        self.on = on
        self.process = on.start("window", [WINDOW, str(folder), url], env=on.environment)
        self.id = wait_for("the window", lambda: self.search() or None)
        # It may be shown, and not yet be able to have the focus.
        wait_for("the focus", lambda: self.ask("windowmove", self.id, "0", "0", "windowfocus", "--sync", self.id) is not None)

    def ask(self, *words):
        """What xdotool prints; None when it fails."""
        assert self.process.poll() is None, self.on.log_of("window").read_text()
        told = subprocess.run(["xdotool", *words], env=self.on.environment, capture_output=True, text=True)
        return told.stdout if told.returncode == 0 else None

    def search(self):
        return (self.ask("search", "--onlyvisible", "--name", "^Notes: ") or "").split("\n")[0]

    def shows(self, state):
        def told():
            return (self.ask("getwindowname", self.id) or "").strip() == f"Notes: {state}"
        try:
            wait_for(state, told)
        except AssertionError as failure:
            sys.exit(f"{failure}; it is {self.ask('getwindowname', self.id)!r}: {self.on.log_of('window').read_text()}")

    def enter(self, text):
        self.on.type(text)
        self.on.keys("Return")


def colours(picture):
    told = subprocess.run(["identify", "-format", "%k", picture], capture_output=True, text=True, check=True)
    return int(told.stdout)


def main(folder):
    with screen(folder) as on:
        url = on.server(SERVER, PLUGIN)

        def notes(*words):
            return subprocess.run([NOTES, f"{folder}/bob", "--url", url, *words], capture_output=True, text=True, check=True,
                                  timeout=120).stdout.strip()

        window = Window(on, f"{folder}/ann", url)
        window.shows("0 notes, offline, 0 pending")
        empty = f"{folder}/empty.png"
        on.shot(empty)
        on.click(200, 15)  # into the field
        window.enter("one two three")
        window.enter("zebra")
        window.shows("2 notes, offline, 2 pending")
        on.keys("ctrl+o")
        window.shows("2 notes, online, 0 pending")
        notes("sync")
        ids = {text: id for id, text in (line.split("  ") for line in notes("list").split("\n"))}
        assert sorted(ids) == ["one two three", "zebra"], ids

        on.keys("ctrl+o")
        window.shows("2 notes, offline, 0 pending")
        notes("edit", ids["one two three"], "one two three four")
        on.click(100, 42)  # the first note
        on.click(200, 15)
        on.keys("Home")
        window.enter("zero ")
        window.shows("2 notes, offline, 1 pending")
        notes("sync")
        on.keys("ctrl+o")
        window.shows("2 notes, online, 0 pending")
        wait_for("the merged note", lambda: (notes("sync"), "zero one two three four" in notes("list"))[1])

        on.click(100, 62)  # the second note
        on.keys("ctrl+d")
        window.shows("1 notes, online, 0 pending")
        on.keys("ctrl+z")
        window.shows("2 notes, online, 0 pending")
        with open(f"{folder}/ann/lock", "rb+") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            on.click(200, 15)
            for saving, text in enumerate(("late", "later"), 1):
                window.enter(text)
                window.shows(f"2 notes, online, 0 pending, {saving} saving")
        window.shows("4 notes, online, 0 pending")
        on.shot(PICTURE)
        assert pathlib.Path(empty).read_bytes() != pathlib.Path(PICTURE).read_bytes()
        assert colours(PICTURE) > 3, "the picture shows no window"
        print(f"a window by keyboard and mouse; {PICTURE} shows it")


skip_without_tools()
with tempfile.TemporaryDirectory() as temporary:
    main(temporary)
