#pragma once

#include "python/binding/python.h"

namespace medley::python {

// run_verb(verb, words): see command.cc.
// Whether this process is the command's, and no program that opened medley.
bool IsCommand();
PyObject* RunVerbOf(PyObject* module, PyObject* arguments);

}  // namespace medley::python
