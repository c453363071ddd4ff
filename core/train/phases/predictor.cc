#include <medley/train/phases/predictor.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/report/table.h>
#include <medley/step/abandon.h>

namespace medley {
namespace {

constexpr double kAheadByItself = 25;  // steps
constexpr int kMostRepeats = 16;

std::int64_t RowsOf(const std::vector<Draw>& draws) {
  std::int64_t rows = 0;
  for (const Draw& draw : draws) rows += draw.rows;
  return rows;
}

std::string Words(const JumpRecord& jump) {
  return jump.direction + " of " + FormatNumber(jump.steps) + " steps, gain " + FormatNumber(jump.gain) +
         " (standard error " + FormatNumber(jump.standard_error) + ")";
}

}  // namespace

Predictor::Predictor(const Setting& setting)
    : setting_(setting),
      directions_(*setting.optimizer.directions()),
      trial_({.seed = static_cast<std::uint64_t>(setting.config.seed),
              .device = setting.device,
              .model = setting.model,
              .references = setting.references,
              .directions = directions_,
              .tasks = setting.tasks,
              .plan = setting.plan,
              .tables = setting.tables,
              .rows_at_once = setting.state.rows_at_once}) {
  directions_.SetMeddler(setting.hooks.meddle);
}

// A step that was not done takes its prediction with it.
void Predictor::Forget() {
  if (setting_.before) setting_.state = *std::exchange(setting_.before, std::nullopt);
  jump_.reset();
  changes_.clear();
}

std::map<std::string, double> Predictor::SharesInForce() const {
  const Mixer& mixer = setting_.mixer;
  const auto all = mixer.Shares();
  std::map<std::string, double> shares;
  double sum = 0;
  for (const std::string& task : mixer.mixture().Active()) sum += shares[task] = all.at(task).asked;
  for (auto& [task, share] : shares) share = sum > 0 ? share / sum : 1 / static_cast<double>(shares.size());
  return shares;
}

bool Predictor::IsDue(std::int64_t step, std::int64_t price) const {
  if (setting_.hooks.is_due) return setting_.hooks.is_due(step);
  const PhaseState& state = setting_.state;
  const bool repeats = setting_.config.optimizer.keeps_last_step && state.clock.FastForwards();
  return (state.clock.Predicts() || repeats) && state.account.Pays(price);
}

// In steps' worth of what it moves.
double Predictor::StepsOf(const Jump& jump, double size) const {
  const auto full = static_cast<double>(setting_.config.phases->full_steps);
  return jump.direction == Direction::kLastStep ? size : size * full;
}

// The average's displacement in a step is (1 - decay) / decay of its way to the weights.
Displacement Predictor::Of(const Candidate& candidate, double size) const {
  const double steps = candidate.stretch * StepsOf(candidate.jump, size);
  const double decay = setting_.config.optimizer.average;
  if (candidate.jump.direction == Direction::kTrend) return {Direction::kTrend, steps * (1 - decay) / decay};
  if (candidate.jump.direction == Direction::kLastStep) return {Direction::kLastStep, steps};
  return {Direction::kLine, steps / (10 * static_cast<double>(setting_.state.clock.spacing()))};
}

// Where the average gets in the next steps for nothing: never beyond the weights.
Displacement Predictor::ByItself() const {
  const double decay = setting_.config.optimizer.average;
  return {Direction::kTrend, std::min(1.0, kAheadByItself * (1 - decay) / decay)};
}

std::optional<Predictor::FailedTask> Predictor::Predict(std::int64_t step, double rate) {
  Forget();
  PhaseState& state = setting_.state;
  const std::map<std::string, double> shares = SharesInForce();
  std::vector<std::string> tasks;
  for (const auto& [task, share] : shares) tasks.push_back(task);
  if (state.rate != 0 && rate != state.rate) Settle(step, "the learning rate is another one");
  if (!state.tasks.empty() && tasks != state.tasks) Settle(step, "other tasks are drawn");
  state.rate = rate;
  state.tasks = tasks;
  if (!IsDue(step, 2 * JumpTrial::kRows * static_cast<std::int64_t>(tasks.size()))) return std::nullopt;
  setting_.before = state;
  const auto begun = std::chrono::steady_clock::now();
  changes_.push_back(Changed(step, EnumName(state.clock.now()), "predict"));
  Candidate candidate;
  if (setting_.hooks.stretch) candidate.stretch = setting_.hooks.stretch(step);
  if (auto failed = FirstsLook(shares, candidate)) {
    Forget();
    return failed;
  }
  Conclude(step, std::move(candidate),
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return std::nullopt;
}

// No task's fault.
std::string Predictor::WhyImpossible(const Displacement& displacement) {
  try {
    directions_.MovedAverages(displacement);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// On all processes. What a forward gives differs from machine to machine, and what follows from it may not.
std::optional<Predictor::FailedTask> Predictor::FirstsLook(const std::map<std::string, double>& shares,
                                                           Candidate& candidate) {
  candidate.jump = NextJump();
  candidate.fall = FallSinceMark(shares);
  std::optional<FailedTask> failed;
  std::int64_t& events = setting_.state.events;
  std::tie(failed, candidate.verdict, candidate.size, candidate.forwards, events) =
      setting_.rounds.Firsts([&] {
        auto own = Look(shares, candidate);
        return std::tuple(std::move(own), candidate.verdict, candidate.size, candidate.forwards, events);
      });
  return failed;
}

bool Predictor::Repeats() const {
  return setting_.config.optimizer.keeps_last_step && !setting_.state.clock.Predicts();
}

const Jump& Predictor::NextJump() const {
  return Repeats() ? setting_.state.repeats.Next() : setting_.state.jumps.Next();
}

// Of the training loss, for one row-forward.
double Predictor::FallSinceMark(const std::map<std::string, double>& shares) const {
  const PhaseState& state = setting_.state;
  const std::int64_t since = state.account.SinceMark();
  return since > 0 ? std::max(0.0, state.losses.FallSinceMark(shares)) / static_cast<double>(since) : 0;
}

// The next candidate, against what comes by itself.
std::optional<Predictor::FailedTask> Predictor::Look(const std::map<std::string, double>& shares,
                                                     Candidate& candidate) {
  candidate.size = candidate.jump.size;
  candidate.verdict.refused = WhyImpossible(Of(candidate, candidate.size));
  if (!candidate.verdict.refused.empty()) return std::nullopt;
  try {
    std::map<std::string, TrialLosses> losses;
    if (auto failed = Round(shares, {ByItself(), Of(candidate, candidate.size)}, candidate, losses))
      return failed;
    const double least = candidate.fall * static_cast<double>(candidate.forwards);
    candidate.verdict = JudgeJump(losses, shares, least);
    if (Repeats() && candidate.verdict.refused.empty()) {
      if (auto failed = Repeat(shares, candidate)) return failed;
    }
  } catch (const c10::OutOfMemoryError&) {
    AbandonForward(setting_.device);
    candidate.verdict.refused = "not one probe row fits into the memory that is left";
  }
  ++setting_.state.events;
  return std::nullopt;
}

std::optional<Predictor::FailedTask> Predictor::Round(const std::map<std::string, double>& shares,
                                                      const std::vector<Displacement>& displacements,
                                                      Candidate& candidate,
                                                      std::map<std::string, TrialLosses>& losses) {
  for (const auto& [task, share] : shares) {
    try {
      losses[task] = trial_.Losses(task, setting_.state.events, displacements);
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      if (EndsTheRun(error)) throw;
      AbandonForward(setting_.device);
      return FailedTask{task, Failure::Of(error, "a prediction, rows of task " + task + ": ")};
    }
    candidate.forwards += JumpTrial::kRows * static_cast<std::int64_t>(displacements.size());
  }
  return std::nullopt;
}

// The same step once more, as long as each gains over the one before.
std::optional<Predictor::FailedTask> Predictor::Repeat(const std::map<std::string, double>& shares,
                                                       Candidate& candidate) {
  const std::int64_t price = 2 * JumpTrial::kRows * static_cast<std::int64_t>(shares.size());
  for (int repeat = 0; repeat < kMostRepeats && setting_.state.account.Pays(candidate.forwards + price);
       ++repeat) {
    const double further = candidate.size + candidate.jump.size;
    std::map<std::string, TrialLosses> losses;
    const std::int64_t before = candidate.forwards;
    if (auto failed =
            Round(shares, {Of(candidate, candidate.size), Of(candidate, further)}, candidate, losses))
      return failed;
    const JumpVerdict verdict =
        JudgeJump(losses, shares, candidate.fall * static_cast<double>(candidate.forwards - before));
    if (!verdict.refused.empty()) break;
    candidate.size = further;
    candidate.verdict.gain += verdict.gain;
    for (const auto& [task, change] : verdict.tasks) candidate.verdict.tasks[task].to = change.to;
  }
  return std::nullopt;
}

void Predictor::Conclude(std::int64_t step, Candidate candidate, double seconds) {
  PhaseState& state = setting_.state;
  state.account.Spent(candidate.forwards);
  bool taken = candidate.verdict.refused.empty();
  if (setting_.hooks.verdict) taken = setting_.hooks.verdict(step, taken);
  JumpRecord jump{.direction = EnumName(candidate.jump.direction),
                  .steps = StepsOf(candidate.jump, candidate.size),
                  .tasks = candidate.verdict.tasks,
                  .gain = candidate.verdict.gain,
                  .standard_error = candidate.verdict.standard_error,
                  .forwards = candidate.forwards,
                  .taken = taken,
                  .why = candidate.verdict.refused};
  PhaseRecord record = Changed(step, "predict", taken ? "correct" : EnumName(state.clock.now()));
  record.jump = std::move(jump);
  record.seconds = seconds;
  changes_.push_back(std::move(record));
  state.losses.Mark();
  state.account.Mark();
  if (taken) {
    jump_ = std::move(candidate);
  } else {
    ChoiceOf(candidate.jump).Refused();
  }
}

JumpChoice& Predictor::ChoiceOf(const Jump& jump) {
  return jump.direction == Direction::kLastStep ? setting_.state.repeats : setting_.state.jumps;
}

std::optional<StepAttempt::Outcome> Predictor::Gradients(std::int64_t step, const std::vector<Draw>& draws) {
  if (!IsUndecided()) return setting_.attempt.Gradients(step, draws);
  StepAttempt::Outcome outcome;
  {
    const LentWeights jumped = directions_.MovedWeights(Of(*jump_, jump_->size));
    outcome = setting_.attempt.Gradients(step, draws);
  }
  if (std::holds_alternative<InterruptedStep>(outcome)) return outcome;
  const bool finite = std::holds_alternative<StepLosses>(outcome) && setting_.optimizer.GradientIsFinite();
  const std::string why = WhyUndone(outcome, finite);
  if (why.empty() && !finite) return outcome;
  if (why.empty()) {
    Take();
    return outcome;
  }
  Undo(why, draws);
  return std::nullopt;
}

// A jump is ahead: neither taken nor undone in an earlier try of the step.
bool Predictor::IsUndecided() const { return jump_ && changes_.back().jump->taken; }

// Training without the jump may not fail; "" too where the same may be finite at a lower loss scale.
std::string Predictor::WhyUndone(const StepAttempt::Outcome& outcome, bool finite) const {
  if (const auto* failure = std::get_if<Failure>(&outcome)) return failure->reason;
  const std::string beyond = setting_.state.losses.Beyond(TotalLosses(std::get<StepLosses>(outcome)));
  if (!beyond.empty()) return beyond;
  return finite || setting_.loss_scale.CanHalve() ? "" : "the gradient is not finite";
}

void Predictor::Take() {
  PhaseState& state = setting_.state;
  directions_.Move(Of(*jump_, jump_->size));
  ChoiceOf(jump_->jump).Taken();
  state.clock.Jumped();
  const double worth =
      jump_->fall > 0 ? jump_->verdict.gain / jump_->fall : std::numeric_limits<double>::infinity();
  state.account.Earned(worth);
}

// As if the trial had refused it.
void Predictor::Undo(const std::string& why, const std::vector<Draw>& draws) {
  PhaseState& state = setting_.state;
  ClearGradients(setting_.model);
  setting_.attempt.TakeBack();
  setting_.memory.BeginStep();
  ChoiceOf(jump_->jump).Refused();
  state.account.Undone(RowsOf(draws));
  PhaseRecord& record = changes_.back();
  record.to = EnumName(state.clock.now());
  record.jump->taken = false;
  record.jump->why = "undone: " + why;
  record.jump->forwards += ForwardAccount::kTrainedRow * RowsOf(draws);
}

void Predictor::Trained(StepRecord& record) {
  PhaseState& state = setting_.state;
  const bool is_first = jump_ && changes_.back().jump->taken;
  const std::string beyond = !is_first && state.clock.now() == Phase::kCorrect
                                 ? state.losses.Beyond(TotalLosses(record.losses))
                                 : "";
  for (const PhaseRecord& change : changes_) Write(change);
  changes_.clear();
  jump_.reset();
  setting_.before.reset();
  const Phase phase = state.clock.now();
  record.phase = EnumName(phase);
  state.losses.Add(TotalLosses(record.losses));
  state.account.Trained(record.rows());
  state.clock.Trained();
  if (!beyond.empty()) {
    Settle(record.step, beyond);
  } else if (state.clock.now() != phase) {
    Write(Changed(record.step, EnumName(phase), EnumName(state.clock.now())));
  }
  if (phase == Phase::kWarmup && state.clock.now() == Phase::kFull) {
    state.losses.Mark();
    state.account.Mark();
  }
  if (const auto snapshot = state.clock.Snapshot()) directions_.Snapshot(*snapshot);
}

void Predictor::Settle(std::int64_t step, const std::string& why) {
  Forget();
  PhaseState& state = setting_.state;
  const Phase phase = state.clock.now();
  if (phase == Phase::kWarmup) return;
  state.clock.Settle();
  state.losses.Mark();
  state.account.Mark();
  setting_.console.Log("step " + std::to_string(step) + ": nothing is predicted for " +
                       std::to_string(setting_.config.phases->full_steps) + " steps: " + why);
  if (phase != Phase::kFull) Write(Changed(step, EnumName(phase), EnumName(Phase::kFull), why));
}

PhaseRecord Predictor::Changed(std::int64_t step, const std::string& from, const std::string& to,
                               const std::string& why) {
  return {.step = step, .from = from, .to = to, .why = why, .memory = setting_.memory.Transition()};
}

void Predictor::Write(const PhaseRecord& record) {
  setting_.sinks.Take(record);
  const PhaseMemory& memory = record.memory;
  const std::string at = "step " + std::to_string(record.step) + ": ";
  if (record.jump) {
    const JumpRecord& jump = *record.jump;
    const std::string words =
        at + (jump.taken ? "jumped: " : "no jump: ") + Words(jump) + (jump.taken ? "" : ": " + jump.why);
    jump.taken ? setting_.console.Say(words) : setting_.console.Log(words);
  }
  setting_.console.Log(at + record.from + " -> " + record.to + ": in use " + FormatBytes(memory.before) +
                       " before, " + FormatBytes(memory.after) + " after, peak " + FormatBytes(memory.peak) +
                       ", held " + FormatBytes(memory.held) + ", copies of the parameters " +
                       std::to_string(memory.copies));
}

}  // namespace medley
