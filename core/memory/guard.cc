#include <medley/memory/guard.h>

#include <algorithm>
#include <cmath>

#include <medley/base/bytes.h>

namespace medley {
namespace {

constexpr std::int64_t kWarmUp = 2;
constexpr std::size_t kWindow = 50;
constexpr int kLeastGrowing = 3;

constexpr std::int64_t kQuiet = 100;           // steps after which a thing is news again
constexpr std::int64_t kBetweenCleanUps = 10;  // steps
constexpr double kFewSteps = 100;              // left until memory is used up: save now

// "task zoom_gold ran", "tasks control and zoom_gold ran"
std::string WhoRan(const StepMemory& memory) {
  std::vector<std::string> tasks;
  for (const DrawMemory& draw : memory.draws) {
    if (std::ranges::find(tasks, draw.task) == tasks.end()) tasks.push_back(draw.task);
  }
  if (tasks.empty()) return "no task ran";
  std::string text = tasks.size() == 1 ? "task " : "tasks ";
  for (std::size_t i = 0; i < tasks.size(); ++i)
    text += (i == 0 ? "" : i + 1 == tasks.size() ? " and " : ", ") + tasks[i];
  return text + " ran";
}

std::string OnlyTask(const StepMemory& memory) {
  const auto& draws = memory.draws;
  const bool alone =
      std::ranges::all_of(draws, [&](const DrawMemory& draw) { return draw.task == draws.front().task; });
  return alone && !draws.empty() ? draws.front().task : "";
}

// The draw that kept the most.
std::string Keeper(const StepMemory& memory, std::int64_t least) {
  std::string task;
  for (const DrawMemory& draw : memory.draws) {
    if (draw.kept < least) continue;
    least = draw.kept;
    task = draw.task;
  }
  return task;
}

std::int64_t MostInUse(const StepMemory& memory) {
  return std::max(memory.after.peak + memory.after.data, memory.after.reserved_peak);
}

std::string Rounded(double number) { return std::to_string(std::llround(number)); }

}  // namespace

double FloorWatch::LeastSlope(std::int64_t budget) {
  return std::max(1024.0, 1e-5 * static_cast<double>(budget));
}

double FloorWatch::LeastAtOnce(std::int64_t budget) { return 0.005 * static_cast<double>(budget); }

// Of the sums over the steps, numbered from the middle of the window so that they add up to 0.
double FloorWatch::Slope() const {
  const double middle = 0.5 * static_cast<double>(sums_.size() - 1);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    products += x * static_cast<double>(sums_[i] - sums_.front());
    squares += x * x;
  }
  return products / squares;
}

std::optional<FloorWatch::Leak> FloorWatch::Add(std::int64_t kept) {
  if (++seen_ <= kWarmUp) return std::nullopt;
  sum_ += kept;
  sums_.push_back(sum_);
  if (sums_.size() > kWindow) sums_.pop_front();
  if (static_cast<double>(kept) > LeastAtOnce(budget_))
    return Leak{.bytes_per_step = static_cast<double>(kept), .kept = kept, .steps = 1};
  if (sums_.size() < kWindow || sums_.back() <= sums_.front()) return std::nullopt;
  const double slope = Slope();
  if (slope <= LeastSlope(budget_)) return std::nullopt;
  int growing = 0;
  for (std::size_t i = 1; i < sums_.size(); ++i) growing += sums_[i] > sums_[i - 1] ? 1 : 0;
  if (growing < kLeastGrowing) return std::nullopt;
  return Leak{.bytes_per_step = slope,
              .kept = sums_.back() - sums_.front(),
              .steps = static_cast<std::int64_t>(sums_.size()) - 1};
}

GuardVerdict Guard::Judge(std::int64_t step, const StepMemory& memory, std::int64_t copies) {
  step_ = step;
  verdict_ = {};
  JudgeCopies(memory, copies);
  setting_.expected ? JudgePlan(memory) : JudgeUse(memory);
  JudgeFloor(memory);
  if (setting_.caches) JudgeSlack(memory);
  JudgeRetries(memory);
  const std::int64_t every = setting_.expected ? kBeyondPlan.clean_up_every : kWithoutPlan.clean_up_every;
  if (setting_.caches && every > 0 && step % every == 0) verdict_.clean_up = true;
  if (verdict_.clean_up) last_clean_up_ = step;
  return std::move(verdict_);
}

GuardVerdict Guard::SizesChange() {
  highest_peak_ = 0;
  last_clean_up_ = step_;
  return {.findings = {}, .clean_up = true};
}

// The level of so many bytes. Cleans up where they ask for it; not at every step, for that costs time.
GuardLevel Guard::LevelOf(std::int64_t bytes, const GuardLimits& limits) {
  const double share =
      static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, setting_.budget));
  if (share > limits.clean_up && step_ - last_clean_up_ >= kBetweenCleanUps) verdict_.clean_up = true;
  if (share > limits.critical) return GuardLevel::kCritical;
  return share > limits.warn ? GuardLevel::kWarning : GuardLevel::kFine;
}

