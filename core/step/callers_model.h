#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/model/model.h>
#include <medley/model/model_info.h>
#include <medley/plugin/loaded_task.h>
#include <medley/task/batch.h>

namespace medley {

// What a pass asks of a model that is its caller's.
struct CallersForward {
  std::string_view pass;
  std::string_view reference;   // "": of the model itself; else "start" or another one that the pass names
  const ModelInputs& inputs;    // names may repeat
  const WantedOutputs& wanted;  // "losses" only where the declared model has no "logits" and "targets"
};
// May leave out "targets" where they are the tokens that the inputs name as "supervised".
using CallersModel = std::function<ModelOutputs(const CallersForward& asked)>;

// Whose passes run, and what the model is taken for.
struct CallersPasses {
  LoadedTask& task;
  const ModelInfo& declared;  // whose inputs and outputs the task was checked against
  at::Device device;
  at::ScalarType dtype = at::kFloat;  // of pictures and constants: float, or double for who looks closer
};

struct TermSum {
  at::Tensor sum;          // a scalar, with its graph
  std::int64_t items = 0;  // in these rows
};

// The sums of the task's terms over these rows, all passes of its variant in one graph: what a step of medley
// adds up, of somebody else's model. A pass that the spec gives no gradient runs without one. What the model
// gives is compared with what is declared, what the task does with its spec: an Error names task and pass.
// What the model throws passes, in the words of a task's error. On one thread; the graph outlives the call.
std::map<std::string, TermSum> SumsOf(const CallersPasses& passes, const Batch& rows,
                                      const CallersModel& model);

// What one pass hands its forward, and asks of it. An Error for a pass that the variant has not, or one that
// reads what an earlier pass makes.
struct PassInputs {
  ModelInputs inputs;
  std::vector<std::string> wanted;
};
PassInputs InputsOf(const CallersPasses& passes, const Batch& rows, std::string_view pass);

}  // namespace medley
