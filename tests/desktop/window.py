"""What a window shows, as a screen reader is told it (AT-SPI), and where. A test reads the window through it, and acts by
the mouse and the keyboard."""
import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

from screen import WIDTH, wait_for  # noqa: E402

Atspi.init()


class Part:
    """A widget at one moment."""

    def __init__(self, node):
        self.node = node
        self.role = node.get_role_name()
        self.name = node.get_name()
        extents = node.get_component_iface().get_extents(Atspi.CoordType.WINDOW)
        self.x, self.y, self.width, self.height = extents.x, extents.y, extents.width, extents.height
        self.text, self.caret = None, None
        if self.role == "text":
            self.text = Atspi.Text.get_text(node, 0, Atspi.Text.get_character_count(node))
            self.caret = Atspi.Text.get_caret_offset(node)

    def __repr__(self):
        return f"{self.role} {self.text if self.text is not None else self.name!r}"


class Window:
    def __init__(self, screen, process, title):
        self.screen, self.process, self.title = screen, process, title
        wait_for("the window in the tree of widgets", self.application)
        wait_for("the window's widgets", self.parts)
        screen.focus(title)

    def application(self):
        desktop = Atspi.get_desktop(0)
        for i in range(desktop.get_child_count()):
            application = desktop.get_child_at_index(i)
            if application is not None and application.get_process_id() == self.process.pid:
                return application
        return None

    def parts(self):
        """All widgets that can be seen. One that goes while it is looked at is left out."""
        found = []

        def walk(node):
            try:
                node.clear_cache()
                if node.get_component_iface() is not None:
                    part = Part(node)
                    if part.width > 0 and part.height > 0:
                        found.append(part)
                for i in range(node.get_child_count()):
                    walk(node.get_child_at_index(i))
            except (GLib.Error, AttributeError):
                pass
        walk(self.application())
        return found

    def find(self, name, role=None):
        """The first widget that has this name, or this text in it."""
        return next((part for part in self.parts() if name in (part.name, part.text) and role in (None, part.role)), None)

    def wait(self, name, role=None):
        return wait_for(f"{role or 'a widget'} {name!r} in {self.parts()}", lambda: self.find(name, role))

    def wait_start(self, start, part):
        """A label that starts so, with `part` in it."""
        def condition():
            return next((each for each in self.parts() if each.name.startswith(start) and part in each.name), None)
        return wait_for(f"{start!r} with {part!r} in {self.parts()}", condition)

    def wait_gone(self, name):
        wait_for(f"no widget {name!r}", lambda: self.find(name) is None)

    def field(self, name):
        """The field Title, Folder or Text."""
        return wait_for(f"the field {name}",
                        lambda: next((part for part in self.parts() if part.role == "text" and part.name == name), None))

    def wait_field(self, name, text):
        wait_for(f"{text!r} in the field {name}; it has {self.field(name).text!r}", lambda: self.field(name).text == text)
        return self.field(name)

    def click(self, name, role=None):
        """A click of the mouse on the middle of a widget. The window has a border of some pixels, which extents leave out."""
        part = self.wait(name, role)
        frame = self.wait(self.title, "frame")
        border = (WIDTH - frame.width) // 2
        self.screen.click(part.x + border + part.width // 2, part.y + border + part.height // 2)
