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
  // Bytes that it saved for its backward, parameters and constants not counted; nothing without a graph, or
  // where nobody wanted to know.
  std::optional<std::int64_t> saved;
};

// Is told what a step does while it runs, on its thread; overrides what it wants to hear.
class StepObserver {
 public:
  virtual ~StepObserver();

  // Before the draw's rows move to the device.
  virtual void DrawBegins(const std::string& /*task*/) {}
  // After its last backward, when of it only gradients are left; not where it throws.
  virtual void DrawEnds(const std::string& /*task*/) {}
  virtual void PassRan(const PassRun& /*run*/) {}
  // A backward; it does not end where it throws.
  virtual void BackwardBegins() {}
  virtual void BackwardEnds() {}
  // Does it want PassRun::saved? That costs a look at every saved tensor.
  virtual bool WantsSavedBytes() const { return false; }
};

}  // namespace medley
