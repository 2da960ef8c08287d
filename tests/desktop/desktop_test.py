"""The window of examples/desktop, used as a person uses it: with the mouse and the keyboard, beside the terminal app on the
same project. Each step asks what the window shows, and what the project has.

usage: run.sh KEDGE_SERVER KEDGE_DESKTOP KEDGE_NOTES KEDGE PLUGIN [SHOTS]
SHOTS: a folder for pictures of the window."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from screen import screen, wait_for
from window import Window

server, desktop, notes, kedge, plugin, *shots = sys.argv[1:]

TRIP = "Train at nine, from platform 4.\n\nBring the tickets.\nCall the hostel about the keys."


def live_text():
    """What Bob makes of it."""
    return "The " + TRIP.replace("Train", "train", 1).replace("keys.", "keys and towels.")


class Story:
    def __init__(self, on, folder):
        self.on, self.folder = on, pathlib.Path(folder)
        self.url = on.server(server, plugin)
        self.step_number = 0

    def step(self, text):
        self.step_number += 1
        print(f"{self.step_number}. {text}", flush=True)

    def shot(self, name):
        if shots:
            self.on.shot(pathlib.Path(shots[0]) / f"desktop-{name}.png")

    # ---- Bob has the terminal app ----

    def bob(self, *words):
        done = subprocess.run([notes, "--data", self.folder / "bob", "--url", self.url, *words], check=True,
                              capture_output=True, text=True)
        return done.stdout

    def bob_edits(self, *words):
        self.bob(*words)
        self.bob("sync")

    # ---- what a copy has, told by the command kedge, which only reads its folder ----

    def ask(self, verb, who):
        done = subprocess.run([kedge, verb, self.folder / who], check=True, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def items(self, who):
        return {line["id"]: line["value"] for line in self.ask("export", who) if line.get("collection") == "notes"}

    def item(self, who, title):
        return next((value for value in self.items(who).values() if value["title"] == title), None)

    def id_of(self, who, title):
        return next(key for key, value in self.items(who).items() if value["title"] == title)

    def edits(self, verb, who):
        return [line["name"] for line in self.ask(verb, who) if line.get("name") not in (None, "kedge.noop")]

    def wait_edits(self, verb, *names):
        """Alice's copy has edits of these kinds. A machine that is slow makes several of what was typed in one go."""
        wait_for(f"{verb}: {names}", lambda: sorted(set(self.edits(verb, "alice"))) == sorted(names))

    def wait_typed(self, title, text):
        """What Alice has typed is an edit, whether or not the server has it."""
        wait_for(f"{title!r} with {text!r} at Alice", lambda: (self.item("alice", title) or {}).get("text") == text)

    def bob_has(self, title, text):
        """Bob's copy, synced, has the note with this text."""
        def condition():
            self.bob("sync")
            return (self.item("bob", title) or {}).get("text") == text
        wait_for(f"{title!r} with {text!r} at Bob", condition)

    # ---- Alice has the window ----

    def open_window(self):
        self.process = self.on.start("window", [desktop, "--data", str(self.folder / "alice"), "--url", self.url],
                                     env=self.on.environment)
        self.window = Window(self.on, self.process, "Notes")

    def press_until(self, key, text):
        """Undo or redo, once for each edit that what was typed has become."""
        while (shown := self.window.field("Text").text) != text:
            self.press(key)
            wait_for(f"another text than {shown!r}", lambda: self.window.field("Text").text != shown)

    def press(self, *keys):
        self.on.keys(*keys)


