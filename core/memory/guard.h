#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/memory/reading.h>
#include <medley/report/guard_finding.h>

namespace medley {

// Watches what the steps of one task leave behind. Nothing should stay: what does, step after step, is a
// leak.
class FloorWatch {
 public:
  // Bytes that may stay, for a run with this budget; a slope in bytes a step.
  static double LeastSlope(std::int64_t budget);   // max(1 KiB, 1e-5 of the budget)
  static double LeastAtOnce(std::int64_t budget);  // 0.5 % of the budget

  explicit FloorWatch(std::int64_t budget) : budget_(budget) {}

  struct Leak {
    double bytes_per_step = 0;  // the least-squares slope, or what one step kept
    std::int64_t kept = 0;      // over the steps that were looked at
    std::int64_t steps = 0;     // how many these are
  };
  // `kept`: what this step left behind, below 0 where it freed more. A slope is judged over the last 50 steps
  // and where at least three of them grew: a cache that is built once is no leak. The first two steps, which
  // warm things up, do not count.
  std::optional<Leak> Add(std::int64_t kept);

 private:
  double Slope() const;

  std::int64_t budget_;
  std::int64_t seen_ = 0, sum_ = 0;
  std::deque<std::int64_t> sums_;  // of all that was kept, after each of the last steps
};

// Bytes in use in all at a draw's peak, and what is kept free beside them.
struct PeakPrediction {
  std::int64_t peak = 0;
  std::int64_t margin = 0;
};

// The limits from where on the guard does what: fractions of the budget, for that may be of any size.
struct GuardLimits {
  double warn = 0, clean_up = 0, critical = 0;
  // Steps, where the allocator keeps freed memory; 0: only above the limit. The CPU's gives back nothing that
  // the next step would not fetch again.
  std::int64_t clean_up_every = 0;
};
// Limits for what is in use beyond the plan.
inline constexpr GuardLimits kBeyondPlan = {.warn = 0.005, .clean_up = 0.01, .critical = 0.05};
// Limits for all that is in use, where nothing was planned: 10, 12 and 14 GB of a 16 GB card.
inline constexpr GuardLimits kWithoutPlan = {
    .warn = 10. / 16, .clean_up = 12. / 16, .critical = 14. / 16, .clean_up_every = 10};

// Limits for what a caching allocator holds beyond the highest peak so far, which lies in pieces that are too
// small.
inline constexpr GuardLimits kSlack = {.warn = 0.1, .clean_up = 0.1, .critical = 1};

// What the guard has to say after a step.
struct GuardVerdict {
  std::vector<GuardFinding> findings;  // only news
  bool clean_up = false;               // give cached memory back
};

// Judges after every step what was not planned. Says a thing once, and again when it gets worse or when it
// comes back after 100 quiet steps. One a run, on the trainer's thread; it reads figures and frees nothing.
class Guard {
 public:
  // What a plan lets one expect, in bytes in use in all.
  struct Expectation {
    std::int64_t floor = 0;                         // between two steps
    std::map<std::string, std::int64_t> peaks;      // by task
    std::map<std::string, std::int64_t> margins{};  // kept free beside them
  };
  struct Setting {
    std::int64_t budget = 0;
    std::optional<Expectation> expected{};
    std::int64_t weights = 0;  // bytes of the model's
    bool caches = false;       // does the allocator keep freed memory for later? (a GPU's does)
  };
  explicit Guard(Setting setting) : setting_(std::move(setting)) {}

  // Judges a step that ended. `copies`: whole copies of the model's weights that live beside the model.
  GuardVerdict Judge(std::int64_t step, const StepMemory& memory, std::int64_t copies = 0);
  // Judges by another plan from now on.
  void Expect(std::optional<Expectation> expected) { setting_.expected = std::move(expected); }
  // Takes note that what comes next allocates other sizes: an evaluation begins or ends, a task is drawn for
  // the first time, the mixture changes. So what the allocator kept is cleaned up; and the peaks before no
  // longer say what it may hold.
  GuardVerdict SizesChange();

 private:
  struct Said {
    GuardLevel level = GuardLevel::kFine;
    std::int64_t step = 0;  // last seen
  };

  void JudgeUse(const StepMemory& memory);
  void JudgePlan(const StepMemory& memory);
  void JudgeFloor(const StepMemory& memory);
  void JudgeCopies(const StepMemory& memory, std::int64_t copies);
  void JudgeSlack(const StepMemory& memory);
  void JudgeRetries(const StepMemory& memory);
  void Watch(const std::string& who, const std::string& task, std::int64_t kept, const StepMemory& memory);
  GuardLevel LevelOf(std::int64_t bytes, const GuardLimits& limits);
  void Say(GuardFinding finding);

  Setting setting_;
  std::int64_t step_ = 0, last_clean_up_ = 0, copies_ = 0, highest_peak_ = 0;
  std::map<std::string, FloorWatch> watches_;
  std::map<std::string, Said> said_;
  GuardVerdict verdict_;
};

}  // namespace medley
