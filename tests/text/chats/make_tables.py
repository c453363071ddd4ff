"""Finds the tables of all chat templates of PyPI's wheel trl (Apache-2.0) as tools/chat-format does it, and renders our own
conversations by the templates, for tests/text/chat_tables_test.cc.

    tests/text/chats/render           compares tables.json with what comes out now (tools/test --all)
    tests/text/chats/render --write   makes it anew

Of the templates nothing lies here but the strings around what is said, and the texts that came out: the first ones whole, of the
others a hash. null: a conversation that the table does not take.
"""

import datetime
import json
import pathlib
import random
import re
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[2] / "tools"))
from chat_format.command import table_of
from chat_format.table import IMAGE, said
from chat_format.template import Folder

FILE = HERE / "tables.json"
WHOLE = 4  # texts of each
DAY = datetime.date(2026, 1, 2)
NAMES = re.compile(r"<[^<>\s{}'\"]+>|\[gMASK\]")


def conversations():
    """Those of chats.json, and some that show pictures."""
    for case in json.loads((HERE / "chats.json").read_text())[:40]:
        yield [said(message["role"], message["content"]) for message in case["messages"]]
    draw = random.Random(66)
    words = ["What is it?", " and this one ", "\n\nlines\n", "\u3000", "", "x", "three\n \nof it  "]
    for number in range(20):
        turns = [said("system", " Be brief.\n")] if number % 3 == 1 else []
        for _ in range(1 + number % 3):
            pieces = []
            for _ in range(draw.randint(1, 3)):
                pieces += [piece for piece in (draw.choice(words), IMAGE) if piece]
            pieces += [draw.choice([word for word in words if word.strip()])]
            turns += [said("user", *pieces), said("assistant", draw.choice(["A pier.", "  Two\n", "\n\nThree"]))]
        yield turns


def json_of(conversation):
    """As the test reads it: of a picture its place is null."""
    return [[role, [None if piece is IMAGE else piece for piece in pieces]] for role, pieces in conversation]


def hashed(text):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def write_folder(folder, template):
    """As a published one has it: which of the tokens are special, and whether a processor takes pictures."""
    names = sorted(set(NAMES.findall(template)) | {"<BOS>", "<EOS>"})
    tokens = {str(i): {"content": name, "special": not name.endswith("think>")} for i, name in enumerate(names)}
    config = {"bos_token": {"content": "<BOS>"}, "eos_token": "<EOS>", "added_tokens_decoder": tokens}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "chat_template.jinja").write_text(template)
    if re.search(r"['\"](image|image_url)['\"]", template):
        (folder / "preprocessor_config.json").write_text("{}")


def case_of(name, template, talks):
    with tempfile.TemporaryDirectory() as made:
        write_folder(pathlib.Path(made), template)
        folder = Folder(made, DAY)
        form, table, probe, _ = table_of(folder)
    case = {"form": form, "table": json.loads(table.but(name=name).json()), "texts": [], "hashes": []}
    for talk in talks:
        text = prompt = None
        if table.takes(talk):
            text = probe.render(talk)
            if talk[-2][0] == "user":
                prompt = probe.render(talk[:-1], add_generation_prompt=True, **probe.asks)
        if len(case["texts"]) < WHOLE and text is not None:
            case["texts"].append([len(case["hashes"]), text, prompt])
        case["hashes"].append([one and hashed(one) for one in (text, prompt)])
    return case


def made(wheel):
    talks = list(conversations())
    with zipfile.ZipFile(wheel) as files:
        names = sorted(name for name in files.namelist()
                       if re.search(r"chat_templates/[^/]*\.jinja$", name) and not name.endswith("_training.jinja"))
        cases = {pathlib.Path(name).stem: case_of(pathlib.Path(name).stem, files.read(name).decode(), talks) for name in names}
    lines = [f"{json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items()]
    talk_lines = ",\n".join(json.dumps(json_of(talk)) for talk in talks)
    return f'{{"conversations": [\n{talk_lines}],\n"formats": {{\n' + ",\n".join(lines) + "}}\n"


def main(wheel, *arguments):
    text = made(wheel)
    if "--write" in arguments:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit(f"{FILE} is not what the templates make now; see what changed: tests/text/chats/render --write && git diff")


main(*sys.argv[1:])
