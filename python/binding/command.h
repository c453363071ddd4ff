#pragma once

#include "python/binding/python.h"

namespace medley::python {

// run_verb(verb, words): see command.cc.
PyObject* RunVerbOf(PyObject* module, PyObject* arguments);

}  // namespace medley::python
