#include <c10/util/Exception.h>

#include <algorithm>
#include <set>
#include <utility>

#include <medley/model/device.h>
#include <medley/report/table.h>
#include <medley/train/memory_advice.h>
#include <medley/train/trainer.h>

namespace medley {

// The words go without libtorch's stack trace.
Failure Trainer::Describe(const std::exception& error) const {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return {ours->what(), ours->code()};
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (torch == nullptr) return {error.what()};
  const bool out_of_memory = dynamic_cast<const c10::OutOfMemoryError*>(torch) != nullptr;
  return {torch->what_without_backtrace(), out_of_memory ? ExitCode::kDoesNotFit : ExitCode::kFailed,
          out_of_memory};
}

Failure Trainer::DescribeStep(const std::exception& error) const {
  Failure failure = Describe(error);
  failure.reason = "step " + std::to_string(progress_.step + 1) + ": " + failure.reason;
  return failure;
}

// What is left of the step is gone by now. False where nothing can be done.
bool Trainer::MakeRoom(const std::vector<Draw>& draws) {
  try {
    if (!run_.device.is_cpu()) DrainEngine(run_.device);
    Synchronize(run_.device);
    ReleaseCachedMemory(run_.device);
  } catch (const std::exception& error) {  // and every later call will fail too, also those of a save
    throw Error("step " + std::to_string(progress_.step + 1) +
                " ran out of memory, and then the device failed: " + Describe(error).reason + ". " +
                NewestCheckpoint());
  }
  const std::string& task = memory_->running();
  const auto draw = std::find_if(draws.begin(), draws.end(), [&](const Draw& d) { return d.task == task; });
  const bool again = draw == draws.end() ? TryAgain() : CutTask(*draw);
  if (again) memory_->BeginStep();
  return again;
}

// The draw did not fit: its task takes fewer rows at once.
bool Trainer::CutTask(const Draw& draw) {
  const std::int64_t reached = ReadMemory(run_.device).peak, left = memory_->LeftBehind();
  receipts_.RecordOverflow(draw, reached, left);
  const std::optional<OomRecovery::Change> cut = oom_.Shrink(draw.task, draw.rows);
  if (!cut) return false;
  const std::string step = "step " + std::to_string(progress_.step + 1) + ": task " + draw.task;
  const std::string phase = run_.executor->failed_in_backward() ? "backward" : "forward";
  overflows_.push_back(
      {{"task", draw.task}, {"phase", phase}, {"from", cut->from}, {"to", cut->to}, {"left_bytes", left}});
  console_.Warn(step + " ran out of memory with " + std::to_string(cut->from) + " rows at once, in a " +
                phase + "; the same rows run again " + std::to_string(cut->to) + " at a time");
  if (left > 0)
    console_.Warn(step + " left " + FormatBytes(left) +
                  " behind when it ran out of memory. That is a bug, in the task or in medley");
  return true;
}

// Nobody's draw was being computed. What then takes little found no room: smaller micro-batches would not
// help, but what others let go since may.
bool Trainer::TryAgain() {
  if (std::exchange(tried_again_, true)) return false;
  overflows_.push_back({{"task", ""}, {"phase", "between draws"}});
  console_.Warn("step " + std::to_string(progress_.step + 1) +
                " ran out of memory between its draws; it runs again as it is");
  return true;
}

void Trainer::GrowBack(const std::vector<Draw>& draws) {
  for (const OomRecovery::Change& change : oom_.Fitted(draws))
    console_.Say("step " + std::to_string(progress_.step) + ": task " + change.task + " tries " +
                 std::to_string(change.to) + " rows at once again, after " + std::to_string(change.from));
}

// The peak is still that of the step that failed, or of the search for the culprit.
void Trainer::AddMemoryHint(Failure& failure, const std::string& culprit,
                            const std::vector<Draw>& draws) const {
  const MemoryReading memory = ReadMemory(run_.device);
  failure.reason += ". " + (culprit.empty() ? "The step's tasks together do" : "Task " + culprit + " does") +
                    " not fit: " + FormatBytes(static_cast<double>(memory.now)) +
                    " are in use between steps, the peak was " +
                    FormatBytes(static_cast<double>(memory.peak)) + ". ";
  if (culprit.empty() || !run_.is_loaded(culprit)) {
    failure.reason += "Lower draws_per_step, or micro_rows of the tasks";
    return;
  }
  CrowdedDraw crowded{.task = culprit,
                      .plan = run_.plans.at(culprit),
                      .variant = run_.task(culprit).variant(),
                      .budget = run_.budget.bytes};
  for (const Draw& draw : draws) {
    if (draw.task == culprit) crowded.rows = std::max(crowded.rows, draw.rows);
  }
  failure.reason += MemoryAdvice(crowded);
}

std::string Trainer::NewestCheckpoint() const {
  try {
    const std::vector<CheckpointEntry> saved = ListCheckpoints(directory_);
    if (saved.empty()) return "No step of the run was saved";
    return "The newest checkpoint is " + saved.front().path.string() + "; medley resume " +
           directory_.string() + " goes on from there";
  } catch (const std::exception& error) {
    return "The run's checkpoints cannot be listed: " + std::string(error.what());
  }
}

// What was trained is saved; a save that fails too must not hide why the run ends.
void Trainer::SaveAndFail() {
  std::string words = failure_->reason;
  try {
    checkpoints_->SaveNow(progress_.step, progress_.evaluated);
    SaveReceipt();
    words += ". Step " + std::to_string(progress_.step) + " is saved; ";
    if (failure_->code == ExitCode::kBadInput) words += "mend what is wrong, then ";
    words += "medley resume " + directory_.string() + " goes on from there";
    // A resume refuses what the weights depend on.
    if (failure_->code == ExitCode::kBadInput)
      words += "; another model config, tokenizer or control text needs a new run (medley train)";
  } catch (const std::exception& error) {
    words += ". Besides, " + Describe(error).reason + ". " + NewestCheckpoint();
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
    }
    ClearGradients(*run_.model);
    if (failed) DrainEngine();
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

}  // namespace medley
