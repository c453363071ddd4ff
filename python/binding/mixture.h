#pragma once

#include "python/binding/python.h"

namespace medley::python {

// Functions and the types Mixture and Draw: what medley/mixture.py is a face of.
void AddMixture(PyObject* module);

}  // namespace medley::python
