#pragma once

#include "python/binding/python.h"

#include <ATen/core/Tensor.h>

#include <string>

namespace medley::python {

// torch's Python objects of tensors. Autograd needs the same tensor on both sides, which DLPack does not
// give; so their wrapping is libtorch_python's own, and their layout is read as it is declared there. A test
// holds both.

// Finds them in the libtorch_python that `import torch` has loaded. An Error where there is none.
void FindTorchsObjects();

// The tensor as Python's, the same object for the same tensor while one lives. None for an undefined one.
Object TensorObject(const at::Tensor& tensor);
// `what` is named in the Error for what is no torch.Tensor: "the column 'x'".
at::Tensor TensorOf(PyObject* object, const std::string& what);
bool IsTensor(PyObject* object);

// torch.OutOfMemoryError; null before FindTorchsObjects.
PyObject* OutOfMemoryType();

}  // namespace medley::python
