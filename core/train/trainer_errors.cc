#include <set>

#include <medley/train/trainer.h>

namespace medley {

// One task of the step's failed. Which one is found by running each alone: an out-of-memory error carries no
// name.
std::string Trainer::FindCulprit(const std::vector<Draw>& draws) {
  std::set<std::string> tasks;
  for (const Draw& draw : draws) tasks.insert(draw.task);
  if (tasks.size() == 1) return *tasks.begin();
  for (const std::string& task : tasks) {
    std::vector<Draw> own;
    for (const Draw& draw : draws) {
      if (draw.task == task) own.push_back(draw);
    }
    bool failed = false;
    try {
      RunDraws(own);
    } catch (const std::exception&) {
      failed = true;
      DrainEngine();
    }
    ClearGradients();
    if (failed) return task;
  }
  return "";
}

void Trainer::OnTaskError(const std::string& task, const std::string& reason) {
  if (task.empty() || run_.config.on_task_error != "drop") {
    failure_ = reason;
    return;
  }
  Drop(task, reason);
}

void Trainer::Drop(const std::string& task, const std::string& reason) {
  progress_.dropped[task] = reason;
  for (auto& [name, weight] : run_.mixture.weights) {
    if (name == task) weight = 0;
  }
  if (run_.ActiveTasks().empty()) {
    failure_ = "no task is left: " + reason;
    return;
  }
  run_.mixer->SetMixture(run_.mixture);
  console_.Warn("the task " + task + " is dropped from here on (on_task_error: drop): " + reason);
}

void Trainer::ClearGradients() {
  for (const Parameter& parameter : run_.model->parameters()) parameter.tensor.mutable_grad().reset();
}

}  // namespace medley
