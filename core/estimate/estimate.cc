#include <medley/estimate/estimate.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/model/parameter_bytes.h>
#include <medley/plan/rank_plan.h>

namespace medley {
namespace {

// Of a forward. A step is the largest of straight lines in the rows: between two of these its peak is taken
// for a little too much at most, where another line takes over.
constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 6, 8, 16, 32, 128, 512};

std::vector<Probe> WithRows(std::vector<Probe> probes, std::int64_t row_bytes) {
  for (Probe& probe : probes) probe.bytes = std::max<std::int64_t>(0, probe.bytes + probe.rows * row_bytes);
  return probes;
}

// Of all together.
std::int64_t TablesOf(const std::vector<EstimatedTask>& tasks) {
  TablesTogether together;
  std::int64_t bytes = 0;
  for (const EstimatedTask& task : tasks) {
    TaskProfile profile;
    profile.constants = task.shape.constants;
    profile.shared = task.shape.shared;
    bytes += together.Add(profile);
  }
  return bytes;
}

}  // namespace

Estimate::Estimate(const Model& model, const MemoryLedger& floor, std::vector<EstimatedTask> tasks,
                   const Setting& setting, const Telling& tell)
    : model_(model), floor_(floor), tasks_(std::move(tasks)), setting_(setting) {
  TakeParts();
  profile_.floor = floor;
  profile_.gradients = TrainedBytes(model.parameters());
  floor_.constants += TablesOf(tasks_);
  for (const EstimatedTask& task : tasks_) {
    const FormId& form = task.request.form.id;
    if (tell)
      tell("estimating " + form.text(), static_cast<double>(profile_.tasks.size()),
           static_cast<double>(tasks_.size()));
    profile_.tasks[form] = ProfileOf(task);
  }
}

void Estimate::TakeParts() {
  for (const EstimatedTask& task : tasks_) asked_.push_back(task.request);
  const std::vector<TaskRequest> parts = PartsOf(asked_, setting_.ranks, setting_.draws_per_step);
  for (std::size_t i = 0; i < tasks_.size(); ++i) tasks_[i].request = parts[i];
}

// On the CPU without the rows, which the planner counts among those that wait.
std::int64_t Estimate::StepAboveFloor(const EstimatedTask& task, StepSetting setting) const {
  setting.draws_per_step = 1;  // the planner adds the other gradients
  const std::int64_t rows = setting.on_gpu ? 0 : setting.rows * task.shape.row_bytes;
  return TrainingBytes(model_, task.shape, setting, {}).total() - rows;
}

ModeProfile Estimate::ProfileOf(const EstimatedTask& task, const Way& way) const {
  ModeProfile profile;
  profile.way = way;
  profile.forwards = ForwardsOf(task.shape, way.mode);
  profile.makes_once = MakesOnce(task, way);
  for (const std::int64_t rows : kSizes) {
    StepSetting setting{
        .way = way, .rows = rows, .micro_rows = rows, .on_gpu = setting_.on_gpu, .any_cpu = setting_.any_cpu};
    profile.whole.push_back({rows, StepAboveFloor(task, setting)});
    setting.rows = 2 * rows;
    profile.pieces.push_back({rows, StepAboveFloor(task, setting)});
  }
  return profile;
}

bool Estimate::MakesOnce(const EstimatedTask& task, const Way& way) const {
  return TraitsOf(way.mode).keeps == KeepsGraphs::kOfAllPasses && SharesBeyondEncodings(model_, task.shape);
}

// A GPU has the rows of a forward among the bytes of the step, the CPU has not.
ModeProfile Estimate::Measured(const EstimatedTask& task, ModeProfile mode) const {
  mode.makes_once = MakesOnce(task, mode.way);
  if (task.measured_without_rows == !setting_.on_gpu) return mode;
  const std::int64_t row = setting_.on_gpu ? task.shape.row_bytes : -task.shape.row_bytes;
  mode.whole = WithRows(std::move(mode.whole), row);
  mode.pieces = WithRows(std::move(mode.pieces), row);
  return mode;
}

TaskProfile Estimate::ProfileOf(const EstimatedTask& task) const {
  TaskProfile profile;
  profile.gradients = GradientBytes(model_, task.shape);
  profile.constants = task.shape.constants;
  profile.shared = task.shape.shared;
  profile.rebuilding = setting_.on_gpu ? 0 : task.shape.constants;  // it may make a copy
  profile.batch_per_row = task.waiting_row;
  profile.cache = setting_.on_gpu ? 0 : task.cache;
  profile.layers = DeepestStack(model_, task.shape);
  for (const Way& way : task.ways) {
    const ModeProfile* measured = task.measured ? task.measured->Find(way) : nullptr;
    const bool is_known = measured != nullptr && measured->measured();
    profile.modes.push_back(is_known ? Measured(task, *measured) : ProfileOf(task, way));
  }
  return profile;
}

// False where nothing was lacking.
bool Estimate::CountFiner(const Plan& plan) const {
  bool counted = false;
  for (const EstimatedTask& task : tasks_) {
    const PlannedTask* entry = plan.Find(task.request.form.id);
    if (entry == nullptr) continue;
    for (const Way& way : entry->finer) {
      profile_.tasks.at(entry->form).modes.push_back(ProfileOf(task, way));
      counted = true;
    }
  }
  return counted;
}

