"""GTK entry for the test of the IBus engine: prints its text when it changes; run by the system's Python."""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402

window, entry = Gtk.Window(title="entry"), Gtk.Entry()
entry.connect("changed", lambda _: print(entry.get_text(), flush=True))
window.connect("destroy", Gtk.main_quit)
window.add(entry)
window.show_all()
Gtk.main()
