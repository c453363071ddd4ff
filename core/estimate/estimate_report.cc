#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/estimate/estimate.h>
#include <medley/report/table.h>

namespace medley {
namespace {

std::string Bytes(std::int64_t bytes) { return medley::FormatBytes(bytes); }

std::int64_t RowsOf(const EstimatedTask& task) { return std::max<std::int64_t>(task.request.rows, 1); }

std::string Label(const EstimatedTask& task) {
  return task.request.form.id.text() +
         (task.request.variant == "default" ? "" : " (" + task.request.variant + ")");
}

std::string RowsWords(const Accumulation& rows) {
  return std::to_string(rows.rows) + " x " + std::to_string(rows.steps);
}

// A plan for a GPU, or why there is none.
struct GpuVerdict {
  std::optional<Plan> plan;
  std::string words;
  bool as_configured = false;  // all rows in one forward, and none is repeated that was not asked for
};

std::string WordsOf(const DoesNotFit& refusal) {
  const auto worst =
      std::max_element(refusal.refusals().begin(), refusal.refusals().end(),
                       [](const Refusal& a, const Refusal& b) { return a.missing < b.missing; });
  const std::string row = worst->of_evaluation ? "evaluating a row of " : "one row of ";
  return "no: " + (!worst->form ? "weights and optimizer need " : row + worst->form->text() + " needs ") +
         Bytes(worst->missing) + " more";
}

GpuVerdict VerdictOn(const Estimate& estimate, const Gpu& gpu) {
  GpuVerdict verdict;
  try {
    verdict.plan = estimate.PlanFor(gpu.usable());
  } catch (const DoesNotFit& refusal) {
    verdict.words = WordsOf(refusal);
    return verdict;
  }
  std::string changed;
  int count = 0;
  for (const EstimatedTask& task : estimate.tasks()) {
    const PlannedTask& entry = *verdict.plan->Find(task.request.form.id);
    const Accumulation rows = estimate.Recommend(task, *verdict.plan).rows;
    const bool has_mode =
        !TraitsOf(entry.way.mode).repeats_makers || TraitsOf(task.setting.way.mode).repeats_makers;
    const bool as_asked = has_mode && entry.way.recompute_every <= task.setting.way.recompute_every;
    if ((rows.steps == 1 && as_asked) || ++count > 3) continue;
    changed += (changed.empty() ? "" : ", ") + task.request.form.id.text() + " " + RowsWords(rows);
    if (!as_asked) changed += " (" + entry.way.Words() + ")";
  }
  verdict.as_configured = count == 0;
  verdict.words = count == 0 ? "yes" : "in pieces: " + changed;
  if (count > 3) verdict.words += " and " + std::to_string(count - 3) + " more";
  return verdict;
}

// A column for each; where there is no room for all, every second one goes first.
Table TableByRows(const std::vector<std::int64_t>& rows) {
  std::vector<std::string> header = {"task"}, spares;
  for (const std::int64_t n : rows) header.push_back(std::to_string(n));
  for (const std::size_t first : {2, 3}) {
    for (std::size_t i = first; i < header.size(); i += 2) spares.push_back(header[i]);
  }
  Table table(header);
  table.Spares(spares);
  return table;
}

}  // namespace

std::string StepTable(const Estimate& estimate, const Gpu* gpu) {
  std::vector<std::string> header = {"task",      "mode",   "rows",      "micro",  "weights",
                                     "optimizer", "tables", "gradients", "inputs", "activations",
                                     "kv prefix", "logits", "working",   "peak",   "evaluation"};
  if (gpu != nullptr) header.insert(header.end(), {"workspace", "context", "on the device"});
  Table table(header);
  table.Spares({"kv prefix", "logits", "working", "inputs", "tables", "micro", "gradients", "mode",
                "optimizer", "weights", "activations"});
  for (const EstimatedTask& task : estimate.tasks()) {
    const std::int64_t rows = RowsOf(task), micro = RowsAtOnce(task.setting.micro_rows, rows);
    const MemoryLedger step = estimate.Training(task, rows, micro);
    const std::int64_t peak = estimate.Peak(task, rows, micro);
    const std::int64_t evaluation = estimate.Evaluation(task, task.evaluation_rows);
    std::vector<std::string> line = {Label(task),
                                     task.setting.way.Words(),
                                     task.request.rows > 0 ? std::to_string(rows) : "1 (auto)",
                                     std::to_string(micro),
                                     Bytes(step.weights),
                                     Bytes(step.optimizer),
                                     Bytes(step.constants),
                                     Bytes(step.gradients),
                                     Bytes(step.inputs),
                                     Bytes(step.activations),
                                     Bytes(step.prefix),
                                     Bytes(step.logits),
                                     Bytes(step.working),
                                     Bytes(peak) + (estimate.IsMeasured(task) ? " *" : ""),
                                     Bytes(evaluation) + " (" + std::to_string(task.evaluation_rows) + ")"};
    if (gpu != nullptr) {
      line.insert(line.end(), {Bytes(gpu->workspace), Bytes(gpu->context),
                               Bytes(std::max(peak, evaluation) + gpu->workspace + gpu->context)});
    }
    table.Add(line);
  }
  return table.ToText();
}

std::string RowsTable(const Estimate& estimate, const std::vector<std::int64_t>& rows) {
  Table table = TableByRows(rows);
  for (const EstimatedTask& task : estimate.tasks()) {
    std::vector<std::string> line = {Label(task)};
    for (const std::int64_t n : rows) line.push_back(Bytes(estimate.Peak(task, n, n)));
    table.Add(line);
  }
  return table.ToText();
}

std::string EvaluationTable(const Estimate& estimate, const std::vector<std::int64_t>& rows) {
  Table table = TableByRows(rows);
  for (const EstimatedTask& task : estimate.tasks()) {
    std::vector<std::string> line = {Label(task)};
    for (const std::int64_t n : rows) line.push_back(Bytes(estimate.Evaluation(task, n)));
    table.Add(line);
  }
  return table.ToText();
}

GpuVerdicts JudgeGpus(const Estimate& estimate, const std::vector<Gpu>& gpus) {
  Table table({"GPU", "memory", "context", "workspace", "margin", "for tensors", "fits"});
  table.Spares({"workspace", "context", "margin", "memory"}).Breaks("fits");
  std::string whole, pieces;
  for (const Gpu& gpu : gpus) {  // the smallest first
    const GpuVerdict verdict = VerdictOn(estimate, gpu);
    table.Add({gpu.name, Bytes(gpu.memory), Bytes(gpu.context), Bytes(gpu.workspace), Bytes(gpu.margin),
               Bytes(gpu.usable()), verdict.words});
    if (whole.empty() && verdict.as_configured) whole = gpu.name;
    if (pieces.empty() && verdict.plan) pieces = gpu.name;
  }
  std::string text = table.ToText();
  if (pieces.empty()) return {.table = text + "None of them is large enough.\n", .any_fits = false};
  text += "Recommended: " + (whole.empty() ? pieces : whole) + ", the smallest that takes " +
          (whole.empty() ? "a row of every task" : "every task as configured") + ".";
  if (!whole.empty() && whole != pieces) text += " " + pieces + " takes them in pieces.";
  return {.table = Wrapped(text + "\n", ScreenColumns(), 0), .any_fits = true};
}

std::string RecommendationTable(const Estimate& estimate, const Plan& plan) {
  Table table({"task", "mode", "rows", "accumulation", "peak", "of the memory", "rows of an evaluation"});
  table.Spares({"of the memory", "rows of an evaluation"});
  for (const EstimatedTask& task : estimate.tasks()) {
    const PlannedTask& entry = *plan.Find(task.request.form.id);
    const Estimate::Recommendation best = estimate.Recommend(task, plan);
    const auto taken = static_cast<double>(best.peak + plan.data_bytes);
    table.Add({Label(task), entry.way.Words(), std::to_string(best.rows.rows),
               std::to_string(best.rows.steps), Bytes(best.peak),
               FormatShare(taken / static_cast<double>(plan.budget)),
               best.evaluation_rows > 0 ? std::to_string(best.evaluation_rows) : "none fits"});
  }
  std::string text = table.ToText();
  if (plan.data_bytes > 0) text += "Beside the peaks " + Bytes(plan.data_bytes) + " of rows wait.\n";
  return text;
}

}  // namespace medley
