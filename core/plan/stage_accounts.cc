#include <medley/plan/stage_accounts.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/base/json_count.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

ordered_json AccountJson(const TaskAccount& task) {
  ordered_json json = {
      {"asked", task.asked},       {"delivered", task.delivered}, {"charged", task.charged},
      {"rows", task.rows},         {"steps", task.steps},         {"tokens_run", task.tokens_run},
      {"forwards", task.forwards}, {"seconds", task.seconds},     {"peak", task.peak}};
  if (task.items > 0) json["items"] = task.items;
  return json;
}

TaskAccount AccountOf(const ordered_json& json) {
  return {.asked = json.at("asked").get<double>(),
          .delivered = json.at("delivered").get<double>(),
          .charged = json.contains("charged") ? CountOf(json, "charged") : 0,
          .rows = CountOf(json, "rows"),
          .steps = CountOf(json, "steps"),
          .tokens_run = CountOf(json, json.contains("tokens") ? "tokens" : "tokens_run"),
          .forwards = CountOf(json, json.contains("passes") ? "passes" : "forwards"),
          .seconds = json.at("seconds").get<double>(),
          .peak = CountOf(json, "peak"),
          .items = json.contains("items") ? CountOf(json, "items") : 0};
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
    sum.charged += task.charged;
    sum.rows += task.rows;
    sum.steps += task.steps;
    sum.tokens_run += task.tokens_run;
    sum.forwards += task.forwards;
    sum.seconds += task.seconds;
  }
  return sum;
}

// Of rows and steps there is a column anyway.
bool HasOwnColumn(const std::string& unit) { return unit == "tokens" || unit == "passes"; }

// How often the stage's rows showed all its items.
std::string TimesThrough(const TaskAccount& task) {
  if (task.items == 0) return "-";
  return FormatNumber(static_cast<double>(task.rows) / static_cast<double>(task.items)) + " of " +
         std::to_string(task.items);
}

using Losses = std::map<std::string, double>;

Table TableOf(const StageAccount& stage, const Losses& losses) {
  const TaskAccount all = Sum(stage);
  std::vector<std::string> header = {"task",       "asked",    "delivered", "rows", "draws",
                                     "tokens run", "forwards", "seconds",   "peak"};
  constexpr std::ptrdiff_t kPlace = 3;  // of what the unit counts
  const bool has_own = HasOwnColumn(stage.unit);
  if (has_own) header.insert(header.begin() + kPlace, "declared " + stage.unit);
  if (!losses.empty()) header.insert(header.begin() + 1, "loss, smoothed");
  const bool has_items =
      std::ranges::any_of(stage.tasks, [](const auto& task) { return task.second.items > 0; });
  if (has_items) header.emplace_back("times through");
  Table table(std::move(header));
  table.Spares({"tokens run", "forwards", "draws", "seconds", "rows"});
  for (const auto& [name, task] : stage.tasks) {
    std::vector<std::string> row = {name,
                                    FormatShare(task.asked),
                                    FormatShare(task.delivered),
                                    Part(task.rows, all.rows, std::to_string(task.rows)),
                                    Part(task.steps, all.steps, std::to_string(task.steps)),
                                    Part(task.tokens_run, all.tokens_run, std::to_string(task.tokens_run)),
                                    Part(task.forwards, all.forwards, std::to_string(task.forwards)),
                                    Part(task.seconds, all.seconds, FormatNumber(task.seconds)),
                                    task.peak > 0 ? FormatBytes(task.peak) : "-"};
    if (has_own)
      row.insert(row.begin() + kPlace, Part(task.charged, all.charged, std::to_string(task.charged)));
    if (has_items) row.push_back(TimesThrough(task));
    if (!losses.empty()) {
      const auto loss = losses.find(name);
      row.insert(row.begin() + 1, loss == losses.end() ? "-" : FormatNumber(loss->second));
    }
    table.Add(std::move(row));
  }
  return table;
}

}  // namespace

void StageAccounts::Add(const StepRecord& record) {
  if (stages_.empty() || stages_.back().number != record.stage.number)
    stages_.push_back(
        {.number = record.stage.number, .name = record.stage.name, .unit = record.stage.unit, .tasks = {}});
  std::map<std::string, TaskAccount>& tasks = stages_.back().tasks;
  for (const auto& [task, share] : record.stage.shares) {
    tasks[task].asked = share.asked;
    tasks[task].delivered = share.delivered;
    tasks[task].charged = share.charged;
  }
  for (const auto& [task, items] : record.items) tasks[task].items = items;
  for (const Draw& draw : record.draws) {
    TaskAccount& task = tasks[draw.task];
    task.rows += draw.rows;
    ++task.steps;
    task.seconds += record.seconds / static_cast<double>(record.draws.size());
  }
  const std::vector<Draw>& computed = record.Computed();
  for (std::size_t i = 0; i < std::min(computed.size(), record.receipts.size()); ++i) {
    const DrawReceipt& receipt = record.receipts[i];
    TaskAccount& task = tasks[computed[i].task];
    task.tokens_run += receipt.tokens_run;
    task.forwards += receipt.forwards;
    task.peak = std::max(task.peak, receipt.measured);
  }
}

ordered_json StageAccounts::ToJson() const {
  ordered_json stages = ordered_json::array();
  for (const StageAccount& stage : stages_) {
    ordered_json tasks = ordered_json::object();
    for (const auto& [name, task] : stage.tasks) tasks[name] = AccountJson(task);
    stages.push_back(
        {{"number", stage.number}, {"name", stage.name}, {"unit", stage.unit}, {"tasks", std::move(tasks)}});
  }
  return stages;
}

StageAccounts StageAccounts::FromJson(const ordered_json& json) {
  StageAccounts accounts;
  for (const ordered_json& stage : json) {
    StageAccount& account = accounts.stages_.emplace_back();
    account.number = CountOf(stage, "number");
    account.name = stage.at("name").get<std::string>();
    account.unit = stage.value("unit", "");
    for (const auto& [name, task] : stage.at("tasks").items()) account.tasks[name] = AccountOf(task);
  }
  return accounts;
}

std::string StagesTable(const StageAccounts& accounts, std::size_t columns, const Losses& losses) {
  std::string text;
  Losses left = losses;
  for (auto stage = accounts.stages().rbegin(); stage != accounts.stages().rend(); ++stage) {
    Losses own;
    for (const auto& [task, account] : stage->tasks) {
      if (auto loss = left.extract(task)) own.insert(std::move(loss));
    }
    const std::string title =
        stage->name.empty() ? "" : "stage " + std::to_string(stage->number + 1) + ", " + stage->name + "\n";
    text = title + TableOf(*stage, own).ToText(columns) + "\n" + text;
  }
  return text;
}

}  // namespace medley
