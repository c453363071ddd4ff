#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <medley/contract/contract_check.h>
#include <medley/curriculum/mixer.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plugin/task_host.h>
#include <medley/step/step_executor.h>

namespace medley {

// Turns draws into rows: loads a task when it is first drawn, holds it against its spec then, and samples.
// Draws that are expected are sampled ahead on the run's data threads. Rows are a function of the draw alone,
// so neither the number of threads nor how far they run ahead changes what is trained.
//
// To be called on the trainer's thread only. Tasks are loaded and checked there, while no data thread
// samples.
class Prefetcher {
 public:
  // References outlive it.
  struct Setting {
    std::int64_t threads = 0;  // started here; 0: rows are sampled when they are taken
    std::uint64_t seed = 0;    // of the run
    at::Device device;
    TaskHost& host;
    ContractCheck& contract;
    const PlanInForce& plan;
  };
  explicit Prefetcher(const Setting& setting);
  ~Prefetcher();  // waits for the draws that are being sampled now; those that only wait are dropped

  // The draws that will be taken next, in this order; they are all that is kept: what was expected before and
  // is not among them is forgotten. A task's errors surface when its draw is taken.
  void Expect(const std::vector<Draw>& draws);

  // The rows of a step on the CPU, and the pieces that refer to them.
  struct Rows {
    std::deque<Batch> batches;
    std::vector<StepExecutor::Piece> pieces;
  };
  // Draws that were not expected are sampled at once. Errors name plugin, task and activity;
  // c10::OutOfMemoryError passes; a draw that was sampled ahead is first tried once more with nothing else
  // waiting. Throws Interrupted. After any of them the same draws can be taken again. The tasks and
  // executions that the pieces point to are the host's and the plan's.
  Rows Take(const std::vector<Draw>& draws);

  // The task, held against its spec; where it was not yet, while no data thread samples: loading moves, for a
  // moment, what other plugins' code may read. Errors as Take's.
  LoadedTask& Checked(const std::string& task);

  // The task whose rows the last Take did not get; "" where all came.
  const std::string& taking() const { return taking_; }

  // Calls it while no row waits and no data thread samples. It calls nothing of this object; what it throws
  // passes, and the data threads go on.
  void WhileIdle(const std::function<void()>& work);

  // Seconds that Take waited for rows or sampled them itself, in all. Loading and checking of tasks does not
  // count.
  double seconds_waited() const { return seconds_waited_; }
  // The same by task.
  const std::map<std::string, double>& waits() const { return waits_; }

 private:
  struct Job;
  using JobPtr = std::shared_ptr<Job>;
  class Pause;

  // The trainer's.
  RowRange RangeOf(const Draw& draw) const;
  JobPtr Prepare(const Draw& draw);
  JobPtr Find(const Draw& draw) const;
  JobPtr Withdraw(const Draw& draw);
  JobPtr Collect(const Draw& draw);
  void ForgetAll();
  // The data threads'.
  void Work(std::stop_token stop);
  JobPtr NextWaiting() const;

  Setting setting_;
  std::string taking_;
  double seconds_waited_ = 0;
  std::map<std::string, double> waits_;

  std::mutex mutex_;
  std::condition_variable_any changed_;  // of everything below, and of a job's state
  std::deque<JobPtr> window_;            // expected and not yet taken; only the trainer changes it
  std::int64_t sampling_ = 0;            // data threads that are sampling
  bool paused_ = false;
  std::latch started_;
  std::vector<std::jthread> threads_;  // last: gone before what they use
};

}  // namespace medley
