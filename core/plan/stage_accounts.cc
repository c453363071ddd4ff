#include <medley/plan/stage_accounts.h>

#include <algorithm>

#include <medley/base/json_count.h>
#include <medley/config/run_config.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

ordered_json AccountJson(const TaskAccount& task) {
  return {{"asked", task.asked},     {"delivered", task.delivered},
          {"rows", task.rows},       {"steps", task.steps},
          {"tokens", task.tokens},   {"passes", task.passes},
          {"seconds", task.seconds}, {"peak", task.peak}};
}

TaskAccount AccountOf(const ordered_json& json) {
  return {.asked = json.at("asked").get<double>(),
          .delivered = json.at("delivered").get<double>(),
          .rows = CountOf(json, "rows"),
          .steps = CountOf(json, "steps"),
          .tokens = CountOf(json, "tokens"),
          .passes = CountOf(json, "passes"),
          .seconds = json.at("seconds").get<double>(),
          .peak = CountOf(json, "peak")};
}

// "1200 (33.3 %)"
template <typename Number>
std::string Part(Number part, Number whole, const std::string& text) {
  if (whole <= 0) return text;
  return text + " (" + FormatShare(static_cast<double>(part) / static_cast<double>(whole)) + ")";
}

TaskAccount Sum(const StageAccount& stage) {
  TaskAccount sum;
  for (const auto& [name, task] : stage.tasks) {
    sum.rows += task.rows;
    sum.steps += task.steps;
    sum.tokens += task.tokens;
    sum.passes += task.passes;
    sum.seconds += task.seconds;
  }
  return sum;
}

}  // namespace

void StageAccounts::Add(const StepRecord& record) {
  if (stages_.empty() || stages_.back().number != record.stage.number)
    stages_.push_back({.number = record.stage.number, .name = record.stage.name, .tasks = {}});
  std::map<std::string, TaskAccount>& tasks = stages_.back().tasks;
  for (const auto& [task, share] : record.stage.shares) {
    tasks[task].asked = share.asked;
    tasks[task].delivered = share.delivered;
  }
  for (const Draw& draw : record.draws) {
    TaskAccount& task = tasks[draw.task];
    task.rows += draw.rows;
    ++task.steps;
    task.seconds += record.seconds / static_cast<double>(record.draws.size());
  }
  for (const DrawReceipt& draw : record.receipts) {
    TaskAccount& task = tasks[std::string(TaskOfForm(draw.task))];
    task.tokens += draw.tokens;
    task.passes += draw.passes;
    task.peak = std::max(task.peak, draw.measured);
  }
}

ordered_json StageAccounts::ToJson() const {
  ordered_json stages = ordered_json::array();
  for (const StageAccount& stage : stages_) {
    ordered_json tasks = ordered_json::object();
    for (const auto& [name, task] : stage.tasks) tasks[name] = AccountJson(task);
    stages.push_back({{"number", stage.number}, {"name", stage.name}, {"tasks", std::move(tasks)}});
  }
  return stages;
}

StageAccounts StageAccounts::FromJson(const ordered_json& json) {
  StageAccounts accounts;
  for (const ordered_json& stage : json) {
    StageAccount& account = accounts.stages_.emplace_back();
    account.number = CountOf(stage, "number");
    account.name = stage.at("name").get<std::string>();
    for (const auto& [name, task] : stage.at("tasks").items()) account.tasks[name] = AccountOf(task);
  }
  return accounts;
}

std::string StagesTable(const StageAccounts& accounts) {
  std::string text;
  for (const StageAccount& stage : accounts.stages()) {
    const TaskAccount all = Sum(stage);
    Table table({"task", "asked", "delivered", "rows", "steps", "tokens", "passes", "seconds", "peak"});
    for (const auto& [name, task] : stage.tasks) {
      table.Add({name, FormatShare(task.asked), FormatShare(task.delivered),
                 Part(task.rows, all.rows, std::to_string(task.rows)),
                 Part(task.steps, all.steps, std::to_string(task.steps)),
                 Part(task.tokens, all.tokens, std::to_string(task.tokens)),
                 Part(task.passes, all.passes, std::to_string(task.passes)),
                 Part(task.seconds, all.seconds, FormatNumber(task.seconds)),
                 task.peak > 0 ? FormatBytes(static_cast<double>(task.peak)) : "-"});
    }
    if (!stage.name.empty()) text += "stage " + std::to_string(stage.number + 1) + ", " + stage.name + "\n";
    text += table.ToText() + "\n";
  }
  return text;
}

}  // namespace medley
