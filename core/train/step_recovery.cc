#include <medley/train/step_recovery.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <set>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/interrupt.h>
#include <medley/base/random.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/memory/batch_bytes.h>
#include <medley/memory/meter.h>
#include <medley/model/device.h>
#include <medley/report/table.h>
#include <medley/step/abandon.h>
#include <medley/step/sample_rows.h>

namespace medley {

// The state that is saved is the one after the last whole step, so a try begins with its generators, and they
// are put back when all tries failed.
std::optional<StepLosses> StepRecovery::Gradients(std::int64_t step, const std::vector<Draw>& draws) {
  step_ = step;
  overflows_.clear();
  generators_ = SaveGenerators(setting_.device);
  Failure failure;
  do {
    TakeBack();
    try {
      return RunDraws(draws);  // losses that are not finite are errors too
    } catch (const c10::AcceleratorError&) {
      throw;
    } catch (const Interrupted&) {
      return Forget();
    } catch (const std::exception& error) {
      failure = Failure::Of(error, Step() + ": ");
    }
    Abandon(failure);
  } while (failure.out_of_memory && MakeRoom(draws));
  // Other failures name their task, and where the run ends nobody else asks.
  const bool asked = failure.out_of_memory || setting_.drops;
  std::string culprit;
  try {
    if (asked) culprit = FindCulprit(draws);
    if (failure.out_of_memory) AddMemoryHint(failure, culprit, draws);
  } catch (const Interrupted&) {
    return Forget();
  }
  TakeBack();
  TaskFailed(culprit, failure);
  return std::nullopt;
}

void StepRecovery::TakeBack() const { LoadGenerators(generators_, setting_.device); }

// An interrupt costs what was begun, and nothing else.
std::nullopt_t StepRecovery::Forget() const {
  Abandon({});
  TakeBack();
  return std::nullopt;
}

StepLosses StepRecovery::RunDraws(const std::vector<Draw>& draws) {
  const Prefetcher::Rows rows = setting_.prefetcher.Take(draws);
  setting_.memory.BeginDraws(rows.pieces);
  return setting_.executor.Run(rows.pieces, setting_.memory);
}

// Where the device failed too, every later call will, also those of a save.
void StepRecovery::Abandon(const Failure& failure) const {
  try {
    AbandonStep(setting_.model, setting_.device);
  } catch (const std::exception& error) {
    throw Error((failure.out_of_memory ? Step() + " ran out of memory" : failure.reason) +
                ", and then the device failed: " + Failure::Of(error).reason + ". " +
                NewestCheckpointWords(setting_.directory));
  }
}

// What is left of the step is gone by now. False where another try would fail too.
bool StepRecovery::MakeRoom(const std::vector<Draw>& draws) {
  const std::string& task = setting_.memory.running();
  const auto draw = std::find_if(draws.begin(), draws.end(), [&](const Draw& d) { return d.task == task; });
  const bool again = draw == draws.end() ? TryAgain() : CutTask(*draw);
  if (again) setting_.memory.BeginStep();
  return again;
}

// The draw did not fit: its task takes fewer rows at once.
bool StepRecovery::CutTask(const Draw& draw) {
  const std::int64_t left = setting_.memory.LeftBehind();
  PlanRecord record{
      .step = step_, .task = draw.task, .overflowed = setting_.memory.Failed(draw), .left_bytes = left};
  record.from = record.to = record.overflowed->micro_rows;
  const auto cut = setting_.plan.Cut(draw.task, draw.rows);
  if (cut) record.to = cut->to;
  setting_.sinks.Take(record);
  if (!cut) return false;
  overflows_.push_back({.task = draw.task,
                        .in_backward = setting_.memory.in_backward(),
                        .from = cut->from,
                        .to = cut->to,
                        .left_bytes = left});
  const std::string who = Step() + ": task " + draw.task;
  setting_.console.Warn(who + " ran out of memory with " + std::to_string(cut->from) +
                        " rows at once, in a " + (overflows_.back().in_backward ? "backward" : "forward") +
                        "; the same rows run again " + std::to_string(cut->to) + " at a time");
  if (IsLeak(left, setting_.device))
    setting_.console.Warn(who + " left " + FormatBytes(left) +
                          " behind when it ran out of memory. That is a bug, in the task or in medley");
  return true;
}

// Nobody's draw was being computed. What then takes little found no room: smaller micro-batches would not
// help, but what others let go since may.
bool StepRecovery::TryAgain() {
  const auto is_between = [](const Overflow& overflow) { return overflow.task.empty(); };
  if (std::any_of(overflows_.begin(), overflows_.end(), is_between)) return false;
  overflows_.push_back({});
  setting_.console.Warn(Step() + " ran out of memory between its draws; it runs again as it is");
  return true;
}

void StepRecovery::Fitted(std::int64_t step, const std::vector<Draw>& draws) {
  for (const PlanInForce::Change& change : setting_.plan.Fitted(draws)) {
    setting_.console.Say("step " + std::to_string(step) + ": task " + change.task + " tries " +
                         std::to_string(change.to) + " rows at once again, after " +
                         std::to_string(change.from));
    setting_.sinks.Take(PlanRecord{.step = step, .task = change.task, .from = change.from, .to = change.to});
  }
}

// One task of the step's failed: the one that was being computed. Where none was, that is found by running
// each alone.
std::string StepRecovery::FindCulprit(const std::vector<Draw>& draws) {
  std::set<std::string> tasks;
  for (const Draw& draw : draws) tasks.insert(draw.task);
  if (tasks.size() == 1) return *tasks.begin();
  if (!setting_.memory.running().empty()) return setting_.memory.running();
  for (const std::string& task : tasks) {
    std::vector<Draw> own;
    for (const Draw& draw : draws) {
      if (draw.task == task) own.push_back(draw);
    }
    if (FailureOf([&] { RunDraws(own); })) return task;
  }
  return "";
}

// The peak is still that of the step that failed, or of the search for the culprit.
void StepRecovery::AddMemoryHint(Failure& failure, const std::string& culprit,
                                 const std::vector<Draw>& draws) {
  const MemoryReading memory = ReadMemory(setting_.device);
  failure.reason += ". " + (culprit.empty() ? "The step's tasks together do" : "Task " + culprit + " does") +
                    " not fit: " + FormatBytes(static_cast<double>(memory.now)) +
                    " are in use between steps, the peak was " +
                    FormatBytes(static_cast<double>(memory.peak)) + ". ";
  setting_.prefetcher.Expect({});  // what waits would be in the way
  Draw largest;
  for (const Draw& draw : draws) {
    if (draw.task == culprit && draw.rows > largest.rows) largest = draw;
  }
  const bool is_known = !culprit.empty() && setting_.host.IsLoaded(setting_.plan.FormOf(culprit));
  failure.reason += is_known ? AdviceFor(largest) : AdviceFor(draws);
}

// Each task by itself fitted, or none was loaded yet.
std::string StepRecovery::AdviceFor(const std::vector<Draw>& draws) {
  for (std::size_t count = draws.size() / 2; count > 0; count /= 2) {
    if (Fits({draws.begin(), draws.begin() + static_cast<std::ptrdiff_t>(count)}))
      return "It was tried: they fit with draws_per_step=" + std::to_string(count);
  }
  return "Lower rows and micro_rows of the tasks";
}

std::string StepRecovery::AdviceFor(const Draw& draw) {
  return MemoryAdvice({.task = setting_.plan.FormOf(draw.task),
                       .rows = draw.rows,
                       .execution = setting_.plan.Of(draw.task),
                       .variant = setting_.host.Variant(setting_.plan.FormOf(draw.task)),
                       .draws_per_step = setting_.draws_per_step,
                       .draws_ahead = setting_.draws_ahead,
                       .budget = setting_.budget.bytes,
                       .machine = setting_.budget.total},
                      [&](const Attempt& attempt) { return Fits(draw, attempt); });
}

bool StepRecovery::Fits(const std::vector<Draw>& draws) {
  return !FailureOf([&] { RunDraws(draws); });
}

// What is left of it is gone then. An interrupt is none, and where the device failed nothing can be tried.
std::optional<Failure> StepRecovery::FailureOf(const std::function<void()>& work) const {
  std::optional<Failure> failure;
  try {
    work();
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    failure = Failure::Of(error, Step() + ": ");
  }
  Abandon(failure.value_or(Failure()));
  HeedInterrupt();
  return failure;
}

// The rows of the other draws are stood in for by as many bytes.
bool StepRecovery::Fits(const Draw& draw, const Attempt& attempt) {
  return !FailureOf([&] {
    LoadedTask& task = setting_.host.Get(setting_.plan.FormOf(draw.task));
    const RowRange range{
        .seed = TaskSeed(setting_.seed, draw.task), .begin = draw.begin, .count = attempt.rows};
    const Batch rows = SampleRows(task, range, setting_.device);
    const at::Tensor others = at::empty({(attempt.waiting - 1) * BytesOf(rows)}, at::kByte);
    setting_.executor.Run({{.task = &task, .batch = &rows, .execution = &attempt.execution}});
  });
}

void StepRecovery::TaskFailed(const std::string& task, const Failure& failure) {
  if (task.empty() || !setting_.drops) {
    failure_ = failure;
  } else {
    Drop(task, failure);
  }
}

void StepRecovery::Drop(const std::string& task, const Failure& failure) {
  if (!setting_.stages.Drop(task, failure.reason)) {
    failure_ = {"no task is left: " + failure.reason, failure.code};
    return;
  }
  setting_.memory.PhaseChanges();
  setting_.console.Warn("the task " + task +
                        " is dropped from here on (on_task_error: drop): " + failure.reason);
}

}  // namespace medley
