#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/plan/plan.h>

namespace medley {

// One way to run the draws of a task.
struct Choice {
  const ModeProfile* mode = nullptr;  // of the profile that the planner was given
  std::int64_t rows = 0;
  std::int64_t micro_rows = 0;
  std::int64_t bytes = 0;   // above the floor, at the peak
  std::int64_t margin = 0;  // beside them

  std::int64_t taken() const { return bytes + margin; }
  std::int64_t pieces() const { return (rows + micro_rows - 1) / micro_rows; }
  double Milliseconds() const;
  double Operations() const;  // floating-point; 0: nobody counted them
};

// Chooses for one task; see MakePlan.
class TaskPlanner {
 public:
  // `other_gradients`: bytes of the gradients that other tasks' draws of the same step may leave. Keeps
  // references, all three of which outlive it.
  TaskPlanner(const TaskProfile& profile, const TaskRequest& request, const PlanSetting& setting,
              std::int64_t other_gradients);

  // The same task, asked for something else. The request must outlive it.
  TaskPlanner For(const TaskRequest& request) const;

  // `room`: bytes above the floor that a step may use. Nothing where not one row fits.
  std::optional<Choice> Choose(std::int64_t room) const;
  // Of the ways in which so many rows fit in one forward that of least work; where they do in none, what
  // Choose says for a draw of so many.
  std::optional<Choice> Reach(std::int64_t rows, std::int64_t room) const;
  // Ways of less work that may bring one forward there too, and that nobody measured: of each mode the part
  // of the layers that a line through the nearest two says. None once these two are a layer apart.
  std::vector<Way> Finer(const Choice& reached, std::int64_t room) const;
  // About such a choice, beside what Choose said: "joint + recompute 3/4: 21 % more work, 20 to 74 rows".
  std::string WhyReached(const Choice& choice, const Choice& own) const;
  // Words about a choice that Choose made for that room by counted work alone, where another mode would have
  // been preferred: "joint: 11 % less work than sequential"; else "".
  std::string Why(const Choice& choice, std::int64_t room) const;
  // The smallest room for which Choose finds something; nothing where no mode was measured.
  std::optional<std::int64_t> SmallestRoom() const;
  // The most rows that a micro-batch can have whatever the request's are; 0 where not even one fits.
  std::int64_t LargestMicroRows(std::int64_t room) const;

  // The lines of a choice of this planner; they add up to its bytes and margin.
  PeakLedger Ledger(const Choice& choice) const;

 private:
  bool Admits(const ModeProfile& mode) const;
  bool IsBetween(const ModeProfile& mode) const;
  std::pair<std::optional<Choice>, std::optional<Choice>> Nearest(Mode mode, std::int64_t rows,
                                                                  std::int64_t room) const;
  int LayersOf(const Choice& choice) const;
  Choice Cost(const ModeProfile& mode, std::int64_t rows, std::int64_t micro_rows) const;
  std::int64_t Margin(const ModeProfile& mode, std::int64_t rows, std::int64_t bytes) const;
  std::int64_t Rebuilding() const;
  std::int64_t Transient(const ModeProfile& mode, std::int64_t rows, std::int64_t bytes) const;
  std::optional<Choice> In(const ModeProfile& mode, std::int64_t room) const;
  double Forwards(const ModeProfile& mode) const;
  bool IsPreferred(const ModeProfile& a, const ModeProfile& b) const;
  std::partial_ordering Compare(const Choice& a, const Choice& b) const;
  bool AllAreCounted() const;
  std::partial_ordering CompareWork(const Choice& a, const Choice& b) const;
  bool IsBetter(const Choice& a, const Choice& b) const;
  bool IsLessWork(const Choice& a, const Choice& b) const;

  const TaskProfile& profile_;
  const TaskRequest& request_;
  const PlanSetting& setting_;
  std::int64_t other_gradients_;
};

}  // namespace medley
