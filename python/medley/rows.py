"""The rows that a task is asked for, and their random numbers."""

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0x632BE59BD9B4E019)
_LOW = np.uint64(0xFFFFFFFF)


def _mix(x):
    """The finalizer of SplitMix64, as core/base/random.h has it."""
    x = x + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _combine(a, b):
    return _mix(a ^ _mix(b + _STREAM))


class Rows:
    """A range of rows of the task's endless stream. A row is a function of its seed and number alone.

    Its random numbers are medley's own, of all rows at once, [rows, n], each call the next ones: the same in whatever
    range, thread or process a row is made. `longest` asks for rows as long as they can be; memory is planned by those.
    """

    # `stream` None: those of a site of a pass.
    def __init__(self, seed, begin, count, longest=False, held_out=False, stream=0):
        self.seed, self.begin, self.count = int(seed), int(begin), int(count)
        self.longest, self.held_out = bool(longest), bool(held_out)
        self._stream, self._state, self._drawn = stream, None, 0

    def __len__(self):
        return self.count

    @property
    def numbers(self):
        """[rows] int64: begin, begin + 1, ..."""
        return np.arange(self.begin, self.begin + self.count)

    def seeds(self):
        """[rows] uint64, one of each row."""
        with np.errstate(over="ignore"):
            own = _combine(np.uint64(self.seed), self.numbers.astype(np.uint64))
            return own if self._stream is None else _combine(own, np.uint64(self._stream))

    def part(self, begin, count):
        """`count` of these rows, the first of them `begin` rows behind the first of these."""
        return Rows(self.seed, self.begin + begin, count, self.longest, self.held_out, self._stream)

    def stream(self, number):
        """The same rows with other random numbers: 0 is that of these."""
        return Rows(self.seed, self.begin, self.count, self.longest, self.held_out, number)

    def bits(self, n=1):
        """[rows, n] uint64."""
        if self._state is None:
            self._state = self.seeds()[:, None]
        with np.errstate(over="ignore"):
            steps = np.arange(self._drawn, self._drawn + n, dtype=np.uint64) * _GOLDEN
            drawn = _mix(self._state + steps)
        self._drawn += n
        return drawn

    def uniform(self, n=1, low=0.0, high=1.0):
        """[rows, n] float64 in [low, high)."""
        return low + (high - low) * ((self.bits(n) >> np.uint64(11)) * 2.0**-53)

    def below(self, limit, n=1):
        """[rows, n] int64 in [0, limit)."""
        if not 0 < limit <= 2**32:
            raise ValueError(f"below({limit}) is none of 1 to 2**32")
        bits = self.bits(n)
        limit = np.uint64(limit)
        with np.errstate(over="ignore"):
            high = (bits >> np.uint64(32)) * limit + (((bits & _LOW) * limit) >> np.uint64(32))
        return (high >> np.uint64(32)).astype(np.int64)

    def coin(self, n=1):
        """[rows, n] bool."""
        return (self.bits(n) >> np.uint64(63)) != 0

    def generator(self, i):
        """numpy's Generator for the row at place i of these. What it draws may change with numpy's version; the numbers
        above do not."""
        if not 0 <= i < self.count:
            raise IndexError(f"row {i} of {self.count}")
        return np.random.Generator(np.random.Philox(key=int(self.part(i, 1).seeds()[0])))


def site(context, name):
    """The rows of a pass with random numbers of that site of it: the same in a second run of the pass and in a resume,
    whatever rows are beside."""
    rows = context.rows
    return Rows(context.seed(name), rows.begin, rows.count, stream=None)
