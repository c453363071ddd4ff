#pragma once

#include "python/binding/python.h"

#include <memory>

#include <medley/task/task.h>

namespace medley::python {

// A task's surroundings as Python sees them: _medley.TaskContext. Python may keep the object longer than the
// task lives; a use of it then raises. With the GIL.
class LentTaskContext {
 public:
  explicit LentTaskContext(const TaskContext& context);
  ~LentTaskContext();
  LentTaskContext(const LentTaskContext&) = delete;
  LentTaskContext& operator=(const LentTaskContext&) = delete;

  PyObject* get() const { return object_.get(); }

 private:
  Object object_;
};

// Options by name: numbers, switches, words; paths as texts.
Object OptionsObject(const TaskOptions& options);
// A list of texts.
Object TextsObject(const std::vector<std::string>& texts);

// open_tokenizer(file, special_tokens): a tokenizer as a TaskContext has one, for a process that makes rows.
PyObject* OpenTokenizer(PyObject*, PyObject* arguments);

void AddTaskContext(PyObject* module);

}  // namespace medley::python
