"""The command: reads a folder, finds its table, proves and writes it."""

import argparse
import datetime
import os
import sys
from pathlib import Path

from .probe import Misfit, Probe
from .proof import prove
from .template import Folder, Wrong

FORMS = {"texts": "as texts", "parts": "as parts", "mixed": "as parts where pictures stand, else as texts"}
LATER = datetime.timedelta(days=40)  # on another day, in another month


def say(*words):
    print("chat-format:", *words, file=sys.stderr)


def found(template, specials, form):
    """The table of one form, its probe and how many conversations prove it."""
    probe = Probe(template, specials, form)
    table = probe.table()
    return table, probe, prove(probe, table)


def table_of(folder):
    """That of the folder's own form where several are right, but before all one with a system; a Misfit where none is."""
    tables, misfits = [], {}
    for form in ("parts", "mixed", "texts") if folder.is_processors else ("texts", "mixed", "parts"):
        try:
            one = form, *found(folder.template, folder.specials, form)
            if form != "mixed" or one[1]["image"]:  # else it is texts
                tables.append(one)
        except Misfit as misfit:
            misfits.setdefault(str(misfit), FORMS[form])
    if not tables:
        raise Misfit("; ".join(f"contents {form}: {misfit}" for misfit, form in misfits.items()))
    with_system = [one for one in tables if one[1]["system"]]
    return (with_system or tables)[0]


def name_of(folder, given):
    name = given or Path(folder).resolve().name
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-.") else "-" for letter in name)[:64]


def write(path, text):
    """Whole, or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def parse(doc, arguments):
    parser = argparse.ArgumentParser(prog="chat-format", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.date.today())
    given = parser.parse_args(arguments)
    if given.file and given.file.suffix != ".json":
        parser.error(f"{given.file}: a chat format is a file NAME.json")
    if given.date > datetime.date.max - LATER:
        parser.error(f"--date {given.date}: expected a day up to {datetime.date.max - LATER}")
    return given


def main(doc, arguments=None):
    given = parse(doc, arguments)
    try:
        folder = Folder(given.folder, given.date)
        form, table, probe, count = table_of(folder)
        other_day = Folder(given.folder, given.date + LATER).template
    except Wrong as wrong:
        say(wrong)
        return 2
    except Misfit as misfit:
        say(f"{given.folder}: no table of strings is its template. {misfit}")
        return 1
    if other_day.render([("user", ["a"])], probe.form) != folder.template.render([("user", ["a"])], probe.form):
        probe.notes.append(f"it writes the day; the file has {given.date}")
    text = table.but(name=name_of(given.folder, given.name)).json()
    if given.file:
        try:
            write(given.file, text)
        except OSError as error:
            say(error)
            return 1
    else:
        print(text, end="")
    pictures = "no pictures" if not table["image"] else "pictures first" if table["images_first"] else "pictures in place"
    say(f"{given.folder}: contents {FORMS[form]}, {pictures}; {count} of {count} random conversations are equal to the byte")
    for note in probe.notes:
        say(f"note: {note}")
    return 0
