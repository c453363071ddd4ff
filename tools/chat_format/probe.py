"""Finds the table of a template: renders words that mark their places, and takes what stands around them."""

import itertools
import re

from .table import IMAGE, Table, said

ENDS = ("none", "lines", "blanks")
# What an answer is asked for with, of templates that think unless told otherwise.
WITHOUT_THOUGHTS = ({}, {"enable_thinking": False}, {"thinking": False})


class Misfit(Exception):
    """What of a template no table has."""


def mark(number):
    return f"Wq{number}z"


def talk(roles):
    """Turns by the first letters of their roles, whose words are marks."""
    names = {"s": "system", "u": "user", "a": "assistant"}
    return [said(names[letter], mark(i)) for i, letter in enumerate(roles)]


class Probe:
    """One form of contents: texts, parts or mixed."""

    def __init__(self, template, specials, form):
        self.template, self.specials, self.form = template, specials, form
        self.notes = []
        self.asks = {}  # the options with which the template gives the prompt for an answer

    def render(self, conversation, **options):
        return self.template.render(conversation, self.form, **options)

    def pieces(self, roles, **options):
        """What stands before, between and behind the words; None where the template raises."""
        text = self.render(talk(roles), **options)
        if text is None:
            return None
        pieces = []
        for i in range(len(roles)):
            if text.count(mark(i)) != 1:
                raise Misfit(f"the words of turn {i + 1} of {len(roles)} stand in it {text.count(mark(i))} times, not once")
            before, text = text.split(mark(i), 1)
            if any(mark(j) in before for j in range(len(roles))):
                raise Misfit("turns stand in another order")
            pieces.append(before)
        return [*pieces, text]

    def table(self):
        whole = self.pieces("uauaua")
        if whole is None:
            raise Misfit("the template raises at three questions and answers")
        head, first, to_user, to_assistant, again, to_last, tail = whole
        for one, other in ((first, to_assistant), (to_user, again)):
            if one != other:
                raise Misfit(f"what stands between turns differs from place to place: {one!r}, and then {other!r}")
        strings = {"head": head, "to_assistant": to_assistant, "to_last": to_last, "to_user": to_user, "tail": tail}
        with_user = self.pieces("uau")
        if with_user is not None and with_user[-1] != tail:
            strings["user_tail"] = with_user[-1]
        strings["generation"] = self._generation(with_user, to_last)
        if not to_last.startswith(strings["generation"]):
            self.notes.append("it asks for an answer otherwise than it writes one: what is trained follows "
                              f"{to_last!r}, and what is asked {strings['generation']!r}")
        strings.update(self._system())
        table = Table(**strings)
        table = table.but(trims=self._trims(table))
        table = table.but(alternates=not self._repeats(table))
        table = table.but(answers_without=self._cuts(table))
        table = self._with_pictures(table) or table
        return self._with_specials(table)

    def _generation(self, with_user, to_last):
        """As what is trained goes on, where an option of the template makes it so."""
        found = []
        for options in WITHOUT_THOUGHTS:
            try:
                pieces = self.pieces("uau", add_generation_prompt=True, **options)
            except Misfit:
                continue
            if pieces is not None and (with_user is None or pieces[:-1] == with_user[:-1]):
                found.append((pieces[-1], options))
        if not found:
            raise Misfit("the template gives no prompt for an answer (add_generation_prompt)")
        # The first of equals.
        text, self.asks = max(found, key=lambda one: (one[0] == to_last, to_last.startswith(one[0])))
        return text

    def _system(self):
        try:
            pieces = self.pieces("sua")
        except Misfit as misfit:
            self.notes.append(f"it takes no system's words: {misfit}")
            return {}
        if pieces is None or not pieces[0]:
            return {}
        return {"system": pieces[0], "after_system": pieces[1]}

    def _agrees(self, table, conversation):
        return self.render(conversation) == table.text(conversation)

    def _trims(self, table):
        trims = {}
        blank = "\n \t{}\t \n"
        for who, roles, turn in (("system", "sua", 0), ("user", "uau", 0), ("assistant", "uaua", 1), ("last", "ua", 1)):
            if who == "system" and not table["system"]:
                continue
            conversation = talk(roles)
            conversation[turn] = said(conversation[turn][0], blank.format(mark(turn)))
            for front, back in itertools.product(ENDS, ENDS):
                trim = {end: how for end, how in (("front", front), ("back", back)) if how != "none"}
                if self._agrees(table.but(trims={**trims, who: trim}), conversation):
                    break
            else:
                raise Misfit(f"blanks around what {'the last assistant' if who == 'last' else 'the ' + who} says come out otherwise "
                             "than kept, without line ends or without any")
            if trim != (trims.get("assistant", {}) if who == "last" else {}):
                trims[who] = trim
        return trims

    def _repeats(self, table):
        """Whether a user, or an assistant, may speak twice."""
        return all(self._agrees(table, talk(roles)) for roles in ("uua", "uaa", "uuaua", "uaaua"))

    def _cuts(self, table):
        """Texts of the template at which it cuts or refuses an answer."""
        cuts = []
        for literal in self.template.literals():
            for roles in ("ua", "uaua"):
                conversation = talk(roles)
                conversation[1] = said("assistant", mark(1) + literal + "y")
                if literal not in cuts and not self._agrees(table, conversation):
                    cuts.append(literal)
            conversation = talk("uau")
            conversation[0] = said("user", mark(0) + literal + "y")
            if not self._agrees(table, conversation):
                self.notes.append(f"it changes a user's words that have {literal!r}; medley does not")
        return [cut for cut in cuts if not any(other != cut and other in cut for other in cuts)]

    def _with_pictures(self, table):
        """The table with what stands for a picture; None where none does."""
        if self.form == "texts":
            return None
        before, after = mark(0), mark(9)
        text = self.render([said("user", before, IMAGE, after), said("assistant", mark(1))])
        if text is None or text.count(before) != 1 or text.count(after) != 1:
            return None
        image = text.split(before)[1].split(after)[0]
        if image.strip():
            found = [table.but(image=image, trims_pieces=trims, image_drops=drops) for trims in (False, True)
                     for drops in self._drops(table["head"])]
        else:
            front = text.split(before)[0]
            images = {front.removeprefix(table["head"][:len(table["head"]) - len(drops)]): drops
                      for drops in self._drops(table["head"]) if front.startswith(table["head"][:len(table["head"]) - len(drops)])}
            found = [table.but(image=image, images_first=True, image_drops=drops) for image, drops in images.items()
                     if image.strip()]
        probes = [[said("user", " Wa ", IMAGE, " Wb ", IMAGE, IMAGE, "\nWc\n"), said("assistant", "Wd")],
                  [said("user", IMAGE, " Wa"), said("assistant", "Wb"), said("user", IMAGE, "Wc", IMAGE), said("assistant", "Wd")]]
        for pictured in found:
            if all(self._agrees(pictured, conversation) for conversation in probes):
                return pictured
        if found:
            self.notes.append("how it places pictures no table has; the file is without any")
        return None

    @staticmethod
    def _drops(head):
        """What a head may lose at its end: nothing, or blanks."""
        blank = len(head) - len(head.rstrip())
        return [head[len(head) - length:] for length in range(blank + 1)]

    def _with_specials(self, table):
        strings = [table[key] for key in ("head", "system", "after_system", "to_assistant", "to_last", "to_user", "tail", "user_tail",
                                          "generation", "image")]
        names = self.specials
        if names is None:  # by their looks
            names = [name for text in strings for name in re.findall(r"<[^<>\s]+>", text)]
        names = sorted({name for name in names if name}, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, names)) or r"(?!)")
        found = list(dict.fromkeys(name for text in strings for name in pattern.findall(text)))
        ends = pattern.findall(table["tail"]) or pattern.findall(table["to_user"])
        if not ends:
            raise Misfit("no special token ends an answer: it is followed by " + repr(table["tail"] or table["to_user"]))
        return table.but(end=ends[0], **({"specials": found} if self.specials is not None else {}))
