"""Names of QwenPlayer (atbolsh/QwenPlayer_Naive), the agent of seed 000, in medley's."""

import re

from .reader import Wrong

LANGUAGE, IMAGE, ADAPTER = "model.safetensors", "medley_image.safetensors", "adapter_model.safetensors"
# What medley has not, or computes.
LEFT = re.compile(r"layer_scale_factors|img_enc\.pe\.pe|img_enc\.embed\.1\.pe|img_dec\.pe\.pe|.*rotary_emb\.inv_freq")
IMAGES = [(r"img_enc\.embed\.0\.linear_project\.", "img_enc.patch."), (r"img_enc\.embed\.2\.", "img_enc.norm_in."),
          (r"img_enc\.post_norm\.", "img_enc.norm_out."), (r"img_enc\.encoder\.layers\.", "img_enc.layers."),
          (r"img_dec\.decoder\.layers\.", "img_dec.layers."), (r"img_dec\.linear_layer\.1\.", "img_dec.norm_out."),
          (r"img_dec\.linear_layer\.2\.linear_project\.", "img_dec.patch.")]
NORMS = {"img_enc": {"norm1": "self_norm", "norm2": "ffn_norm"},
         "img_dec": {"norm1": "self_norm", "norm2": "cross_norm", "norm3": "ffn_norm"}}


def language_name(name):
    """Of one that begins with qwen_model., with or without adapters: its file, and the name there."""
    rest = name.removeprefix("qwen_model.")
    rest = rest.removeprefix("base_model.model.")
    if ".lora_" in rest:
        found = re.fullmatch(r"(.*)\.(lora_[AB])\.default\.weight", rest)
        return (ADAPTER, f"base_model.model.{found[1]}.{found[2]}.weight") if found else (None, name)
    return LANGUAGE, rest.replace(".base_layer.", ".")


def layer_parts(part, name, tensor):
    """What a layer of pictures has under its own names."""
    name = re.sub(r"\.(norm[123])\.", lambda found: f".{NORMS[part].get(found[1], found[1])}.", name)
    name = name.replace(".linear1.", ".ffn.up.").replace(".linear2.", ".ffn.down.")
    name = re.sub(r"\.self_attn\.in_proj_(weight|bias)$", r".self_attn.in_proj.\1", name)
    cross = re.fullmatch(r"(.*)\.multihead_attn\.in_proj_(weight|bias)", name)
    if not cross:
        return {name.replace(".multihead_attn.", ".cross_attn."): tensor}
    if not tensor.sizes or tensor.sizes[0] % 3:
        raise Wrong(f"'{name}' has {tensor.sizes[0] if tensor.sizes else 'no'} rows, expected queries, keys and values, three times the width")
    width = tensor.sizes[0] // 3
    return {f"{cross[1]}.cross_attn.q_proj.{cross[2]}": tensor.rows(0, width),
            f"{cross[1]}.cross_attn.kv_proj.{cross[2]}": tensor.rows(width, 3 * width)}


def image_parts(name, tensor):
    """The same of one of the pictures' parts; nothing where it is none of them."""
    for pattern, medley in IMAGES:
        renamed, count = re.subn("^" + pattern, medley, name)
        if count:
            part = medley.split(".")[0]
            return layer_parts(part, renamed, tensor) if medley.endswith(".layers.") else {renamed: tensor}
    return None


def renamed(file):
    """tensors by file and name, and the names that are left aside."""
    files, sources, left, strange = {}, {}, [], []
    for name, tensor in file.tensors.items():
        if LEFT.fullmatch(name):
            scales = name == "layer_scale_factors" and not ones(file, tensor)
            left.append(name + (" (not 1: the norms behind take them out again, but for their epsilon)" if scales else ""))
            continue
        if name.startswith("qwen_model."):
            to, own = language_name(name)
            found = {own: tensor} if to else None
        else:
            to, found = IMAGE, image_parts(name, tensor)
        if not found:
            strange.append(name)
            continue
        for own, part in found.items():
            if sources.setdefault((to, own), name) != name:
                raise Wrong(f"{file.path}: '{sources[to, own]}' and '{name}' both become '{own}', expected one of them")
            files.setdefault(to, {})[own] = part
    if strange or LANGUAGE not in files:
        raise Wrong(f"{file.path} is no model of QwenPlayer: " + (f"it has {', '.join(strange[:5])}" if strange else
                    "nothing in it begins with qwen_model.") + "; without --names the tensors are written under their own names")
    language = files[LANGUAGE]
    head, table = language.get("lm_head.weight"), language.get("model.embed_tokens.weight")
    if head and table and file.read(head) == file.read(table):
        left.append("qwen_model.lm_head.weight, which is the embedding")
        del language["lm_head.weight"]
    return files, left


def ones(file, tensor):
    """Whether all of its numbers are 1."""
    one = {"F64": b"\0\0\0\0\0\0\xf0\x3f", "F32": b"\0\0\x80\x3f", "F16": b"\0\x3c", "BF16": b"\x80\x3f"}.get(tensor.kind)
    return one is not None and file.read(tensor) == one * tensor.count


def ranks(adapters):
    """r of PEFT, by the tensors, and the ends of the maps' names."""
    found = {tensor.sizes[0] if tensor.sizes else 0 for name, tensor in adapters.items() if ".lora_A." in name}
    if len(found) != 1:
        raise Wrong(f"its adapters have the ranks {sorted(found)}, expected one")
    return found.pop(), sorted({name.split(".lora_")[0].rsplit(".", 1)[1] for name in adapters})
