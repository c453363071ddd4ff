"""Rows' numbers are RowRandom's, bit for bit, in any range."""
import unittest

import numpy as np

import medley
from medley import _medley


class Rows(unittest.TestCase):
    def test_numbers_are_those_of_cpp(self):
        draw = np.random.default_rng(1)
        for _ in range(500):
            seed, begin, stream = (int(draw.integers(0, 2**63)) * 2 + 1, int(draw.integers(0, 2**40)), int(draw.integers(0, 3)))
            limit = int(draw.integers(1, 2**32, endpoint=True))
            rows = medley.Rows(seed, begin, 20, stream=stream)
            uniform, below, coin, bits = rows.uniform(2), rows.below(limit, 2), rows.coin(), rows.bits()
            for i in range(20):
                expected = _medley.row_numbers(seed, begin + i, stream, limit)
                found = (*uniform[i], *below[i], bool(coin[i, 0]), int(bits[i, 0]))
                self.assertEqual(found, expected)

    def test_a_row_is_the_same_in_any_range(self):
        whole = medley.Rows(7, 100, 50).uniform(3)
        self.assertTrue((medley.Rows(7, 100, 50).part(20, 5).uniform(3) == whole[20:25]).all())
        self.assertFalse((medley.Rows(7, 100, 50).stream(1).uniform(3) == whole).any())

    def test_generators_are_of_the_row(self):
        rows = medley.Rows(7, 100, 50)
        self.assertEqual(rows.generator(3).random(), medley.Rows(7, 103, 1).generator(0).random())
        self.assertNotEqual(rows.generator(3).random(), rows.generator(4).random())

    def test_limits(self):
        for limit in (0, -1, 2**32 + 1):
            with self.assertRaisesRegex(ValueError, "none of 1 to"):
                medley.Rows(1, 0, 1).below(limit)


if __name__ == "__main__":
    unittest.main()
