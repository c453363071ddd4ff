#!/usr/bin/env python3
"""Makes the folders of the towers' parity test: small random CLIPs, SigLIPs and LLaVAs as transformers saves them, and what
transformers computes of them.

Each folder has config.json and model.safetensors, some a preprocessor_config.json, and expect.safetensors:
  images.I [rows, 3, size, size]: picture I of each row, in [0, 1]
  features [images * rows, patches, width]: what LLaVA takes of the tower, picture by picture
  loss [1]: of a tower alone the mean of features * direction (which is there, too); of a LLaVA mean cross-entropy
  tokens [rows, width] int64, lengths [rows], logits [rows, width, vocabulary], of a LLaVA: one token for a picture, at whose
    place the logits are those behind its last vector; 0 behind a row's end. `learned` [rows, width] bool: the targets
  grad.NAME: the gradient of that loss by every parameter that it depends on, by medley's names
  bf16.features, bf16.logits [1]: how far transformers' own results in bf16 are from its results in fp32, root mean square
Of a float64 model with the file's weights, stored as fp32.

    python make.py [DIR, by default where this file is]
"""

import argparse
import dataclasses
import pathlib
import shutil

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModel,
    CLIPImageProcessor,
    LlavaForConditionalGeneration,
    SiglipImageProcessor,
)

ROWS, WIDTH, VOCABULARY, IMAGE_TOKEN = 3, 9, 140, 137
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@dataclasses.dataclass
class Case:
    name: str
    vision: dict
    text: dict | None = None  # of a LLaVA
    llava: dict = dataclasses.field(default_factory=dict)
    whole: bool = False  # the tower of texts lies beside it
    images: int = 1
    dtype: torch.dtype = torch.float32
    shard_bytes: int | None = None
    preprocessor: dict | None = None
    spelling: str = "5"  # "4": the names of published folders; "inner": those of the module

    @property
    def kind(self):
        return self.vision["model_type"].split("_")[0]


def clip(width, layers, heads, ffn, size, patch, **more):
    return dict(model_type="clip_vision_model", hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                intermediate_size=ffn, image_size=size, patch_size=patch, **more)


def siglip(width, layers, heads, ffn, size, patch, **more):
    return clip(width, layers, heads, ffn, size, patch, **more) | {"model_type": "siglip_vision_model"}


def qwen2(width, heads, kv_heads, ffn, **more):
    return dict(model_type="qwen2", hidden_size=width, num_hidden_layers=2, num_attention_heads=heads,
                num_key_value_heads=kv_heads, intermediate_size=ffn, vocab_size=VOCABULARY, max_position_embeddings=512,
                bos_token_id=None, eos_token_id=None, **more)


def cases():
    full = dict(vision_feature_layer=-1, vision_feature_select_strategy="full")
    return [
        Case("clip-quick-gelu", clip(16, 3, 4, 24, 14, 7)),
        Case("clip-gelu-epsilon", clip(24, 2, 2, 20, 12, 4, hidden_act="gelu", layer_norm_eps=1e-3),
             preprocessor=dict(size={"shortest_edge": 12}, crop_size=12, image_mean=[0.1, 0.5, 0.9], image_std=[0.2, 0.4, 0.6])),
        Case("clip-whole-rest-of-pixels", clip(20, 3, 5, 28, 13, 4), whole=True),
        Case("siglip-tanh", siglip(16, 2, 2, 24, 12, 3)),
        Case("siglip-whole-relu", siglip(24, 2, 4, 16, 10, 5, hidden_act="relu"), whole=True),
        Case("siglip-no-head-rest-of-pixels", siglip(12, 3, 3, 40, 11, 3, hidden_act="gelu", layer_norm_eps=1e-4,
                                                     vision_use_head=False), shard_bytes=8_000),
        Case("llava-clip-tied", clip(16, 3, 4, 24, 14, 7), qwen2(16, 4, 2, 24, tie_word_embeddings=True),
             preprocessor=dict(size={"shortest_edge": 14}, crop_size={"height": 14, "width": 14})),
        Case("llava-clip-last-layer-untied-old-names", clip(20, 2, 2, 16, 9, 3), qwen2(24, 3, 1, 20, tie_word_embeddings=False),
             llava=dict(vision_feature_layer=-1), spelling="4", images=2),
        Case("llava-siglip-full", siglip(16, 2, 4, 24, 12, 4, vision_use_head=False), qwen2(24, 4, 4, 32, tie_word_embeddings=True),
             llava=full, images=2, preprocessor=dict(size={"height": 12, "width": 12})),
        Case("llava-siglip-first-layer-inner-names", siglip(24, 3, 3, 20, 13, 6), qwen2(16, 2, 1, 24, tie_word_embeddings=False),
             llava=full | dict(vision_feature_layer=1, projector_hidden_act="gelu_pytorch_tanh"), spelling="inner"),
        Case("llava-clip-sharded-bf16", clip(16, 4, 2, 32, 10, 5, hidden_act="gelu_pytorch_tanh"),
             qwen2(16, 4, 2, 24, tie_word_embeddings=True), llava=dict(vision_feature_layer=-3), dtype=torch.bfloat16,
             shard_bytes=12_000, images=3),
        Case("llava-siglip-fp16-old-names", siglip(32, 2, 8, 48, 8, 4), qwen2(32, 4, 2, 40, tie_word_embeddings=False), llava=full,
             dtype=torch.float16, spelling="4"),
    ]