void Guard::JudgeUse(const StepMemory& memory) {
  const std::int64_t most = MostInUse(memory);
  Say({LevelOf(most, kWithoutPlan), "memory", OnlyTask(memory),
       "memory reached " + FormatBytes(most) + " of the budget of " + FormatBytes(setting_.budget) +
           " while " + WhoRan(memory) +
           ", and nothing is planned. Lower micro_rows, or let the run be planned"});
}

void Guard::JudgePlan(const StepMemory& memory) {
  const Expectation& plan = *setting_.expected;
  const std::int64_t above = memory.after.now - plan.floor;
  Say({LevelOf(above, kBeyondPlan), "floor", OnlyTask(memory),
       FormatBytes(above) + " more than planned are in use between two steps, after " + WhoRan(memory) +
           ": " + FormatBytes(memory.after.now) + " instead of " + FormatBytes(plan.floor)});
  for (const DrawMemory& draw : memory.draws) {
    const auto planned = plan.peaks.find(draw.task);
    if (planned == plan.peaks.end()) continue;
    const auto margin = plan.margins.find(draw.task);
    const std::int64_t most = planned->second + (margin == plan.margins.end() ? 0 : margin->second);
    Say({LevelOf(draw.peak - most, kBeyondPlan), "peak", draw.task,
         "task " + draw.task + " reached " + FormatBytes(draw.peak) + ", " + FormatBytes(draw.peak - most) +
             " more than planned (" + FormatBytes(most) + "). Are its rows longer than its spec says?"});
  }
}

void Guard::JudgeFloor(const StepMemory& memory) {
  std::map<std::string, std::int64_t> kept;  // a task may have several draws
  for (const DrawMemory& draw : memory.draws) kept[draw.task] += draw.kept;
  for (const auto& [task, bytes] : kept) Watch("task " + task, task, bytes, memory);
  Watch("the training loop, beside the tasks,", "", memory.kept_between, memory);
  Watch("evaluation or saving, between the steps,", "", memory.kept_outside, memory);
}

void Guard::Watch(const std::string& who, const std::string& task, std::int64_t kept,
                  const StepMemory& memory) {
  const auto leak = watches_.try_emplace(who, setting_.budget).first->second.Add(kept);
  if (!leak) return;
  const std::int64_t left =
      std::max<std::int64_t>(0, setting_.budget - memory.after.peak - memory.after.data);
  const double steps_left = static_cast<double>(left) / leak->bytes_per_step;
  std::string words = who + " keeps " + Rounded(leak->bytes_per_step) + " bytes a step (" +
                      FormatBytes(leak->kept) + " in its last " + std::to_string(leak->steps) + " steps)";
  if (leak->steps == 1) words = who + " kept " + FormatBytes(leak->kept) + " in one step";
  if (!task.empty() && leak->steps == 1 && setting_.weights > 0 && 10 * kept >= 9 * setting_.weights)
    words += ", as much as a copy of the model's parameters";
  words += "; after " + Rounded(steps_left) + " more such steps the budget is used up. ";
  words += task.empty() ? "That should not be: please report it"
                        : "A task keeps nothing between calls: look for tensors, or losses that were not "
                          "detached, in its members";
  const bool soon = steps_left < kFewSteps;
  Say({soon ? GuardLevel::kCritical : GuardLevel::kWarning, "leak", task, words});
}

void Guard::JudgeCopies(const StepMemory& memory, std::int64_t copies) {
  if (copies > copies_) {
    const std::string task = Keeper(memory, setting_.weights / 2);
    Say({GuardLevel::kWarning, "copy", task,
         (copies == 1 ? "a second copy" : std::to_string(copies) + " more copies") +
             " of the model's parameters (" + FormatBytes(setting_.weights) + " each) came to stay while " +
             (task.empty() ? WhoRan(memory) : "task " + task + " ran") +
             ". Was the model built twice, or its parameters cloned and kept?"});
  }
  copies_ = copies;
}

void Guard::JudgeSlack(const StepMemory& memory) {
  highest_peak_ = std::max(highest_peak_, memory.after.peak);
  const std::int64_t slack = memory.after.reserved_peak - highest_peak_;
  Say({LevelOf(slack, kSlack), "slack", "",
       "the allocator holds " + FormatBytes(slack) + " beyond the highest peak so far (" +
           FormatBytes(highest_peak_) + "), in pieces that did not fit"});
}

void Guard::JudgeRetries(const StepMemory& memory) {
  const std::int64_t more = memory.after.retries - memory.before.retries;
  if (more > 0) {
    verdict_.clean_up = true;
    Say({GuardLevel::kWarning, "retries", OnlyTask(memory),
         "the allocator had to flush its cache " + std::to_string(more) + " times while " + WhoRan(memory) +
             ": " + FormatBytes(memory.after.reserved - memory.after.now) +
             " of what it holds lies in pieces that are too small"});
  }
}

void Guard::Say(GuardFinding finding) {
  if (finding.level == GuardLevel::kFine) return;
  Said& said = said_[finding.kind + ":" + finding.task];
  if (step_ - said.step > kQuiet) said.level = GuardLevel::kFine;
  said.step = step_;
  if (finding.level <= said.level) return;
  said.level = finding.level;
  verdict_.findings.push_back(std::move(finding));
}

}  // namespace medley
