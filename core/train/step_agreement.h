#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/interrupt.h>
#include <medley/cluster/cluster.h>
#include <medley/cluster/gradient_exchange.h>
#include <medley/curriculum/mixer.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/term_loss.h>
#include <medley/train/failure.h>
#include <medley/train/rounds.h>
#include <medley/train/weights_file.h>
#include <medley/update/optimizer.h>

namespace medley {

// What the processes of a run agree upon in each step, so that all of them do the same: how many items the
// step has, whether it stops, failed or goes on, and what its gradients are. This is that of a process alone:
// it says what that knows itself, and costs nothing.
//
// On the trainer's thread. A step is Begin, Count as often as it is tried, Close. Another round of a step
// stands beside Count: a process has it once a step, or where it failed before, in Close with empty hands.
class StepAgreement {
 public:
  virtual ~StepAgreement() = default;

  // Before the rows of a step, counted from 1.
  virtual void Begin(std::int64_t) {}
  // Adds up the items of all processes: `losses` has every task of the step, with its own items. The first
  // call of a step waits for the others. Throws Interrupted where one of them was asked to stop, an Error
  // where one cannot compute its part (Close says why) or is not where the others are.
  virtual void Count(StepLosses&) {}
  // After the last backward of all rows, or where this process failed: adds up the sums, and in the
  // parameters the gradients. What it returns is the same on all; gradients are undefined then. `running`:
  // whose draw was being computed. Throws as Count does.
  virtual std::optional<Failure> Close(std::optional<Failure> own, const std::string& /*running*/,
                                       StepLosses&) {
    return own;
  }
  // The optimizer took a step: the next one compares what came out.
  virtual void Updated() {}

  // Seconds that went so far into waiting for the others, adding up gradients, and sending updated weights.
  virtual double seconds_in_exchanges() const { return 0; }
  // Seconds that each process computed for the last step, by rank; none: of a process alone.
  const std::vector<double>& seconds_of_ranks() const { return seconds_of_ranks_; }

  // What reaches one of them from outside, the same on all as of the last step. Seconds: also as of
  // ReadClock, which all call between two steps.
  virtual double clock() const { return SteadySeconds(); }
  virtual void ReadClock() {}
  // A save was asked for, of any of them: true once.
  virtual bool TakeSaveRequest() { return medley::TakeSaveRequest(); }
  // The guard says that this process's next step may be the last. True where any said so.
  void Warn() { warned_ = true; }
  virtual bool TakeWarning() { return std::exchange(warned_, false); }

 protected:
  std::vector<double> seconds_of_ranks_;
  bool warned_ = false;
};

// References outlive it.
struct AgreementSetting {
  Cluster& cluster;
  GradientExchange* exchange = nullptr;  // null: a process alone
  Rounds& rounds;
  Optimizer& optimizer;
  const Mixer& mixer;
  const PlanInForce& plan;
  WeightsFile& weights_file;
  std::chrono::seconds peer_timeout{};
};
// Of several processes everything that training changes is from here on the first one's; and while it lives
// an interrupt is heeded where Count says so, and nowhere else.
std::unique_ptr<StepAgreement> MakeStepAgreement(const AgreementSetting& setting);

}  // namespace medley
