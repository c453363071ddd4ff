#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <medley/plugin/task_info.h>
#include <medley/report/term_loss.h>
#include <medley/step/step_observer.h>
#include <medley/task/task.h>

namespace medley {

// The sums of a step's terms in double, on the device: reading a value earlier than at the end would wait for
// the device.
class TermSums {
 public:
  explicit TermSums(at::Device device) : device_(device) {}

  void Add(const std::string& task, const std::string& term, const at::Tensor& sum);
  // Fills in the sums; waits for the device, for `along` too: further doubles there, [numbers], or undefined.
  // Returns these on the host.
  at::Tensor Read(StepLosses& losses, const at::Tensor& along) const;

 private:
  at::Device device_;
  std::map<std::pair<std::string, std::string>, at::Tensor> totals_;
};

// The roots of an autograd graph, as the engine calls what a backward starts from: sums of a task's terms,
// and carries, each with the gradient that it starts with. Keeps references, and the graphs of what was added
// until Backward has gone through them or the object ends.
class Roots {
 public:
  // `losses`: weights, and counts of the whole step.
  // `scale`: that of the losses in their backward.
  Roots(const TaskLosses& losses, const std::string& task, TermSums& sums, StepObserver& observer,
        double scale = 1)
      : losses_(losses), task_(task), sums_(sums), observer_(observer), scale_(scale) {}

  // What a pass gave, each with the gradient scale * weight / count. An InputError where a pass without a
  // gradient adds to a term that has a weight, if by the config.
  void Add(const Sums& sums, const PassInfo& pass);
  // A tensor without a graph, or an undefined gradient, adds nothing.
  void Add(const at::Tensor& carry, const at::Tensor& gradient);
  // Adds the gradients to what the parameters hold; on this thread, and on a GPU's of the engine. After an
  // exception they are undefined.
  void Backward();

 private:
  const TaskLosses& losses_;
  const std::string& task_;
  TermSums& sums_;
  StepObserver& observer_;
  double scale_;
  std::vector<at::Tensor> roots_, gradients_;
};

}  // namespace medley
