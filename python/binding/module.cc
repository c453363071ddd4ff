// The module _medley: what the package medley is a thin face of.
#include "python/binding/engine.h"
#include "python/binding/python.h"
#include "python/binding/raised.h"
#include "python/binding/tensors.h"

namespace medley::python {
namespace {

// say_exceptions_by(words): see SayExceptionsBy.
PyObject* SetWords(PyObject*, PyObject* words) {
  SayExceptionsBy(words);
  return Object::Borrowed(Py_None).release();
}

// same_tensor(tensor): itself, by way of C++; a test holds the layout of torch's objects by it.
PyObject* SameTensor(PyObject*, PyObject* tensor) {
  return Guarded([&] { return TensorObject(TensorOf(tensor, "the argument")).release(); });
}

PyMethodDef kModuleFunctions[] = {{"say_exceptions_by", SetWords, METH_O, nullptr},
                                  {"same_tensor", SameTensor, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
PyModuleDef kModule{
    PyModuleDef_HEAD_INIT, "_medley", nullptr, -1, kModuleFunctions, nullptr, nullptr, nullptr, nullptr};

PyObject* MakeModule() {
  Object module = Checked(PyModule_Create(&kModule));
  AddErrors(module.get());
  FindTorchsObjects();
  JoinEngines();
  return module.release();
}

}  // namespace
}  // namespace medley::python

PyMODINIT_FUNC PyInit__medley() { return medley::python::Guarded(&medley::python::MakeModule); }
