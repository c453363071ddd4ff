#include <medley/train/blame.h>

#include <ATen/ops/empty.h>

#include <set>

#include <medley/base/bytes.h>
#include <medley/base/interrupt.h>
#include <medley/base/random.h>
#include <medley/memory/meter.h>
#include <medley/step/sample_rows.h>

namespace medley {

bool Blame::Drops() const { return setting_.config.on_task_error == "drop"; }

Blame::Verdict Blame::Judge(const std::vector<Draw>& draws, Failure failure) {
  // Other failures name their task, and where the run ends nobody else asks. What several processes agreed on
  // is the same on all; what each would find out by itself may not be.
  const bool asked = setting_.alone && (failure.out_of_memory || Drops());
  std::string culprit = setting_.alone ? "" : TaskOf(failure, draws);
  try {
    if (asked) culprit = FindCulprit(draws);
    if (setting_.alone && failure.out_of_memory) AddMemoryHint(failure, culprit, draws);
  } catch (const Interrupted&) {
    setting_.attempt.TakeBack();
    return InterruptedStep();
  }
  setting_.attempt.TakeBack();
  const std::optional<Failure> end = TaskFailed(culprit, failure);
  return end ? Verdict(*end) : DroppedTask();
}

std::string Blame::TaskOf(const Failure& failure, const std::vector<Draw>& draws) {
  std::set<std::string> tasks;
  for (const Draw& draw : draws) tasks.insert(draw.task);
  return failure.task.empty() && tasks.size() == 1 ? *tasks.begin() : failure.task;
}

// One task of the step's failed: the one that was being computed. Where none was, that is found by running
// each alone.
std::string Blame::FindCulprit(const std::vector<Draw>& draws) {
  std::set<std::string> tasks;
  for (const Draw& draw : draws) tasks.insert(draw.task);
  if (tasks.size() == 1) return *tasks.begin();
  if (!setting_.memory.running().empty()) return setting_.memory.running();
  for (const std::string& task : tasks) {
    std::vector<Draw> own;
    for (const Draw& draw : draws) {
      if (draw.task == task) own.push_back(draw);
    }
    if (setting_.attempt.FailureOf([&] { setting_.attempt.RunDraws(own); })) return task;
  }
  return "";
}

// The peak is still that of the step that failed, or of the search for the culprit.
void Blame::AddMemoryHint(Failure& failure, const std::string& culprit, const std::vector<Draw>& draws) {
  const MemoryReading memory = ReadMemory(setting_.device);
  failure.reason += ". " + (culprit.empty() ? "The step's tasks together do" : "Task " + culprit + " does") +
                    " not fit: " + FormatBytes(memory.now) + " are in use between steps, the peak was " +
                    FormatBytes(memory.peak) + ". ";
  setting_.prefetcher.Expect({});  // what waits would be in the way
  Draw largest;
  for (const Draw& draw : draws) {
    if (draw.task == culprit && draw.rows > largest.rows) largest = draw;
  }
  const bool is_known = !culprit.empty() && setting_.host.Find(setting_.plan.IdOf(culprit)) != nullptr;
  failure.reason += is_known ? AdviceFor(largest) : AdviceFor(draws);
}

// Each task by itself fitted, or none was loaded yet.
std::string Blame::AdviceFor(const std::vector<Draw>& draws) {
  for (std::size_t count = draws.size() / 2; count > 0; count /= 2) {
    if (Fits({draws.begin(), draws.begin() + static_cast<std::ptrdiff_t>(count)}))
      return "It was tried: they fit with draws_per_step=" + std::to_string(count);
  }
  return "Lower rows and micro_rows of the tasks";
}

std::string Blame::AdviceFor(const Draw& draw) {
  const DataConfig& data = setting_.config.data;
  const Form& form = setting_.plan.FormOf(draw.task);
  return MemoryAdvice({.form = form,
                       .rows = draw.rows,
                       .execution = setting_.plan.Of(draw.task),
                       .variant = setting_.host.Variant(form),
                       .draws_per_step = setting_.config.draws_per_step,
                       .draws_ahead = data.threads > 0 ? data.ahead : 0,
                       .budget = setting_.budget.bytes,
                       .machine = setting_.budget.total},
                      [&](const CutDraw& cut) { return Fits(draw, cut); });
}

bool Blame::Fits(const std::vector<Draw>& draws) {
  return !setting_.attempt.FailureOf([&] { setting_.attempt.RunDraws(draws); });
}

// The rows of the other draws are stood in for by as many bytes.
bool Blame::Fits(const Draw& draw, const CutDraw& cut) {
  return !setting_.attempt.FailureOf([&] {
    LoadedTask& task = setting_.host.Get(setting_.plan.FormOf(draw.task));
    const RowRange range{.seed = TaskSeed(static_cast<std::uint64_t>(setting_.config.seed), draw.task),
                         .begin = draw.begin,
                         .count = cut.rows};
    const Batch rows = SampleRows(task, range, setting_.device);
    const at::Tensor others = at::empty({(cut.waiting - 1) * BytesOf(rows)}, at::kByte);
    setting_.executor.Run({{.task = &task, .batch = &rows, .execution = &cut.execution}});
  });
}

std::optional<Failure> Blame::TaskFailed(const std::string& task, const Failure& failure) {
  if (task.empty() || !Drops()) return failure;
  if (!setting_.stages.Drop(task, failure.reason))
    return Failure{"no task is left: " + failure.reason, failure.code};
  setting_.memory.SizesChange();
  setting_.console.Warn("the task " + task +
                        " is dropped from here on (on_task_error: drop): " + failure.reason);
  return std::nullopt;
}

}  // namespace medley
