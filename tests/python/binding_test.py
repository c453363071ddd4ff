"""The module, its errors, and tensors that are the same object on both sides."""
import unittest

import torch

import medley
from medley import _medley


class Tensors(unittest.TestCase):
    def test_a_tensor_comes_back_as_the_same_object(self):
        for tensor in (torch.rand(3), torch.rand(2, 2, requires_grad=True), torch.nn.Parameter(torch.rand(2)), torch.arange(3)):
            self.assertIs(_medley.same_tensor(tensor), tensor)
        graph = torch.rand(3, requires_grad=True) * 2
        self.assertIs(_medley.same_tensor(graph).grad_fn, graph.grad_fn)

    def test_what_is_no_tensor_is_named(self):
        with self.assertRaisesRegex(medley.Error, r"the argument must be a torch.Tensor, and is of <class 'list'>"):
            _medley.same_tensor([1.0])


class Errors(unittest.TestCase):
    def test_an_error_has_the_exit_code(self):
        self.assertTrue(issubclass(medley.Error, RuntimeError))
        with self.assertRaises(medley.Error) as raised:
            _medley.same_tensor(1)
        self.assertEqual(raised.exception.code, 1)


if __name__ == "__main__":
    unittest.main()
