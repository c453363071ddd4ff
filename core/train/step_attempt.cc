#include <medley/train/step_attempt.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/interrupt.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/memory/meter.h>
#include <medley/model/device.h>
#include <medley/step/abandon.h>

namespace medley {

StepAttempt::StepAttempt(const Run& run, std::filesystem::path directory, PlanInForce& plan,
                         Prefetcher& prefetcher, StepAgreement& agreement, MemoryWatch& memory,
                         RecordSinks& sinks, Console& console)
    : run_(run),
      directory_(std::move(directory)),
      plan_(plan),
      prefetcher_(prefetcher),
      agreement_(agreement),
      memory_(memory),
      sinks_(sinks),
      console_(console) {}

StepAttempt::Outcome StepAttempt::Gradients(std::int64_t step, const std::vector<Draw>& draws) {
  step_ = step;
  overflows_.clear();
  generators_ = nullptr;
  agreement_.Begin(step);
  StepLosses losses;
  try {
    const std::optional<Failure> own = TryUntilItFits(draws, losses);
    std::optional<Failure> failure = agreement_.Close(own, Running(), losses);
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
  return !memory_.running().empty() ? memory_.running()
         : !checking_.empty()       ? checking_
                                    : prefetcher_.taking();
}

// A loss that is not finite is an error too.
std::optional<Failure> StepAttempt::Checked(const StepLosses& losses) const {
  std::optional<Failure> failure = Try([&] { StepExecutor::Check(losses); });
  for (const auto& [task, terms] : losses) {
    const auto is_bad = [](const auto& term) { return !std::isfinite(term.second.sum); };
    if (failure && failure->task.empty() && std::any_of(terms.begin(), terms.end(), is_bad))
      failure->task = task;
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
  if (generators_.is_null()) generators_ = SaveGenerators(run_.device);
  TakeBack();
}

void StepAttempt::TakeBack() const {
  if (!generators_.is_null()) LoadGenerators(generators_, run_.device);  // else no try began
}

StepLosses StepAttempt::Compute(const std::vector<Draw>& draws) {
  std::vector<StepExecutor::Piece> elsewhere;
  for (const Draw& draw : draws) {
    if (agreement_.alone()) break;
    checking_ = draw.task;
    elsewhere.push_back({&prefetcher_.Checked(draw.task), nullptr, &plan_.Of(draw.task)});
  }
  checking_.clear();
  computed_ = agreement_.OwnPart(draws);
  const Prefetcher::Rows rows = prefetcher_.Take(computed_);
  memory_.BeginDraws(rows.pieces);
  std::vector<StepExecutor::Piece> pieces = rows.pieces;
  pieces.insert(pieces.end(), elsewhere.begin(), elsewhere.end());
  StepExecutor& executor = *run_.executor;
  StepExecutor::Totals totals = executor.Begin(pieces);
  agreement_.Count(totals.losses);
  executor.Accumulate(pieces, totals, memory_);
  return StepExecutor::Read(std::move(totals));
}

StepLosses StepAttempt::RunDraws(const std::vector<Draw>& draws) {
  const Prefetcher::Rows rows = prefetcher_.Take(draws);
  memory_.BeginDraws(rows.pieces);
  return run_.executor->Run(rows.pieces, memory_);
}

// What was computed until then is gone, also where it passes an interrupt on.
std::optional<Failure> StepAttempt::Try(const std::function<void()>& work) const {
  std::optional<Failure> failure;
  bool interrupted = false;
  try {
    work();
    return std::nullopt;
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const PeerError&) {
    throw;
  } catch (const ExchangeError&) {
    throw;
  } catch (const Interrupted&) {
    interrupted = true;
  } catch (const std::exception& error) {
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
    AbandonStep(*run_.model, run_.device);
  } catch (const std::exception& error) {
    throw Error((failure.out_of_memory ? Words() + " ran out of memory" : failure.reason) +
                ", and then the device failed: " + Failure::Of(error).reason + ". " +
                NewestCheckpointWords(directory_));
  }
}

// What is left of the step is gone by now. False where another try would fail too.
bool StepAttempt::MakeRoom(const std::vector<Draw>& draws) {
  const std::string& task = memory_.running();
  const auto draw = std::find_if(draws.begin(), draws.end(), [&](const Draw& d) { return d.task == task; });
  const bool again = draw == draws.end() ? TryAgain() : CutTask(*draw);
  if (again) memory_.BeginStep();
  return again;
}

// The draw did not fit: its task takes fewer rows at once.
bool StepAttempt::CutTask(const Draw& draw) {
  const std::int64_t left = memory_.LeftBehind();
  PlanRecord record{.step = step_, .task = draw.task, .overflowed = memory_.Failed(draw), .left_bytes = left};
  record.from = record.to = record.overflowed->micro_rows;
  const auto cut = plan_.Cut(draw.task, draw.rows);
  if (cut) record.to = cut->to;
  sinks_.Take(record);
  if (!cut) return false;
  overflows_.push_back({.task = draw.task,
                        .in_backward = memory_.in_backward(),
                        .from = cut->from,
                        .to = cut->to,
                        .left_bytes = left});
  const std::string who = Words() + ": task " + draw.task;
  console_.Warn(who + " ran out of memory with " + std::to_string(cut->from) + " rows at once, in a " +
                (overflows_.back().in_backward ? "backward" : "forward") + "; the same rows run again " +
                std::to_string(cut->to) + " at a time");
  if (IsLeak(left, run_.device))
    console_.Warn(who + " left " + FormatBytes(left) +
                  " behind when it ran out of memory. That is a bug, in the task or in medley");
  return true;
}

// Nobody's draw was being computed. What then takes little found no room: smaller micro-batches would not
// help, but what others let go since may.
bool StepAttempt::TryAgain() {
  const auto is_between = [](const Overflow& overflow) { return overflow.task.empty(); };
  if (std::any_of(overflows_.begin(), overflows_.end(), is_between)) return false;
  overflows_.push_back({});
  console_.Warn(Words() + " ran out of memory between its draws; it runs again as it is");
  return true;
}

void StepAttempt::Fitted(std::int64_t step, const std::vector<Draw>& draws) {
  for (const PlanInForce::Change& change : plan_.Fitted(draws)) {
    console_.Say("step " + std::to_string(step) + ": task " + change.task + " tries " +
                 std::to_string(change.to) + " rows at once again, after " + std::to_string(change.from));
    sinks_.Take(PlanRecord{.step = step, .task = change.task, .from = change.from, .to = change.to});
  }
}

}  // namespace medley
