"""Makes the vocabularies of tests/text/cases and what the tokenizers package makes of texts with them.

    $(tests/packages/venv) tests/text/make_cases.py

NAME.json is a tokenizer.json, NAME.expect.json has texts and their ids (add_special_tokens=False).
"""

import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

FOLDER = pathlib.Path(__file__).resolve().parent / "cases"
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+")
LLAMA = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
# Each makes a token of two that are there: Ġ is a space.
WORDS = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("Ġ", "g"), ("o", "l"), ("Ġg", "ol"), ("Ġgol", "d"), ("Ã", "©"),
         ("1", "2"), ("12", "3"), ("Ġ", "Ġ"), ("ĠĠ", "ĠĠ"), ("Ċ", "Ċ"), ("'", "s")]
TEXTS = ["", " ", "the gold", "The gold is in the gold.", "  two   spaces    and\n\n\nlines\r\n", "it's IT'S 12345 1 23",
         "caf\u00e9 cafe\u0301 \u212b", "\u4f60\u597d \U0001f642 \u0437\u043e\u043b\u043e\u0442\u043e", "tab\tnbsp\u00a0mvs\u180ex\u3000.", "a\u0323\u0307 a\u0307\u0323", "!?...\n\n\n", "\u2167 \u00bd \u0663"]


def byte_level(**options):
    return pre_tokenizers.ByteLevel(**{"add_prefix_space": False, "use_regex": False, **options})


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(pattern if isinstance(pattern, str) else Regex(pattern[0]), behavior, invert)


def sequence(*steps):
    return pre_tokenizers.Sequence([*steps, byte_level()])


def make(steps, merges=WORDS, extra=(), alphabet=BYTES, added=(), special=(), normalizer=None, post=None, **options):
    vocabulary = {token: i for i, token in enumerate(alphabet)}
    for token in [*extra, *(left + right for left, right in merges)]:
        vocabulary.setdefault(token, len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges), **options))
    tokenizer.pre_tokenizer = steps
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    if post:
        tokenizer.post_processor = post
    tokenizer.add_special_tokens(list(special))
    tokenizer.add_tokens(list(added))
    return tokenizer


def with_text_merges(tokenizer):
    """As older files spell merges, and with what they leave out."""
    data = json.loads(tokenizer.to_str())
    data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
    for key in ("type", "byte_fallback", "ignore_merges"):
        del data["model"][key]
    return data


def cases():
    yield "qwen", make(sequence(split([QWEN])), normalizer=normalizers.NFC(), special=[
        "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]), [
            "<|im_start|>user\nthe gold<|im_end|>", "<|im_end|", "<|endoftext|><|endoftext|> x"]
    llama = ["<|begin_of_text|>", "<|end_of_text|>", "<|finetune_right_pad_id|>", "<|eot_id|>"]
    yield "llama", make(sequence(split([LLAMA])), ignore_merges=True, extra=["Ġgoldfish", "the\u0120gold", "hallo"], special=llama,
                        post=processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
                            single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 275)])])), [
                                "hallo goldfish hallos", " goldfish<|eot_id|>"]
    yield "gpt2", make(byte_level(add_prefix_space=True, use_regex=True), special=["<|endoftext|>"]), [
        "x<|endoftext|>y z", "don't we'LL"]
    yield "digits", make(sequence(pre_tokenizers.Digits(individual_digits=True))), ["a123b45"]
    yield "numbers", make(sequence(pre_tokenizers.Digits(individual_digits=False))), ["a123b45", "\u0663\u0664\u0665"]
    hits = ["the-gold--the", "--the", "the--", "-", "---", "the"]
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            yield f"split_{behavior}{'_inverted' if invert else ''}", make(
                sequence(split("-", behavior, invert)), merges=[("-", "-"), ("-", "t"), ("e", "-"), ("t", "h"), ("th", "e")]), hits
    yield "split_empty_places", make(sequence(split(["x*"], "merged_with_previous"), split("a.", "merged_with_next")), merges=[
        ("x", "x"), ("a", "b"), ("b", "c"), ("a", ".")]), ["abcxxabc", "xxab", "abxx", "xaa.ba.", "x"]
    flags = [AddedToken("[left]", lstrip=True), AddedToken("[right]", rstrip=True), AddedToken("alone", single_word=True),
             AddedToken("[plain", normalized=False), AddedToken("[plain]", normalized=False), AddedToken("e\u0301t", normalized=True),
             AddedToken(" behind", normalized=False), AddedToken("[r]", rstrip=True, normalized=False), AddedToken("gold")]
    yield "added", make(sequence(split([QWEN])), normalizer=normalizers.NFC(), added=flags), [
        "x \u3000[left]  y", "x  [right] \n y", "alone lonely alones _alone alone_ \u00e9alone alone. alone\u0301 \u2460alone", "[plain] [plain x[plain",
        "e\u0301t \u00e9t e\u0301 t", "[r]  behind  the", "[r] behind", " [left][left] [right]  [left]", "marigold goldfish",
        "\u180e[left]\u180e", "[right]\u0085\u2028\u205f x"]
    few = sorted(set("theold") | {"Ġ", "<unk>"})
    yield "unknown", make(byte_level(), alphabet=few, merges=[("t", "h"), ("th", "e"), ("<unk>", "e")], unk_token="<unk>"), ["gold xyz xe", "\u00e9\u00e9e"]
    yield "unknown_fused", make(byte_level(), alphabet=few, merges=[("t", "h"), ("th", "e"), ("<unk>", "e")], unk_token="<unk>", fuse_unk=True), [
        "gold xyz xe", "\u00e9\u00e9e"]
    yield "unknown_dropped", make(byte_level(), alphabet=few[1:], merges=[("t", "h"), ("th", "e")]), ["gold xyz txhe", "\u00e9\u00e9e"]
    # Two ways to abc, and a pair that stands twice in the list: the later one counts.
    yield "two_ways", make(byte_level(), merges=[("b", "c"), ("x", "a"), ("a", "b"), ("a", "bc"), ("ab", "c"), ("c", "a"), ("b", "c")],
                           ), ["abcabc", "xabc", "abcxabcab", "bcabca", "cabxab"]
    yield "normalizers", make(byte_level(), normalizer=normalizers.Sequence([normalizers.Sequence([]), normalizers.NFC()])), [
        "\u1100\u1161\u11a8 \uac00\u11a8", "\u0958 \u0344 \u2126 \U0001d15e"]


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, tokenizer, more in cases():
        texts = TEXTS + more
        ids = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
        data = with_text_merges(tokenizer) if name == "qwen" else json.loads(tokenizer.to_str())
        (FOLDER / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")
        lines = ",\n".join(json.dumps([text, found]) for text, found in zip(texts, ids))
        (FOLDER / f"{name}.expect.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
