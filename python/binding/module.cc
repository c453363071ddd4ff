// The module _medley: what the package medley is a thin face of.
#include <string>

#include <medley/base/error.h>
#include <medley/base/rows.h>
#include <medley/plugin/python_source.h>

#include "python/binding/command.h"
#include "python/binding/engine.h"
#include "python/binding/glue.h"
#include "python/binding/mixture.h"
#include "python/binding/pass.h"
#include "python/binding/python.h"
#include "python/binding/raised.h"
#include "python/binding/session.h"
#include "python/binding/task.h"
#include "python/binding/tensors.h"

namespace medley::python {
namespace {

// set_glue(module): see SetGlue.
PyObject* TakeGlue(PyObject*, PyObject* glue) {
  return Guarded([&] {
    SetGlue(glue);
    SayExceptionsBy(Attribute(glue, "words").get());
    return Object::Borrowed(Py_None).release();
  });
}

// same_tensor(tensor): itself, by way of C++; a test holds the layout of torch's objects by it.
PyObject* SameTensor(PyObject*, PyObject* tensor) {
  return Guarded([&] { return TensorObject(TensorOf(tensor, "the argument")).release(); });
}

// read_literal(text): the dict that medley reads in a spec, as JSON; a test holds it against
// ast.literal_eval.
PyObject* ReadLiteral(PyObject*, PyObject* text) {
  return Guarded([&] {
    try {
      const PythonSource source = ReadPythonSource("class A:\n  spec = " + Text(text) + "\n");
      return TextObject(source.specs.empty() ? "null" : source.specs.front().ToJson().dump()).release();
    } catch (const PythonProblem& problem) {
      throw Error(std::to_string(problem.line) + ": " + problem.words);
    }
  });
}

// row_numbers(seed, row, stream, limit): the first numbers of a row in C++, which a test holds medley.Rows
// against.
PyObject* RowNumbers(PyObject*, PyObject* arguments) {
  unsigned long long seed = 0, stream = 0;
  long long row = 0, limit = 1;
  if (PyArg_ParseTuple(arguments, "KLKL", &seed, &row, &stream, &limit) == 0) return nullptr;
  RowRandom random = RowRange{.seed = seed}.Random(row, stream);
  const double first = random.Uniform(), second = random.Uniform();
  const std::int64_t third = random.Below(limit), fourth = random.Below(limit);
  const bool coin = random.Coin();
  return Py_BuildValue("ddLLNK", first, second, static_cast<long long>(third), static_cast<long long>(fourth),
                       PyBool_FromLong(coin ? 1 : 0), static_cast<unsigned long long>(random.Bits()));
}

PyMethodDef kModuleFunctions[] = {{"set_glue", TakeGlue, METH_O, nullptr},
                                  {"run_verb", RunVerbOf, METH_O, nullptr},
                                  {"same_tensor", SameTensor, METH_O, nullptr},
                                  {"read_literal", ReadLiteral, METH_O, nullptr},
                                  {"open_tokenizer", OpenTokenizer, METH_VARARGS, nullptr},
                                  {"row_numbers", RowNumbers, METH_VARARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
PyModuleDef kModule{
    PyModuleDef_HEAD_INIT, "_medley", nullptr, -1, kModuleFunctions, nullptr, nullptr, nullptr, nullptr};

PyObject* MakeModule() {
  Object module = Checked(PyModule_Create(&kModule));
  AddErrors(module.get());
  FindTorchsObjects();
  JoinEngines();
  AddPasses(module.get());
  AddTaskContext(module.get());
  InstallHost();
  AddSession(module.get());
  AddMixture(module.get());
  return module.release();
}

}  // namespace
}  // namespace medley::python

PyMODINIT_FUNC PyInit__medley() { return medley::python::Guarded(&medley::python::MakeModule); }
