#pragma once

#include "python/binding/python.h"

namespace medley::python {

// Functions and the type Session: what medley/session.py is a face of.
void AddSession(PyObject* module);

}  // namespace medley::python
