#include "python/binding/tensors.h"

#include <dlfcn.h>

#include <medley/base/error.h>

namespace medley::python {
namespace {

// torch/csrc/autograd/python_variable.h, THPVariable: what stands first in it.
struct TorchVariable {
  PyObject head;
  at::Tensor tensor;
};

using WrapFunction = PyObject*(const at::TensorBase&);

PyObject* g_class = nullptr;  // torch.Tensor
WrapFunction* g_wrap = nullptr;
PyObject* g_out_of_memory = nullptr;

void* FindSymbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr)
    throw Error(std::string("this torch has no ") + name +
                ": it is another release than medley was built for");
  return found;
}

}  // namespace

void FindTorchsObjects() {
  void* const library = dlopen("libtorch_python.so", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) throw Error("torch is not imported: import it before medley's module");
  g_class = *static_cast<PyObject**>(FindSymbol(library, "THPVariableClass"));
  g_wrap = reinterpret_cast<WrapFunction*>(FindSymbol(library, "_Z16THPVariable_WrapRKN2at10TensorBaseE"));
  const Object torch = Checked(PyImport_ImportModule("torch"));
  g_out_of_memory = Attribute(torch.get(), "OutOfMemoryError").release();
}

Object TensorObject(const at::Tensor& tensor) {
  if (!tensor.defined()) return Object::Borrowed(Py_None);
  return Checked(g_wrap(tensor));
}

bool IsTensor(PyObject* object) {  // As its type is, and not as it says: what stands in it is read.
  return g_class != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(g_class)) != 0;
}

at::Tensor TensorOf(PyObject* object, const std::string& what) {
  if (IsTensor(object)) return reinterpret_cast<TorchVariable*>(object)->tensor;
  const Object type = Checked(PyObject_Repr(reinterpret_cast<PyObject*>(Py_TYPE(object))));
  throw Error(what + " must be a torch.Tensor, and is of " + Text(type.get()));
}

PyObject* OutOfMemoryType() { return g_out_of_memory; }

}  // namespace medley::python
