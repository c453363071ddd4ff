#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <medley/base/error.h>
#include <medley/checkpoint/checkpoint_keeper.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/report/progress.h>
#include <medley/report/record_sink.h>
#include <medley/train/admission.h>
#include <medley/train/at_return.h>
#include <medley/train/blame.h>
#include <medley/train/failure.h>
#include <medley/train/memory_watch.h>
#include <medley/train/resumed_training.h>
#include <medley/train/step_attempt.h>

namespace medley {

// The loop. Every step is a handful of calls to its collaborators.
//
// To be used on one thread, which alone computes; data threads sample beside it. It installs no signal
// handler: what asks for an interrupt (base/interrupt.h) is its owner's.
class Trainer : public ResumedTraining {
 public:
  // Keeps references. The plan is of all named forms, the mixer has the first stage's mixture.
  Trainer(Run& run, PlanInForce& plan, WeightLog& log, Admission& admission, Console& console,
          TrainerStart start);

  // Until so many steps are done in all, or the run ends: its steps, its last stage or an early decay are
  // done, its hours are over, or an interrupt was asked for. Saved in each case, but for kUnsaved. An
  // interrupt costs the step or evaluation that is under way: who goes on begins it anew. A task's error
  // under on_task_error "stop", or a gradient that is not finite, is thrown after what was trained was saved;
  // with the error's own code, and kDoesNotFit where memory ran out. Whatever is thrown stands in the
  // console's log too.
  ExitCode Train(std::int64_t until = std::numeric_limits<std::int64_t>::max(),
                 AtReturn leaves = AtReturn::kSaved);
  // Tells this one too, behind the run's own, from now on; it outlives the trainer.
  void Tell(RecordSink& sink) { sinks_.Add(sink); }
  // The scores of the active tasks now, of so many of the rows that the run is evaluated on; 0: of as many as
  // its evaluations have. Nothing of it is the run's: it goes on as if nobody had asked. What a task throws
  // passes, and so does Interrupted.
  std::map<std::string, ScoreRecord> Score(std::int64_t rows);
  // An edit of the weights, between two steps: see WeightEdits::Take.
  void Edit(const std::string& text);

  // Why the run is over, in words; "" where this is just as far as it was asked to go.
  std::string WhyOver() const;

  std::int64_t step() const { return step_; }  // steps done
  const Evaluation& evaluation() const { return evaluation_; }
  const std::map<std::string, std::string>& dropped() const { return stages_.dropped(); }

 private:
  struct Trained {};
  // What became of a step; a Failure says why the run must end.
  using Outcome = std::variant<Trained, DroppedTask, InterruptedStep, Failure>;

  ExitCode TrainOn(std::int64_t until, AtReturn leaves);
  bool IsOver();
  Outcome Start();
  bool Done(std::int64_t until);
  Outcome Step();
  std::vector<Draw> NextDraws();
  std::optional<Outcome> Predict();
  std::optional<Outcome> TrainOnDraws(StepRecord& record);
  std::optional<Outcome> TryAtScales(StepRecord& record, const LossScale& begun);
  std::optional<StepAttempt::Outcome> Gradients(const StepRecord& record);
  void SayWhatWasNotJudged();
  void KeepRules();
  Outcome GoOnWithoutTask();
  Outcome Blamed(const std::vector<Draw>& draws, const Failure& failure);
  std::optional<Failure> UpdateWeights(StepRecord& record);
  void Measure(StepRecord& record);
  Outcome Conclude(StepRecord record);
  void Edited();
  bool GoOnInStages();
  void WatchHours();
  void SaveBeforeFalls(const std::optional<MeanEvaluation>& evaluated);
  std::optional<Failure> EvaluateIfDue(StepRecord& record);
  std::optional<Outcome> EvaluateAtStart();
  bool WarnOfGuard();
  [[noreturn]] void SaveAndFail(const Failure& failure);

  std::optional<SavingTogether> SavesTogether();
  // In run.json, for who looks at the run.
  void NoteEnd(RunEnd how, const std::string& why);
  // The table at the end of a run: what every task got and where it stands; and what was not as it should be.
  std::string Summary() const;
  // What few want to know: shares, memory and times.
  std::string Account() const;
  // Of the steps' time, what went into waiting for rows.
  double ShareWaited() const;
  void SayEnd();

  Progress progress_;
  RecordSinks sinks_;
  CheckpointKeeper checkpoints_;
  MemoryWatch memory_;
  StepAttempt attempt_;
  Blame blame_;
  WeightEdits edits_;
  std::optional<Predictor> predictor_;
  bool started_ = false;
  double seconds_in_steps_ = 0;  // since the run was started or resumed
  double exchanged_ = 0;         // of the agreement's seconds in exchanges, those of earlier steps
  double step_started_ = 0;
};

}  // namespace medley