def beside_the_terminal_app(story):
    story.step("Bob writes three notes in the terminal; Alice's window shows them")
    story.open_window()
    story.window.wait("No notes yet.\nCtrl+N makes the first one.")
    story.bob("add", "Trip", TRIP, "Travel")
    story.bob("add", "Groceries", "milk, bread, apples", "Home")
    story.bob("add", "Books to read", "The Sea, the Sea", "Home")
    story.bob("sync")
    for title in ("Trip", "Groceries", "Books to read"):
        story.window.wait(title, "label")
    story.window.wait("Home", "label")

    story.step("Alice clicks on one, types, and it is on Bob's copy")
    story.window.click("Groceries", "label")
    story.window.wait_field("Title", "Groceries")
    story.press("ctrl+e", "ctrl+End")
    story.on.type(", tea")
    story.bob_has("Groceries", "milk, bread, apples, tea")


    story.step("She puts it into another folder")
    story.window.click("Folder", "text")
    story.press("ctrl+a")
    story.on.type("Shopping")
    story.press("Return")
    story.window.wait("Shopping", "label")
    wait_for("the folder at Bob", lambda: story.bob("sync") and story.item("bob", "Groceries")["folder"] == "Shopping")


def live_changes(story):
    story.step("Bob writes into the note that Alice has open; her cursor stays at its word")
    story.window.click("Trip", "label")
    story.window.wait_field("Text", TRIP)
    story.press("ctrl+e", "ctrl+Home", "ctrl+Right", "ctrl+Right")  # after "Train at"
    caret = wait_for("the cursor behind 'at'", lambda: story.window.field("Text").caret == len("Train at") and len("Train at"))
    text = live_text()
    story.bob_edits("edit", story.id_of("bob", "Trip"), "text", text)
    field = story.window.wait_field("Text", text)
    assert field.caret == caret + len("The "), f"the cursor is at {field.caret}, in {text[:field.caret]!r}"
    story.on.type(" half past")
    story.bob_has("Trip", text.replace("at nine", "at half past nine"))
    return text.replace("at nine", "at half past nine")


def offline_and_conflict(story, text):
    story.step("Alice goes offline and edits: her edits are pending, and Bob does not have them")
    story.press("ctrl+shift+o")
    story.window.wait("Offline", "label")
    story.press("ctrl+e", "ctrl+End")
    story.on.type(" Ask for a late breakfast.")
    story.wait_typed("Trip", text + " Ask for a late breakfast.")
    story.wait_edits("pending", "kedge.text")
    story.window.click("Trip", "text")
    story.press("ctrl+a")
    story.on.type("Trip to the coast")
    story.press("Return")
    story.wait_typed("Trip to the coast", text + " Ask for a late breakfast.")
    story.wait_edits("pending", "kedge.text", "kedge.patch")
    pending = f"{len(story.edits('pending', 'alice'))} pending"
    story.window.wait(pending, "label")
    story.window.wait("Trip to the coast", "label")
    story.bob("sync")
    assert story.item("bob", "Trip")["text"] == text
    story.shot("offline")

    story.step("Bob renames the note and edits its text, too")
    trip = story.id_of("bob", "Trip")
    text = text.replace("platform 4", "platform 7")
    story.bob("edit", trip, "title", "Trip in May")
    story.bob_edits("edit", trip, "text", text)

    story.step("Alice comes back: the texts are merged, and of two titles she has to choose")
    story.press("ctrl+shift+o")
    story.window.wait("Online", "label")
    story.wait_edits("pending")
    story.wait_edits("rejected", "kedge.patch")
    text += " Ask for a late breakfast."
    story.window.wait_field("Text", text)
    story.window.wait_field("Title", "Trip in May")
    story.window.wait("conflict", "label")
    story.window.wait_gone(pending)
    story.bob_has("Trip in May", text)
    story.shot("conflict")
    return text


