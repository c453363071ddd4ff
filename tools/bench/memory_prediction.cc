// How far predicted peaks are from measured ones: in every mode of every task, at the rows that fill the
// budget in that mode, in one forward and in micro-batches. As a plan predicts them, which is from three
// probes and a step at the planned rows; and as the three probes alone would.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <medley/memory/meter.h>
#include <medley/report/table.h>
#include <medley/train/plan_request.h>

#include "tools/bench/memory_bench.h"

namespace medley::bench {
namespace {

constexpr const char* kModesBudget = "100MiB";  // the modes are many
constexpr int kRounds = 3;                      // of confirming, as in a run's plan

// Of predictions, as fractions of what was measured.
struct Errors {
  std::int64_t ways = 0, drawn = 0;  // numbers of modes, and of predictions for drawn rows
  std::int64_t under = 0;            // drawn rows that took more than was predicted
  double probes_alone = 0, planned = 0, worst_drawn = 0;

  void Add(const Errors& other) {
    ways += other.ways;
    drawn += other.drawn;
    under += other.under;
    probes_alone = std::max(probes_alone, other.probes_alone);
    planned = std::max(planned, other.planned);
    worst_drawn = std::max(worst_drawn, other.worst_drawn);
  }
  std::vector<std::string> Cells() const {
    return {Percent(probes_alone, 3), Percent(planned, 3), Percent(worst_drawn, 2),
            std::to_string(under) + " of " + std::to_string(drawn)};
  }
};

double ErrorOf(std::int64_t predicted, std::int64_t measured) {
  return std::abs(static_cast<double>(predicted - measured)) / static_cast<double>(measured);
}

// One task in one mode.
class Way {
 public:
  // Measures. `room`: bytes above the floor.
  Way(Run& run, Prober& prober, LoadedTask& task, ExecutionPlan plan, std::int64_t room)
      : run_(run), prober_(prober), task_(task), plan_(std::move(plan)), room_(room) {
    errors_.ways = 1;
    prober_.Measure(task_, plan_, profile_);
  }

  Errors Check() {
    rows_ = Plan(std::int64_t{1} << 20, /*in_pieces=*/false);
    CheckLongest(rows_, 0);
    for (const std::int64_t some : {std::int64_t{1}, (rows_ + 4) / 5, rows_}) CheckDrawn(some, 0);
    const std::int64_t micro_rows = Plan(std::max<std::int64_t>(1, rows_ / 2), /*in_pieces=*/true);
    CheckLongest(2 * micro_rows, micro_rows);
    CheckDrawn(rows_, micro_rows);
    return errors_;
  }
  std::int64_t rows() const { return rows_; }

 private:
  const std::vector<Probe>& Probes(bool in_pieces) const {
    const ModeProfile& mode = profile_.modes.front();
    return in_pieces ? mode.pieces : mode.whole;
  }
  // The most rows of one forward that fit, confirmed.
  std::int64_t Plan(std::int64_t most, bool in_pieces) {
    PeakLines lines(Probes(in_pieces));
    std::int64_t rows = lines.LargestRows(room_, most);
    for (int round = 0; round < kRounds && lines.largest_probe() < rows; ++round) {
      plan_.micro_rows = in_pieces ? rows : 0;
      prober_.Confirm(task_, plan_, rows, profile_);
      const double error = ErrorOf(lines.At(rows), Probes(in_pieces).back().bytes);
      if (round == 0) errors_.probes_alone = std::max(errors_.probes_alone, error);
      lines = PeakLines(Probes(in_pieces));
      rows = lines.LargestRows(room_, most);
    }
    return rows;
  }

  // Bytes above the floor.
  std::int64_t Peak(std::int64_t begin, std::int64_t rows, std::int64_t micro_rows, bool longest) {
    plan_.micro_rows = micro_rows;
    const MeasuredStep step = MeasureStep(run_, task_, SampleRows(run_, task_, begin, rows, longest), plan_);
    return step.peak - step.floor;
  }
  std::int64_t Predicted(std::int64_t rows, std::int64_t micro_rows) const {
    return PeakLines(Probes(micro_rows > 0)).At(micro_rows > 0 ? micro_rows : rows);
  }
  void CheckLongest(std::int64_t rows, std::int64_t micro_rows) {
    const double error = ErrorOf(Predicted(rows, micro_rows), Peak(0, rows, micro_rows, true));
    errors_.planned = std::max(errors_.planned, error);
  }
  void CheckDrawn(std::int64_t rows, std::int64_t micro_rows) {
    ++errors_.drawn;
    const std::int64_t predicted = Predicted(rows, micro_rows);
    const std::int64_t measured = Peak(1000 + rows, rows, micro_rows, false);
    errors_.under += measured > predicted ? 1 : 0;
    errors_.worst_drawn = std::max(errors_.worst_drawn, ErrorOf(predicted, measured));
  }

  Run& run_;
  Prober& prober_;
  LoadedTask& task_;
  ExecutionPlan plan_;
  std::int64_t room_, rows_ = 0;
  TaskProfile profile_;
  Errors errors_;
};

std::string WayName(const ExecutionPlan& plan) {
  return std::string(ModeName(plan.mode)) + (plan.recompute_every > 0 ? ", recomputed" : "");
}

}  // namespace

void BenchPrediction(Session& session) {
  const auto made = MakeRun(session.asked(), kModesBudget);
  Run& run = *made;
  const std::int64_t room = run.budget.bytes - ReadMemory(run.device).now;
  Prober prober(*run.model, *run.executor, run.device, static_cast<std::uint64_t>(run.config.seed),
                run.budget.free);
  std::map<std::string, Errors> by_mode;
  Table table({"task", "modes", "rows", "probes alone", "planned", "drawn rows", "under"});
  for (const std::string& name : run.ActiveTasks()) {
    LoadedTask& task = run.task(name);
    prober.CheckContract(task);
    Errors of_task;
    std::int64_t fewest = std::int64_t{1} << 20, most = 0;
    for (const auto& way : AllWays(RequestOf(run, name), VariantOf(run, name))) {
      const ExecutionPlan plan = ExecutionOf(run, name, way);
      Way checked(run, prober, task, plan, room);
      const Errors errors = checked.Check();
      of_task.Add(errors);
      by_mode[WayName(plan)].Add(errors);
      by_mode["all"].Add(errors);
      fewest = std::min(fewest, checked.rows());
      most = std::max(most, checked.rows());
    }
    prober.ForgetRows();
    std::vector<std::string> cells{name, std::to_string(of_task.ways),
                                   std::to_string(fewest) + " to " + std::to_string(most)};
    for (std::string& cell : of_task.Cells()) cells.push_back(std::move(cell));
    table.Add(std::move(cells));
  }
  Say(table.ToText());
  Table modes({"mode", "tasks", "probes alone", "planned", "drawn rows", "under"});
  for (const auto& [mode, errors] : by_mode) {
    std::vector<std::string> cells{mode, std::to_string(errors.ways)};
    for (std::string& cell : errors.Cells()) cells.push_back(std::move(cell));
    modes.Add(std::move(cells));
  }
  Say(modes.ToText());
  Say("worst errors; budget " + Megabytes(run.budget.bytes) +
      "   (goal: planned 0.00 % on the CPU, at most 2 % on a GPU; none under)");
}

}  // namespace medley::bench
