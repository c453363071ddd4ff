"""The reader of specs against ast.literal_eval: random literals are equal, and random mistakes end in words."""
import ast
import json
import random
import unittest
import warnings

import medley
from medley import _medley


def text(draw):
    pieces = [draw.choice(["a", "é", "\\n", "\\x41", "\\u20ac", "\\101", "\\q", "'", '"', " ", "{", "#", "\U0001f600", "\\\\"]) for _ in range(draw.randrange(6))]
    body = "".join(pieces)
    quote = draw.choice(["'", '"', "'''", '"""'])
    if len(quote) == 1:
        body = body.replace(quote, "\\" + quote)
    else:
        body = body.replace(quote[0], "\\" + quote[0])
        body += draw.choice(["", "\n", "\\\n", "\r\n"])
    prefix = draw.choice(["", "", "u", "U"])
    if draw.random() < 0.2 and "\\" not in body:
        prefix = draw.choice(["r", "R"])
    return prefix + quote + body + quote


def number(draw):
    sign = draw.choice(["", "-", "+", "- "])
    return sign + draw.choice([
        str(draw.randrange(10**draw.randrange(1, 18))), hex(draw.randrange(2**40)), oct(draw.randrange(2**20)), bin(draw.randrange(2**9)),
        "0", "00", "1_000", "0x_ff", repr(draw.uniform(-1, 1)).lstrip("-"), f"{draw.uniform(0, 9):.3e}", "5.", ".5", "1_0.2_5e-1_0", "1e-400"])


def value(draw, depth=0):
    kind = draw.randrange(9 if depth < 4 else 5)
    if kind == 0:
        return " ".join(text(draw) for _ in range(draw.choice([1, 1, 2])))
    if kind < 3:
        return number(draw)
    if kind < 5:
        return draw.choice(["True", "False", "None"])
    blank = draw.choice(["", " ", "\n  ", " # it's a ( comment\n"])
    items = [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    comma = draw.choice(["", ","]) if items else ""
    if kind == 5:
        return "[" + blank + ("," + blank).join(items) + comma + "]"
    if kind == 6:
        return "(" + ("," + blank).join(items) + ("," if len(items) == 1 else comma) + ")"
    if kind == 7:
        return "(" + blank + value(draw, depth + 1) + ")"
    pairs = [f"'k{i}'{blank}:{item}" for i, item in enumerate(items)]
    return "{" + blank + ("," + blank).join(pairs) + comma + "}"


def plain(found):
    if isinstance(found, (list, tuple)):
        return [plain(item) for item in found]
    if isinstance(found, dict):
        return {key: plain(item) for key, item in found.items()}
    return found


class Literals(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")  # of "\\q", which Python means to refuse one day

    def test_random_literals_are_equal(self):
        for seed in range(1200):
            literal = "{'x': " + value(random.Random(seed)) + "}"
            if "\n" in literal and "\r" in literal:
                literal = literal.replace("\r\n", "\n")
            expected = json.dumps(plain(ast.literal_eval(literal)))
            self.assertEqual(json.dumps(json.loads(_medley.read_literal(literal))), expected, literal)

    def test_mistakes_end_in_words(self):
        refused = 0
        for seed in range(3000):
            draw = random.Random(seed)
            literal = list("{'x': " + value(draw) + "}")
            for _ in range(draw.randrange(1, 4)):
                at = draw.randrange(len(literal))
                literal[at : at + draw.randrange(3)] = draw.choice(["", "'", '"', "{", "}", "(", ")", "\\", ",", ":", "f'", "\n", "x", "1", "b"])
            literal = "".join(literal)
            try:
                read = json.loads(_medley.read_literal(literal + "\n"))
            except medley.Error as error:
                refused += 1
                self.assertRegex(str(error), r"^\d+: .")
                continue
            try:
                expected = plain(ast.literal_eval(literal + "\n\n"))  # in a file more lines follow
            except Exception as error:
                self.fail(f"{literal!r} was read as {read}, and Python refuses it: {error}")
            self.assertEqual(json.dumps(read), json.dumps(expected), literal)
        self.assertGreater(refused, 1000)


if __name__ == "__main__":
    unittest.main()