def resolution(story, text):
    story.step("She merges the titles")
    story.window.click("Resolve…", "label")
    story.window.wait("Another copy renamed this note first", "label")
    story.shot("inbox")
    story.window.click("Merge", "label")
    story.window.wait_field("Title", "Trip in May to the coast")
    assert story.edits("rejected", "alice") == []
    story.window.wait_gone("conflict")
    story.bob_has("Trip in May to the coast", text)

    story.step("Bob deletes a note that she edits offline; she takes hers, and it is back")
    story.press("ctrl+shift+o")
    story.window.wait("Offline", "label")
    story.window.click("Groceries", "label")
    story.press("ctrl+e", "ctrl+End")
    story.on.type(", jam")
    story.wait_typed("Groceries", "milk, bread, apples, tea, jam")
    story.bob_edits("delete", story.id_of("bob", "Groceries"))
    story.press("ctrl+shift+o")
    story.wait_edits("rejected", "kedge.text")
    story.window.wait("This note was deleted", "label")
    story.press("ctrl+i")
    story.window.wait("The note was deleted", "label")
    story.window.click("Take mine", "label")
    story.window.wait("No conflicts", "label")
    story.bob_has("Groceries", "milk, bread, apples, tea, jam")
    assert story.item("bob", "Groceries")["folder"] == "Shopping"

    story.step("Bob deletes another one that she edits; she merges, and what she wrote is a new note")
    draft = story.id_of("bob", "Books to read")
    story.window.click("Books to read", "label")
    story.press("ctrl+shift+o")
    story.window.wait("Offline", "label")
    story.press("ctrl+e", "ctrl+End")
    story.on.type(" again")
    story.wait_typed("Books to read", "The Sea, the Sea again")
    story.bob_edits("delete", draft)
    story.press("ctrl+shift+o")
    story.wait_edits("rejected", "kedge.text")
    story.press("ctrl+i")
    story.window.click("Merge", "label")
    story.window.wait_field("Text", "The Sea, the Sea again")
    story.bob_has("Books to read", "The Sea, the Sea again")
    assert story.id_of("bob", "Books to read") != draft

    story.step("She renames a note twice and Bob does once: one conflict of two edits; she takes theirs")
    story.press("ctrl+shift+o")
    story.window.wait("Offline", "label")
    rename(story, "Books to read", " soon")
    rename(story, "Books to read soon", " or late")
    story.bob_edits("edit", story.id_of("bob", "Books to read"), "title", "Books")
    story.press("ctrl+shift+o")
    story.wait_edits("rejected", "kedge.patch")
    assert len(story.edits("rejected", "alice")) >= 2
    story.press("ctrl+i")
    story.window.wait("Books to read soon or late", "label")
    story.window.click("Take theirs", "label")
    story.wait_edits("rejected")
    assert story.item("alice", "Books")

    story.step("She renames it once more and so does Bob; she takes hers")
    story.window.click("Books", "label")
    story.press("ctrl+shift+o")
    story.window.wait("Offline", "label")
    rename(story, "Books", " at night")
    story.bob_edits("edit", story.id_of("bob", "Books"), "title", "Books of the sea")
    story.press("ctrl+shift+o")
    story.wait_edits("rejected", "kedge.patch")
    story.press("ctrl+i")
    story.window.click("Take mine", "label")
    story.bob_has("Books at night", "The Sea, the Sea again")
    story.wait_edits("rejected")


def rename(story, title, more):
    """Adds to the title of the open note, offline."""
    story.window.click(title, "text")
    story.press("End")
    story.on.type(more)
    story.press("Return")
    wait_for(f"{title + more!r} at Alice", lambda: story.item("alice", title + more))
    story.wait_edits("pending", "kedge.patch")


def undo_and_redo(story):
    story.step("She undoes and redoes a sentence, while Bob writes into the same note")
    story.window.click("Books at night", "label")
    story.window.wait_field("Text", "The Sea, the Sea again")
    story.press("ctrl+e", "ctrl+End")
    story.on.type(" by Murdoch")
    story.bob_has("Books at night", "The Sea, the Sea again by Murdoch")
    story.bob_edits("edit", story.id_of("bob", "Books at night"), "text", "First: The Sea, the Sea again by Murdoch")
    story.window.wait_field("Text", "First: The Sea, the Sea again by Murdoch")
    story.press_until("ctrl+z", "First: The Sea, the Sea again")
    story.bob_has("Books at night", "First: The Sea, the Sea again")
    story.press_until("ctrl+shift+z", "First: The Sea, the Sea again by Murdoch")
    story.bob_has("Books at night", "First: The Sea, the Sea again by Murdoch")

    story.step("She deletes a note, and Ctrl+Z brings it back")
    story.press("ctrl+Delete")
    story.window.wait("No note is open", "label")
    wait_for("no such note", lambda: story.item("alice", "Books at night") is None)
    story.press("ctrl+z")
    story.window.wait("Books at night", "label")
    story.bob_has("Books at night", "First: The Sea, the Sea again by Murdoch")


