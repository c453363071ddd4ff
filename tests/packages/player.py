"""A checkpoint of QwenPlayer's (the agent of seed 000), made up here, through tools/pth-to-safetensors into medley and out again: its own
forward, of torch's modules and transformers' language, against what medley computes.

    python player.py MEDLEY OUT
"""

import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys

import in_process
import torch
import transformers
from torch import nn
from transformers.models.qwen3.modeling_qwen3 import apply_rotary_pos_emb

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CORPUS = SOURCE / "configs/texts/corpus.txt"
SIZE, PATCH, HEADS, FFN, LAYERS = 128, 32, 4, 48, (2, 3)


def run(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}")
    return done.stdout + done.stderr


def sinusoid(grid, width):
    code = torch.zeros(grid, grid, width)
    for row in range(grid):
        for column in range(grid):
            for i in range(0, width // 2, 2):
                slow = 10000 ** (2 * (i // 2) / (width // 2))
                for offset, index in ((0, row), (width // 2, column)):
                    code[row, column, offset + i] = torch.sin(torch.tensor(index / slow))
                    code[row, column, offset + i + 1] = torch.cos(torch.tensor(index / slow))
    return code.view(1, grid * grid, width)


class Patches(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear_project = nn.Conv2d(3, width, PATCH, PATCH)

    def forward(self, image):
        return self.linear_project(image).flatten(2).transpose(1, 2)


class Pixels(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear_project = nn.ConvTranspose2d(width, 3, PATCH, PATCH)

    def forward(self, x):
        return self.linear_project(x.transpose(1, 2).unflatten(2, (SIZE // PATCH, SIZE // PATCH)))


class Places(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("pe", sinusoid(SIZE // PATCH, width))

    def forward(self, x):
        return x + self.pe


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Sequential(Patches(width), Places(width), nn.LayerNorm(width))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, HEADS, FFN, batch_first=True), LAYERS[0])
        self.post_norm = nn.LayerNorm(width)
        self.pe = Places(width)

    def forward(self, image):
        return self.post_norm(self.encoder(self.embed(image)))


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(width, HEADS, FFN, batch_first=True), LAYERS[1])
        self.linear_layer = nn.Sequential(nn.Dropout(0.1), nn.LayerNorm(width), Pixels(width))
        self.pe = Places(width)

    def forward(self, query, context, hidden):
        return self.linear_layer(self.decoder(query, context, memory_key_padding_mask=hidden))


class Player(nn.Module):
    def __init__(self, language):
        super().__init__()
        width = language.config.hidden_size
        self.qwen_model, self.img_enc, self.img_dec = language, Encoder(width), Decoder(width)
        self.layer_scale_factors = nn.Parameter(torch.ones(language.config.num_hidden_layers))

    def cache(self, prefix):
        """What each layer keeps of pictures and their labels, which go through none of them."""
        body, kept = self.qwen_model.model, transformers.DynamicCache()
        cos, sin = body.rotary_emb(prefix, torch.arange(prefix.shape[1])[None])
        for i, layer in enumerate(body.layers):
            seen, attention = layer.input_layernorm(prefix * self.layer_scale_factors[i]), layer.self_attn
            heads = (*seen.shape[:2], -1, attention.head_dim)
            keys = attention.k_norm(attention.k_proj(seen).view(heads)).transpose(1, 2)
            _, keys = apply_rotary_pos_emb(keys, keys, cos, sin)
            kept.update(keys, attention.v_proj(seen).view(heads).transpose(1, 2), i)
        return kept

    def forward(self, images, tokens, lengths, labels, end):
        body, encodings = self.qwen_model.model, [self.img_enc(image) for image in images]
        words = lambda ids: body.embed_tokens(torch.tensor(ids)).expand(len(tokens), -1, -1)
        prefix = torch.cat([part for label, encoding in zip(labels, encodings) for part in (words(label), encoding, words(end))], 1)
        places = prefix.shape[1] + torch.arange(tokens.shape[1])[None].expand(len(tokens), -1)
        text = body(input_ids=tokens, past_key_values=self.cache(prefix), position_ids=places).last_hidden_state
        hidden = torch.arange(tokens.shape[1]) >= lengths[:, None]
        return self.qwen_model.lm_head(text), self.img_dec(encodings[-1], text, hidden)


def made_up(base):
    torch.manual_seed(66)
    player = Player(transformers.AutoModelForCausalLM.from_pretrained(base, attn_implementation="eager", dtype=torch.float32)).eval()
    with torch.no_grad():
        for name, parameter in player.named_parameters():  # also biases and norms, which begin as 0 and 1
            if not name.startswith("qwen_model.") and name != "layer_scale_factors":
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return player


def write_configs(pretrained, out):
    weights = SOURCE / "configs/weights/seed-000.json"
    stack = {"heads": HEADS, "ffn": FFN}
    (out / "model.json").write_text(json.dumps({
        "kind": "agent", "language": {"pretrained": str(pretrained)}, "image": {"size": SIZE, "patch": PATCH},
        "encoder": {"layers": LAYERS[0], **stack}, "decoder": {"layers": LAYERS[1], **stack}}))
    (out / "weights.json").write_text(json.dumps({"weights": {"control": 1}}))
    # One step that changes nothing, as a run needs one.
    (out / "run.json").write_text(json.dumps({
        "model": "model.json", "tokenizer": str(pretrained / "tokenizer.json"), "weights": "weights.json", "steps": 1, "threads": 1,
        "control_text": str(SOURCE / "configs/texts/control.txt"), "plan": False, "tasks": {"control": {"rows": 2}},
        "optimizer": {"learning_rate": 1e-30, "weight_decay": 0}}))
    return weights


def take_new_rows(player, table, base):
    """Those of tokens that medley adds, which begin anew; all others must be the player's own."""
    own = player.qwen_model.model.embed_tokens.weight
    known = len(transformers.AutoTokenizer.from_pretrained(base))
    if not torch.equal(table[:known], own[:known].detach()):
        sys.exit("medley's rows of tokens are others than the player's")
    weight = nn.Parameter(table)
    player.qwen_model.model.embed_tokens.weight = player.qwen_model.lm_head.weight = weight


def main(medley, out):
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    out = pathlib.Path(out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    in_process.run("make_folder.py", out / "base", CORPUS, "--vocabulary", "1200", "--dtype", "fp32")
    player = made_up(out / "base")
    torch.save(player.state_dict(), out / "player.pth")
    words = run(sys.executable, SOURCE / "tools/pth-to-safetensors", out / "player.pth", out / "player", "--names", "player", "--base",
                out / "base")
    print(words, end="")
    write_configs(out / "player", out)
    run(medley, "train", out / "run.json", "--out", out / "run")
    run(medley, "export", out / "run", "--out", out / "exported")

    module = runpy.run_path(str(out / "exported/model.py"), run_name="opened")
    if module["check"](out / "exported") != 0:
        sys.exit("model.py gives something else than medley")
    take_new_rows(player, module["read"](out / "exported/model.safetensors")["model.embed_tokens.weight"], out / "base")
    about, rows = json.loads((out / "exported/medley.json").read_text()), module["read"](out / "exported/check.safetensors")
    with torch.no_grad():
        logits, picture = player([rows["in.images.0"], rows["in.images.1"]], rows["in.tokens"], rows["in.lengths"],
                                 about["image_labels"], about["image_end"])
    logits = logits.flatten(0, 1)[rows["in.supervised"] - 1]
    for name, own, theirs in (("logits", logits, rows["out.logits"]), ("picture", picture, rows["out.image"])):
        off = ((own - theirs).abs().max() / theirs.abs().max()).item()
        print(f"{name} of the player's own forward: at most {off:.1e} off")
        if off > 1e-5:
            sys.exit(f"{name}: medley computes something else than the model that torch saved")


main(*sys.argv[1:])
