// How far predicted peaks are from measured ones: in every mode of every task, at the rows that fill the
// budget in that mode. Predicted from the three probes alone, without the step that confirms a plan.
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

// Errors of predictions, as fractions of what was measured.
struct Errors {
  std::int64_t ways = 0, longest = 0, drawn = 0;  // numbers of modes and of predictions
  std::int64_t under = 0;                         // drawn rows that took more than was predicted
  double worst_longest = 0, worst_drawn = 0;

  void Add(const Errors& other) {
    ways += other.ways;
    longest += other.longest;
    drawn += other.drawn;
    under += other.under;
    worst_longest = std::max(worst_longest, other.worst_longest);
    worst_drawn = std::max(worst_drawn, other.worst_drawn);
  }
};

double ErrorOf(std::int64_t predicted, std::int64_t measured) {
  return std::abs(static_cast<double>(predicted - measured)) / static_cast<double>(measured);
}

// One task in one mode.
class Way {
 public:
  Way(Run& run, LoadedTask& task, ExecutionPlan plan, const ModeProfile& measured)
      : run_(run), task_(task), plan_(std::move(plan)), whole_(measured.whole), pieces_(measured.pieces) {
    errors_.ways = 1;
  }

  Errors Check(std::int64_t room) {
    const std::int64_t rows = whole_.LargestRows(room, 4096),
                       micro_rows = std::max<std::int64_t>(1, rows / 2);
    CheckLongest(rows, 0);
    CheckLongest(2 * micro_rows, micro_rows);
    for (const std::int64_t some : {std::int64_t{1}, (rows + 4) / 5, (rows + 1) / 2, rows})
      CheckDrawn(some, 0);
    CheckDrawn(rows, micro_rows);
    rows_ = rows;
    return errors_;
  }
  std::int64_t rows() const { return rows_; }

 private:
  // Bytes above the floor.
  std::int64_t Peak(std::int64_t begin, std::int64_t rows, std::int64_t micro_rows, bool longest) {
    plan_.micro_rows = micro_rows;
    const MeasuredStep step = MeasureStep(run_, task_, SampleRows(run_, task_, begin, rows, longest), plan_);
    return step.peak - step.floor;
  }
  std::int64_t Predicted(std::int64_t rows, std::int64_t micro_rows) const {
    return micro_rows > 0 ? pieces_.At(micro_rows) : whole_.At(rows);
  }
  void CheckLongest(std::int64_t rows, std::int64_t micro_rows) {
    ++errors_.longest;
    const double error = ErrorOf(Predicted(rows, micro_rows), Peak(0, rows, micro_rows, true));
    errors_.worst_longest = std::max(errors_.worst_longest, error);
  }
  void CheckDrawn(std::int64_t rows, std::int64_t micro_rows) {
    ++errors_.drawn;
    const std::int64_t predicted = Predicted(rows, micro_rows);
    const std::int64_t measured = Peak(1000 + rows, rows, micro_rows, false);
    errors_.under += measured > predicted ? 1 : 0;
    errors_.worst_drawn = std::max(errors_.worst_drawn, ErrorOf(predicted, measured));
  }

  Run& run_;
  LoadedTask& task_;
  ExecutionPlan plan_;
  PeakLines whole_, pieces_;
  std::int64_t rows_ = 0;
  Errors errors_;
};

std::string WayName(const ExecutionPlan& plan) {
  return std::string(ModeName(plan.mode)) + (plan.recompute_every > 0 ? ", recomputed" : "");
}

}  // namespace

void BenchPrediction(Session& session) {
  const auto made = MakeRun(session.asked());
  Run& run = *made;
  const std::int64_t room = run.budget.bytes - ReadMemory(run.device).now;
  Prober prober(*run.model, *run.executor, run.device, static_cast<std::uint64_t>(run.config.seed),
                run.budget.free);
  std::map<std::string, Errors> by_mode;
  Errors all;
  Table table({"task", "modes", "rows at the budget", "longest rows, worst", "drawn rows, worst", "under"});
  const auto cells = [](const Errors& errors) {
    return std::vector<std::string>{Percent(errors.worst_longest, 3), Percent(errors.worst_drawn, 2),
                                    std::to_string(errors.under) + " of " + std::to_string(errors.drawn)};
  };
  for (const std::string& name : run.ActiveTasks()) {
    LoadedTask& task = run.task(name);
    prober.CheckContract(task);
    Errors of_task;
    std::int64_t fewest = 1 << 20, most = 0;
    for (const auto& way : AllWays(RequestOf(run, name), VariantOf(run, name))) {
      const ExecutionPlan plan = ExecutionOf(run, name, way);
      TaskProfile profile;
      prober.Measure(task, plan, profile);
      Way checked(run, task, plan, profile.modes.front());
      const Errors errors = checked.Check(room);
      of_task.Add(errors);
      by_mode[WayName(plan)].Add(errors);
      fewest = std::min(fewest, checked.rows());
      most = std::max(most, checked.rows());
    }
    prober.ForgetRows();
    all.Add(of_task);
    const auto figures = cells(of_task);
    table.Add({name, std::to_string(of_task.ways), std::to_string(fewest) + " to " + std::to_string(most),
               figures[0], figures[1], figures[2]});
  }
  Say(table.ToText());
  Table modes({"mode", "tasks", "longest rows, worst", "drawn rows, worst", "under"});
  by_mode["all"] = all;
  for (const auto& [mode, errors] : by_mode) {
    const auto figures = cells(errors);
    modes.Add({mode, std::to_string(errors.ways), figures[0], figures[1], figures[2]});
  }
  Say(modes.ToText());
  Say("goal: longest rows 0.00 % on the CPU, at most 2 % on a GPU; none under");
}

}  // namespace medley::bench