MemoryLedger Estimate::Training(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const {
  StepSetting setting = task.setting;
  setting.rows = rows;
  setting.micro_rows = micro_rows;
  setting.draws_per_step = setting_.draws_per_step;
  setting.on_gpu = setting_.on_gpu;
  setting.any_cpu = setting_.any_cpu;
  return TrainingBytes(model_, task.shape, setting, floor_);
}

bool Estimate::IsMeasured(const EstimatedTask& task) const {
  if (!task.measured) return false;
  const ModeProfile* mode = task.measured->Find(task.setting.way);
  return mode != nullptr && mode->measured();
}

std::int64_t Estimate::Peak(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const {
  if (!IsMeasured(task)) return Training(task, rows, micro_rows).total();
  const TaskProfile& profile = profile_.tasks.at(task.request.form.id);
  const ModeProfile& mode = *profile.Find(task.setting.way);
  const std::int64_t micro = RowsAtOnce(micro_rows, rows);
  const bool has_others = setting_.draws_per_step > 1;
  const std::int64_t others = has_others ? profile_.gradients - profile.gradients : 0;
  return floor_.total() + others +
         PeakLines(micro < rows || has_others ? mode.pieces : mode.whole).At(micro) +
         (setting_.on_gpu ? 0 : rows * task.shape.row_bytes);
}

std::int64_t Estimate::Evaluation(const EstimatedTask& task, std::int64_t rows) const {
  return floor_.total() + task.evaluation.At(rows);
}

// Where tables are dropped it has its own alone.
std::int64_t Estimate::Evaluation(const EstimatedTask& task, std::int64_t rows, const Plan& plan) const {
  const std::int64_t others = TablesOf(tasks_) - task.shape.constants;
  return Evaluation(task, rows) - (plan.drops_tables ? others : 0);
}

std::int64_t Estimate::WaitingBytes() const {
  std::int64_t largest = 0;
  for (const EstimatedTask& task : tasks_)
    largest = std::max(largest, std::max<std::int64_t>(1, task.request.rows) * task.waiting_row);
  const std::int64_t own = setting_.on_gpu ? 0 : 1;  // on the CPU an input of the step
  return (setting_.draws_per_step + setting_.draws_ahead - own) * largest;
}

std::int64_t Estimate::CacheBytes() const {
  std::int64_t bytes = 0;
  for (const EstimatedTask& task : tasks_) bytes += task.cache;
  return bytes;
}

void Estimate::CheckEvaluation(const Plan& plan) const {
  std::string message = "not one row of an evaluation fits " + FormatBytes(plan.budget) + ":";
  std::vector<Refusal> refusals;
  for (const EstimatedTask& task : tasks_) {
    const bool is_planned = plan.Find(task.request.form.id) != nullptr;
    if (!is_planned || task.evaluation_rows == 0 || Recommend(task, plan).evaluation_rows > 0) continue;
    const std::int64_t missing = Evaluation(task, 1, plan) + plan.data_bytes - plan.budget;
    refusals.push_back({.form = task.request.form.id,
                        .missing = missing,
                        .change = "eval.every=0",
                        .words = "task " + task.request.form.id.text() + ": " + FormatBytes(missing) + " (" +
                                 std::to_string(missing) + " bytes) are missing",
                        .of_evaluation = true});
    message += "\n  " + refusals.back().words;
  }
  if (refusals.empty()) return;
  throw DoesNotFit(
      message + "\n  The run fits with eval.every=0, and is then never evaluated while it trains", refusals);
}

Plan Estimate::PlanFor(std::int64_t budget) const {
  std::set<FormId> all;
  for (const EstimatedTask& task : tasks_) all.insert(task.request.form.id);
  return PlanFor(budget, all);
}

Plan Estimate::PlanFor(std::int64_t budget, const std::set<FormId>& forms) const {
  std::vector<TaskRequest> requests;
  for (const EstimatedTask& task : tasks_) {
    if (forms.count(task.request.form.id) > 0) requests.push_back(task.request);
  }
  const std::int64_t ahead = setting_.on_gpu ? 0 : setting_.draws_ahead;
  // What a GPU's allocator rounds up and keeps is in its own margin; see Gpu.
  const PlanSetting setting{.budget = budget,
                            .counts_exactly = true,
                            .draws_per_step = setting_.draws_per_step,
                            .waiting_draws = setting_.on_gpu ? 0 : setting_.draws_per_step + ahead,
                            .draws_ahead = ahead,
                            .drops_tables = tasks_.size() > 1,
                            .balance = setting_.balance};
  Plan plan = MakePlan(profile_, requests, setting);
  while (CountFiner(plan)) plan = MakePlan(profile_, requests, setting);
  if (setting_.evaluates) CheckEvaluation(plan);
  return plan;
}

Estimate::Recommendation Estimate::Recommend(const EstimatedTask& task, const Plan& plan) const {
  const PlannedTask& entry = *plan.Find(task.request.form.id);
  Recommendation best{.rows = {.rows = entry.micro_rows, .steps = 1}, .peak = entry.predicted_peak};
  if (entry.micro_rows < entry.rows && task.request.micro_rows == 0) {
    best.rows = Accumulate(entry.rows, entry.micro_rows);
  } else {
    best.rows.steps = (entry.rows + entry.micro_rows - 1) / entry.micro_rows;
  }
  if (best.rows.rows < entry.micro_rows) {
    const TaskProfile& profile = profile_.tasks.at(entry.form);
    const PeakLines lines(profile.Find(entry.way)->pieces);
    best.peak -= lines.At(entry.micro_rows) - lines.At(best.rows.rows);
  }
  best.draw_rows = OfWholeDraws(plan, asked_, setting_.ranks).Find(entry.form)->rows;
  best.evaluation_rows = task.evaluation_rows;
  while (best.evaluation_rows > 0 &&
         Evaluation(task, best.evaluation_rows, plan) + plan.data_bytes > plan.budget)
    best.evaluation_rows /= 2;
  if (best.evaluation_rows > 0) best.evaluation_peak = Evaluation(task, best.evaluation_rows, plan);
  return best;
}

}  // namespace medley
