#!/usr/bin/python3
"""IBus engine for the system's Python with gi: passes keys to the server, which it starts.

``epigram ime install`` copies this file and writes ``engine.json`` beside it, the command of the server and its socket.
It imports nothing of epigram, which may live in a virtual environment.
"""

# mypy: ignore-errors
# gi has no types, and is not in virtual environments.

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

NAME, BUS = "epigram", "org.freedesktop.IBus.Epigram"
SETTINGS = {
    "punctuation": ("，．", "、。", "，．"), "width": ("full-width letters", "mixed", "full"),
    "layout": ("kana keys", "romaji", "kana"), "private": ("learn nothing", False, True),
}  # fmt: skip
"""Label, value when off and value when on of the settings that are properties."""
CONFIG = Path(__file__).with_name("engine.json")
START_SECONDS = 20
ANSWER_SECONDS = 3


class EngineClient:
    """Connection to the server, which is started if nobody answers."""

    def __init__(self, command, path):
        self.command, self.path, self.file = command, path, None

    def ask(self, request, again=True):
        """Answer of the server; None if there is none."""
        try:
            if self.file is None:
                self._connect()
            self.file.write(json.dumps(request).encode() + b"\n")
            self.file.flush()
            line = self.file.readline()
            if line:
                return json.loads(line)
        except OSError as error:
            print(f"epigram: {error}", file=sys.stderr)
        self.file = None  # the server has gone: start it once more
        return self.ask(request, False) if again else None

    def _connect(self):
        try:
            self._open()
            return
        except OSError:
            subprocess.Popen(self.command, stdin=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self._open()
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _open(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(ANSWER_SECONDS)
        connection.connect(self.path)
        self.file = connection.makefile("rwb")


def key_table(ibus):
    """Names of the editor's keys by their IBus symbols, without and with shift."""
    names = {
        "Return": "enter", "KP_Enter": "enter", "space": "space", "BackSpace": "backspace", "Escape": "escape",
        "Left": "left", "Right": "right", "Up": "up", "Down": "down", "Tab": "tab", "Page_Up": "page up",
        "Page_Down": "page down", "Henkan": "space", "Muhenkan": "f7", **{f"F{n}": f"f{n}" for n in range(6, 11)},
    }  # fmt: skip
    symbols = {symbol: getattr(ibus, f"KEY_{symbol}", None) for symbol in names}
    plain = {symbols[symbol]: key for symbol, key in names.items() if symbols[symbol] is not None}
    return plain, {ibus.KEY_Left: "shorter", ibus.KEY_Right: "longer"}


class EngineMethods:
    """Methods of the engine of one input context; :func:`make_engine` adds what needs gi."""

    def __init__(self, **properties):
        self.ibus.Engine.__init__(self, **properties)
        self.client = EngineClient(*self.server)
        self.is_on, self.is_secret, self.is_idle, self.settings = True, False, True, {}

    def do_process_key_event(self, keyval, keycode, state):
        if state & self.skipped or self.is_secret:
            return False
        if keyval in self.modes:
            self.is_on = not self.is_on
            self._show_mode()
            return True
        key = self._key(keyval, state)
        if not self.is_on or key is None:
            return False
        request, before = {"key": key}, None
        if self.is_idle:
            before, selected = self._surroundings()
            if keyval == self.ibus.KEY_Henkan:  # the commit takes the place of the selection
                request = {"reconvert": selected} if selected else {"key": "reconvert"}
        if before is not None:
            request["before"] = before
        answer = self.client.ask(request)
        if answer is None or "error" in answer:
            return False
        self._show(answer)
        return answer["handled"] or "reconvert" in request

    def _key(self, keyval, state):
        if state & self.ibus.ModifierType.CONTROL_MASK:
            return {ord("z"): "undo", ord("r"): "reconvert"}.get(keyval)
        if state & self.ibus.ModifierType.SHIFT_MASK and keyval in self.shifted:
            return self.shifted[keyval]
        if keyval in self.plain:
            return self.plain[keyval]
        char = self.ibus.keyval_to_unicode(keyval)
        return char if char and char.isprintable() else None

    def _surroundings(self):
        """Text before the caret (None if the application does not tell it), and the selected text."""
        if not self.client_capabilities & self.ibus.Capabilite.SURROUNDING_TEXT:
            return None, ""
        text, caret, anchor = self.get_surrounding_text()
        first, last = min(caret, anchor), max(caret, anchor)
        return text.get_text()[max(first - 300, 0) : first], text.get_text()[first:last]

    def _show(self, answer):
        if answer["erase"]:
            self.delete_surrounding_text(-answer["erase"], answer["erase"])
        if answer["commit"]:
            self.commit_text(self.ibus.Text.new_from_string(answer["commit"]))
        pieces, at = answer["preedit"], answer["at"]
        self.is_idle = not pieces
        whole = "".join(pieces)
        text = self.ibus.Text.new_from_string(whole)
        text.append_attribute(self.ibus.AttrType.UNDERLINE, self.ibus.AttrUnderline.SINGLE, 0, len(whole))
        caret = len(whole)
        if at is not None:
            caret = len("".join(pieces[:at]))
            text.append_attribute(self.ibus.AttrType.BACKGROUND, 0xF5E0B0, caret, caret + len(pieces[at]))
        mode = self.ibus.PreeditFocusMode.COMMIT  # what is shown stays if the focus goes
        self.update_preedit_text_with_mode(text, caret, bool(whole), mode)
        table = self.ibus.LookupTable.new(9, answer["chosen"], True, True)
        for way in answer["candidates"]:
            table.append_candidate(self.ibus.Text.new_from_string(way))
        self.update_lookup_table(table, len(answer["candidates"]) > 1)
        pages = f"{answer['page'] + 1}/{answer['pages']}" if answer["pages"] > 1 else ""
        message = answer["message"] or pages
        self.update_auxiliary_text(self.ibus.Text.new_from_string(message), bool(message))

    def do_candidate_clicked(self, index, button, state):
        answer = self.client.ask({"key": str(index + 1)})
        if answer and "error" not in answer:
            self._show(answer)

    def do_set_content_type(self, purpose, hints):
        self.is_secret = purpose in (self.ibus.InputPurpose.PASSWORD, self.ibus.InputPurpose.PIN)
        hidden = getattr(self.ibus.InputHints, "PRIVATE", 0)
        self.client.ask({"private": self.is_secret or bool(hints & hidden)})

    def do_focus_in(self):
        self.settings = (self.client.ask({}) or {}).get("settings", {})
        self.register_properties(self._properties())

    def do_property_activate(self, name, state):
        if name == "mode":
            self.is_on = not self.is_on
            self._show_mode()
        elif name in SETTINGS:
            value = SETTINGS[name][2 if state else 1]
            self.settings = (self.client.ask({"set": {name: value}}) or {}).get("settings", {})

    def _property(self, name, kind, label, is_checked):
        text, state = self.ibus.Text.new_from_string, self.ibus.PropState(int(is_checked))
        return self.ibus.Property.new(name, kind, text(label), "", text(""), True, True, state, None)

    def _mode(self):
        return self._property("mode", self.ibus.PropType.NORMAL, "あ" if self.is_on else "A", self.is_on)

    def _properties(self):
        found = self.ibus.PropList()
        found.append(self._mode())
        for name, (label, _, on) in SETTINGS.items():
            is_on = self.settings.get(name) == on
            found.append(self._property(name, self.ibus.PropType.TOGGLE, label, is_on))
        return found

    def _show_mode(self):
        answer = None if self.is_idle else self.client.ask({"key": "enter"})
        if answer and "error" not in answer:
            self._show(answer)
        self.update_property(self._mode())

    def do_reset(self):
        answer = self.client.ask({"reset": True})
        if answer and "error" not in answer:
            self._show(answer)

    do_disable = do_reset


def make_engine(ibus, gobject, server):
    """Make the type of the engine; ``server`` is the command and the socket of the server."""
    plain, shifted = key_table(ibus)
    modes = {getattr(ibus, f"KEY_{name}") for name in ("Zenkaku_Hankaku", "Hiragana_Katakana", "Eisu_toggle")}
    skipped = ibus.ModifierType.RELEASE_MASK | ibus.ModifierType.MOD1_MASK | ibus.ModifierType.MOD4_MASK
    given = {
        "plain": plain,
        "shifted": shifted,
        "modes": modes,
        "skipped": skipped,
        "ibus": ibus,
        "server": server,
    }
    methods = {k: value for k, value in vars(EngineMethods).items() if k not in ("__dict__", "__weakref__")}
    name = "EpigramEngine"
    type(ibus.Engine)(name, (ibus.Engine,), {**methods, **given, "__gtype_name__": name})
    return gobject.type_from_name("EpigramEngine")


def main():
    """Register with the bus and run until it disconnects."""
    import gi

    gi.require_version("IBus", "1.0")
    from gi.repository import GLib, GObject, IBus

    config = json.loads(CONFIG.read_text("utf-8"))
    IBus.init()
    bus, loop = IBus.Bus(), GLib.MainLoop()
    bus.connect("disconnected", lambda *_: loop.quit())
    factory = IBus.Factory.new(bus.get_connection())
    factory.add_engine(NAME, make_engine(IBus, GObject, (config["command"], config["socket"])))
    if "--ibus" not in sys.argv:  # started by hand, not by the daemon
        component = IBus.Component.new(BUS, NAME, "1", "MIT", NAME, "", "", NAME)
        component.add_engine(IBus.EngineDesc.new(NAME, "Epigram", "", "ja", "MIT", NAME, "", "default"))
        bus.register_component(component)
    bus.request_name(BUS, 0)
    loop.run()


if __name__ == "__main__":
    main()
