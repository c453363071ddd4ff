"""Opens a folder with transformers and compares its logits, and its tokenizer's ids, with what medley wrote of them.

    python open_export.py FOLDER EXPECT.safetensors [--dtype fp32|bf16] [--text]

In fp32 no logit may differ by more than 1e-4, in bf16 all of them together by 0.03 of their norm. --text: EXPECT has a text
and its ids, which are compared too.
"""

import argparse
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import expected


def open_model(folder, dtype):
    model, found = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, output_loading_info=True)
    wrong = {kind: found[kind] for kind in found if found[kind]}
    if wrong:
        raise expected.Differs(f"{folder}: transformers reports {wrong}, expected every name once, with its shape")
    print(f"{folder}: {type(model).__name__}, {model.num_parameters()} parameters, no name missing and none unexpected")
    return model.eval()


def check_tokenizer(folder, model, wanted, has_text):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = model.get_input_embeddings().num_embeddings
    largest = max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise expected.Differs(f"{folder}: the tokenizer has id {largest}, expected ids below the table's {rows} rows")
    print(f"{folder}: {type(tokenizer).__name__}, {len(tokenizer)} tokens for {rows} rows")
    if not has_text:
        return
    text = bytes(wanted["text"].tolist()).decode()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    medleys = wanted["text_ids"].tolist()
    if ids != medleys:
        first = next((i for i, pair in enumerate(zip(ids, medleys, strict=False)) if pair[0] != pair[1]), "the shorter's end")
        raise expected.Differs(f"{folder}: {len(ids)} ids of a text, expected medley's {len(medleys)}; apart at {first}")
    print(f"{folder}: {len(ids)} ids of a text of {len(text)} characters are medley's")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("expect")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--text", action="store_true")
    arguments = parser.parse_args()
    bf16 = arguments.dtype == "bf16"
    wanted = expected.load(arguments.expect)
    model = open_model(arguments.folder, torch.bfloat16 if bf16 else torch.float32)
    expected.check_logits(arguments.folder, model, wanted, bf16)
    check_tokenizer(arguments.folder, model, wanted, arguments.text)


if __name__ == "__main__":
    try:
        main()
    except expected.Differs as error:
        sys.exit(f"open_export: {error}")
