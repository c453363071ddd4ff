#pragma once

#include "python/binding/task_context.h"

#include <memory>
#include <string_view>

#include <medley/task/task.h>

namespace medley::python {

// A task whose methods are a Python object's (medley.Task). Sample may run on any data thread, as any task's:
// one at a time, as they share the GIL.
class PythonTask final : public Task {
 public:
  // `made_by`: a class, which the glue makes the object of.
  PythonTask(PyObject* made_by, const TaskContext& context);
  ~PythonTask() override;

  Batch Sample(const RowRange& rows) const override;
  Sums Run(std::string_view pass, PassContext& context) const override;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override;
  at::Tensor Constant(std::string_view name) const override;
  std::int64_t CacheBytes() const override;

 private:
  Outcomes EvaluateByScore(EvalContext& context, const RowRange& rows) const;

  std::unique_ptr<LentTaskContext> context_;
  Object task_;
  bool evaluates_ = false;  // by a method of its own
};

// The process's host, which knows the files that were loaded.
void InstallHost();

}  // namespace medley::python
