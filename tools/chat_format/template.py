"""The chat template of a folder, rendered as transformers renders it."""

import ast
import datetime
import json
import re
from pathlib import Path

import jinja2
import jinja2.ext
import jinja2.sandbox

from .table import IMAGE, words_of


class Wrong(Exception):
    """What a folder is refused with."""


class _Generation(jinja2.ext.Extension):
    """{% generation %}, which marks what an assistant says, and writes nothing."""

    tags = {"generation"}

    def parse(self, parser):
        parser.stream.skip(1)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def _environment(day):
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                       extensions=[jinja2.ext.loopcontrols, _Generation])

    def fail(message):
        raise jinja2.exceptions.TemplateError(message)

    def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = to_json
    env.globals["raise_exception"] = fail
    env.globals["strftime_now"] = lambda form: datetime.datetime.combine(day, datetime.time()).strftime(form)
    return env


def _content(pieces, form):
    if form == "texts" or (form == "mixed" and IMAGE not in pieces):
        return words_of((None, pieces))
    return [{"type": "image"} if piece is IMAGE else {"type": "text", "text": piece} for piece in pieces]


class Template:
    """source: jinja; tokens: what it writes by name (bos_token ..)."""

    def __init__(self, source, tokens, day):
        self.source, self.tokens = source, tokens
        try:
            self._template = _environment(day).from_string(source)
        except jinja2.exceptions.TemplateError as error:
            raise Wrong(f"its template is not jinja: {error}") from error

    def render(self, conversation, form, **options):
        """The text, or None where the template does not take the conversation. form: contents as texts, as parts, or mixed, as
        parts where pictures stand alone."""
        messages = [{"role": role, "content": _content(pieces, form)} for role, pieces in conversation]
        options = {"add_generation_prompt": False, "tools": None, "documents": None, **self.tokens, **options}
        try:
            return self._template.render(messages=messages, **options)
        except Exception:  # raise_exception, or parts where it adds texts up: any of Python's
            return None

    def literals(self):
        """The strings in it that are not blank and no names."""
        found = set()
        for literal in re.findall(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"", self.source):
            try:
                text = ast.literal_eval(literal)
            except (SyntaxError, ValueError):
                continue
            if 3 <= len(text) <= 40 and not re.fullmatch(r"[\s\w]*", text):
                found.add(text.strip())
        return sorted(found)


def _text(path):
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from error


def _read(path):
    try:
        return json.loads(_text(path))
    except ValueError as error:
        raise Wrong(f"{path}: {error}") from error


def _named(value, path):
    """The template of a tokenizer_config.json: a text, or a list of name and template."""
    if isinstance(value, list):
        named = {item.get("name"): item.get("template") for item in value if isinstance(item, dict)}
        value = named.get("default")
        if value is None:
            raise Wrong(f"{path}: chat_template is a list without the name default; it has {', '.join(map(str, named))}")
    if not isinstance(value, str):
        raise Wrong(f"{path}: chat_template: expected a text, or a list of name and template")
    return value


def _source(folder, config):
    file = folder / "chat_template.jinja"
    if file.exists():
        return _text(file)
    file = folder / "chat_template.json"
    if file.exists():
        saved = _read(file)
        return _named(saved.get("chat_template") if isinstance(saved, dict) else saved, file)
    if config.get("chat_template") is None:
        raise Wrong(f"{folder} has no chat template: expected chat_template.jinja, or chat_template in chat_template.json or "
                    "tokenizer_config.json")
    return _named(config["chat_template"], folder / "tokenizer_config.json")


def _content_of(token):
    return token.get("content") if isinstance(token, dict) else token


class Folder:
    """template; specials: names that texts must not be, None where the folder does not say; is_processors: whether it has a
    processor, which takes contents as parts."""

    def __init__(self, folder, day):
        folder = Path(folder)
        if not folder.is_dir():
            raise Wrong(f"{folder} is no folder; expected one of published weights, with its chat template")
        config_file = folder / "tokenizer_config.json"
        config = _read(config_file) if config_file.exists() else {}
        if not isinstance(config, dict):
            raise Wrong(f"{config_file}: expected an object")
        tokens = {key: _content_of(config[key]) for key in ("bos_token", "eos_token", "unk_token", "pad_token")
                  if config.get(key)}
        self.template = Template(_source(folder, config), tokens, day)
        self.specials = self._specials(folder, config)
        self.is_processors = any((folder / name).exists() for name in
                                 ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"))

    @staticmethod
    def _specials(folder, config):
        file = folder / "tokenizer.json"
        if file.exists():
            saved = _read(file)
            added = (saved.get("added_tokens") or []) if isinstance(saved, dict) else None
        elif "added_tokens_decoder" in config:
            file, added = folder / "tokenizer_config.json", config["added_tokens_decoder"]
            added = list(added.values()) if isinstance(added, dict) else None
        else:
            return None
        if not isinstance(added, list) or any(not isinstance(token, dict) or not isinstance(token.get("content"), str) for token in added):
            raise Wrong(f"{file}: expected added tokens, each with its content")
        return [token["content"] for token in added if token.get("special")]
