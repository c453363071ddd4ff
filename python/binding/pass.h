#pragma once

#include "python/binding/raised.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include <medley/task/pass_context.h>

namespace medley::python {

struct PassState;

// A pass, lent to Python for one call as a _medley.Context: a use of it after that raises "the context of a
// pass that is over". With the GIL.
class LentPass {
 public:
  explicit LentPass(PassContext& context);
  explicit LentPass(EvalPass& piece);  // which can also write, and ask references
  ~LentPass();
  LentPass(const LentPass&) = delete;
  LentPass& operator=(const LentPass&) = delete;

  PyObject* get() const { return object_.get(); }
  // What medley threw within the call.
  const Kept& kept() const;

 private:
  LentPass(PassContext& context, EvalPass* piece);

  std::unique_ptr<PassState> state_;
  Object object_;
};

// The same of an evaluation, as a _medley.EvalContext.
struct EvalState;
class LentEval {
 public:
  explicit LentEval(EvalContext& context);
  ~LentEval();
  LentEval(const LentEval&) = delete;
  LentEval& operator=(const LentEval&) = delete;

  PyObject* get() const { return object_.get(); }
  const Kept& kept() const;

 private:
  std::unique_ptr<EvalState> state_;
  Object object_;
};

// Adds both types.
void AddPasses(PyObject* module);

}  // namespace medley::python
