"""Holds medley's ids of texts against those of the tokenizers package.

    tokenizer.py ENCODER FOLDER

Trains two vocabularies in FOLDER, one with Qwen's way of cutting texts and one with Llama 3's, writes more than 100,000
texts in all scripts of Unicode 12, and lets ENCODER (encode_texts.cc) encode them. Says what differs; exits with 1 then.
Where the number MEDLEY_SWEEP is set, one of each eight neighbours is encoded, which it chooses.
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import time

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = 5  # texts that differ

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+")
LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
# Beside those of the vocabularies: each flag of an added token, and contents that begin alike.
ADDED = [AddedToken("<|x|>", normalized=False), AddedToken("<|x|>y", normalized=False),
         AddedToken("[left]", lstrip=True, normalized=False), AddedToken("[right]", rstrip=True, normalized=False),
         AddedToken("alone", single_word=True, normalized=False), AddedToken("e\u0301t\u00e9", normalized=True),
         AddedToken("[both]", lstrip=True, rstrip=True, single_word=True, normalized=True)]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\u00a0", "\u0085", "\u2003", "\u2028", "\u3000",
          "\u180e", "\u200b", "\u1680", "\v", "\f"]
PARTS = ["'s", "'T", "'re", "'VE", "'m", "'ll", "'D", "'\u017f", "\u2019s", "don't", "1", "23", "456", "7890123", "\u0663\u0664",
         "\u00bd", "\u2167", "...", "!?", "--", "(", ")", "\"", "$", "\u20ac", "\u00e9", "e\u0301", "a\u0323\u0307", "a\u0307\u0323", "\u212b", "\ufb01",
         "\u1e9b\u0323", "\uac00", "\u1100\u1161\u11a8", "\u0344", "\u2126", "\U0001d15e", "\u0958", "\u0f73", "\u0130", "\u1e9e", "\u212a"]
EMOJI = ["\U0001f600", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1e9\U0001f1ea", "1\ufe0f\u20e3", "\u263a", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
         "\U0001f9d1\u200d\U0001f680"]
# Combining marks of Unicode 10 to 12: the package's table of combining classes is that of Unicode 9, and takes them for
# letters when it orders marks.
NEWER_MARKS = {chr(code) for first, last in (
    (0x7FD, 0x7FD), (0x8D3, 0x8D3), (0x9FE, 0x9FE), (0xD3B, 0xD3C), (0xEBA, 0xEBA), (0x1DF6, 0x1DF9), (0x10D24, 0x10D27),
    (0x10F46, 0x10F50), (0x1133B, 0x1133B), (0x1145E, 0x1145E), (0x11839, 0x1183A), (0x119E0, 0x119E0), (0x11A34, 0x11A34),
    (0x11A47, 0x11A47), (0x11A99, 0x11A99), (0x11D42, 0x11D42), (0x11D44, 0x11D45), (0x11D97, 0x11D97), (0x1E130, 0x1E136),
    (0x1E2EC, 0x1E2EF)) for code in range(first, last + 1)}


def assigned():
    """The blocks of neighbours that are assigned: mostly, the letters of a script stand together."""
    words = [word for line in (HERE / "unicode-12.txt").read_text().splitlines() if not line.startswith("#")
             for word in line.split()]
    for word in words:
        first, _, last = word.partition("-")
        yield [chr(code) for code in range(int(first, 16), int(last or first, 16) + 1)]


def texts_of_characters(rng, blocks):
    """Each character at the start, the middle and the end of a word, beside spaces, digits, marks and itself."""
    for block in blocks:
        for character in block:
            c, space, part = character, rng.choice(SPACES), "." if character in NEWER_MARKS else rng.choice(PARTS)
            yield rng.choice([f"a{c}b {c}{c}{space}{c}1{part}", f"{c}{space} {c}.{c}{part}x{c}", f"{part}{c} '{c}{space}{c}\n"])


def texts_of_words(rng, blocks, count):
    """Sentences that mix a few scripts with spaces, numbers, emoji and added tokens."""
    contents = [token.content for token in ADDED]
    for _ in range(count):
        here = [rng.choice(blocks) for _ in range(3)]
        pieces = []
        for _ in range(rng.randrange(1, 16)):
            kind = rng.random()
            if kind < 0.45:
                block = rng.choice(here)
                pieces.append("".join(rng.choice(block) for _ in range(rng.randrange(1, 9))))
            elif kind < 0.70:
                pieces.append(rng.choice(SPACES))
            elif kind < 0.85:
                pieces.append(rng.choice(PARTS))
            else:
                pieces.append(rng.choice(EMOJI if kind < 0.92 else contents))
        yield "".join(pieces)


def long_lines(rng, blocks, english):
    """Lines of a megabyte; those of one letter and of no space are the worst for a careless merge."""
    size = 1 << 20
    yield (english * (size // len(english) + 1))[:size]
    yield "".join(rng.choice("abcdefgh") for _ in range(size))
    yield "a" * size
    yield " " * size
    yield " " * size + "a"
    yield "\n" * size
    yield "1" * size
    yield "".join(rng.choice("\u0301\u0316\u0323\u0345") for _ in range(size // 2))
    yield "e" + "\u0301" * (size // 2)
    yield "".join("".join(rng.choice(rng.choice(blocks)) for _ in range(4)) + " " for _ in range(size // 8))


def all_texts(english):
    rng = random.Random(17)
    blocks = list(assigned())
    yield from ["", " ", "\n", "\0", "'", "''s"]
    yield from texts_of_characters(rng, blocks)
    blocks = [rest for block in blocks if (rest := [c for c in block if c not in NEWER_MARKS])]
    yield from texts_of_words(rng, blocks, 25_000)
    yield from long_lines(rng, blocks, english)


def train(folder, name, pattern, ignore_merges, normalizer, lines):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=6000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens(ADDED)
    path = folder / f"{name}.json"
    tokenizer.save(str(path))
    return tokenizer, path


def medley_ids(encoder, vocabulary, records, folder):
    ids = folder / "ids"
    started = time.monotonic()
    subprocess.run([encoder, vocabulary, records, ids], check=True)
    lines = ids.read_text().split("\n")[:-1]
    return [[int(word) for word in line.split()] for line in lines], time.monotonic() - started


def compare(name, tokenizer, texts, ours):
    different = 0
    for begin in range(0, len(texts), 10_000):
        chunk = texts[begin:begin + 10_000]
        for i, encoding in enumerate(tokenizer.encode_batch_fast(chunk, add_special_tokens=False)):
            if encoding.ids == ours[begin + i]:
                continue
            different += 1
            if different <= SHOWN:
                print(f"{name}: {chunk[i][:200]!r}\n  expected {encoding.ids[:40]}\n  medley's {ours[begin + i][:40]}")
    print(f"{name}: {different} of {len(texts)} texts differ")
    return different


def slice_of(texts, of):
    seed = os.environ.get("MEDLEY_SWEEP")
    if not seed:
        return texts
    rng = random.Random(int(seed))
    chosen = [rng.choice(texts[begin:begin + of]) for begin in range(0, len(texts), of)]
    print(f"Tokenizer: {len(chosen)} of {len(texts)} texts, by MEDLEY_SWEEP={seed}")
    return chosen


def main():
    encoder, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    root = HERE.parents[1]
    # Without medley's special tokens, which the package does not know.
    english = "".join(path.read_text() for path in sorted(root.glob("docs/*.md"))).replace("<", "")
    texts = list(all_texts(english))
    # A hundredth of the texts teaches each vocabulary something of every script.
    lines = english.splitlines() + [text for text in texts[::40] if len(text) < 1000]
    texts = slice_of(texts, 8)
    records = folder / "texts"
    with open(records, "wb") as file:
        for text in texts:
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
    different = 0
    for name, pattern, ignore_merges, normalizer in (("qwen", QWEN, False, normalizers.NFC()),
                                                     ("llama", LLAMA, True, None)):
        tokenizer, path = train(folder, name, pattern, ignore_merges, normalizer, lines)
        ours, seconds = medley_ids(encoder, path, records, folder)
        assert len(ours) == len(texts), f"{len(ours)} lines for {len(texts)} texts"
        print(f"{name}: {tokenizer.get_vocab_size()} tokens, medley took {seconds:.1f} s (tokenizers {tokenizers.__version__})")
        different += compare(name, tokenizer, texts, ours)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
