#pragma once

#include <medley/plugin/task_info.h>

#include "python_literal.h"

namespace medley {

// A task's spec out of a literal: the keys are those of the facts (task/spec.h), and what is missing has
// their defaults. An option's kind follows from its value: a number, True or False; or it has "words",
// "path": True or "text": True. Rules and limits are those that a compiler holds a C++ task to. Throws a
// PythonProblem.
TaskInfo TaskOf(const PythonValue& spec);

}  // namespace medley
