"""tools/pth-to-safetensors on files made up here, without torch: pickles as torch.save writes them, and such as would run code."""

import collections
import contextlib
import io
import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
from pth.command import main  # for what is run thousands of times


class Global:
    """A name of torch's, which need not be here."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    def __init__(self, called, *arguments):
        self.called, self.arguments = called, arguments


class Built:
    """A value, and what BUILD sets of it."""

    def __init__(self, value, state):
        self.value, self.state = value, state


class Saved:
    def __init__(self, kind, key, count):
        self.id = ("storage", Global("torch", kind + "Storage"), key, "cpu", count)


class Pickler(pickle._Pickler):
    """Protocol 2, as torch.save's."""

    def __init__(self, out):
        super().__init__(out, 2)

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Global):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Call):
            self.save(value.called)
            self.save(value.arguments)
            self.write(pickle.REDUCE)
        elif isinstance(value, Built):
            self.save(value.value)
            self.save(value.state)
            self.write(pickle.BUILD)
        elif isinstance(value, Saved):
            self.save(value.id)
            self.write(pickle.BINPERSID)
        else:
            super().save(value, save_persistent_id)


def tensor(kind, key, count, begin, sizes, strides):
    hooks = Call(Global("collections", "OrderedDict"))
    return Call(Global("torch._utils", "_rebuild_tensor_v2"), Saved(kind, key, count), begin, tuple(sizes), tuple(strides), False, hooks)


def pickled(value):
    out = io.BytesIO()
    Pickler(out).dump(value)
    return out.getvalue()


