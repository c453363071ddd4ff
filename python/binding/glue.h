#pragma once

#include "python/binding/python.h"

#include <medley/base/rows.h>

namespace medley::python {

// The package's own part of the binding (medley/_glue.py): what is shorter in Python. Set once, when the
// module is imported.
void SetGlue(PyObject* module);
// A function of it, borrowed.
PyObject* Glue(const char* name);

// medley.Rows of a range, and back of anything that has its attributes.
Object RowsObject(const RowRange& rows);
RowRange RangeOf(PyObject* rows);

}  // namespace medley::python
