"""The agent of core/model/agent in eager PyTorch, with the parameter names of its checkpoints, and a step of a task over it.

What can be said in more than one way is said twice: in Plain as PyTorch offers it, in Same with the operators that medley
calls, in its order. Both are the same mathematics, cut what nothing wanted depends on as medley does, and share a picture's
encoding among the passes of a step. In joint mode Same, like medley, shares the picture's keys and values too.
"""

import collections
import math

import torch
import torch.nn.functional as F
from torch import nn

ALPHA_GAIN = 4
POSITIONS = 2048  # of the longest prefix and text together, at least


class Plain:
    """The modules and functions that PyTorch has for it."""

    shares_keys = False

    @staticmethod
    def rms_norm(x, norm):
        return norm(x)

    @staticmethod
    def turns(cos, sin, heads):
        """Of the lines of half of a head's dims: what norm_and_turn takes."""
        return torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)

    @staticmethod
    def norm_and_turn(x, norm, cos, sin):
        """x [rows, length, heads, dim] -> [rows, heads, length, dim]"""
        x = norm(x).transpose(1, 2)
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    @staticmethod
    def text_mask(prefix, length):
        return torch.ones(length, prefix + length, dtype=torch.bool).tril(prefix)

    @staticmethod
    def key_mask(lengths, width, queries):
        return (torch.arange(width) < lengths.unsqueeze(1))[:, None, None, :]

    @staticmethod
    def take(x, index):
        return x.flatten(0, 1)[index]

    @staticmethod
    def relu(x):
        return F.relu(x)

    @staticmethod
    def patchify(image, stem, conv, positions, mean, scale):
        x = (image - mean) * scale
        return conv(x if stem is None else F.gelu(stem(x))).flatten(2).transpose(1, 2) + positions

    @staticmethod
    def unpatchify(x, conv, grid, mean, scale):
        """conv(x), whose kernel on the CPU would take a fifth of a step."""
        return (F.pixel_shuffle(Plain.planes(x, conv, grid), conv.kernel_size[0]) + conv.bias[:, None, None]) / scale + mean

    @classmethod
    def composite(cls, seen, drawn, x, conv, grid):
        opacity = torch.sigmoid(ALPHA_GAIN * F.pixel_shuffle(cls.planes(x, conv, grid), conv.kernel_size[0]) + conv.bias)
        return torch.lerp(seen.clamp(0, 1), drawn, opacity)

    @staticmethod
    def planes(x, conv, grid):
        return (x @ conv.weight.flatten(1)).transpose(1, 2).unflatten(2, (grid, grid))

    @staticmethod
    def mean_error(output, target):
        return F.mse_loss(output, target, reduction="sum") / output[0].numel()

    @staticmethod
    def region_error(output, target, image, share):
        region = (target != image).any(1, keepdim=True).float()
        pixels = region.sum((2, 3), keepdim=True)
        even = 1 / output[0].numel()
        weight = (1 - share) * even + share / 3 * region / pixels.clamp(min=1)
        return (torch.where(pixels > 0, weight, even) * (output - target) ** 2).sum()


