#include <medley/estimate/estimate_report.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

std::string Bytes(std::int64_t bytes) { return medley::FormatBytes(bytes); }

std::string Label(const std::string& task, const std::string& variant) {
  return task + (variant == "default" ? "" : " (" + variant + ")");
}

std::string RowsWords(const Accumulation& rows) {
  return std::to_string(rows.rows) + " x " + std::to_string(rows.steps);
}

std::string WordsOf(const DoesNotFit& refusal) {
  const auto worst =
      std::max_element(refusal.refusals().begin(), refusal.refusals().end(),
                       [](const Refusal& a, const Refusal& b) { return a.missing < b.missing; });
  const std::string row = worst->of_evaluation ? "evaluating a row of " : "one row of ";
  return "no: " + (!worst->form ? "weights and optimizer need " : row + worst->form->text() + " needs ") +
         Bytes(worst->missing) + " more";
}

GpuVerdict VerdictOn(const Estimate& estimate, const Gpu& gpu) try {
  const Plan plan = estimate.PlanFor(gpu.usable());
  std::string changed;
  int count = 0;
  for (const EstimatedTask& task : estimate.tasks()) {
    const PlannedTask& entry = *plan.Find(task.request.form.id);
    const Accumulation rows = estimate.Recommend(task, plan).rows;
    const bool has_mode =
        !TraitsOf(entry.way.mode).repeats_makers || TraitsOf(task.setting.way.mode).repeats_makers;
    const bool as_asked = has_mode && entry.way.recompute_every <= task.setting.way.recompute_every;
    if ((rows.steps == 1 && as_asked) || ++count > 3) continue;
    changed += (changed.empty() ? "" : ", ") + task.request.form.id.text() + " " + RowsWords(rows);
    if (!as_asked) changed += " (" + entry.way.Words() + ")";
  }
  GpuVerdict verdict{.gpu = gpu,
                     .fits = true,
                     .as_configured = count == 0,
                     .words = count == 0 ? "yes" : "in pieces: " + changed};
  if (count > 3) verdict.words += " and " + std::to_string(count - 3) + " more";
  return verdict;
} catch (const DoesNotFit& refusal) {
  return {.gpu = gpu, .words = WordsOf(refusal)};
}

std::string ByRowsTable(const std::vector<TaskFigures>& tasks,
                        std::map<std::int64_t, std::int64_t> TaskFigures::*by_rows) {
  std::vector<std::string> header = {"task"};
  if (!tasks.empty()) {
    for (const auto& [rows, bytes] : tasks.front().*by_rows) header.push_back(std::to_string(rows));
  }
  std::vector<std::string> spares;  // where there is no room for all, every second column goes first
  for (const std::size_t first : {2, 3}) {
    for (std::size_t i = first; i < header.size(); i += 2) spares.push_back(header[i]);
  }
  Table table(std::move(header));
  table.Spares(spares);
  for (const TaskFigures& task : tasks) {
    std::vector<std::string> line = {Label(task.task, task.variant)};
    for (const auto& [rows, bytes] : task.*by_rows) line.push_back(Bytes(bytes));
    table.Add(std::move(line));
  }
  return table.ToText();
}

ordered_json ByRowsJson(const std::map<std::int64_t, std::int64_t>& by_rows) {
  ordered_json json = ordered_json::array();
  for (const auto& [rows, bytes] : by_rows) json.push_back({{"rows", rows}, {"peak", bytes}});
  return json;
}

ordered_json LedgerJson(const MemoryLedger& step) {
  return {{"weights", step.weights},     {"optimizer", step.optimizer}, {"constants", step.constants},
          {"gradients", step.gradients}, {"inputs", step.inputs},       {"activations", step.activations},
          {"prefix", step.prefix},       {"logits", step.logits},       {"working", step.working}};
}

}  // namespace

