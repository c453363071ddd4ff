"""Random conversations, and what a template and a table make of them."""

import random

from .probe import Misfit
from .table import IMAGE, said, words_of

COUNT = 50
WORDS = ["Where does the ferry leave", "three\nlines\nof it", "a\ttab\there", "caf\u00e9, \u4f60\u597d", "{{ messages }} {% raw %}",
         "\"quotes\" & <b>marks</b>", "1 + 1 =", "\U0001f469\u200d\U0001f680", "{\"a\": [1]}", "```\ncode {%- if x %}\n```", "it's", "user:"]
FRONTS = ["", "", "", " ", "\n", "\n\n ", "  ", "\u3000", "\t\n"]
BACKS = ["", "", "", " ", "\n", " \n\n", "  ", "\u00a0", "\n\t"]


def conversations(table, seed=66):
    """Those that the table takes, each with words of its own."""
    draw = random.Random(seed)
    number = 0

    def words():
        nonlocal number
        number += 1
        return f"{draw.choice(FRONTS)}{draw.choice(WORDS)} w{number}w{draw.choice(BACKS)}"

    def asked():
        pieces = [words()]
        if table["image"] and draw.random() < 0.5:
            for _ in range(draw.randint(1, 3)):
                pieces.insert(draw.randint(0, len(pieces)), IMAGE)
                if draw.random() < 0.3:
                    pieces.append(words())
            joined = []  # words side by side are one
            for piece in pieces:
                if joined and piece is not IMAGE and joined[-1] is not IMAGE:
                    joined[-1] += piece
                else:
                    joined.append(piece)
            pieces = joined
        return said("user", *pieces)

    for count in range(COUNT):
        turns = [said("system", words())] if table["system"] and draw.random() < 0.4 else []
        for _ in range(1 + count % 5):
            turns.append(asked())
            if not table["alternates"] and draw.random() < 0.1:
                turns.append(asked())
            turns.append(said("assistant", words()))
            if not table["alternates"] and draw.random() < 0.05:
                turns.append(said("assistant", words()))
        yield turns


def _show(text, at):
    return repr(text[max(at - 30, 0):at + 50]) if text is not None else "nothing, as it raises"


def _differ(what, rendered, made):
    at = 0
    while rendered is not None and at < min(len(rendered), len(made)) and rendered[at] == made[at]:
        at += 1
    raise Misfit(f"{what}: the template writes {_show(rendered, at)}, the table {_show(made, at)}")


def prove(probe, table):
    """How many are equal: all, else a Misfit that says where the first differs."""
    count = 0
    for number, conversation in enumerate(conversations(table)):
        what = f"random conversation {number + 1}"
        rendered = probe.render(conversation)
        if rendered != table.text(conversation):
            _differ(what, rendered, table.text(conversation))
        for turn in conversation:
            for piece in turn[1]:
                if piece is not IMAGE and rendered.count(piece.strip()) != 1:
                    raise Misfit(f"{what}: {words_of(turn)!r} stands in it {rendered.count(piece.strip())} times, not once")
        asked = conversation[:-1]
        if asked[-1][0] == "user":
            made = table.prompt(asked)
            rendered = probe.render(asked, add_generation_prompt=True, **probe.asks)
            if rendered != made:
                _differ(what + ", as it is asked", rendered, made)
        count += 1
    return count
