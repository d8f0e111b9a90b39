"""Driver of the IBus engine without a screen: run by the system's Python inside a session bus.

Sends keys to an input context and prints, as JSON lines, what it shows and commits. A list in place of a key calls the
input context: the text around the caret, the purpose of the text field, or a property of the engine.
"""

import json
import sys

import gi

gi.require_version("IBus", "1.0")
from gi.repository import GLib, IBus  # noqa: E402

KEYS = {
    "space": IBus.KEY_space, "down": IBus.KEY_Down, "enter": IBus.KEY_Return, "f7": IBus.KEY_F7,
    "mode": IBus.KEY_Zenkaku_Hankaku, "left": IBus.KEY_Left, "tab": IBus.KEY_Tab, "henkan": IBus.KEY_Henkan,
    "muhenkan": IBus.KEY_Muhenkan, "escape": IBus.KEY_Escape,
}  # fmt: skip
IBus.init()
bus, loop = IBus.Bus(), GLib.MainLoop()
context = bus.create_input_context("test")


def tell(kind, value):
    print(json.dumps([kind, value]), flush=True)


def properties(found):
    tell(
        "properties",
        [one.get_key() for one in iter(lambda: found.get(len(seen)), None) if not seen.append(one)],
    )


seen = []


def table(_, found, is_shown):
    if is_shown:
        tell(
            "candidates", [found.get_candidate(k).get_text() for k in range(found.get_number_of_candidates())]
        )


context.connect("commit-text", lambda _, text: tell("commit", text.get_text()))
context.connect("update-preedit-text", lambda _, text, at, is_shown: tell("preedit", text.get_text()))
context.connect("update-lookup-table", table)
context.connect("delete-surrounding-text", lambda _, offset, n: tell("delete", [offset, n]))
context.connect("register-properties", lambda _, found: properties(found))
context.set_capabilities(
    IBus.Capabilite.PREEDIT_TEXT | IBus.Capabilite.FOCUS | IBus.Capabilite.LOOKUP_TABLE
    | IBus.Capabilite.PROPERTY | IBus.Capabilite.SURROUNDING_TEXT
)  # fmt: skip
context.focus_in()
context.set_engine("epigram")
waiting = json.loads(sys.argv[1])


def step():
    if context.get_engine() is None or context.get_engine().get_name() != "epigram":
        return True  # the engine is still starting
    if not waiting:
        GLib.timeout_add(1000, loop.quit)
        return False
    key = waiting.pop(0)
    if isinstance(key, list):
        what, *given = key
        if what == "around":
            context.set_surrounding_text(IBus.Text.new_from_string(given[0]), *given[1:])
        elif what == "purpose":
            context.set_content_type(getattr(IBus.InputPurpose, given[0]), 0)
        else:
            context.property_activate(given[0], given[1])
        return True
    tell("handled", [key, context.process_key_event(KEYS[key] if key in KEYS else ord(key), 0, 0)])
    return True


GLib.timeout_add(100, step)
GLib.timeout_add_seconds(120, loop.quit)
loop.run()
