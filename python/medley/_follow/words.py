"""Words for people, and the errors that end the command."""

import sys


class BadInput(Exception):
    """What was given: exit code 2."""


class Failed(Exception):
    """What was given is right, and it could not be done: exit code 1."""


class TargetError(Exception):
    """What a tracker said; it may go another time."""


class Unreadable(Exception):
    """A picture that is none: the others go on."""


def _shown(letter):
    if letter.isprintable():
        return letter
    number = ord(letter)
    if 0xDC80 <= number <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def printable(text):
    """A stranger's text on a line of ours: nothing of it moves a cursor, ends a line or turns the order of the words."""
    return "".join(map(_shown, str(text)))


def say(words):
    print("medley: " + words, file=sys.stderr, flush=True)
