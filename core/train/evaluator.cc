#include <medley/train/evaluator.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/report/table.h>
#include <medley/train/device.h>
#include <medley/train/eval_pass.h>
#include <medley/train/pass_runner.h>
#include <medley/train/pictures.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kExamples = 8;

// The loss that training would see on these rows.
double HeldOutLoss(LoadedTask& task, const ExecutionPlan& plan, const EvalSetting& setting,
                   const RowRange& rows) {
  std::map<std::string, double> sums;
  std::map<std::string, std::int64_t> counts;
  for (const RowRange& piece : EvalPieces(rows)) {
    const Batch batch = task.Sample(piece);
    MicroBatch micro({.task = task, .model = setting.model, .device = setting.device, .seed = setting.seed},
                     batch);
    for (const PassInfo& pass : task.variant().passes) {
      for (const auto& [term, sum] : micro.RunPass(pass)) sums[term] += sum.item<double>();
      micro.PassDone(pass);
    }
    for (const TermInfo& term : task.variant().terms) counts[term.name] += batch.ItemCount(term.name);
  }
  double loss = 0;
  for (const TermInfo& term : task.variant().terms) {
    const auto pinned = plan.term_weights.find(term.name);
    const double weight = pinned == plan.term_weights.end() ? term.weight : pinned->second;
    if (counts[term.name] > 0) loss += weight * sums[term.name] / static_cast<double>(counts[term.name]);
  }
  return loss;
}

void CheckOutcomes(const LoadedTask& task, const Outcomes& outcomes, std::int64_t rows) {
  const auto check = [&](const std::string& what, std::size_t size) {
    if (static_cast<std::int64_t>(size) == rows) return;
    throw Error("plugin '" + task.plugin() + "', task '" + task.info().name + "', evaluate: " + what +
                " has " + std::to_string(size) + " rows, expected " + std::to_string(rows));
  };
  check("the score", outcomes.score.size());
  for (const auto& [name, values] : outcomes.trivial)
    check("the trivial answer '" + name + "'", values.size());
}

std::vector<std::vector<Picture>> Examples(const Outcomes& outcomes) {
  std::vector<std::vector<Picture>> rows;
  if (!outcomes.output.defined()) return rows;  // not a task that draws
  for (const at::Tensor* column : {&outcomes.input, &outcomes.target, &outcomes.output}) {
    if (!column->defined()) continue;
    const std::vector<Picture> pictures = PicturesOf(*column, kExamples);
    rows.resize(std::max(rows.size(), pictures.size()));
    for (std::size_t i = 0; i < pictures.size(); ++i) rows[i].push_back(pictures[i]);
  }
  return rows;
}

std::string TrivialText(const std::map<std::string, double>& trivial) {
  std::string text;
  for (const auto& [name, value] : trivial)
    text += (text.empty() ? "" : ", ") + name + " " + FormatNumber(value);
  return text.empty() ? "-" : text;
}

}  // namespace

TaskScore ScoreTask(LoadedTask& task, const ExecutionPlan& plan, const EvalSetting& setting) {
  const at::NoGradGuard no_grad;
  const KeepGenerators keep(setting.device);
  const RowRange rows{EvalSeed(setting.seed, task.info().name), 0, setting.rows};
  PiecewiseEval context(task, setting.model, setting.device);
  const Outcomes outcomes = task.Evaluate(context, rows);
  CheckOutcomes(task, outcomes, setting.rows);
  TaskScore score;
  score.metric = task.info().score.name;
  score.higher_is_better = task.info().score.higher_is_better;
  score.score = MeanInterval(outcomes.score);
  score.chance = task.info().score.chance;
  for (const auto& [name, values] : outcomes.trivial) score.trivial[name] = MeanOf(values);
  score.rows = setting.rows;
  score.loss = HeldOutLoss(task, plan, setting, rows);
  score.examples = Examples(outcomes);
  return score;
}

ordered_json ScoresJson(const Scores& scores) {
  ordered_json tasks = ordered_json::object();
  for (const auto& [name, score] : scores) {
    tasks[name] = {
        {"metric", score.metric},     {"better", score.higher_is_better ? "higher" : "lower"},
        {"value", score.score.value}, {"low", score.score.low},
        {"high", score.score.high},   {"chance", score.chance ? ordered_json(*score.chance) : ordered_json()},
        {"trivial", score.trivial},   {"rows", score.rows}};
  }
  return {{"tasks", tasks}};
}

std::string ScoresTable(const Scores& scores) {
  Table table(
      {"task", "score", "better", "value", "95 % interval", "chance", "loss", "rows", "trivial answers"});
  for (const auto& [name, score] : scores) {
    table.Add({name, score.metric, score.higher_is_better ? "higher" : "lower",
               FormatNumber(score.score.value),
               FormatNumber(score.score.low) + " .. " + FormatNumber(score.score.high),
               score.chance ? FormatNumber(*score.chance) : "-", FormatNumber(score.loss),
               std::to_string(score.rows), TrivialText(score.trivial)});
  }
  return table.ToText();
}

double MeanLoss(const Scores& scores) {
  double sum = 0;
  for (const auto& [name, score] : scores) sum += score.loss;
  return scores.empty() ? 0 : sum / static_cast<double>(scores.size());
}

std::vector<std::filesystem::path> WriteSheets(const Scores& scores, const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& [name, score] : scores) {
    if (score.examples.empty()) continue;
    files.push_back(directory / ("sheet-" + name + ".png"));
    WritePng(MakeSheet(score.examples), files.back());
  }
  return files;
}

}  // namespace medley
