"""The way of a LLaVA through medley: a folder as transformers saves it is trained on pictures and the game, exported, and opened by
transformers, whose logits are those of the folder that the run began with, as its steps change next to nothing.

    python llava.py MEDLEY OUT
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import torch
from transformers import LlavaConfig, LlavaForConditionalGeneration

SOURCE = pathlib.Path(__file__).resolve().parents[2]
IMAGE, SIZE, TOLERANCE = 5, 128, 1e-5
TEXT = dict(model_type="qwen2", hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=24,
            vocab_size=1024, bos_token_id=None, eos_token_id=None)
VISION = dict(hidden_size=12, num_attention_heads=3, intermediate_size=20, num_hidden_layers=3, image_size=SIZE, patch_size=SIZE // 4)
CASES = {
    "clip": dict(vision_config=VISION | {"model_type": "clip_vision_model"}, text_config=TEXT | {"tie_word_embeddings": False}),
    "siglip": dict(vision_config=VISION | {"model_type": "siglip_vision_model", "vision_use_head": False},
                   text_config=TEXT | {"tie_word_embeddings": True}, vision_feature_layer=-1, vision_feature_select_strategy="full"),
}
CHAT = {"head": "user:", "to_assistant": "<eos>assistant:", "to_last": "<eos>assistant:", "to_user": "<eos>user:", "tail": "<eos>",
        "generation": "<eos>assistant:", "end": "<eos>", "specials": ["<eos>", "<image>"], "image": "<image>", "images_first": True}
SMALL = ["device=cpu", "dtype=fp32", "threads=1", "plan=false", "budget=2GiB", "eval.every=0", "eval.rows=2", "eval.at_start=false",
         "tensorboard=false", "allow_unknown_vocabulary=true", "tasks.pictures.rows=2", "tasks.position_qa.rows=2",
         "tasks.near_gold_qa.rows=2", "tasks.imagine_walls_only.rows=1", "draws_per_step=4", "optimizer.groups=[]",
         "optimizer.weight_decay=0", f"tokenizer={SOURCE / 'configs/tokenizers/small.model'}"]


def run(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}")


def logits(model):
    """Of a picture at the beginning and one in the middle."""
    generator = torch.Generator().manual_seed(3)
    vision = model.config.vision_config
    patches = (vision.image_size // vision.patch_size) ** 2
    words = torch.randint(20, 1000, (2, 6), generator=generator)
    rows = [[IMAGE] * patches + words[0].tolist(), words[1, :3].tolist() + [IMAGE] * patches + words[1, 3:].tolist()]
    pixels = torch.randn(2, 3, SIZE, SIZE, generator=generator)
    with torch.no_grad():
        return model(input_ids=torch.tensor(rows), pixel_values=pixels).logits


def opened(folder):
    model, found = LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    wrong = {kind: found[kind] for kind in found if found[kind]}
    if wrong:
        sys.exit(f"{folder}: transformers reports {wrong}, expected every name once, with its shape")
    return model.eval()


def check(medley, name, config, out):
    torch.manual_seed(1)
    base, model, chat = out / name, out / f"{name}.json", out / "chat.json"
    LlavaForConditionalGeneration(LlavaConfig(image_token_index=IMAGE, **config)).save_pretrained(base)
    pretrained = {"pretrained": str(base)}
    model.write_text(json.dumps({"kind": "agent", "language": pretrained, "tower": pretrained,
                                 "decoder": {"layers": 1, "heads": 2, "ffn": 8}}))
    chat.write_text(json.dumps(CHAT))
    wanted = logits(opened(base))
    for rate, changes in (("1e-12", False), ("0.01", True)):
        trained, exported = out / f"{name}-run-{rate}", out / f"{name}-out-{rate}"
        run(medley, "train", SOURCE / "configs/runs/llava.json", *SMALL, f"model={model}", f"chat={chat}", "steps=2",
            f"optimizer.learning_rate={rate}", "optimizer.warmup_steps=0", "--out", trained)
        run(medley, "export", trained, "--out", exported)
        furthest = float((logits(opened(exported)) - wanted).abs().max())
        print(f"{name}, learning rate {rate}: logits differ from the folder's by {furthest:.1e}")
        if (furthest > TOLERANCE) != changes:
            sys.exit(f"{exported}: expected {'other logits' if changes else f'the same logits, to {TOLERANCE}'}")


def main():
    medley, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, config in CASES.items():
        check(medley, name, config, out)


if __name__ == "__main__":
    main()
