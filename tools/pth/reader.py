"""Reads a state_dict that torch.save wrote, since torch 1.6: names, shapes, and where the bytes are. No code of the file runs."""

import collections
import io
import pickle
import struct
import zipfile

# By the names of torch's storages, in safetensors' words, and bytes of a number.
TYPES = {"Double": ("F64", 8), "Float": ("F32", 4), "Half": ("F16", 2), "BFloat16": ("BF16", 2), "Long": ("I64", 8), "Int": ("I32", 4),
         "Short": ("I16", 2), "Char": ("I8", 1), "Byte": ("U8", 1), "Bool": ("BOOL", 1)}
MOST_PICKLE = 64 << 20
# What zipfile says of a damaged archive, by which of its bytes is wrong.
DAMAGED = (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, OverflowError, struct.error)


class Wrong(Exception):
    """What a file is refused with."""


class Storage:
    """A record of the archive; type: the word of TYPES."""

    def __init__(self, kind, key, count):
        self.kind, self.key, self.count = kind, key, count


class Tensor:
    """sizes and strides in numbers, from the storage's `begin` on."""

    def __init__(self, storage, begin, sizes, strides):
        numbers = [begin, *sizes, *strides]
        if not isinstance(storage, Storage) or any(not isinstance(number, int) or number < 0 for number in numbers):
            raise Wrong("a tensor in it is not made as torch.save makes one")
        if len(sizes) != len(strides):
            raise Wrong("a tensor in it has other strides than sizes")
        self.storage, self.begin, self.sizes, self.strides = storage, begin, list(sizes), list(strides)

    @property
    def kind(self):
        return TYPES[self.storage.kind][0]

    @property
    def count(self):
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def bytes(self):
        return self.count * TYPES[self.storage.kind][1]

    def rows(self, begin, end):
        """Of the first dimension, these."""
        return Tensor(self.storage, self.begin + begin * self.strides[0], [end - begin, *self.sizes[1:]], self.strides)


def _rebuild(storage, begin, sizes, strides, *_):
    return Tensor(storage, begin, sizes, strides)


def _parameter(tensor, *_):
    return tensor


_NAMES = {("collections", "OrderedDict"): collections.OrderedDict, ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
          ("torch._utils", "_rebuild_parameter"): _parameter}


class _Unpickler(pickle._Unpickler):  # of Python, not of C: its memo is no array that a file chooses the size of
    def find_class(self, module, name):
        if (module, name) in _NAMES:
            return _NAMES[module, name]
        if module == "torch" and name.removesuffix("Storage") in TYPES and name.endswith("Storage"):
            return name.removesuffix("Storage")
        raise Wrong(f"its pickle names {module}.{name}, which is no part of a state_dict; such a file can run any code when torch opens "
                    "it. Save model.state_dict() alone, with torch.save")

    def persistent_load(self, saved):
        if not isinstance(saved, tuple) or len(saved) != 5 or saved[0] != "storage" or saved[1] not in TYPES:
            raise Wrong("its pickle has a storage that torch.save does not write")
        _, kind, key, _, count = saved
        if not isinstance(key, str) or not isinstance(count, int):
            raise Wrong("its pickle has a storage that torch.save does not write")
        return Storage(kind, key, count)

    def load_build(self):
        """What a state_dict has beside its tensors, its _metadata, is left aside; of all else it would go around __init__."""
        self.stack.pop()
        if not isinstance(self.stack[-1], collections.OrderedDict):
            raise Wrong(f"its pickle sets attributes of a {type(self.stack[-1]).__name__}, which torch.save does of a state_dict alone")

    dispatch = {**pickle._Unpickler.dispatch, pickle.BUILD[0]: load_build}


