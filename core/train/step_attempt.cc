#include <medley/train/step_attempt.h>

#include <algorithm>
#include <cmath>

#include <medley/base/bytes.h>
#include <medley/base/interrupt.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/memory/meter.h>
#include <medley/step/abandon.h>

namespace medley {

StepAttempt::Outcome StepAttempt::Gradients(std::int64_t step, const std::vector<Draw>& draws) {
  step_ = step;
  overflows_.clear();
  generators_.reset();
  setting_.agreement.Begin(step);
  StepLosses losses;
  try {
    const std::optional<Failure> own = TryUntilItFits(draws, losses);
    std::optional<Failure> failure = setting_.agreement.Close(own, Running(), losses);
    if (failure && !own) Abandon(*failure);
    if (!failure) failure = Checked(losses);
    if (failure) return *failure;
    return losses;
  } catch (const Interrupted&) {
    TakeBack();
    return InterruptedStep();
  }
}

// Whose draw, or else whose rows; "" for nobody's.
const std::string& StepAttempt::Running() const {
  return !setting_.memory.running().empty() ? setting_.memory.running()
         : !checking_.empty()               ? checking_
                                            : setting_.prefetcher.taking();
}

// A loss that is not finite is an error too.
std::optional<Failure> StepAttempt::Checked(const StepLosses& losses) const {
  std::optional<Failure> failure = Try([&] { StepExecutor::Check(losses); });
  for (const auto& [task, terms] : losses) {
    const auto is_bad = [](const auto& term) { return !std::isfinite(term.second.sum); };
    if (failure && failure->task.empty() && std::ranges::any_of(terms, is_bad)) failure->task = task;
  }
  return failure;
}

std::optional<Failure> StepAttempt::TryUntilItFits(const std::vector<Draw>& draws, StepLosses& losses) {
  while (true) {
    std::optional<Failure> failure = Try([&] {
      BeginWithTheStepsGenerators();
      losses = Compute(draws);
    });
    if (!failure || !failure->out_of_memory || !MakeRoom(computed_)) return failure;
  }
}

// The state that is saved is the one after the last whole step, so a try begins with its generators, and they
// are put back when all tries failed.
void StepAttempt::BeginWithTheStepsGenerators() {
  if (!generators_) generators_.emplace(setting_.device);
  TakeBack();
}

void StepAttempt::TakeBack() const {
  if (generators_) generators_->PutBack();  // else no try began
}

StepLosses StepAttempt::Compute(const std::vector<Draw>& draws) {
  std::vector<StepExecutor::Piece> elsewhere;
  computed_ = setting_.division.OwnPart(draws);
  for (const Draw& draw : draws) {
    const auto is_own = [&](const Draw& own) { return own.task == draw.task; };
    if (std::ranges::any_of(computed_, is_own)) continue;
    checking_ = draw.task;
    elsewhere.push_back({&setting_.prefetcher.Checked(draw.task), nullptr, &setting_.plan.Of(draw.task)});
  }
  checking_.clear();
  const Prefetcher::Rows rows = setting_.prefetcher.Take(computed_);
  setting_.memory.BeginDraws(rows.pieces);
  std::vector<StepExecutor::Piece> pieces = rows.pieces;
  pieces.insert(pieces.end(), elsewhere.begin(), elsewhere.end());
  StepExecutor& executor = setting_.executor;
  StepExecutor::Totals totals = executor.Begin(pieces);
  setting_.agreement.Count(totals.losses);
  executor.Accumulate(pieces, totals, setting_.memory);
  at::Tensor norms;
  if (setting_.reads_along != nullptr) norms = setting_.reads_along->AskNorms();
  StepLosses losses = StepExecutor::Read(std::move(totals), &norms);
  if (norms.defined()) setting_.reads_along->TakeNorms(norms);
  return losses;
}

StepLosses StepAttempt::RunDraws(const std::vector<Draw>& draws) {
  const Prefetcher::Rows rows = setting_.prefetcher.Take(draws);
  setting_.memory.BeginDraws(rows.pieces);
  return setting_.executor.Run(rows.pieces, setting_.memory);
}

// What was computed until then is gone, also where it passes an interrupt on.
std::optional<Failure> StepAttempt::Try(const std::function<void()>& work) const {
  std::optional<Failure> failure;
  bool interrupted = false;
  try {
    work();
    return std::nullopt;
  } catch (const Interrupted&) {
    interrupted = true;
  } catch (const std::exception& error) {
    if (EndsTheRun(error)) throw;
    failure = Failure::Of(error, Words() + ": ");
  }
  Abandon(failure.value_or(Failure()));
  if (interrupted) throw Interrupted();
  return failure;
}

std::optional<Failure> StepAttempt::FailureOf(const std::function<void()>& work) const {
  std::optional<Failure> failure = Try(work);
  if (!failure) Abandon({});
  HeedInterrupt();
  return failure;
}

// Where the device failed too, every later call will, also those of a save.
void StepAttempt::Abandon(const Failure& failure) const {
  try {
    AbandonStep(setting_.model, setting_.device);
  } catch (const std::exception& error) {
    throw Error((failure.out_of_memory ? Words() + " ran out of memory" : failure.reason) +
                ", and then the device failed: " + Failure::Of(error).reason + ". " +
                NewestCheckpointWords(setting_.run));
  }
}

// What is left of the step is gone by now. False where another try would fail too.
bool StepAttempt::MakeRoom(const std::vector<Draw>& draws) {
  const std::string& task = setting_.memory.running();
  const auto draw = std::ranges::find(draws, task, &Draw::task);
  const bool again = draw == draws.end() ? TryAgain() : CutTask(*draw);
  if (again) setting_.memory.BeginStep();
  return again;
}

// The draw did not fit: its task takes fewer rows at once.
bool StepAttempt::CutTask(const Draw& draw) {
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
  const std::string who = Words() + ": task " + draw.task;
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
bool StepAttempt::TryAgain() {
  const auto is_between = [](const Overflow& overflow) { return overflow.task.empty(); };
  if (std::ranges::any_of(overflows_, is_between)) return false;
  overflows_.push_back({});
  setting_.console.Warn(Words() + " ran out of memory between its draws; it runs again as it is");
  return true;
}

void StepAttempt::Fitted(std::int64_t step, const std::vector<Draw>& draws) {
  for (const PlanInForce::Change& change : setting_.plan.Fitted(draws)) {
    setting_.console.Say("step " + std::to_string(step) + ": task " + change.task + " tries " +
                         std::to_string(change.to) + " rows at once again, after " +
                         std::to_string(change.from));
    setting_.sinks.Take(PlanRecord{.step = step, .task = change.task, .from = change.from, .to = change.to});
  }
}

}  // namespace medley