class Same(Plain):
    """medley's operators."""

    shares_keys = True

    @staticmethod
    def rms_norm(x, norm):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + norm.eps)
        return x * scale * norm.weight

    @staticmethod
    def turns(cos, sin, heads):
        repeats = heads if 2 * cos.size(1) < 64 else 1
        halves = torch.cat((cos, cos), 1), torch.cat((-sin, sin), 1)
        return tuple(both.unsqueeze(1).repeat(1, repeats, 1) for both in halves)

    @classmethod
    def norm_and_turn(cls, x, norm, cos, sin):
        x = cls.rms_norm(x, norm)
        return torch.addcmul(x * cos, x.roll(x.size(-1) // 2, -1), sin).transpose(1, 2)

    @staticmethod
    def text_mask(prefix, length):
        return torch.full((length, prefix + length), -math.inf).triu_(prefix + 1)

    @staticmethod
    def key_mask(lengths, width, queries):
        hides = torch.arange(width).unsqueeze(0).ge(lengths.unsqueeze(1))
        mask = torch.zeros(hides.shape).masked_fill_(hides, -math.inf)
        return mask.view(-1, 1, 1, width).expand(-1, -1, queries, -1)

    @staticmethod
    def take(x, index):
        return x.flatten(0, 1).index_select(0, index)

    @staticmethod
    def relu(x):
        return x.relu_()

    @classmethod
    def patchify(cls, image, stem, conv, positions, mean, scale):
        if stem is not None:
            return cls.cells(image, stem, conv, positions, mean, scale)
        rows, channels, size, _ = image.shape
        patch = conv.kernel_size[0]
        grid = size // patch
        cut = image.view(rows, channels, grid, patch, grid, patch).permute(0, 2, 4, 1, 3, 5)
        cut = cut.contiguous().view(rows, grid * grid, channels * patch * patch).sub_(mean)
        return torch.add(positions + conv.bias, F.linear(cut, conv.weight.flatten(1)), alpha=scale)

    @staticmethod
    def cells(image, stem, conv, positions, mean, scale):
        rows, channels, size, _ = image.shape
        cells, cell = conv.kernel_size[0], stem.kernel_size[0]
        grid = size // (cells * cell)
        cut = image.view(rows, channels, grid, cells, cell, grid, cells, cell).permute(0, 2, 5, 3, 6, 1, 4, 7)
        cut = cut.contiguous().view(rows, grid * grid, cells * cells, channels * cell * cell).sub_(mean)
        seen = torch.addmm(stem.bias, cut.flatten(0, -2), stem.weight.flatten(1).t(), alpha=scale).unflatten(0, cut.shape[:-1])
        seen = F.gelu(seen)
        weight = conv.weight.permute(0, 2, 3, 1).flatten(1)
        return positions + conv.bias + F.linear(seen.flatten(2), weight)

    @staticmethod
    def unpatchify(x, conv, grid, mean, scale):
        patch, rows = conv.kernel_size[0], x.size(0)
        bias = (conv.bias / scale + mean).view(3, 1).expand(3, patch * patch).reshape(-1)
        pixels = torch.addmm(bias, x.flatten(0, 1) / scale, conv.weight.flatten(1))
        return Same.together(pixels, rows, grid, patch)

    @staticmethod
    def together(pixels, rows, grid, patch):
        cut = pixels.view(rows, grid, grid, -1, patch, patch).permute(0, 3, 1, 4, 2, 5)
        return cut.reshape(rows, -1, grid * patch, grid * patch)

    @classmethod
    def composite(cls, seen, drawn, x, conv, grid):
        pixels = (x.flatten(0, 1) @ conv.weight.flatten(1)).mul_(ALPHA_GAIN).add_(conv.bias)
        return torch.lerp(seen.clamp(0, 1), drawn, cls.together(pixels, x.size(0), grid, conv.kernel_size[0]).sigmoid_())

    @staticmethod
    def mean_error(output, target):
        return F.mse_loss(output, target, reduction="sum").mul(1 / output[0].numel())

    @staticmethod
    def region_error(output, target, image, share):
        inside = target.ne(image).any(1, keepdim=True).to(output.dtype)
        pixels = inside.sum((2, 3), keepdim=True)
        even = 1 / output[0].numel()
        weight = inside.mul(share / 3).div_(pixels.clamp_min(1)).add_((1 - share) * even)
        weight = torch.where(pixels.gt(0), weight, even).to(output.dtype)
        return F.mse_loss(output, target, reduction="none").mul(weight).sum((1, 2, 3)).sum()


class TextAttention(nn.Module):
    def __init__(self, c, form):
        super().__init__()
        self.norm_and_turn = form.norm_and_turn
        self.head_dim, self.grouped = c["head_dim"], c["heads"] != c["kv_heads"]
        queries, keys = c["heads"] * c["head_dim"], c["kv_heads"] * c["head_dim"]
        self.q_proj = nn.Linear(c["hidden"], queries, bias=False)
        self.k_proj = nn.Linear(c["hidden"], keys, bias=False)
        self.v_proj = nn.Linear(c["hidden"], keys, bias=False)
        self.o_proj = nn.Linear(queries, c["hidden"], bias=False)
        self.q_norm = nn.RMSNorm(c["head_dim"], eps=c["rms_epsilon"])
        self.k_norm = nn.RMSNorm(c["head_dim"], eps=c["rms_epsilon"])

    def heads(self, x):
        return x.view(x.size(0), x.size(1), -1, self.head_dim)

    def keys_and_values(self, seen, turns):
        k = self.norm_and_turn(self.heads(self.k_proj(seen)), self.k_norm, *turns)
        return k, self.heads(self.v_proj(seen)).transpose(1, 2)

    def forward(self, x, seen, shared, places):
        """Queries are the last positions of what is seen, which stands behind what has its keys and values; gives what
        they found, before o_proj."""
        mask, query_turns, key_turns = places
        q = self.norm_and_turn(self.heads(self.q_proj(x)), self.q_norm, *query_turns)
        k, v = self.keys_and_values(seen, key_turns)
        if shared:
            k, v = (torch.cat(pieces, 2) for pieces in zip(*shared, (k, v)))
        found = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=self.grouped)
        return found.transpose(1, 2).flatten(2)


class SwiGlu(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c["hidden"], c["ffn"], bias=False)
        self.up_proj = nn.Linear(c["hidden"], c["ffn"], bias=False)
        self.down_proj = nn.Linear(c["ffn"], c["hidden"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class TextLayer(nn.Module):
    def __init__(self, c, form):
        super().__init__()
        self.form = form
        self.input_layernorm = nn.RMSNorm(c["hidden"], eps=c["rms_epsilon"])
        self.self_attn = TextAttention(c, form)
        self.post_attention_layernorm = nn.RMSNorm(c["hidden"], eps=c["rms_epsilon"])
        self.mlp = SwiGlu(c)

    def keys_and_values(self, piece, turns):
        return self.self_attn.keys_and_values(self.form.rms_norm(piece, self.input_layernorm), turns)

    def forward(self, x, prefix, shared, places, selected):
        normed = seen = self.form.rms_norm(x, self.input_layernorm)
        if prefix is not None:
            seen = torch.cat((self.form.rms_norm(prefix, self.input_layernorm), normed), 1)
        found = self.self_attn(normed, seen, shared, places)
        if selected is not None:
            found, x = self.form.take(found, selected), self.form.take(x, selected)
        x = x + self.self_attn.o_proj(found)
        return x + self.mlp(self.form.rms_norm(x, self.post_attention_layernorm))


class Qwen3(nn.Module):
    def __init__(self, c, vocabulary, form):
        super().__init__()
        self.form = form
        self.embed_tokens = nn.Embedding(vocabulary, c["hidden"])
        self.layers = nn.ModuleList(TextLayer(c, form) for _ in range(c["layers"]))
        self.norm = nn.RMSNorm(c["hidden"], eps=c["rms_epsilon"])
        power = torch.arange(0, c["head_dim"], 2, dtype=torch.float64) / -c["head_dim"]
        angle = torch.outer(torch.arange(POSITIONS, dtype=torch.float64), c["rope_base"] ** power)
        self.cos, self.sin = angle.cos().float(), angle.sin().float()
        self.heads, self.kv_heads = c["heads"], c["kv_heads"]

    def turns(self, begin, end, heads):
        return self.form.turns(self.cos[begin:end], self.sin[begin:end], heads)

    def keys_and_values(self, piece, begin):
        """By layer, of a piece of the prefix that stands at `begin`."""
        turns = self.turns(begin, begin + piece.size(1), self.kv_heads)
        return [layer.keys_and_values(piece, turns) for layer in self.layers]

    def forward(self, x, prefix, shared, selected):
        """The prefix, if any, stands behind the pieces whose keys and values are `shared`, by piece and layer."""
        behind = sum(piece[0][0].size(2) for piece in shared)
        begin = behind + (0 if prefix is None else prefix.size(1))
        end = begin + x.size(1)
        turns = self.turns(begin, end, self.heads), self.turns(behind, end, self.kv_heads)
        places = self.form.text_mask(begin, x.size(1)), *turns
        for i, layer in enumerate(self.layers):
            last = i + 1 == len(self.layers)
            x = layer(x, prefix, [piece[i] for piece in shared], places, selected if last else None)
        return self.form.rms_norm(x, self.norm)


class QwenModel(nn.Module):
    """A room for the names of the published checkpoint."""

    def __init__(self, c, vocabulary, form):
        super().__init__()
        self.model = Qwen3(c, vocabulary, form)
        if not c["tied"]:
            self.lm_head = nn.Linear(c["hidden"], vocabulary, bias=False)

    def logits(self, hidden):
        head = self.lm_head if hasattr(self, "lm_head") else self.model.embed_tokens
        return F.linear(hidden, head.weight)


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = split_heads(self.in_proj(x), 3, self.heads)
        return self.out_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class CrossAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(width, width)
        self.kv_proj = nn.Linear(width, 2 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, context, mask):
        (q,) = split_heads(self.q_proj(x), 1, self.heads)
        k, v = split_heads(self.kv_proj(context), 2, self.heads)
        return self.out_proj(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))


def split_heads(x, parts, heads):
    return x.view(x.size(0), x.size(1), parts, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)


class FeedForward(nn.Module):
    def __init__(self, width, ffn, form):
        super().__init__()
        self.form, self.up, self.down = form, nn.Linear(width, ffn), nn.Linear(ffn, width)

    def forward(self, x):
        return self.down(self.form.relu(self.up(x)))


class VisionLayer(nn.Module):
    def __init__(self, width, c, form, cross):
        super().__init__()
        self.pre_norm = c["pre_norm"]
        self.self_attn, self.self_norm = SelfAttention(width, c["heads"]), nn.LayerNorm(width)
        if cross:
            self.cross_attn, self.cross_norm = CrossAttention(width, c["heads"]), nn.LayerNorm(width)
        self.ffn, self.ffn_norm = FeedForward(width, c["ffn"], form), nn.LayerNorm(width)

    def residual(self, x, norm, branch, *args):
        return x + branch(norm(x), *args) if self.pre_norm else norm(x + branch(x, *args))

    def forward(self, x, *context):
        x = self.residual(x, self.self_norm, self.self_attn)
        if context:
            x = self.residual(x, self.cross_norm, self.cross_attn, *context)
        return self.residual(x, self.ffn_norm, self.ffn)


class ImageEncoder(nn.Module):
    def __init__(self, c, form):
        super().__init__()
        width, image = c["language"]["hidden"], c["image"]
        self.form, self.mean, self.scale = form, image["mean"], image["scale"]
        self.stem, channels, side = None, 3, image["patch"]
        if c["encoder"].get("stem", 0) > 0:
            channels, cell = c["encoder"]["stem"], c["encoder"]["stem_cell"]
            self.stem, side = nn.Conv2d(3, channels, cell, stride=cell), side // cell
        self.patch = nn.Conv2d(channels, width, side, stride=side)
        self.norm_in = nn.LayerNorm(width)
        self.layers = nn.ModuleList(VisionLayer(width, c["encoder"], form, False) for _ in range(c["encoder"]["layers"]))
        self.norm_out = nn.LayerNorm(width)
        self.positions = sinusoid(image["size"] // image["patch"], width)

    def forward(self, image):
        x = self.norm_in(self.form.patchify(image, self.stem, self.patch, self.positions, self.mean, self.scale))
        for layer in self.layers:
            x = layer(x)
        return self.norm_out(x)


def sinusoid(grid, width):
    """[grid * grid, width]: half of the dims code a patch's row, half its column."""
    half = width // 2
    frequency = 10000 ** (torch.arange(0, half, 2, dtype=torch.float64) / -half)
    angle = torch.outer(torch.arange(grid, dtype=torch.float64), frequency)
    code = torch.stack((angle.sin(), angle.cos()), -1).view(grid, half)
    both = (code.unsqueeze(1).expand(grid, grid, half), code.unsqueeze(0).expand(grid, grid, half))
    return torch.cat(both, -1).view(grid * grid, width).float()


class PictureDecoder(nn.Module):
    def __init__(self, c, form):
        super().__init__()
        width, image = c["language"]["hidden"], c["image"]
        self.form, self.mean, self.scale = form, image["mean"], image["scale"]
        self.grid = image["size"] // image["patch"]
        self.layers = nn.ModuleList(VisionLayer(width, c["decoder"], form, True) for _ in range(c["decoder"]["layers"]))
        self.norm_out = nn.LayerNorm(width)
        self.patch = nn.ConvTranspose2d(width, 3, image["patch"], stride=image["patch"])
        self.alpha = None
        if c["decoder"].get("alpha", False):
            self.alpha = nn.ConvTranspose2d(width, 1, image["patch"], stride=image["patch"])

    def forward(self, x, text, mask, seen, wanted):
        """The drawing, and it over what was seen, as wanted."""
        for layer in self.layers:
            x = layer(x, text, mask)
        x = self.norm_out(x)
        drawn = self.form.unpatchify(x, self.patch, self.grid, self.mean, self.scale)
        pictures = {}
        if "image" in wanted:
            pictures["image"] = drawn if self.alpha is None else self.form.composite(seen, drawn, x, self.alpha, self.grid)
        if "drawing" in wanted:
            pictures["drawing"] = drawn
        return pictures


class Agent(QwenModel):
    def __init__(self, config, vocabulary, labels, closing, form):
        super().__init__(config["language"], vocabulary, form)
        self.form = form
        self.labels, self.closing = [torch.tensor(ids) for ids in labels], torch.tensor(closing)
        self.img_enc = ImageEncoder(config, form)
        self.img_dec = PictureDecoder(config, form)

    def words(self, ids, rows):
        return self.model.embed_tokens(ids).unsqueeze(0).expand(rows, -1, -1)

    def prefix(self, encodings, begin, end):
        rows, parts = encodings[0].size(0), []
        for label, encoding in zip(self.labels[begin:end], encodings[begin:end]):
            parts += (self.words(label, rows), encoding, self.words(self.closing, rows))
        return torch.cat(parts, 1) if parts else None

    def keys_and_values(self, encodings, index):
        """By layer, what the text makes of the picture at that place."""
        behind = sum(label.numel() + encodings[0].size(1) + self.closing.numel() for label in self.labels[:index])
        return self.model.keys_and_values(self.prefix(encodings, index, index + 1), behind)

    def forward(self, encodings, seen_last, shared, wanted, tokens, lengths, supervised=None, context_lengths=None):
        """encodings [rows, patches, width] of each picture, the current one last, whose pixels are `seen_last`; `shared` are keys
        and values of the first ones, by picture and layer; supervised [items] are row * width + position of the tokens to
        predict. Columns that nothing wanted depends on are cut off."""
        width, outputs, selected = tokens.size(1), {}, None
        draws, seen = "image" in wanted or "drawing" in wanted, lengths if context_lengths is None else context_lengths
        kept = int(seen.max()) if draws else 1
        if "logits" in wanted:
            outputs["targets"] = tokens.flatten().index_select(0, supervised)
            position = supervised % width
            kept = max(kept, int(position.max()))
            selected = supervised - 1 if kept == width else supervised // width * kept + position - 1
        x = self.model.embed_tokens(tokens[:, :kept])
        prefix = self.prefix(encodings, len(shared), len(encodings))
        hidden = self.model(x, prefix, shared, None if draws else selected)
        if "logits" in wanted:
            outputs["logits"] = self.logits(self.form.take(hidden, selected) if draws else hidden)
        if draws:
            query = encodings[-1]
            outputs |= self.img_dec(query, hidden, self.form.key_mask(seen, kept, query.size(1)), seen_last, wanted)
        return outputs


def load_agent(facts, weights, form):
    vocabulary = weights["model.embed_tokens.weight"].size(0)
    agent = Agent(facts["model"], vocabulary, facts["labels"], facts["closing"], form)
    agent.load_state_dict(weights)
    return agent


class Step:
    """Forward, losses and backward of all passes of a draw; leaves the gradient in the agent's parameters."""

    def __init__(self, agent, draw):
        self.agent, self.draw, self.form = agent, draw, agent.form
        self.keeps_outputs = True  # for parity; a sequential loop needs none

    def sums(self, a_pass, outputs):
        """The sum of each term that the pass adds to."""
        sums, pictures = {}, self.draw.pictures
        for name in a_pass["sums"]:
            term = self.draw.facts["terms"][name]
            if "target" not in term:
                sums[name] = F.cross_entropy(outputs["logits"], outputs["targets"], reduction="sum")
                continue
            target, share = pictures[term["target"]], term["region_share"]
            output = outputs[term["output"]]
            if share == 0:
                sums[name] = self.form.mean_error(output, target)
            else:
                sums[name] = self.form.region_error(output, target, pictures["image"], share)
        return sums

    def factor(self, term):
        facts = self.draw.facts["terms"][term]
        return facts["weight"] / facts["count"]

    def run_pass(self, a_pass, encode, share=None):
        encodings, shared = [encode(name) for name in a_pass["images"]], []
        if share is not None:
            alone = [self.readers(name) < 2 for name in a_pass["images"]] + [True]
            shared = [share(i, a_pass["images"][i], encodings) for i in range(alone.index(True))]
        last = self.draw.pictures[a_pass["images"][-1]]
        return self.agent(encodings, last, shared, a_pass["wanted"], **self.draw.inputs[a_pass["name"]])

    def readers(self, name):
        return sum(name in a_pass["images"] for a_pass in self.draw.facts["passes"])

    def joint(self):
        """One graph, one backward: what one writes. Gives the outputs of each pass, and the sums of the terms."""
        loss, outputs, totals = self.forward()
        loss.backward()
        return outputs, read(totals)

    def forward(self):
        """All passes in one graph: the loss, the outputs of each pass, and the sums of the terms."""
        encodings, keys, outputs, loss, totals = {}, {}, {}, 0, collections.defaultdict(float)

        def encode(name):
            if name not in encodings:
                encodings[name] = self.agent.img_enc(self.draw.pictures[name])
            return encodings[name]

        def share(index, name, seen):
            if (index, name) not in keys:
                keys[index, name] = self.agent.keys_and_values(seen, index)
            return keys[index, name]

        for a_pass in self.draw.facts["passes"]:
            outputs[a_pass["name"]] = self.run_pass(a_pass, encode, share if self.form.shares_keys else None)
            for term, total in self.sums(a_pass, outputs[a_pass["name"]]).items():
                totals[term] += total.detach()
                loss = loss + self.factor(term) * total
        return loss, outputs, totals

    def sequential(self):
        """A backward after each pass, from the last to the first, as medley's mode of that name. A shared encoding is a
        leaf for them; its gradient goes on when the last of its readers is done."""
        passes = self.draw.facts["passes"]
        readers = collections.Counter(name for a_pass in passes for name in set(a_pass["images"]))
        encodings, outputs, totals = {}, {}, collections.defaultdict(float)

        def encode(name):
            if name not in encodings:
                value = self.agent.img_enc(self.draw.pictures[name])
                encodings[name] = value, value.detach().requires_grad_() if self.readers(name) > 1 else value
            return encodings[name][1]

        for a_pass in reversed(passes):
            outputs[a_pass["name"]] = self.run_pass(a_pass, encode)
            sums = self.sums(a_pass, outputs[a_pass["name"]])
            for term, total in sums.items():
                totals[term] += total.detach()
            starts = [torch.full_like(total.detach(), self.factor(term)) for term, total in sums.items()]
            torch.autograd.backward(list(sums.values()), starts)
            if not self.keeps_outputs:
                del outputs[a_pass["name"]]
            readers.subtract(set(a_pass["images"]))
            for name in [name for name in encodings if readers[name] == 0]:
                value, leaf = encodings.pop(name)
                if leaf is not value:
                    torch.autograd.backward(value, leaf.grad)
        return outputs, read(totals)


def read(totals):
    return {term: float(total) for term, total in totals.items()}
