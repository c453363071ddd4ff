"""tools/chat-format on folders made up here. Skipped (77) where no Python here has jinja2."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TURN = "<|im_start|>{{ message.role }}\n"
PLAIN = ("{% for message in messages %}" + TURN + "{{ message.content }}<|im_end|>\n{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
# Parts alone, all pictures of a turn first.
PARTS = ("{% for message in messages %}" + TURN + "{% for part in message.content if part.type == 'image' %}<image>{% endfor %}"
         "{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}<|im_end|>\n{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
SPECIALS = ["<|im_start|>", "<|im_end|>", "<image>"]


def with_jinja2():
    for python in (ROOT / ".venv/bin/python", sys.executable, "/usr/bin/python3"):
        if not pathlib.Path(python).exists():
            continue
        if subprocess.run([str(python), "-c", "import jinja2"], capture_output=True, check=False).returncode == 0:
            return python
    return None


PYTHON = with_jinja2()


class ChatFormat(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name) / "a folder"
        self.folder.mkdir()
        self.file = pathlib.Path(directory.name) / "chat.json"

    def write(self, template, name="chat_template.jinja", **config):
        added = {str(i): {"content": token, "special": True} for i, token in enumerate(SPECIALS)}
        (self.folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added, **config}))
        if template is not None:
            (self.folder / name).write_text(template)

    def tool(self, *arguments):
        done = subprocess.run([PYTHON, ROOT / "tools/chat-format", self.folder, self.file, *arguments], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stderr

    def refused(self, code, *words, arguments=()):
        found, said = self.tool(*arguments)
        self.assertEqual(found, code, said)
        for word in words:
            self.assertIn(word, said)
        self.assertFalse(self.file.exists())

    def test_a_format_of_texts_is_written(self):
        self.write(PLAIN)
        code, said = self.tool("--name", "talk")
        self.assertEqual(code, 0, said)
        self.assertIn("contents as texts, no pictures; 50 of 50 random conversations are equal to the byte", said)
        table = json.loads(self.file.read_text())
        between = "<|im_end|>\n<|im_start|>"
        self.assertEqual(table, {"name": "talk", "head": "<|im_start|>user\n", "system": "<|im_start|>system\n",
                                 "after_system": between + "user\n", "to_assistant": between + "assistant\n",
                                 "to_user": between + "user\n", "tail": "<|im_end|>\n", "generation": between + "assistant\n",
                                 "end": "<|im_end|>", "specials": SPECIALS[:2]})

    def test_words_are_not_lost_where_only_parts_have_them(self):
        self.write(PARTS)
        code, said = self.tool()
        self.assertEqual(code, 0, said)
        self.assertIn("contents as parts, pictures first", said)
        table = json.loads(self.file.read_text())
        self.assertEqual((table["name"], table["image"], table["images_first"]), ("a-folder", "<image>", True))

    def test_of_two_right_forms_the_folders_own_is_taken(self):
        both = PLAIN.replace("{{ message.content }}", "{% if message.content is string %}{{ message.content | trim }}{% else %}"
                             "{% for part in message.content %}{{ part.text or '<image>' }}{% endfor %}{% endif %}")
        self.write(both)
        self.assertIn("contents as texts", self.tool()[1])
        self.assertIn("trims", json.loads(self.file.read_text()))
        (self.folder / "preprocessor_config.json").write_text("{}")
        self.assertIn("contents as parts, pictures in place", self.tool()[1])
        self.assertNotIn("trims", json.loads(self.file.read_text()))
        self.write("{% if messages[0].role == 'system' and messages[0].content is not string %}{{ raise_exception('') }}{% endif %}" + both)
        self.assertIn("contents as texts", self.tool()[1])

    def test_what_cuts_answers_is_found(self):
        self.write(PLAIN.replace("message.content }}", "message.content.split('</think>')[-1] if message.role == 'assistant' else "
                                 "message.content }}"))
        self.assertEqual(self.tool()[0], 0)
        self.assertEqual(json.loads(self.file.read_text())["answers_without"], ["</think>"])

    def test_the_template_of_a_config_and_the_day_that_it_writes(self):
        self.write(None, chat_template=[{"name": "tools", "template": "x"}, {"name": "default", "template": "{{ bos_token }}{{ "
                                        "strftime_now('%d %b') }}\n" + PLAIN}], bos_token={"content": "<s>"})
        code, said = self.tool("--date", "2026-01-02")
        self.assertEqual(code, 0, said)
        self.assertIn("note: it writes the day; the file has 2026-01-02", said)
        self.assertEqual(json.loads(self.file.read_text())["head"], "<s>02 Jan\n<|im_start|>user\n")

    def test_what_no_table_has_is_said(self):
        self.write(PLAIN.replace("<|im_end|>", "<|im_end|>{{ loop.index }}"))
        self.refused(1, "no table of strings is its template. contents as texts: what stands between turns differs from place to place")
        self.write(PLAIN.replace("{{ message.content }}", "{{ message.content }}{{ '!' if loop.index > 6 }}"))
        self.refused(1, "random conversation 3: the template writes", "the table")
        self.write(PLAIN.replace("in messages", "in messages | reverse"))
        self.refused(1, "turns stand in another order")
        self.write(PLAIN.replace("{{ message.content }}", "{{ message.content | upper }}"))
        self.refused(1, "the words of turn 1 of 6 stand in it 0 times, not once")
        self.write(PLAIN.replace("{{ message.content }}", "{{ message.content | replace('\\t', ' ') }}"))
        self.refused(1, "blanks around what the system says")
        self.write(PLAIN.replace("<|im_end|>", "").replace("<|im_start|>", "~"))
        self.refused(1, "no special token ends an answer")

    def test_what_is_no_folder_with_a_template_is_said(self):
        self.refused(2, "has no chat template: expected chat_template.jinja, or chat_template in")
        self.write("{% for %}")
        self.refused(2, "its template is not jinja: ")
        (self.folder / "chat_template.jinja").write_bytes(PLAIN.encode() + b"\xff")
        self.refused(2, "chat_template.jinja: 'utf-8' codec can't decode byte 0xff")
        (self.folder / "chat_template.jinja").unlink()
        (self.folder / "chat_template.jinja").mkdir()
        self.refused(2, "chat_template.jinja: ", "Is a directory")
        (self.folder / "chat_template.jinja").rmdir()
        (self.folder / "chat_template.jinja").touch()
        self.write(None)
        (self.folder / "chat_template.jinja").unlink()
        (self.folder / "chat_template.json").write_text("[5]")
        self.refused(2, "chat_template.json: chat_template")
        (self.folder / "chat_template.json").unlink()
        self.write(PLAIN, added_tokens_decoder={"0": {"special": True}})
        self.refused(2, "tokenizer_config.json: expected added tokens, each with its content")
        (self.folder / "tokenizer.json").write_text("[]")
        self.refused(2, "tokenizer.json: expected added tokens")
        (self.folder / "tokenizer.json").unlink()
        (self.folder / "tokenizer_config.json").write_text("{")
        self.refused(2, "tokenizer_config.json: ")
        self.folder = self.folder / "none"
        self.refused(2, "is no folder; expected one of published weights")

    def test_a_day_without_another_behind_it_is_said(self):
        self.write(PLAIN)
        self.refused(2, "--date 9999-12-31: expected a day up to 9999-11-21", arguments=["--date", "9999-12-31"])

    def test_a_template_runs_no_code(self):
        self.write("{{ messages.__class__.__mro__[1].__subclasses__() }}" + PLAIN)
        self.refused(1, "the template raises at three questions and answers")


if __name__ == "__main__":
    if PYTHON is None:
        print("chat-format: no Python here has jinja2; tools/setup --tests installs it")
        sys.exit(77)
    unittest.main()