def the_past(story, text):
    story.step("She moves the slider over the versions of a note, takes the first one, and undoes that")
    story.window.click("Trip in May to the coast", "label")
    story.window.wait_field("Text", text)
    story.press("ctrl+h")
    story.window.wait("Versions", "slider")
    story.press("Home")
    story.window.wait_field("Text", TRIP)
    story.window.wait_field("Title", "Trip")
    caption = story.window.wait_start("Version ", "Note added").name
    assert "another copy" in caption, caption
    story.press("Right")
    story.window.wait_field("Text", live_text())
    assert "another copy" in story.window.wait_start("Version ", "Text edited").name
    story.shot("history")
    story.press("Home")
    story.window.wait_field("Text", TRIP)
    story.window.click("Restore", "label")
    story.bob_has("Trip", TRIP)
    story.press("ctrl+z")
    story.bob_has("Trip in May to the coast", text)
    story.window.wait_field("Text", text)

    story.step("Offline there is no history, and she is told so")
    story.press("ctrl+shift+o")
    story.window.wait("Offline", "label")
    story.press("ctrl+h")
    story.window.wait("the database is offline", "label")
    story.press("Escape", "ctrl+shift+o")
    story.window.wait("Online", "label")
    story.press("ctrl+e", "ctrl+End")
    story.on.type(" Pack.")
    story.bob_has("Trip in May to the coast", text + " Pack.")


def the_end(story):
    story.step("The server hangs; the window does not: she types, asks for the history, and closes it")
    story.on.serving.send_signal(signal.SIGSTOP)
    story.press("ctrl+n")
    story.window.wait_field("Title", "")
    story.on.type("Last")
    story.press("Return")
    story.window.wait("Last", "label")
    story.press("ctrl+h")
    story.window.wait("Asking the server for the versions…", "label")
    story.press("Escape", "ctrl+e")
    story.on.type("typed when the window was closed")
    story.press("ctrl+h")
    story.window.click("Close", "push button")
    assert story.process.wait(60) == 0
    story.on.serving.send_signal(signal.SIGCONT)

    story.step("Both copies have the same bytes, and nothing is pending")
    log = story.on.log_of("window").read_text()
    assert "CRITICAL" not in log and "WARNING" not in log, log
    subprocess.run([notes, "--data", story.folder / "alice", "--url", story.url, "sync"], check=True, capture_output=True)
    story.bob("sync")
    assert story.item("bob", "Last")["text"] == "typed when the window was closed"
    assert story.items("alice") == story.items("bob")
    for who in ("alice", "bob"):
        assert story.edits("pending", who) == [] == story.edits("rejected", who)


with tempfile.TemporaryDirectory() as temporary, screen(temporary) as on_screen:
    told = Story(on_screen, temporary)
    try:
        beside_the_terminal_app(told)
        merged = offline_and_conflict(told, live_changes(told))
        resolution(told, merged)
        undo_and_redo(told)
        the_past(told, merged)
        the_end(told)
    except BaseException:
        picture = os.environ.get("KEDGE_DESKTOP_FAILED")
        if picture:
            on_screen.shot(picture)
        for log in ("window", "server"):
            path = on_screen.log_of(log)
            print(f"---- {log}\n{path.read_text() if path.exists() else ''}", file=sys.stderr)
        raise
print("the window shows what the project has")
