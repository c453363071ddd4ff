#include "python/binding/glue.h"

#include <map>
#include <string_view>

#include <medley/base/error.h>

namespace medley::python {
namespace {

PyObject* g_glue = nullptr;

}  // namespace

void SetGlue(PyObject* module) {
  Py_XINCREF(module);
  g_glue = module;
}

PyObject* Glue(const char* name) {
  static auto& known = *new std::map<std::string_view, PyObject*>;  // with the GIL
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  if (g_glue == nullptr) throw Error("the package medley is not imported whole");
  return known.emplace(name, Attribute(g_glue, name).release()).first->second;
}

Object RowsObject(const RowRange& rows) {
  return Checked(PyObject_CallFunction(Glue("rows"), "KLLii", static_cast<unsigned long long>(rows.seed),
                                       static_cast<long long>(rows.begin), static_cast<long long>(rows.count),
                                       static_cast<int>(rows.longest),
                                       static_cast<int>(rows.split == Split::kHeldOut)));
}

RowRange RangeOf(PyObject* rows) {
  RowRange range;
  const Object seed = Attribute(rows, "seed");
  range.seed = PyLong_AsUnsignedLongLong(seed.get());
  if (PyErr_Occurred() != nullptr) Checked(nullptr);
  range.begin = Integer(Attribute(rows, "begin").get());
  range.count = Integer(Attribute(rows, "count").get());
  range.longest = PyObject_IsTrue(Attribute(rows, "longest").get()) == 1;
  range.split = PyObject_IsTrue(Attribute(rows, "held_out").get()) == 1 ? Split::kHeldOut : Split::kTraining;
  return range;
}

}  // namespace medley::python
