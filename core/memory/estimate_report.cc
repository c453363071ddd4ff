#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/memory/estimate.h>
#include <medley/report/table.h>

namespace medley {
namespace {

std::string Bytes(std::int64_t bytes) { return medley::FormatBytes(bytes); }

std::int64_t RowsOf(const EstimatedTask& task) { return std::max<std::int64_t>(task.setting.rows, 1); }

std::string Label(const EstimatedTask& task) {
  return task.name + (task.variant == "default" ? "" : " (" + task.variant + ")");
}

std::string ModeOf(const EstimatedTask& task) {
  return std::string(ModeName(task.setting.mode)) +
         (task.setting.recompute_every > 0
              ? ", recompute every " + std::to_string(task.setting.recompute_every)
              : "");
}

// What a GPU of this kind can do with the run, and why not.
std::string Verdict(const Estimate& estimate, const Gpu& gpu) {
  const auto shortfalls = estimate.Shortfalls(gpu.usable());
  if (!shortfalls.empty()) {
    const auto worst = std::max_element(shortfalls.begin(), shortfalls.end(),
                                        [](const auto& a, const auto& b) { return a.missing < b.missing; });
    return "no: " +
           (worst->task.empty() ? "weights and optimizer need " : "one row of " + worst->task + " needs ") +
           Bytes(worst->missing) + " more";
  }
  std::string smaller;
  int count = 0;
  for (const EstimatedTask& task : estimate.tasks()) {
    const Accumulation rows = estimate.Recommend(task, gpu.usable());
    if (rows.steps <= 1 || ++count > 3) continue;
    smaller += (smaller.empty() ? "" : ", ") + task.name + " " + std::to_string(rows.rows) + " x " +
               std::to_string(rows.steps);
  }
  if (count == 0) return "yes";
  return "in micro-batches: " + smaller + (count > 3 ? " and " + std::to_string(count - 3) + " more" : "");
}

bool FitsAsConfigured(const Estimate& estimate, std::int64_t budget) {
  return std::all_of(estimate.tasks().begin(), estimate.tasks().end(),
                     [&](const EstimatedTask& task) { return estimate.Recommend(task, budget).steps == 1; });
}

}  // namespace

std::string StepTable(const Estimate& estimate) {
  Table table({"task", "mode", "rows", "micro", "gradients", "inputs", "activations", "kv prefix", "logits",
               "working", "peak", "evaluation"});
  for (const EstimatedTask& task : estimate.tasks()) {
    const std::int64_t rows = RowsOf(task);
    const std::int64_t micro = task.setting.micro_rows > 0 ? std::min(task.setting.micro_rows, rows) : rows;
    const StepBytes step = estimate.Training(task, rows, micro);
    table.Add({Label(task), ModeOf(task), task.setting.rows > 0 ? std::to_string(rows) : "1 (auto)",
               std::to_string(micro), Bytes(step.gradients), Bytes(step.inputs), Bytes(step.activations),
               Bytes(step.prefix), Bytes(step.logits), Bytes(step.working),
               Bytes(estimate.Peak(task, rows, micro)) + (task.measured.empty() ? "" : " *"),
               Bytes(estimate.Evaluation(task, micro).total())});
  }
  return table.ToText();
}

std::string RowsTable(const Estimate& estimate, const std::vector<std::int64_t>& rows) {
  std::vector<std::string> header = {"task"};
  for (const std::int64_t n : rows) header.push_back(std::to_string(n));
  Table table(header);
  for (const EstimatedTask& task : estimate.tasks()) {
    std::vector<std::string> line = {Label(task)};
    for (const std::int64_t n : rows) line.push_back(Bytes(estimate.Peak(task, n, n)));
    table.Add(line);
  }
  return table.ToText();
}

std::string GpuTable(const Estimate& estimate, const std::vector<Gpu>& gpus) {
  Table table({"GPU", "memory", "for tensors", "fits"});
  std::string whole, pieces;
  for (const Gpu& gpu : gpus) {  // the smallest first
    table.Add({gpu.name, Bytes(gpu.memory), Bytes(gpu.usable()), Verdict(estimate, gpu)});
    if (whole.empty() && FitsAsConfigured(estimate, gpu.usable())) whole = gpu.name;
    if (pieces.empty() && estimate.Shortfalls(gpu.usable()).empty()) pieces = gpu.name;
  }
  std::string text = table.ToText();
  if (pieces.empty()) return text + "None of them is large enough.\n";
  text += "Recommended: " + (whole.empty() ? pieces : whole) + ", the smallest that takes " +
          (whole.empty() ? "a row of every task" : "every task as configured") + ".";
  if (!whole.empty() && whole != pieces) text += " " + pieces + " takes them in micro-batches.";
  return text + "\n";
}

std::string RecommendationTable(const Estimate& estimate, std::int64_t budget) {
  Table table({"task", "rows", "accumulation", "peak", "of the memory"});
  for (const EstimatedTask& task : estimate.tasks()) {
    const Accumulation best = estimate.Recommend(task, budget);
    if (best.rows == 0) {
      table.Add({Label(task), "-", "-", Bytes(estimate.Peak(task, RowsOf(task), 1)), "does not fit"});
      continue;
    }
    const std::int64_t peak = estimate.Peak(task, best.rows * best.steps, best.rows);
    table.Add({Label(task), std::to_string(best.rows), std::to_string(best.steps), Bytes(peak),
               FormatShare(static_cast<double>(peak) / static_cast<double>(budget))});
  }
  return table.ToText();
}

}  // namespace medley
