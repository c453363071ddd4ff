#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/file_watch.h>
#include <medley/base/interrupt.h>
#include <medley/cluster/assignment.h>
#include <medley/cluster/cluster.h>
#include <medley/cluster/roll_call.h>
#include <medley/curriculum/mixer.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/term_loss.h>
#include <medley/run/run.h>
#include <medley/train/failure.h>

namespace medley {

// What is read of a run's weights file: by its first process alone.
struct WeightsFileLook {
  std::optional<std::string> text;
  std::string problem;  // why there is none
};

// What the processes of a run agree upon in each step, so that all of them do the same: who computes which
// rows, how many items the step has, whether it stops, failed or goes on, and what its gradients are. For a
// process alone it says what that knows itself, and costs nothing.
//
// On the trainer's thread. A step is Begin, Count as often as it is tried, Close. Between two steps all of
// them call WaitForAll, FirstsWords, Everyones, Any and AllOrNone at the same places, or none does. While it
// lives, an interrupt is heeded where Count says so, and nowhere else.
class StepAgreement {
 public:
  // Keeps references. Everything that training changes is from here on the first process's. `weights`: the
  // file that people edit.
  StepAgreement(const Run& run, const PlanInForce& plan, const std::filesystem::path& weights);

  bool alone() const { return cluster_.alone(); }

  // What this process computes of a step's draws.
  std::vector<Draw> OwnPart(const std::vector<Draw>& draws) const;
  // Which of these tasks this process evaluates, by what as many rows of each cost.
  std::vector<std::string> OwnTasks(const std::vector<std::string>& tasks) const;

  // Before the rows of a step, counted from 1.
  void Begin(std::int64_t step);
  // Adds up the items of all processes: `losses` has every task of the step, with its own items. The first
  // call of a step waits for the others. Throws Interrupted where one of them was asked to stop, an Error
  // where one cannot compute its part (Close says why) or is not where the others are.
  void Count(StepLosses& losses);
  // After the last backward of all rows, or where this process failed: adds up the sums, and in the
  // parameters the gradients. What it returns is the same on all; gradients are undefined then. `running`:
  // whose draw was being computed. Throws as Count does.
  std::optional<Failure> Close(std::optional<Failure> own, const std::string& running, StepLosses& losses);
  // Until all are here: whoever ends before the run is saved would take the others with it.
  void WaitForAll();
  // The optimizer took a step: the next roll call compares what came out.
  void Updated();
  // Between two steps, by all: what the first process says; the others' function is not called.
  std::string FirstsWords(const std::function<std::string()>& words);
  // Between two steps, by all: what each of them says, in the order of ranks.
  std::vector<std::string> Everyones(const std::string& own);
  // Between two steps, by all: whether any of them says so.
  bool Any(bool own);
  // Between two steps, by all: does it. Where it fails in some, all throw for what the first of those says:
  // that one what it threw, the others an Error with its words, of files a FileError.
  void AllOrNone(const std::function<void()>& work);
  // Seconds that AllOrNone's work took since this was last called: the first process's, on all.
  double TakeSecondsTogether() { return std::exchange(seconds_together_, 0); }

  // Seconds that went so far into waiting for the others, adding up gradients, and sending updated weights.
  double seconds_in_exchanges() const;

  // Seconds that each process computed for the last step, by rank; none: of a process alone.
  const std::vector<double>& seconds_of_ranks() const { return seconds_of_ranks_; }

  // Seconds, the same on all; as of the last step, or of ReadClock, which all call between two steps.
  double clock() const;
  void ReadClock();
  // A save was asked for, of any of them: true once.
  bool TakeSaveRequest();
  // The guard says that this process's next step may be the last. True where any said so.
  bool TakeWarning();
  void Warn() { warned_ = true; }
  // Whether the weights file may have changed since the last call, and what it holds; as of the last step.
  bool WeightsMayHaveChanged();
  WeightsFileLook ReadWeights() const;
  // The same of any file, now and by this process.
  static WeightsFileLook Look(const std::filesystem::path& file);

 private:
  std::vector<std::int64_t> RowCosts(const std::vector<std::string>& tasks) const;
  RollCall Present(const StepLosses& losses);
  void Call(const StepLosses& own);
  void ShareWeights();
  std::vector<RollCall> GatherCalls(const RollCall& own);
  void GatherItems(std::vector<RollCall>& calls, const std::vector<std::int64_t>& own);
  std::optional<Failure> AddUp(std::optional<Failure> own, const std::string& running, StepLosses& losses);
  Failure FirstOf(const std::optional<Failure>& own, const std::string& running);
  std::int64_t PlanSum() const;

  const Run& run_;
  const PlanInForce& plan_;
  Cluster& cluster_;
  std::filesystem::path weights_;
  FileWatch watch_;
  std::optional<HeldInterrupts> held_;
  std::vector<double> seconds_of_ranks_;
  double began_ = 0;  // the step, in seconds that are not of exchanges
  std::int64_t step_ = 0, exchanges_ = 0, last_update_ = 0;
  double clock_ = 0, seconds_in_exchanges_ = 0, seconds_together_ = 0;
  bool saves_ = false, warned_ = false, warning_ = false, failed_elsewhere_ = false;
  bool edit_is_new_ = false;
  bool watch_saw_ = true;              // the first look is at what was written before there was a watch
  std::optional<StepLosses> counted_;  // of all; nothing before the roll call
  WeightsFileLook look_;
};

}  // namespace medley
