#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/mixer.h>
#include <medley/model/model.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>
#include <medley/report/records.h>
#include <medley/train/failure.h>
#include <medley/train/memory_watch.h>
#include <medley/train/phases/jump_trial.h>
#include <medley/train/phases/phase_state.h>
#include <medley/train/prefetcher.h>
#include <medley/train/rounds.h>
#include <medley/train/step_attempt.h>
#include <medley/train/table_room.h>
#include <medley/update/loss_scale.h>
#include <medley/update/optimizer.h>

namespace medley {

// For tests, by the step before a prediction.
struct PredictorHooks {
  std::function<bool(std::int64_t)> is_due{};               // instead of the clock's word and the account's
  std::function<double(std::int64_t)> stretch{};            // times the candidate's size
  std::function<void(at::Tensor&)> meddle{};                // with the averages that the model is lent
  std::function<bool(std::int64_t, bool taken)> verdict{};  // instead of the trial's
};

// The phases of a run (docs/phases.md): predicts weights between two steps, jumps where the trial says so,
// and watches the steps after a jump. A prediction and the step behind it are one: as long as that step is
// not done nothing was predicted, and whoever goes on predicts the same again.
//
// Where several processes train the run each has one, in the same state: the first one's looks at rows, and
// what it found holds for all.
//
// On the trainer's thread. A step is Predict, Gradients, Trained.
class Predictor {
 public:
  // References outlive it. The config has phases, and the optimizer their directions.
  struct Setting {
    const RunConfig& config;
    at::Device device;
    const Model& model;
    const References* references;  // null: each is the model itself
    Optimizer& optimizer;
    const LossScale& loss_scale;
    const Mixer& mixer;
    PhaseState& state;                  // as loaded
    std::optional<PhaseState>& before;  // that, before a prediction whose step is not done
    StepAttempt& attempt;
    MemoryWatch& memory;
    Prefetcher& tasks;
    const PlanInForce& plan;
    TableRoom& tables;
    RecordSinks& sinks;
    Console& console;
    Rounds& rounds;
    PredictorHooks hooks{};
  };
  explicit Predictor(const Setting& setting);

  // After so many steps, before the next: predicts where that is due. `rate`: the next step's learning rate,
  // but for the run's schedule. A task that failed meanwhile is the caller's to judge; nothing was predicted
  // then. Throws Interrupted; a device that fails (c10::AcceleratorError) passes.
  struct FailedTask {
    std::string task;
    Failure failure;

    auto Fields() { return std::tie(task, failure); }
  };
  std::optional<FailedTask> Predict(std::int64_t step, double rate);
  // As StepAttempt's. The first step behind a jump is computed with the weights that it leads to, and decides
  // on it: they are the weights from then on, or nothing comes back, and the caller asks once more, for the
  // same draws without it. A gradient that is not finite, at a loss scale that can be halved, decides
  // nothing: the caller asks again at half of it.
  std::optional<StepAttempt::Outcome> Gradients(std::int64_t step, const std::vector<Draw>& draws);
  // The step was done. Adds its phase to the record, and writes down what changed.
  void Trained(StepRecord& record);
  // Something changed that the losses depend on, in words: nothing is predicted before `full` has lasted its
  // steps again.
  void Settle(std::int64_t step, const std::string& why);

 private:
  // A candidate that the trial took.
  struct Candidate {
    Jump jump;
    double size = 0;     // of it, with what was repeated
    double stretch = 1;  // see PredictorHooks
    JumpVerdict verdict;
    std::int64_t forwards = 0;
    double fall = 0;  // of the training loss, for one row-forward
  };

  void Forget();
  bool Repeats() const;
  const Jump& NextJump() const;
  double FallSinceMark(const std::map<std::string, double>& shares) const;
  std::map<std::string, double> SharesInForce() const;
  bool IsDue(std::int64_t step, std::int64_t price) const;
  Displacement Of(const Candidate& candidate, double size) const;
  double StepsOf(const Jump& jump, double size) const;
  Displacement ByItself() const;
  std::string WhyImpossible(const Displacement& displacement);
  std::optional<FailedTask> Look(const std::map<std::string, double>& shares, Candidate& candidate);
  std::optional<FailedTask> FirstsLook(const std::map<std::string, double>& shares, Candidate& candidate);
  std::optional<FailedTask> Round(const std::map<std::string, double>& shares,
                                  const std::vector<Displacement>& displacements, Candidate& candidate,
                                  std::map<std::string, TrialLosses>& losses);
  std::optional<FailedTask> Repeat(const std::map<std::string, double>& shares, Candidate& candidate);
  void Conclude(std::int64_t step, Candidate candidate, double seconds);
  bool IsUndecided() const;
  std::string WhyUndone(const StepAttempt::Outcome& outcome, bool finite) const;
  void Take();
  void Undo(const std::string& why, const std::vector<Draw>& draws);
  JumpChoice& ChoiceOf(const Jump& jump);
  PhaseRecord Changed(std::int64_t step, const std::string& from, const std::string& to,
                      const std::string& why = "");
  void Write(const PhaseRecord& record);

  Setting setting_;
  Directions& directions_;
  JumpTrial trial_;
  std::optional<Candidate> jump_;     // that the next step decides on
  std::vector<PhaseRecord> changes_;  // of that step, not written so far
};

}  // namespace medley