std::vector<TaskFigures> FiguresOf(const Estimate& estimate, const std::vector<std::int64_t>& rows,
                                   const std::vector<std::int64_t>& evaluated) {
  std::vector<TaskFigures> all;
  for (const EstimatedTask& task : estimate.tasks()) {
    TaskFigures& figures = all.emplace_back();
    figures.task = task.request.form.id.text();
    figures.variant = task.request.variant;
    figures.way = task.setting.way;
    figures.is_auto = task.request.rows == 0;
    figures.rows = std::max<std::int64_t>(task.request.rows, 1);
    figures.micro_rows = RowsAtOnce(task.setting.micro_rows, figures.rows);
    figures.step = estimate.Training(task, figures.rows, figures.micro_rows);
    figures.peak = estimate.Peak(task, figures.rows, figures.micro_rows);
    figures.is_measured = estimate.IsMeasured(task);
    figures.evaluation_rows = task.evaluation_rows;
    figures.evaluation = estimate.Evaluation(task, task.evaluation_rows);
    for (const std::int64_t n : rows) figures.peaks[n] = estimate.Peak(task, n, n);
    for (const std::int64_t n : evaluated) figures.evaluations[n] = estimate.Evaluation(task, n);
  }
  return all;
}

std::string StepTable(const std::vector<TaskFigures>& tasks, const Gpu* gpu) {
  std::vector<std::string> header = {"task",      "mode",   "rows",      "micro",  "weights",
                                     "optimizer", "tables", "gradients", "inputs", "activations",
                                     "kv prefix", "logits", "working",   "peak",   "evaluation"};
  if (gpu != nullptr) header.insert(header.end(), {"workspace", "context", "on the device"});
  Table table(header);
  table.Spares({"kv prefix", "logits", "working", "inputs", "tables", "micro", "gradients", "mode",
                "optimizer", "weights", "activations"});
  for (const TaskFigures& task : tasks) {
    const MemoryLedger& step = task.step;
    std::vector<std::string> line = {
        Label(task.task, task.variant),
        task.way.Words(),
        task.is_auto ? "1 (auto)" : std::to_string(task.rows),
        std::to_string(task.micro_rows),
        Bytes(step.weights),
        Bytes(step.optimizer),
        Bytes(step.constants),
        Bytes(step.gradients),
        Bytes(step.inputs),
        Bytes(step.activations),
        Bytes(step.prefix),
        Bytes(step.logits),
        Bytes(step.working),
        Bytes(task.peak) + (task.is_measured ? " *" : ""),
        Bytes(task.evaluation) + " (" + std::to_string(task.evaluation_rows) + ")"};
    if (gpu != nullptr) {
      line.insert(line.end(), {Bytes(gpu->workspace), Bytes(gpu->context),
                               Bytes(std::max(task.peak, task.evaluation) + gpu->workspace + gpu->context)});
    }
    table.Add(line);
  }
  return table.ToText();
}

std::string RowsTable(const std::vector<TaskFigures>& tasks) {
  return ByRowsTable(tasks, &TaskFigures::peaks);
}

std::string EvaluationTable(const std::vector<TaskFigures>& tasks) {
  return ByRowsTable(tasks, &TaskFigures::evaluations);
}

ordered_json ToJson(const std::vector<TaskFigures>& tasks) {
  ordered_json json = ordered_json::array();
  for (const TaskFigures& task : tasks) {
    json.push_back({{"task", task.task},
                    {"variant", task.variant},
                    {"mode", ModeName(task.way.mode)},
                    {"recompute_every", task.way.recompute_every},
                    {"rows", task.rows},
                    {"rows_are_auto", task.is_auto},
                    {"micro_rows", task.micro_rows},
                    {"step", LedgerJson(task.step)},
                    {"peak", task.peak},
                    {"measured", task.is_measured},
                    {"evaluation", {{"rows", task.evaluation_rows}, {"peak", task.evaluation}}},
                    {"peak_by_rows", ByRowsJson(task.peaks)},
                    {"evaluation_by_rows", ByRowsJson(task.evaluations)}});
  }
  return json;
}

GpuVerdicts JudgeGpus(const Estimate& estimate, const std::vector<Gpu>& gpus) {
  GpuVerdicts verdicts;
  for (const Gpu& gpu : gpus) {  // the smallest first
    const GpuVerdict& verdict = verdicts.gpus.emplace_back(VerdictOn(estimate, gpu));
    if (verdicts.as_configured.empty() && verdict.as_configured) verdicts.as_configured = gpu.name;
    if (verdicts.in_pieces.empty() && verdict.fits) verdicts.in_pieces = gpu.name;
  }
  return verdicts;
}

