"""A chat format as medley has it, and what it makes of conversations: core/text/chat_format.cc in Python."""

import json

IMAGE = object()  # a picture among the pieces of what a user says
BLANKS = {"none": None, "lines": "\n", "blanks": ""}
ROLES = ("system", "user", "assistant")


def said(role, *pieces):
    """One turn: its words, and IMAGE where a picture stands."""
    return role, list(pieces)


def words_of(turn):
    return "".join(piece for piece in turn[1] if piece is not IMAGE)


def stripped(text, front, back):
    for ends, strip in ((front, str.lstrip), (back, str.rstrip)):
        if ends == "lines":
            text = strip(text, "\n")
        elif ends == "blanks":
            text = strip(text)
    return text


class Table:
    """The strings, by the keys of the JSON file. Those that are not given are ""; user_tail then is tail."""

    def __init__(self, **strings):
        self.strings = strings

    def __getitem__(self, key):
        return self.strings.get(key, [] if key in ("specials", "answers_without") else {} if key == "trims" else "")

    def but(self, **strings):
        return Table(**{**self.strings, **strings})

    def takes(self, conversation):
        """Whether medley takes the conversation, all of whose answers are learned."""
        before = None
        for number, turn in enumerate(conversation):
            role, pieces = turn
            if role == "system" and (number > 0 or not self["system"]):
                return False
            if role == "assistant" and before in (None, "system"):
                return False
            if self["alternates"] and role == before:
                return False
            if role == "assistant":
                if any(cut in words_of(turn) for cut in self["answers_without"]):
                    return False
                if not self._said(turn, number + 1 == len(conversation)):
                    return False
            if IMAGE in pieces and (role != "user" or not self["image"]):
                return False
            before = role
        return before not in (None, "system")

    def text(self, conversation):
        is_users = conversation[-1][0] == "user"
        tail = self.strings.get("user_tail") if is_users else None
        return self._front(conversation) + (self["tail"] if tail is None else tail)

    def prompt(self, conversation):
        return self._front(conversation) + self["generation"]

    def _front(self, conversation):
        last = len(conversation) - 1
        return "".join(self._around(conversation, i) + self._said(turn, i == last) for i, turn in enumerate(conversation))

    def _around(self, conversation, number):
        role, pieces = conversation[number]
        before = conversation[number - 1][0] if number else None
        if role == "system":
            text = self["system"]
        elif before is None:
            text = self["head"]
        elif before == "system":
            text = self["after_system"]
        elif role == "user":
            text = self["to_user"]
        else:
            text = self["to_last" if number + 1 == len(conversation) else "to_assistant"]
        with_picture = IMAGE in pieces and (self["images_first"] or pieces[0] is IMAGE)
        return text.removesuffix(self["image_drops"]) if with_picture else text

    def _said(self, turn, is_last):
        role, pieces = turn
        trims = self["trims"]
        trim = trims.get("last" if role == "assistant" and is_last and "last" in trims else role, {})
        front, back = trim.get("front", "none"), trim.get("back", "none")
        if IMAGE not in pieces or self["images_first"]:
            return self["image"] * pieces.count(IMAGE) + stripped(words_of(turn), front, back)
        text, run, is_first = "", "", True
        for piece in [*pieces, None]:
            if piece is not IMAGE and piece is not None:
                run += piece
                continue
            whole = self["trims_pieces"]
            text += stripped(run, front if whole or is_first else "none", back if whole or piece is None else "none")
            text += self["image"] if piece is IMAGE else ""
            run, is_first = "", False
        return text

    def json(self, schema=None):
        """As medley reads it, in its order, without what is as it would be."""
        order = ("name head system after_system to_assistant to_last to_user tail user_tail generation end specials trims"
                 " answers_without alternates image images_first trims_pieces image_drops").split()
        needed = {"head", "to_assistant", "to_user", "tail", "generation", "end"}
        strings = {"$schema": schema} if schema else {}
        for key in order:
            value = self.strings.get(key)
            is_default = not value if key != "user_tail" else value is None or value == self["tail"]
            is_default = is_default or (key == "to_last" and value == self["to_assistant"])
            if key in needed or not is_default:
                strings[key] = value if value is not None else ""
        return json.dumps(strings, indent=2, ensure_ascii=False) + "\n"
