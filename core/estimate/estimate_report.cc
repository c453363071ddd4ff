#include <medley/estimate/estimate_report.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

std::string Bytes(std::int64_t bytes) { return medley::FormatBytes(bytes); }

std::string Label(const TaskFigures& task, const NamesOfForms& names) {
  return NameOf(task.form, names) + (task.variant == "default" ? "" : " (" + task.variant + ")");
}

std::string ByRowsTable(const std::vector<TaskFigures>& tasks, const NamesOfForms& names,
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
    std::vector<std::string> line = {Label(task, names)};
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
  ordered_json json = {{"weights", step.weights}, {"optimizer", step.optimizer}};
  if (step.references > 0) json["references"] = step.references;
  json.update(ordered_json{{"constants", step.constants},
                           {"gradients", step.gradients},
                           {"inputs", step.inputs},
                           {"activations", step.activations},
                           {"prefix", step.prefix},
                           {"logits", step.logits},
                           {"working", step.working}});
  return json;
}

}  // namespace

std::vector<TaskFigures> FiguresOf(const Estimate& estimate, const std::vector<std::int64_t>& rows,
                                   const std::vector<std::int64_t>& evaluated, const Telling& tell) {
  std::vector<TaskFigures> all;
  for (const EstimatedTask& task : estimate.tasks()) {
    if (tell)
      tell("estimating peaks of " + task.request.form.id.text(), static_cast<double>(all.size()),
           static_cast<double>(estimate.tasks().size()));
    TaskFigures& figures = all.emplace_back();
    figures.form = task.request.form.id;
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

std::string StepTable(const std::vector<TaskFigures>& tasks, const NamesOfForms& names, const Gpu* gpu) {
  // All tasks of a run have the same, most runs none.
  const bool has_references = !tasks.empty() && tasks.front().step.references > 0;
  std::vector<std::string> header = {"task", "rows", "mode", "micro", "parameters", "optimizer"};
  if (has_references) header.emplace_back("references");
  header.insert(header.end(), {"tables", "gradients", "inputs", "activations", "kv prefix", "logits",
                               "working", "peak", "evaluation"});
  if (gpu != nullptr) header.insert(header.end(), {"workspace", "context", "on the device"});
  Table table(header);
  std::vector<std::string> spare = {"kv prefix", "logits", "working",   "inputs",     "tables",     "micro",
                                    "gradients", "mode",   "optimizer", "parameters", "activations"};
  if (has_references) spare.insert(spare.begin() + 9, "references");
  table.Spares(spare);
  for (const TaskFigures& task : tasks) {
    const MemoryLedger& step = task.step;
    std::vector<std::string> line = {
        Label(task, names),  task.is_auto ? "1 (auto)" : std::to_string(task.rows),
        task.way.Words(),    std::to_string(task.micro_rows),
        Bytes(step.weights), Bytes(step.optimizer)};
    if (has_references) line.push_back(Bytes(step.references));
    line.insert(line.end(), {Bytes(step.constants), Bytes(step.gradients), Bytes(step.inputs),
                             Bytes(step.activations), Bytes(step.prefix), Bytes(step.logits),
                             Bytes(step.working), Bytes(task.peak) + (task.is_measured ? " *" : ""),
                             Bytes(task.evaluation) + " (" + std::to_string(task.evaluation_rows) + ")"});
    if (gpu != nullptr) {
      line.insert(line.end(), {Bytes(gpu->workspace), Bytes(gpu->context),
                               Bytes(std::max(task.peak, task.evaluation) + gpu->workspace + gpu->context)});
    }
    table.Add(line);
  }
  return table.ToText();
}

std::string RowsTable(const std::vector<TaskFigures>& tasks, const NamesOfForms& names) {
  return ByRowsTable(tasks, names, &TaskFigures::peaks);
}

std::string EvaluationTable(const std::vector<TaskFigures>& tasks, const NamesOfForms& names) {
  return ByRowsTable(tasks, names, &TaskFigures::evaluations);
}

ordered_json ToJson(const std::vector<TaskFigures>& tasks) {
  ordered_json json = ordered_json::array();
  for (const TaskFigures& task : tasks) {
    json.push_back({{"task", task.form.text()},
                    {"variant", task.variant},
                    {"mode", ModeName(task.way.mode)},
                    RecomputedMember(task.way.recomputed),
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

}  // namespace medley