def random_weights(model):
    """Matrices that keep their input's scale, biases and norms that matter, logits that are not flat."""
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape)
        if "norm" in name and name.endswith("weight"):
            weight.data.copy_(1 + 0.2 * noise)
        elif weight.dim() < 2:
            weight.data.copy_(0.3 * noise)
        elif "embed_tokens" in name or "lm_head" in name or "position_embedding" in name:
            weight.data.copy_(0.4 * noise)
        else:
            weight.data.copy_(noise / weight[0].numel() ** 0.5)


def config_of(case):
    if case.text is not None:
        return AutoConfig.for_model("llava", vision_config=case.vision, text_config=case.text, image_token_index=IMAGE_TOKEN,
                                    tie_word_embeddings=case.text["tie_word_embeddings"], **case.llava)
    if not case.whole:
        return AutoConfig.for_model(**case.vision)
    text = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, vocab_size=20,
                max_position_embeddings=8, bos_token_id=1, eos_token_id=2, projection_size=8)
    return AutoConfig.for_model(case.kind, vision_config=case.vision, text_config=text, projection_dim=8)


def old_name(name):
    """As transformers 4 wrote it."""
    return name.replace("vision_tower.", "vision_tower.vision_model.", 1)


def inner_name(name):
    """As the module calls it."""
    if name.startswith(("vision_tower.", "multi_modal_projector.")):
        return "model." + name
    return name.replace("language_model.model.", "model.language_model.", 1).replace("language_model.lm_head", "lm_head", 1)


def save_folder(case, folder):
    config = config_of(case)
    kind = LlavaForConditionalGeneration if case.text is not None else AutoModel
    model = kind._from_config(config, dtype=torch.float32) if case.text is not None else kind.from_config(config)
    random_weights(model)
    size = {} if case.shard_bytes is None else {"max_shard_size": case.shard_bytes}
    model.to(case.dtype).save_pretrained(folder, **size)
    if case.spelling != "5":
        path = folder / "model.safetensors"
        rename = old_name if case.spelling == "4" else inner_name
        save_file({rename(name): value for name, value in load_file(path).items()}, path, {"format": "pt"})
    if case.preprocessor is not None:
        processor = CLIPImageProcessor if case.kind == "clip" else SiglipImageProcessor
        processor(**case.preprocessor).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def medley_name(name):
    for begin, now in [("model.vision_tower.", "vision_tower."), ("model.multi_modal_projector.", "multi_modal_projector."),
                       ("model.language_model.", "model."), ("vision_model.", "vision_tower."),
                       ("embeddings.", "vision_tower.embeddings."), ("encoder.", "vision_tower.encoder."),
                       ("pre_layrnorm.", "vision_tower.pre_layrnorm.")]:
        if name.startswith(begin):
            return now + name[len(begin):]
    return name


def pixels(case, images):
    """Picture by picture [images * rows, 3, size, size], normalised."""
    mean, std = (CLIP_MEAN, CLIP_STD) if case.kind == "clip" else ((0.5,) * 3, (0.5,) * 3)
    if case.preprocessor is not None and "image_mean" in case.preprocessor:
        mean, std = case.preprocessor["image_mean"], case.preprocessor["image_std"]
    mean, std = (torch.tensor(values, dtype=torch.float64).view(3, 1, 1) for values in (mean, std))
    return (torch.cat(images).double() - mean) / std


def features_of(case, tower, values):
    states = tower(values, output_hidden_states=True).hidden_states
    clips = case.kind == "clip"
    layer = case.llava.get("vision_feature_layer", -2 if clips else -1)
    return states[layer][:, 1:] if clips else states[layer]


