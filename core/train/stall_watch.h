#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include <medley/base/clock.h>
#include <medley/base/work_progress.h>

namespace medley {

// No step came for long.
struct Stall {
  double seconds = 0;  // since the last step, or the last sign of work beside steps
  double median = 0;   // seconds, of the recent steps
};

// When a run stalls: where no step comes for ten times the median of the recent ones, and for a minute; told
// once, until a step comes. Work beside steps (an evaluation, a save, a plan) says how far it is: each time
// counts as a step does, and then ten minutes may pass. A clock, and no thread.
class StallClock {
 public:
  static constexpr double kTimes = 10, kLeast = 60, kLeastOfWork = 600;  // the latter two in seconds
  static constexpr std::size_t kRecent = 101;                            // steps

  // Training begins, or goes on.
  void Begin(double now);
  void Step(double now, double seconds);
  void Work(double now);
  void WorkDone(double now);
  // Nothing before the first step.
  std::optional<Stall> Look(double now);

 private:
  std::deque<double> recent_;
  double last_ = 0;
  bool works_ = false, told_ = false;
};

// Looks at such a clock on a thread of its own, and tells of each stall from there. All other functions on
// any one thread.
class StallWatch {
 public:
  struct Setting {
    SecondsSource now = SteadySeconds;  // on any thread
    std::chrono::milliseconds look_every{1000};
    std::function<std::uint64_t()> signs = WorkProgress::Signs;
  };
  StallWatch(Setting setting, std::function<void(const Stall&)> tell);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  void Begin();  // to watch
  void Step(double seconds);
  void Work();
  void WorkDone();
  void End();  // none is told behind it

 private:
  void Watch();

  const Setting setting_;
  const std::function<void(const Stall&)> tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  StallClock clock_;
  std::uint64_t signs_ = 0;
  bool watches_ = false, ends_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace medley
