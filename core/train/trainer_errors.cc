#include <c10/util/Exception.h>

#include <algorithm>
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

// A draw did not fit: what is left of the step is gone by now, and its task takes fewer rows at once. False
// where that cannot help.
bool Trainer::MakeRoom(const std::vector<Draw>& draws) {
  const std::string task = memory_->running();
  const auto draw = std::find_if(draws.begin(), draws.end(), [&](const Draw& d) { return d.task == task; });
  if (draw == draws.end()) return false;  // not while it was computed
  Synchronize(run_.device);
  const std::int64_t left = memory_->LeftBehind();
  const std::optional<OomRecovery::Change> cut = oom_.Shrink(task, draw->rows);
  if (!cut) return false;
  ReleaseCachedMemory(run_.device);
  memory_->BeginStep();
  overflows_.push_back({{"task", task}, {"from", cut->from}, {"to", cut->to}, {"left_bytes", left}});
  console_.Warn("step " + std::to_string(progress_.step + 1) + ": task " + task + " ran out of memory with " +
                std::to_string(cut->from) + " rows at once; the same rows run again " +
                std::to_string(cut->to) + " at a time" +
                (left > 0 ? ". It left " + FormatBytes(left) + " behind, which is a leak of its own" : ""));
  return true;
}

void Trainer::SayGrown(const OomRecovery::Change& change) {
  console_.Say("step " + std::to_string(progress_.step + 1) + ": task " + change.task + " tries " +
               std::to_string(change.to) + " rows at once again, after " + std::to_string(change.from));
}

// The peak is still that of the step that failed, or of the search for the culprit.
void Trainer::AddMemoryHint(Failure& failure, const std::string& culprit) const {
  const MemoryReading memory = ReadMemory(run_.device);
  failure.reason += ". " + (culprit.empty() ? "The step's tasks together do" : "Task " + culprit + " does") +
                    " not fit: " + FormatBytes(static_cast<double>(memory.now)) +
                    " are in use between steps, the peak was " +
                    FormatBytes(static_cast<double>(memory.peak)) + ". Lower ";
  if (culprit.empty()) {
    failure.reason += "draws_per_step, or micro_rows of the tasks";
    return;
  }
  const std::int64_t micro_rows = run_.plans.at(culprit).micro_rows;
  if (micro_rows == 1) {
    failure.reason += "its activations with tasks." + culprit +
                      ".recompute_every 1, or raise the budget: already one row at a time is too much";
    return;
  }
  failure.reason += "tasks." + culprit + ".micro_rows (now " +
                    (micro_rows > 0 ? std::to_string(micro_rows) : "0: all rows of a draw at once") + ")";
}

// What was trained is saved; a save that fails too must not hide why the run ends.
void Trainer::SaveAndFail() {
  std::string words = failure_->reason;
  try {
    checkpoints_->SaveNow(progress_.step, progress_.evaluated);
    SaveReceipt();
    words += ". Step " + std::to_string(progress_.step) + " is saved; medley resume " + directory_.string() +
             " goes on from there";
  } catch (const std::exception& error) {
    words += ". Besides, " + Describe(error).reason;
  }
  console_.Say(Summary());
  throw Error(words, failure_->code);
}

// One task of the step's failed: the one that was being computed. Where none was, that is found by running
// each alone.
std::string Trainer::FindCulprit(const std::vector<Draw>& draws) {
  std::set<std::string> tasks;
  for (const Draw& draw : draws) tasks.insert(draw.task);
  if (tasks.size() == 1) return *tasks.begin();
  if (!memory_->running().empty()) return memory_->running();
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
  memory_->PhaseChanges();
  console_.Warn("the task " + task + " is dropped from here on (on_task_error: drop): " + failure.reason);
}

void Trainer::ClearGradients() {
  for (const Parameter& parameter : run_.model->parameters()) parameter.tensor.mutable_grad().reset();
}

}  // namespace medley