def expanded(tokens, lengths, patches):
    """Each row with as many tokens for a picture as it has vectors, padded; and where each token ends."""
    rows, ends = [], []
    for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True):
        ids, places = [], []
        for token in row[:length]:
            ids += [token] * (patches if token == IMAGE_TOKEN else 1)
            places.append(len(ids) - 1)
        rows.append(ids)
        ends.append(places)
    width = max(map(len, rows))
    mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids in rows])
    return torch.tensor([ids + [0] * (width - len(ids)) for ids in rows]), mask, ends


def logits_of(model, tokens, lengths, values, patches, images):
    ids, mask, ends = expanded(tokens, lengths, patches)
    of_row = values.view(images, ROWS, *values.shape[1:]).transpose(0, 1).flatten(0, 1)
    logits = model(input_ids=ids, attention_mask=mask, pixel_values=of_row).logits
    rows = [F.pad(row[places], (0, 0, 0, WIDTH - len(places))) for row, places in zip(logits, ends, strict=True)]
    return torch.stack(rows)


def texts(images):
    """A picture at the beginning, in the middle, one behind the other, and at the end."""
    lengths = torch.tensor([WIDTH, WIDTH - 1, images + 2])
    tokens = torch.randint(7, 135, (ROWS, WIDTH))
    for row, length in enumerate(lengths.tolist()):
        places = torch.arange(images) if row == 0 else torch.randperm(length)[:images]
        tokens[row, places] = IMAGE_TOKEN
        tokens[row, length:] = 0
    learned = (torch.arange(WIDTH) < lengths[:, None]) & (torch.arange(WIDTH) > 0) & (tokens != IMAGE_TOKEN)
    return tokens, lengths, learned


def distance(ours, exact):
    return (ours.double() - exact.double()).square().mean().sqrt().float().reshape(1)


def opened(case, folder, dtype):
    kind = LlavaForConditionalGeneration if case.text is not None else AutoModel
    return kind.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa").eval()


def tower_in(case, model):
    if case.text is not None:
        return model.model.vision_tower
    return model.vision_model if case.whole else model


def expectations(case, folder):
    size = case.vision["image_size"]
    images = [torch.rand(ROWS, 3, size, size) for _ in range(case.images)]
    values = pixels(case, images)
    model, single, half = (opened(case, folder, dtype) for dtype in (torch.float64, torch.float32, torch.bfloat16))
    features = features_of(case, tower_in(case, model), values)
    expected = {f"images.{i}": image for i, image in enumerate(images)} | {"features": features.detach().float()}
    with torch.no_grad():
        expected["bf16.features"] = distance(features_of(case, tower_in(case, half), values.bfloat16()),
                                             features_of(case, tower_in(case, single), values.float()))
    if case.text is None:
        direction = torch.randn(features.shape)
        loss = (features * direction.double()).mean()
        expected["direction"] = direction
    else:
        tokens, lengths, learned = texts(case.images)
        arguments = tokens, lengths
        patches = features.shape[1]
        logits = logits_of(model, *arguments, values, patches, case.images)
        places = learned.flatten().nonzero().squeeze(1)
        loss = F.cross_entropy(logits.flatten(0, 1)[places - 1], tokens.flatten()[places])
        with torch.no_grad():
            inside = torch.arange(WIDTH) < lengths[:, None]
            expected["bf16.logits"] = distance(
                logits_of(half, *arguments, values.bfloat16(), patches, case.images)[inside],
                logits_of(single, *arguments, values.float(), patches, case.images)[inside])
        expected |= {"tokens": tokens, "lengths": lengths, "learned": learned, "logits": logits.detach().float()}
    loss.backward()
    gradients = {medley_name(name): weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return expected | {"loss": loss.detach().float().reshape(1)} | {f"grad.{name}": grad.float()
                                                                    for name, grad in gradients.items()}


def make(case, seed, folder):
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(seed)
    save_folder(case, folder)
    expected = expectations(case, folder)
    save_file({name: value.contiguous() for name, value in expected.items()}, folder / "expect.safetensors")
    print(f"{case.name}: loss {float(expected['loss']):.4f}, {sum(name.startswith('grad.') for name in expected)} gradients")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out = parser.parse_args().dir
    for seed, case in enumerate(cases(), start=1):
        make(case, seed, out / case.name)


if __name__ == "__main__":
    main()
