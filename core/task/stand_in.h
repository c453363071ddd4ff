#pragma once

#include <string>
#include <vector>

#include <medley/model/model_config.h>
#include <medley/task/task.h>

namespace medley {

// What a task is made from that shall only say which texts it shows: every text is one token, pictures have
// 128 pixels a side, and the model's config has no field.
class StandIn {
 public:
  explicit StandIn(const TextsContext& texts);
  const TaskContext& context() const { return context_; }

 private:
  ModelConfig model_;
  std::vector<std::string> control_text_;
  TaskContext context_;
};

}  // namespace medley
