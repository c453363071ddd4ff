#include <c10/util/Exception.h>

#include <set>

#include <medley/report/table.h>
#include <medley/train/device.h>
#include <medley/train/trainer.h>

namespace medley {

// The words go without libtorch's stack trace.
Failure Trainer::Describe(const std::exception& error) const {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (torch == nullptr) return {error.what()};
  const bool out_of_memory = dynamic_cast<const c10::OutOfMemoryError*>(torch) != nullptr;
  return {torch->what_without_backtrace(), out_of_memory ? ExitCode::kDoesNotFit : ExitCode::kFailed};
}

Failure Trainer::DescribeStep(const std::exception& error) const {
  Failure failure = Describe(error);
  failure.reason = "step " + std::to_string(progress_.step + 1) + ": " + failure.reason;
  return failure;
}

// The peak is still that of the step that failed, or of the search for the culprit.
void Trainer::AddMemoryHint(Failure& failure, const std::string& culprit) const {
  const DeviceMemory memory = ReadMemory(run_.device);
  failure.reason += ". " + (culprit.empty() ? "The step's tasks together do" : "Task " + culprit + " does") +
                    " not fit: " + FormatBytes(static_cast<double>(memory.now)) +
                    " are in use between steps, the peak was " +
                    FormatBytes(static_cast<double>(memory.peak)) + ". Lower ";
  if (culprit.empty()) {
    failure.reason += "draws_per_step, or micro_rows of the tasks";
    return;
  }
  const std::int64_t micro_rows = run_.plans.at(culprit).micro_rows;
  failure.reason += "tasks." + culprit + ".micro_rows (now " +
                    (micro_rows > 0 ? std::to_string(micro_rows) : "0: all rows of a draw at once") + ")";
}

// What was trained is saved; a save that fails too must not hide why the run ends.
void Trainer::SaveAndFail() {
  std::string words = failure_->reason;
  try {
    checkpoints_->SaveNow(progress_.step, progress_.evaluated);
    words += ". Step " + std::to_string(progress_.step) + " is saved; medley resume " + directory_.string() +
             " goes on from there";
  } catch (const std::exception& error) {
    words += ". Besides, " + Describe(error).reason;
  }
  console_.Say(TrainingSummary(run_, progress_, status_->memory_peak(), directory_));
  throw Error(words, failure_->code);
}

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

void Trainer::OnTaskError(const std::string& task, const Failure& failure) {
  if (task.empty() || run_.config.on_task_error != "drop") {
    failure_ = failure;
    return;
  }
  Drop(task, failure);
}

void Trainer::Drop(const std::string& task, const Failure& failure) {
  progress_.dropped[task] = failure.reason;
  for (auto& [name, weight] : run_.mixture.weights) {
    if (name == task) weight = 0;
  }
  if (run_.ActiveTasks().empty()) {
    failure_ = {"no task is left: " + failure.reason, failure.code};
    return;
  }
  run_.mixer->SetMixture(run_.mixture);
  console_.Warn("the task " + task + " is dropped from here on (on_task_error: drop): " + failure.reason);
}

void Trainer::ClearGradients() {
  for (const Parameter& parameter : run_.model->parameters()) parameter.tensor.mutable_grad().reset();
}

}  // namespace medley
