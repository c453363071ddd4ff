"""Renders our own conversations by the templates that models are published with, for tests/text/chat_format_test.cc.

    tests/text/chats/render           compares chats.json with what comes out now (tools/test --all)
    tests/text/chats/render --write   makes it anew

The templates are those of PyPI's wheel trl (Apache-2.0), folder trl/chat_templates. They are read from there and are no part
of medley: what lies here are our words and the texts that came out. Rendered as Hugging Face's tokenizers do it: a sandbox of
jinja2 with trim_blocks, lstrip_blocks, loop controls, raise_exception, strftime_now and a tojson of its own.
"""

import datetime
import json
import pathlib
import random
import sys
import zipfile

import jinja2
import jinja2.ext
import jinja2.sandbox

FILE = pathlib.Path(__file__).resolve().parent / "chats.json"
# A format, and the templates that it is equal to: where one takes a conversation.
TEMPLATES = {"chatml": ["qwen3_instruct_2507"], "qwen3": ["qwen3"], "llama3": ["llama3"], "gemma": ["gemma3", "gemma"]}
BOS = {"llama3": "<|begin_of_text|>", "gemma": "<bos>"}
SYSTEMS = ["Be brief.", "  You keep a lighthouse \n", "Answer in rhyme, or <eos> not at all.", "\n\nPirate\n", "Nur Deutsch.",
           "Numbers only \U0001f522"]
ASKED = ["Where does the ferry leave?", "  two blanks before", "and two behind  ", "three\nlines\nof it", "\n\nbegins with lines",
         "ends with lines\n\n", "What is <|im_end|> for?", "<|eot_id|><|start_header_id|>system<|end_header_id|>", "\U0001f40c or \U0001f407?",
         "a\ttab\there", "caf\u00e9, \u4f60\u597d, \u0437\u043e\u043b\u043e\u0442\u043e", "<start_of_turn>model\nI am you<end_of_turn>", "\u3000wide blanks\u00a0",
         "x", "{{ messages }} {% raw %}", "\"quotes\" & <b>marks</b>", "<pad><eos><image></image>", "\x1funit\x1f", "  ", "1 + 1 = ?"]
SAID = ["From pier seven, at noon.", " Two before and two behind  ", "One\n\nTwo\n\n\nThree", "\nA line first", "\n\n\nThree lines first\n",
        "It ends a turn: <|im_end|>", "<|im_start|>user\nmore<|im_end|>\n", "The snail. \U0001f40c", "\u00e9t\u00e9 \u2167 \u00bd", "tab\tthen\r\nreturn",
        "\u2003em blank\u2003", "<end_of_turn>", "<|end_of_text|><bos>", "no", "```\ncode {%- if x %}\n```\n", "assistant", "2", "{\"a\": [1]}",
        "user\nwho?", "\U0001f469\u200d\U0001f680"]


def conversations():
    draw = random.Random(65)
    asked, said = [], []
    for number in range(60):
        pairs = 1 + number % 5
        messages = []
        if number % 3 == 1:
            messages.append({"role": "system", "content": SYSTEMS[number // 3 % len(SYSTEMS)]})
        for _ in range(pairs):
            # Each of the pool once before any comes again.
            asked = asked or draw.sample(ASKED, len(ASKED))
            said = said or draw.sample(SAID, len(SAID))
            messages.append({"role": "user", "content": asked.pop()})
            if number % 10 == 7:  # a user who speaks twice: not all formats take it
                messages.append({"role": "user", "content": "One more thing."})
            messages.append({"role": "assistant", "content": said.pop()})
        yield messages


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])

    def fail(message):
        raise jinja2.exceptions.TemplateError(message)

    def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = to_json
    env.globals["raise_exception"] = fail
    env.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return env


def rendered(templates, messages, **options):
    """What those that take the messages make of them: one text, or none."""
    texts = set()
    for template, bos in templates:
        try:
            texts.add(template.render(messages=messages, bos_token=bos, **options))
        except jinja2.exceptions.TemplateError as error:
            if "must alternate" not in str(error) and "not supported" not in str(error):
                raise
    assert len(texts) <= 1, texts
    return texts.pop() if texts else None


def cases(wheel):
    env = environment()
    with zipfile.ZipFile(wheel) as files:
        templates = {name: [(env.from_string(files.read(f"trl/chat_templates/{file}.jinja").decode()), BOS.get(name, ""))
                            for file in of] for name, of in TEMPLATES.items()}
    for messages in conversations():
        case = {"messages": messages, "texts": {}, "prompts": {}}
        for name, of in templates.items():
            text = rendered(of, messages)
            if text is None:
                continue
            case["texts"][name] = text
            # Qwen3's with the empty block of thoughts before the answer, as what is trained has it.
            case["prompts"][name] = rendered(of, messages[:-1], add_generation_prompt=True, enable_thinking=False)
        yield case


def main(wheel, *arguments):
    text = json.dumps(list(cases(wheel)), ensure_ascii=True, indent=1) + "\n"
    if "--write" in arguments:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit(f"{FILE} is not what the templates make now; see what changed: tests/text/chats/render --write && git diff")


main(*sys.argv[1:])
