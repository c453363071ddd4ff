#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace medley {

// A pass that ran its forward: once more where the mode repeats it, not for layers that are run again.
struct PassRun {
  const std::string& task;
  const std::string& pass;
  std::int64_t tokens = 0;  // handed to the model, pads among them
  int layers = 0;           // of the model's deepest stack, by ForwardContext::Layer
  // Bytes that it saved for its backward, parameters and constants not counted; nothing without a graph, or
  // where nobody wanted to know.
  std::optional<std::int64_t> saved;
};

// Listener that is told what a step does while it runs, on the step's thread; overrides what it wants to
// hear. What it throws ends the step.
class StepObserver {
 public:
  virtual ~StepObserver() = default;

  // A draw begins; its rows have not moved to the device yet.
  virtual void DrawBegins(const std::string& /*task*/) {}
  // The draw had its last backward, and only gradients are left of it. Not called where it throws.
  virtual void DrawEnds(const std::string& /*task*/) {}
  virtual void PassRan(const PassRun& /*run*/) {}
  // A backward; it does not end where it throws.
  virtual void BackwardBegins() {}
  virtual void BackwardEnds() {}
  // Does it want PassRun::saved? That costs a look at every saved tensor.
  virtual bool WantsSavedBytes() const { return false; }
};

}  // namespace medley