class PthFile:
    """An open file. tensors: by name."""

    def __init__(self, path, key=None):
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile:
            raise Wrong(f"{path} is no zip: expected what torch.save writes since torch 1.6. Older files are read by torch alone: "
                        "torch.save(torch.load(FILE, weights_only=True), NEW)") from None
        except DAMAGED as error:
            raise Wrong(f"{path} is damaged: {error}") from None
        records = [name for name in self._zip.namelist() if name.endswith("data.pkl")]
        if len(records) != 1:
            raise Wrong(f"{path} has {len(records)} records data.pkl, expected one: it is no file of torch.save")
        self._root = records[0].removesuffix("data.pkl")
        self._require_little_endian()
        self.tensors = self._named(self._pickled(records[0]), key)
        for name, tensor in self.tensors.items():
            self._check(name, tensor)

    def _info(self, name):
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise Wrong(f"{self.path} lacks its record {name}; it is damaged") from None
        if info.compress_type != zipfile.ZIP_STORED:
            raise Wrong(f"{self.path}: its record {name} is packed, which torch.save does not do")
        if info.compress_size != info.file_size:
            raise Wrong(f"{self.path}: its record {name} is damaged: it has {info.file_size} bytes, of which {info.compress_size} are stored")
        return info

    def _bytes(self, name):
        info = self._info(name)
        try:
            return self._zip.read(info)
        except DAMAGED as error:
            raise Wrong(f"{self.path}: its record {name} is damaged: {error}") from None

    def _require_little_endian(self):
        name = self._root + "byteorder"
        if name in self._zip.namelist() and self._bytes(name)[:8] != b"little":
            raise Wrong(f"{self.path} was written on a big-endian machine, expected a little-endian one's")

    def _pickled(self, record):
        info = self._info(record)
        if info.file_size > MOST_PICKLE:
            raise Wrong(f"{self.path}: its pickle has {info.file_size} bytes, at most {MOST_PICKLE} are read")
        data = io.BytesIO(self._bytes(record))
        try:
            return _Unpickler(data).load()
        except Wrong as wrong:
            raise Wrong(f"{self.path}: {wrong}") from None
        except Exception as error:
            raise Wrong(f"{self.path}: its pickle cannot be read: {type(error).__name__}: {error}") from None

    def _named(self, saved, key):
        if key is not None:
            if not isinstance(saved, dict) or key not in saved:
                raise Wrong(f"{self.path} has no entry '{key}'" + (f"; it has: {_list(saved)}" if isinstance(saved, dict) else ""))
            saved = saved[key]
        if not isinstance(saved, dict):
            raise Wrong(f"{self.path} holds a {type(saved).__name__}, expected a dictionary of tensors by name, model.state_dict()")
        others = [name for name, value in saved.items() if not isinstance(value, Tensor) or not isinstance(name, str)]
        if others:
            inner = [name for name in others if isinstance(saved[name], dict)]
            advice = f"; --key {inner[0]} takes that entry" if inner else ""
            raise Wrong(f"{self.path} holds more than tensors: {_list(others)}{advice}")
        if not saved:
            raise Wrong(f"{self.path} holds no tensors")
        return dict(saved)

    def _check(self, name, tensor):
        size = TYPES[tensor.storage.kind][1]
        has = self._info(self._root + "data/" + tensor.storage.key).file_size
        last = tensor.begin + sum((extent - 1) * stride for extent, stride in zip(tensor.sizes, tensor.strides))
        if tensor.count and (last + 1) * size > has:
            raise Wrong(f"{self.path}: '{name}' reaches byte {(last + 1) * size} of its record, which has {has}; it is damaged")
        if tensor.count > max(has // size, 1) * 1024:
            raise Wrong(f"{self.path}: '{name}' repeats its numbers {tensor.count * size // has} times")

    def read(self, tensor):
        """Its numbers, one behind the other."""
        size = TYPES[tensor.storage.kind][1]
        if tensor.count == 0:
            return b""
        record = self._bytes(self._root + "data/" + tensor.storage.key)
        # As many dimensions at the end as lie one behind the other.
        run, inner = 1, len(tensor.sizes)
        while inner > 0 and (tensor.strides[inner - 1] == run or tensor.sizes[inner - 1] == 1):
            inner -= 1
            run *= tensor.sizes[inner]
        starts = [tensor.begin]
        for extent, stride in zip(tensor.sizes[:inner], tensor.strides[:inner]):
            starts = [start + i * stride for start in starts for i in range(extent)]
        if len(starts) == 1:
            return record[starts[0] * size:(starts[0] + run) * size]
        return b"".join(record[start * size:(start + run) * size] for start in starts)


def _list(names):
    names = [str(name) for name in names]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
