"""A front end in a few lines: types words by the keys on standard input, through ``epigram ime server``.

    epigram ime server MODEL --socket /tmp/ime/socket &
    echo "kyou space enter" | python ime_client.py /tmp/ime/socket

Each line holds keys between blanks: names such as space, enter, down and f7, and words, which are typed letter by
letter.
"""

import json
import socket
import sys

NAMES = {
    "space", "enter", "tab", "backspace", "escape", "undo", "reconvert", "left", "right", "up", "down", "longer",
    "shorter", "page up", "page down", *(f"f{number}" for number in range(6, 11)),
}  # fmt: skip


def main(path, lines):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    stream = connection.makefile("rw", encoding="utf-8")

    def ask(**request):
        print(json.dumps(request), file=stream, flush=True)
        answer = json.loads(stream.readline())
        if "error" in answer:
            sys.exit(answer["error"])
        return answer

    for line in lines:
        for word in line.split():
            for key in [word] if word in NAMES else word:
                answer = ask(key=key)
                if answer["commit"]:
                    print("commit", answer["commit"])
        print("shown ", "|".join(answer["preedit"]), *answer["candidates"][:3])


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin)
