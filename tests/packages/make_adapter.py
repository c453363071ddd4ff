"""Makes a random adapter of peft for a base, and OUT/expect.safetensors with the logits of the two together.

    python make_adapter.py BASE OUT --rank 4 --alpha 8 --targets q_proj,v_proj [--rslora] [--new-tokens N] [--seed N]

--targets: names with commas, a regular expression, or all-linear. --new-tokens: the table's last N rows are trained beside the
adapters; of an untied model, the head's too.
"""

import argparse
import re

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

import expected


def targets(text):
    return text if text == "all-linear" or not re.fullmatch(r"[\w.,]+", text) else text.split(",")


def new_rows(config, count):
    """The last ids, in an order that is not sorted: the file's rows follow the config's list."""
    ids = [*range(config.vocab_size - 1, config.vocab_size - 1 - count, -1)]
    return ids if config.tie_word_embeddings else {"embed_tokens": ids, "lm_head": ids}


def randomize(model):
    """Also B, which is 0 in a new adapter, and the new rows, which are the base's."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name:
                weight.normal_(std=(0.3 if "lora_B" in name else 1.0) * weight.shape[1] ** -0.5)
            elif "trainable_tokens_delta" in name:
                weight.add_(torch.randn_like(weight) * weight.std())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base")
    parser.add_argument("out")
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--alpha", type=int, default=8)
    parser.add_argument("--targets", type=targets, default="all-linear")
    parser.add_argument("--rslora", action="store_true")
    parser.add_argument("--new-tokens", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    base = AutoModelForCausalLM.from_pretrained(arguments.base, dtype=torch.float32)
    vocabulary = base.config.vocab_size
    rows = new_rows(base.config, arguments.new_tokens) if arguments.new_tokens else None
    model = get_peft_model(base, LoraConfig(
        task_type="CAUSAL_LM", r=arguments.rank, lora_alpha=arguments.alpha, target_modules=arguments.targets,
        use_rslora=arguments.rslora, trainable_token_indices=rows))
    randomize(model)
    model.save_pretrained(arguments.out)
    also = [*range(vocabulary - arguments.new_tokens, vocabulary)]
    expected.save(arguments.out, model.eval(), *expected.random_rows(vocabulary, also))
    print(f"{arguments.out}: rank {arguments.rank}, {model.get_nb_trainable_parameters()[0]} parameters")


if __name__ == "__main__":
    main()
