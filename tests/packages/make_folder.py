"""Makes a folder as Qwen3 is published: a random model of 2 layers and a byte-level BPE tokenizer trained on a text.

    python make_folder.py OUT TEXT [--vocabulary N] [--spare N] [--untied] [--dtype fp32|bf16] [--seed N]

Also OUT/expect.safetensors: logits, and the first 4000 characters of the text with their ids.
"""

import argparse
import pathlib

import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModelForCausalLM, Qwen2Tokenizer, Qwen3Config
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

import expected

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]


def train(text, vocabulary):
    """As Qwen's: every byte has a token, and the special ones come behind the vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tokenizer.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=vocabulary - len(SPECIAL), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False))
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def save_tokenizer(tokenizer, folder):
    Qwen2Tokenizer(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token=None,
                   extra_special_tokens=SPECIAL).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))  # Qwen2Tokenizer writes its own


def make_model(tokenizer, arguments):
    config = Qwen3Config(
        vocab_size=tokenizer.get_vocab_size() + arguments.spare, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=2048,
        initializer_range=0.1,  # not 0.02: a table so narrow would have flat logits
        tie_word_embeddings=not arguments.untied, rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        bos_token_id=tokenizer.token_to_id("<|endoftext|>"), eos_token_id=tokenizer.token_to_id("<|im_end|>"))
    return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16 if arguments.dtype == "bf16" else torch.float32).eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--vocabulary", type=int, default=600)
    parser.add_argument("--spare", type=int, default=16, help="rows of the table that no token has")
    parser.add_argument("--untied", action="store_true")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    text = arguments.text.read_text()
    tokenizer = train(text, arguments.vocabulary)
    model = make_model(tokenizer, arguments)
    model.save_pretrained(arguments.out)
    save_tokenizer(tokenizer, arguments.out)
    sample = text[:4000]
    expected.save(arguments.out, model.float(), *expected.random_rows(tokenizer.get_vocab_size()),
                  text=torch.tensor([*sample.encode()], dtype=torch.uint8),
                  text_ids=torch.tensor(tokenizer.encode(sample, add_special_tokens=False).ids))
    print(f"{arguments.out}: {tokenizer.get_vocab_size()} tokens for {model.config.vocab_size} rows, "
          f"{sum(weight.numel() for weight in model.parameters())} parameters, {arguments.dtype}")


if __name__ == "__main__":
    main()
