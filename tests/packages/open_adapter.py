"""Opens an adapter on its base with peft and compares its logits, apart and merged, with what medley wrote of it.

    python open_adapter.py BASE ADAPTER EXPECT.safetensors [--dtype fp32|bf16]
"""

import argparse
import pathlib
import sys

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors import safe_open
from transformers import AutoModelForCausalLM

import expected


def check_names(adapter, model):
    """PEFT drops what it has no place for without a word."""
    with safe_open(pathlib.Path(adapter) / "adapter_model.safetensors", "pt") as file:
        found = {name: list(file.get_slice(name).get_shape()) for name in file.keys()}
    wanted = {name: list(tensor.shape) for name, tensor in get_peft_model_state_dict(model).items()}
    if found != wanted:
        apart = sorted(set(map(str, found.items())) ^ set(map(str, wanted.items())))
        raise expected.Differs(f"{adapter}: {len(apart)} names or shapes differ from those of peft's model: {apart[:5]}")
    print(f"{adapter}: {len(found)} tensors, each with a place in peft's model")


def check_adapter_matters(adapter, model, wanted):
    with model.disable_adapter():
        without, limit = expected.difference(model, wanted, bf16=False)
    if without <= limit:
        raise expected.Differs(f"{adapter}: the base alone has these logits, expected an adapter that moves one by {limit:.0e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base")
    parser.add_argument("adapter")
    parser.add_argument("expect")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    arguments = parser.parse_args()
    bf16 = arguments.dtype == "bf16"
    wanted = expected.load(arguments.expect)
    base = AutoModelForCausalLM.from_pretrained(arguments.base, dtype=torch.bfloat16 if bf16 else torch.float32)
    model = PeftModel.from_pretrained(base.eval(), arguments.adapter)
    check_names(arguments.adapter, model)
    expected.check_logits(f"{arguments.adapter} beside its base", model, wanted, bf16)
    check_adapter_matters(arguments.adapter, model, wanted)
    expected.check_logits(f"{arguments.adapter} merged", model.merge_and_unload(), wanted, bf16)


if __name__ == "__main__":
    try:
        main()
    except expected.Differs as error:
        sys.exit(f"open_adapter: {error}")
