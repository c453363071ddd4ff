"""A model of what a disk owes after a power cut, and of what it may have kept besides.

fsync of a file makes its bytes durable, fsync of a directory its entries; nothing else does. What was not synced may
be there or not, each change for itself, and of a write any of its sectors. A rename is one change.
"""

import hashlib
import os
from pathlib import Path

SECTOR = 512


class Bytes:
    """What a file holds, with its sum."""

    def __init__(self, data=b""):
        self.data = data
        self.sum = hashlib.sha256(data).hexdigest()


class File:
    def __init__(self):
        self.durable = Bytes()
        self.pending = []  # ("write", offset, bytes) or ("cut", size)
        self.known = {}  # contents by what was kept

    def cut(self, size):
        self.known = {}
        self.pending.append(("cut", size))

    def size(self):
        return len(self.contents(range(len(self.pending))).data)

    def write(self, offset, data):
        self.known = {}
        last = self.pending[-1] if self.pending else None
        if last and last[0] == "write" and last[1] + len(last[2]) == offset:
            self.pending[-1] = ("write", last[1], last[2] + data)
        else:
            self.pending.append(("write", offset, data))

    def sync(self):
        self.durable = self.contents(range(len(self.pending)))
        self.pending, self.known = [], {}

    def contents(self, kept, torn=None):
        """With these of the pending changes; `torn`: random, each write then loses sectors."""
        kept = tuple(kept)
        if not kept:
            return self.durable
        if torn is not None:
            return Bytes(self.replay(kept, torn))
        if kept not in self.known:
            self.known[kept] = Bytes(self.replay(kept, None))
        return self.known[kept]

    def replay(self, kept, torn):
        data = bytearray(self.durable.data)
        for i in kept:
            change = self.pending[i]
            if change[0] == "cut":
                size = change[1]
                data = data[:size] + bytes(max(0, size - len(data)))
            else:
                _, offset, new = change
                data += bytes(max(0, offset + len(new) - len(data)))
                for at in range(0, len(new), SECTOR):
                    if torn is None or torn.random() < 0.7:
                        data[offset + at:offset + min(at + SECTOR, len(new))] = new[at:at + SECTOR]
        return bytes(data)


class Directory:
    def __init__(self):
        self.durable = {}  # name: File or Directory
        self.live = {}
        self.pending = []  # (name that goes or None, name that comes or None, what comes)

    def change(self, gone, come, what=None):
        self.pending.append((gone, come, what))
        self.apply(self.live, self.pending[-1])

    @staticmethod
    def apply(entries, change):
        gone, come, what = change
        if gone:
            entries.pop(gone, None)
        if come:
            entries[come] = what

    def sync(self):
        self.durable = dict(self.live)
        self.pending = []

    def entries(self, kept):
        entries = dict(self.durable)
        for i in kept:
            self.apply(entries, self.pending[i])
        return entries


class Disk:
    """Replays a trace below `root`, which is there and durable."""

    def __init__(self, root):
        self.root_path = str(root)
        self.root = Directory()

    def find(self, path):
        """The directory that holds it, its name, and itself."""
        parts = Path(path).relative_to(self.root_path).parts
        if not parts:
            return None, "", self.root
        directory = self.root
        for part in parts[:-1]:
            directory = directory.live[part]
        return directory, parts[-1], directory.live.get(parts[-1])

    def play(self, call, data):
        """Whether the call changed anything."""
        _, name, path, to, offset, size, _, can = call
        parent, last, node = self.find(path)
        if "creates" in can and name in ("open", "openat") and node is None:
            parent.change(None, last, File())
        elif name in ("open", "openat") and offset & os.O_TRUNC and node.size():
            node.cut(0)
        elif name in ("write", "pwrite"):
            node.write(offset, data)
        elif name == "ftruncate":
            node.cut(size)
        elif name == "fallocate":
            node.cut(max(offset + size, node.size()))
        elif name in ("fsync", "fdatasync"):
            node.sync()
        elif name in ("mkdir", "mkdirat"):
            parent.change(None, last, Directory())
        elif name in ("unlink", "unlinkat", "rmdir"):
            parent.change(last, None)
        elif name in ("rename", "renameat", "renameat2"):
            target, new, _ = self.find(to)
            assert target is parent, "a rename into another directory is two changes; medley makes none"
            parent.change(last, new, node)
        else:
            return False
        return True

    def unsynced(self):
        """Every change that a cut may drop, as (node, index), directories first."""
        found, nodes, seen = [], [self.root], set()
        while nodes:
            node = nodes.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            found += [(node, i) for i in range(len(node.pending))]
            if isinstance(node, Directory):
                nodes += [*node.durable.values(), *node.live.values(), *(c[2] for c in node.pending if c[2])]
        return sorted(found, key=lambda change: isinstance(change[0], File))

    def tree(self, kept, torn=None):
        """{path: Bytes, or None for a directory} of a disk that kept these changes."""
        by_node = {}
        for node, i in kept:
            by_node.setdefault(id(node), []).append(i)
        tree = {}

        def walk(directory, prefix):
            for name, node in directory.entries(sorted(by_node.get(id(directory), []))).items():
                if isinstance(node, Directory):
                    tree[prefix + name] = None
                    walk(node, prefix + name + "/")
                else:
                    tree[prefix + name] = node.contents(sorted(by_node.get(id(node), [])), torn)

        walk(self.root, "")
        return tree


def choices(changes, random, bound):
    """Subsets of the changes that a cut may have kept, with and without torn writes; all of them where they are few."""
    yield list(changes), False
    yield [], False
    if 2 ** len(changes) <= bound:
        for bits in range(1, 2 ** len(changes) - 1):
            yield [c for i, c in enumerate(changes) if bits >> i & 1], False
    else:
        for one in changes:
            yield [one], False
            yield [c for c in changes if c is not one], False
        for _ in range(bound):
            share = random.random()
            yield [c for c in changes if random.random() < share], False
    for _ in range(bound // 4):
        yield [c for c in changes if random.random() < 0.8], True


def key_of(tree):
    sums = hashlib.sha256()
    for path in sorted(tree):
        sums.update(f"{path}\0{tree[path].sum if tree[path] else '/'}\n".encode())
    return sums.hexdigest()


def write_tree(tree, directory, blobs):
    """Files that are never written again are links to one copy."""
    for path in sorted(tree):
        target = directory / path
        data = tree[path]
        if data is None:
            target.mkdir()  # before what lies in it, which sorts after it
        elif path.endswith(".safetensors"):
            blob = blobs / data.sum
            if not blob.exists():
                blob.write_bytes(data.data)
            os.link(blob, target)
        else:
            target.write_bytes(data.data)