std::string VerdictTable(const GpuVerdicts& verdicts) {
  Table table({"GPU", "memory", "context", "workspace", "margin", "for tensors", "fits"});
  table.Spares({"workspace", "context", "margin", "memory"}).Breaks("fits");
  for (const GpuVerdict& verdict : verdicts.gpus) {
    const Gpu& gpu = verdict.gpu;
    table.Add({gpu.name, Bytes(gpu.memory), Bytes(gpu.context), Bytes(gpu.workspace), Bytes(gpu.margin),
               Bytes(gpu.usable()), verdict.words});
  }
  std::string text = table.ToText();
  const std::string &whole = verdicts.as_configured, &pieces = verdicts.in_pieces;
  if (pieces.empty()) return text + "None of them is large enough.\n";
  text += "Recommended: " + (whole.empty() ? pieces : whole) + ", the smallest that takes " +
          (whole.empty() ? "a row of every task" : "every task as configured") + ".";
  if (!whole.empty() && whole != pieces) text += " " + pieces + " takes them in pieces.";
  return Prose(text + "\n", 0);
}

ordered_json ToJson(const GpuVerdicts& verdicts) {
  ordered_json json = ordered_json::array();
  for (const GpuVerdict& verdict : verdicts.gpus) {
    const Gpu& gpu = verdict.gpu;
    json.push_back({{"name", gpu.name},
                    {"memory", gpu.memory},
                    {"context", gpu.context},
                    {"workspace", gpu.workspace},
                    {"margin", gpu.margin},
                    {"usable", gpu.usable()},
                    {"fits", verdict.as_configured ? "as configured"
                             : verdict.fits        ? "in pieces"
                                                   : "no"},
                    {"words", verdict.words}});
  }
  return json;
}

Advice AdviceOf(const Estimate& estimate, const Plan& plan) {
  Advice advice{.budget = plan.budget, .waiting = plan.data_bytes, .ranks = estimate.ranks(), .tasks = {}};
  for (const EstimatedTask& task : estimate.tasks()) {
    const Estimate::Recommendation best = estimate.Recommend(task, plan);
    const auto taken = static_cast<double>(best.peak + plan.data_bytes);
    advice.tasks.push_back({.task = task.request.form.id.text(),
                            .variant = task.request.variant,
                            .way = plan.Find(task.request.form.id)->way,
                            .best = best,
                            .share = taken / static_cast<double>(plan.budget)});
  }
  return advice;
}

std::string AdviceTable(const Advice& advice) {
  std::vector<std::string> header = {
      "task", "mode", "rows", "accumulation", "peak", "of the memory", "rows of an evaluation"};
  if (advice.ranks > 1) header.emplace_back("rows of a draw");
  Table table(std::move(header));
  table.Spares({"of the memory", "rows of an evaluation"});
  for (const TaskAdvice& task : advice.tasks) {
    const Estimate::Recommendation& best = task.best;
    std::vector<std::string> line = {
        Label(task.task, task.variant),
        task.way.Words(),
        std::to_string(best.rows.rows),
        std::to_string(best.rows.steps),
        Bytes(best.peak),
        FormatShare(task.share),
        best.evaluation_rows > 0 ? std::to_string(best.evaluation_rows) : "none fits"};
    if (advice.ranks > 1) line.push_back(std::to_string(best.draw_rows));
    table.Add(std::move(line));
  }
  std::string text = table.ToText();
  if (advice.ranks > 1)
    text += "Of one of " + std::to_string(advice.ranks) + " processes; a draw has the rows of all.\n";
  if (advice.waiting > 0) text += "Beside the peaks " + Bytes(advice.waiting) + " of rows wait.\n";
  return text;
}

ordered_json ToJson(const Advice& advice) {
  ordered_json tasks = ordered_json::array();
  for (const TaskAdvice& task : advice.tasks) {
    tasks.push_back({{"task", task.task},
                     {"variant", task.variant},
                     {"mode", ModeName(task.way.mode)},
                     {"recompute_every", task.way.recompute_every},
                     {"rows", task.best.rows.rows},
                     {"accumulation", task.best.rows.steps},
                     {"peak", task.best.peak},
                     {"share_of_budget", task.share},
                     {"evaluation_rows", task.best.evaluation_rows}});
    if (advice.ranks > 1) tasks.back()["draw_rows"] = task.best.draw_rows;
  }
  return {{"budget", advice.budget}, {"waiting", advice.waiting}, {"tasks", std::move(tasks)}};
}

}  // namespace medley