class PthToSafetensors(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.pth, self.out = self.folder / "model.pth", self.folder / "model.safetensors"
        self.records = {"0": struct.pack("<6f", *range(6)), "1": struct.pack("<2q", 7, 8)}
        self.tensors = {"weight": tensor("Float", "0", 6, 0, [2, 3], [3, 1]), "turned": tensor("Float", "0", 6, 0, [3, 2], [1, 3]),
                        "last": tensor("Float", "0", 6, 4, [2], [1]), "steps": tensor("Long", "1", 2, 0, [2], [1]),
                        "none": tensor("Float", "0", 6, 0, [0, 4], [4, 1])}

    def write(self, data, byteorder="little", packed=False):
        with zipfile.ZipFile(self.pth, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as file:
            file.writestr("model/data.pkl", data)
            file.writestr("model/byteorder", byteorder)
            for key, record in self.records.items():
                file.writestr("model/data/" + key, record)

    def tool(self, *arguments, out=None):
        return subprocess.run([sys.executable, ROOT / "tools/pth-to-safetensors", self.pth, out or self.out, *arguments], capture_output=True,
                              text=True, check=False)

    def read(self, path=None):
        data = (path or self.out).read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        header.pop("__metadata__")
        return {name: (entry["dtype"], entry["shape"], data[8 + length:][slice(*entry["data_offsets"])]) for name, entry in header.items()}

    def refused(self, *words, arguments=()):
        done = self.tool(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(self.out.exists())

    def test_tensors_are_written_under_their_names(self):
        self.write(pickled(self.tensors))
        done = self.tool()
        self.assertEqual(done.returncode, 0, done.stderr)
        read = self.read()
        self.assertEqual(read["weight"], ("F32", [2, 3], struct.pack("<6f", *range(6))))
        self.assertEqual(read["turned"], ("F32", [3, 2], struct.pack("<6f", 0, 3, 1, 4, 2, 5)))
        self.assertEqual(read["last"], ("F32", [2], struct.pack("<2f", 4, 5)))
        self.assertEqual(read["steps"], ("I64", [2], struct.pack("<2q", 7, 8)))
        self.assertEqual(read["none"], ("F32", [0, 4], b""))

    def test_nothing_is_written_over(self):
        self.write(pickled(self.tensors))
        self.out.write_text("mine")
        done = self.tool()
        self.assertEqual((done.returncode, self.out.read_text()), (2, "mine"))
        self.assertIn("is there already; give another file", done.stderr)

    def test_an_ordered_dictionary_and_parameters_are_read(self):
        items = Call(Global("collections", "OrderedDict"), [["w", Call(Global("torch._utils", "_rebuild_parameter"), self.tensors["weight"],
                                                                       True, Call(Global("collections", "OrderedDict")))]])
        self.write(pickled(items))
        self.assertEqual(self.tool().returncode, 0)
        self.assertEqual(list(self.read()), ["w"])

    def test_an_entry_may_be_named(self):
        self.write(pickled({"epoch": 3, "model": self.tensors}))
        self.refused("holds more than tensors: epoch, model; --key model takes that entry")
        self.refused("has no entry 'net'; it has: epoch, model", arguments=["--key", "net"])
        self.assertEqual(self.tool("--key", "model").returncode, 0)

    def test_what_would_run_code_is_refused_and_does_not_run(self):
        ran = self.folder / "ran"
        for module, name in (("os", "system"), ("posix", "system"), ("builtins", "eval"), ("subprocess", "Popen"), ("torch", "load"),
                             ("torch._utils", "__import__"), ("collections", "namedtuple"), ("torch.serialization", "load")):
            self.write(pickled({"w": Call(Global(module, name), f"touch {ran}")}))
            self.refused(f"its pickle names {module}.{name}, which is no part of a state_dict")
        self.write(b"cos\nsystem\n(S'touch " + os.fsencode(ran) + b"'\ntR.")
        self.refused("its pickle names os.system")
        self.write(pickle.dumps(collections.Counter(os=1), 4))  # STACK_GLOBAL
        self.refused("its pickle names collections.Counter")
        self.assertFalse(ran.exists())

    def test_a_whole_module_is_refused(self):
        self.write(pickled(Call(Global("__main__", "Net"))))
        self.refused("its pickle names __main__.Net", "Save model.state_dict() alone")

    def test_attributes_are_set_of_no_tensor(self):
        for state in ({"begin": -4}, {"strides": [-3, 1]}, {"sizes": ["a"]}, {"storage": 5}, (None, {"begin": -4})):
            self.write(pickled({"w": Built(self.tensors["weight"], state)}))
            self.refused("its pickle sets attributes of a Tensor, which torch.save does of a state_dict alone")
        self.write(pickled({"w": tensor("Float", Built("0", {"a": 1}), 6, 0, [6], [1])}))
        self.refused("its pickle sets attributes of a str")

    def test_the_metadata_of_a_state_dict_is_left_aside(self):
        ordered = Call(Global("collections", "OrderedDict"), [["w", self.tensors["weight"]]])
        for state in ({"_metadata": {"": {"version": 1}}}, {"items": 5}, (None, {"items": 5})):
            self.write(pickled(Built(ordered, state)))
            done = self.tool()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(list(self.read()), ["w"])
            self.out.unlink()

    def test_whichever_byte_is_wrong_the_tensors_are_right_or_it_is_said(self):
        self.write(pickled({"w": self.tensors["weight"], "steps": self.tensors["steps"]}))
        self.assertEqual(self.tool().returncode, 0)
        right, tensors = self.pth.read_bytes(), self.read()
        for at in range(len(right)):
            for mask in (1, 0x80, 0xff):
                self.out.unlink(missing_ok=True)
                self.pth.write_bytes(right[:at] + bytes([right[at] ^ mask]) + right[at + 1:])
                with self.subTest(at=at, mask=mask), contextlib.redirect_stderr(io.StringIO()):
                    if main("", [str(self.pth), str(self.out)]) == 0:
                        self.assertEqual(self.read(), tensors)
                    else:
                        self.assertFalse(self.out.exists())

    def test_a_record_that_is_shorter_than_it_says_is_refused(self):
        self.write(pickled({"w": tensor("Float", "0", 9, 0, [9], [1])}))
        data = bytearray(self.pth.read_bytes())
        size = data.index(b"model/data/0", data.index(b"PK\1\2")) - 46 + 24  # in the archive's list
        data[size:size + 4] = struct.pack("<I", 36)
        self.pth.write_bytes(data)
        self.refused("its record model/data/0 is damaged: it has 36 bytes, of which 24 are stored")

    def test_what_is_damaged_is_said(self):
        self.pth.write_bytes(b"\x80\x02}q\x00.")
        self.refused("is no zip: expected what torch.save writes since torch 1.6")
        self.write(pickled(self.tensors), packed=True)
        self.refused("is packed")
        self.write(pickled(self.tensors), byteorder="big")
        self.refused("big-endian")
        self.write(pickled(self.tensors)[:-2])
        self.refused("its pickle cannot be read")
        self.write(b"\x80\x02r\xff\xff\xff\xff.")  # a place of the memo far away
        self.refused("its pickle cannot be read")
        self.write(b"\x80\x02X\xff\xff\xff\x7fabc.")
        self.refused("its pickle cannot be read")
        self.write(pickled([1, 2]))
        self.refused("holds a list, expected a dictionary of tensors by name")
        self.write(pickled({}))
        self.refused("holds no tensors")
        self.write(pickled(self.tensors))
        data = bytearray(self.pth.read_bytes())
        data[data.index(self.records["0"]) + 5] ^= 1
        self.pth.write_bytes(data)
        self.refused("its record model/data/0 is damaged: Bad CRC-32")
        del self.records["1"]
        self.write(pickled(self.tensors))
        self.refused("lacks its record model/data/1; it is damaged")

    def test_tensors_that_reach_beyond_their_record_are_refused(self):
        self.write(pickled({"w": tensor("Float", "0", 6, 1, [2, 3], [3, 1])}))
        self.refused("'w' reaches byte 28 of its record, which has 24; it is damaged")
        self.write(pickled({"w": tensor("Float", "0", 6, 0, [1 << 40], [0])}))
        self.refused("'w' repeats its numbers")
        self.write(pickled({"w": tensor("Float", "0", 6, -1, [2], [1])}))
        self.refused("is not made as torch.save makes one")
        self.write(pickled({"w": tensor("Float", "0", 6, 0, [2, 3], [1])}))
        self.refused("has other strides than sizes")
        self.write(pickled({"w": Call(Global("torch._utils", "_rebuild_tensor_v2"), 5, 0, (1,), (1,), False, None)}))
        self.refused("is not made as torch.save makes one")

    def base(self):
        base = self.folder / "base"
        base.mkdir()
        (base / "config.json").write_text("{}")
        return base

    def player(self, tensors, *arguments):
        self.write(pickled(tensors))
        return self.tool("--names", "player", *arguments, out=self.folder / "made")

    def test_the_names_of_the_player(self):
        one, six, three = tensor("Float", "0", 6, 0, [1], [1]), tensor("Float", "0", 6, 0, [6], [1]), tensor("Float", "0", 6, 3, [3], [1])
        tensors = {"qwen_model.model.embed_tokens.weight": six, "qwen_model.lm_head.weight": six, "layer_scale_factors": one,
                   "img_enc.pe.pe": one, "img_enc.embed.0.linear_project.weight": one, "img_enc.embed.2.bias": one,
                   "img_enc.encoder.layers.11.self_attn.in_proj_weight": one, "img_enc.encoder.layers.0.norm2.weight": one,
                   "img_dec.decoder.layers.0.multihead_attn.in_proj_bias": six, "img_dec.decoder.layers.0.multihead_attn.out_proj.bias": one,
                   "img_dec.decoder.layers.0.norm2.weight": three, "img_dec.decoder.layers.0.linear1.weight": one,
                   "img_dec.linear_layer.1.weight": one, "img_dec.linear_layer.2.linear_project.bias": one, "img_enc.post_norm.weight": one}
        done = self.player(tensors, "--base", self.base())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left aside: layer_scale_factors (not 1: the norms behind take them out again, but for their epsilon), img_enc.pe.pe, qwen_model.lm_head.weight, which is the embedding", done.stderr)
        made = self.folder / "made"
        self.assertEqual(sorted(path.name for path in made.iterdir()), ["config.json", "medley_image.safetensors", "model.safetensors"])
        self.assertEqual(list(self.read(made / "model.safetensors")), ["model.embed_tokens.weight"])
        images = self.read(made / "medley_image.safetensors")
        self.assertEqual(sorted(images), sorted([
            "img_enc.patch.weight", "img_enc.norm_in.bias", "img_enc.layers.11.self_attn.in_proj.weight", "img_enc.layers.0.ffn_norm.weight",
            "img_enc.norm_out.weight", "img_dec.layers.0.cross_attn.q_proj.bias", "img_dec.layers.0.cross_attn.kv_proj.bias",
            "img_dec.layers.0.cross_attn.out_proj.bias", "img_dec.layers.0.cross_norm.weight", "img_dec.layers.0.ffn.up.weight",
            "img_dec.norm_out.weight", "img_dec.patch.bias"]))
        self.assertEqual(images["img_dec.layers.0.cross_attn.q_proj.bias"][2], struct.pack("<2f", 0, 1))
        self.assertEqual(images["img_dec.layers.0.cross_attn.kv_proj.bias"][2], struct.pack("<4f", 2, 3, 4, 5))

    def test_adapters_of_the_player_become_pefts(self):
        six = tensor("Float", "0", 6, 0, [2, 3], [3, 1])
        name = "qwen_model.base_model.model.model.layers.0.self_attn.q_proj."
        tensors = {name + "base_layer.weight": six, name + "lora_A.default.weight": six, name + "lora_B.default.weight": six}
        done = self.player(tensors, "--base", self.base())
        self.assertIn("has adapters, of whose alpha it says nothing: give --alpha", done.stderr)
        self.assertFalse((self.folder / "made").exists())
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("made")], [])
        done = self.tool("--names", "player", "--base", self.folder / "base", "--alpha", "16", out=self.folder / "made")
        self.assertEqual(done.returncode, 0, done.stderr)
        config = json.loads((self.folder / "made/adapter_config.json").read_text())
        self.assertEqual((config["r"], config["lora_alpha"], config["target_modules"]), (2, 16, ["q_proj"]))
        self.assertEqual(list(self.read(self.folder / "made/model.safetensors")), ["model.layers.0.self_attn.q_proj.weight"])
        self.assertEqual(list(self.read(self.folder / "made/adapter_model.safetensors")),
                         ["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
                          "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"])

    def test_two_names_that_become_one_are_refused(self):
        names = ["qwen_model.model.norm.weight", "qwen_model.base_model.model.model.norm.weight"]
        done = self.player(dict.fromkeys(names, self.tensors["last"]), "--base", self.base())
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"'{names[0]}' and '{names[1]}' both become 'model.norm.weight', expected one of them", done.stderr)
        self.assertFalse((self.folder / "made").exists())

    def test_alpha_is_a_number_above_0(self):
        self.write(pickled(self.tensors))
        for alpha in ("nan", "inf", "-inf", "0", "-16"):
            self.refused(f"--alpha {float(alpha)}: expected a finite number above 0",
                         arguments=["--names", "player", "--base", self.folder, f"--alpha={alpha}"])

    def test_what_is_the_players_needs_names(self):
        self.write(pickled(self.tensors))
        for arguments in (["--base", self.folder], ["--alpha", "16"]):
            self.refused("--base and --alpha go with --names player", arguments=arguments)

    def test_a_number_where_rows_are_expected_is_refused(self):
        tensors = {"qwen_model.model.norm.weight": self.tensors["last"],
                   "img_dec.decoder.layers.0.multihead_attn.in_proj_bias": tensor("Float", "0", 6, 0, [], [])}
        done = self.player(tensors, "--base", self.base())
        self.assertEqual(done.returncode, 2)
        self.assertIn("in_proj_bias' has no rows, expected queries, keys and values", done.stderr)

    def test_what_is_no_player_is_refused(self):
        done = self.player({"qwen_model.model.norm.weight": self.tensors["last"], "img_enc.other.weight": self.tensors["last"]}, "--base",
                           self.base())
        self.assertEqual(done.returncode, 2)
        self.assertIn("is no model of QwenPlayer: it has img_enc.other.weight", done.stderr)
        self.assertEqual(self.player(self.tensors, "--base", self.folder / "base").returncode, 2)
        self.assertEqual(self.tool("--names", "player").returncode, 2)


if __name__ == "__main__":
    unittest.main()
