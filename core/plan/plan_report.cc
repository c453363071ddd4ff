// A plan as JSON and as words.
#include <algorithm>
#include <stdexcept>

#include <medley/base/bytes.h>
#include <medley/base/json_count.h>
#include <medley/base/newer.h>
#include <medley/base/suggest.h>
#include <medley/plan/plan.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr int kPlanFormat = 1;

ordered_json ToJson(const Plan& plan, const PlannedTask& entry) {
  ordered_json json = {{"task", entry.form.text()},
                       {"variant", entry.variant},
                       {"passes", entry.passes},
                       {"mode", ModeName(entry.way.mode)},
                       RecomputedMember(entry.way.recomputed),
                       {"rows", entry.rows},
                       {"micro_rows", entry.micro_rows},
                       {"predicted_peak", entry.predicted_peak},
                       {"share_of_budget", plan.ShareOfBudget(entry)},
                       {"ms_per_step", entry.ms_per_step},
                       {"operations", entry.operations},
                       {"confirmed", entry.confirmed},
                       {"gradients", entry.ledger.gradients},
                       {"saved", entry.ledger.saved},
                       {"transient", entry.ledger.transient},
                       {"margin", entry.ledger.margin},
                       {"saved_by_pass", entry.saved_by_pass}};
  if (entry.tables > 0) json["tables"] = entry.tables;
  if (entry.own_rows > 0) json["own_rows"] = entry.own_rows;
  if (!entry.why.empty()) json["why"] = entry.why;
  return json;
}

PlannedTask EntryOf(const ordered_json& json) {
  PlannedTask entry{.form = FormId(json.at("task").get<std::string>()),
                    .variant = json.at("variant").get<std::string>(),
                    .passes = CountOf(json, "passes", 1),
                    .way = WayOf(json),
                    .rows = CountOf(json, "rows", 1, kMostDrawRows),
                    .micro_rows = CountOf(json, "micro_rows", 1),
                    .predicted_peak = CountOf(json, "predicted_peak"),
                    .ms_per_step = json.at("ms_per_step").get<double>(),
                    .confirmed = json.at("confirmed").get<bool>(),
                    .ledger = {.gradients = CountOf(json, "gradients"),
                               .saved = CountOf(json, "saved"),
                               .transient = CountOf(json, "transient"),
                               .margin = CountOf(json, "margin")}};
  if (json.contains("tables")) entry.tables = CountOf(json, "tables");
  if (json.contains("own_rows")) entry.own_rows = CountOf(json, "own_rows", 1, kMostDrawRows);
  if (json.contains("operations"))  // the first plans had none
    entry.operations = CountOf(json, "operations", 0, kMostOperations);
  entry.why = json.value("why", "");
  if (json.contains("saved_by_pass")) {
    const auto saved = json.at("saved_by_pass").get<std::map<std::string, ordered_json>>();
    for (const auto& [pass, bytes] : saved) entry.saved_by_pass[pass] = CheckedCount(bytes, pass);
  }
  if (entry.micro_rows > entry.rows)
    throw std::out_of_range("task " + entry.form.text() + " has " + std::to_string(entry.rows) + " rows in " +
                            std::to_string(entry.micro_rows));
  return entry;
}

// Where a mode was taken for its counted work.
std::string Reasons(const Plan& plan) {
  std::string text;
  for (const PlannedTask& entry : plan.entries) {
    if (!entry.why.empty()) text += "  " + entry.form.text() + " " + entry.why + "\n";
  }
  return text;
}

// What a step of each task adds to what lives between steps.
std::string PeaksTable(const Plan& plan, std::size_t columns) {
  Table table({"task", "gradients by then", "saved for the backward", "for a moment", "together"});
  for (const PlannedTask& entry : plan.entries) {
    const PeakLedger& ledger = entry.ledger;
    table.Add({entry.form.text(), FormatBytes(ledger.gradients), FormatBytes(ledger.saved),
               FormatBytes(ledger.transient),
               FormatBytes(ledger.gradients + ledger.saved + ledger.transient)});
  }
  return table.ToText(columns) +
         "(gradients by then: what is there of them when the step takes most; at its end all are there)\n";
}

}  // namespace

ordered_json ToJson(const Plan& plan) {
  ordered_json entries = ordered_json::array();
  for (const PlannedTask& entry : plan.entries) entries.push_back(ToJson(plan, entry));
  ordered_json json = {{"format", kPlanFormat},
                       {"budget", plan.budget},
                       {"floor",
                        {{"weights", plan.floor.weights},
                         {"optimizer", plan.floor.optimizer},
                         {"other", plan.floor.workspace},
                         {"constants", plan.floor.constants}}},
                       {"data_bytes", plan.data_bytes},
                       {"cache_bytes", plan.cache_bytes},
                       {"tasks", entries}};
  if (plan.floor.references > 0) json["floor"]["references"] = plan.floor.references;
  if (plan.drops_tables) json["drops_tables"] = true;
  if (plan.ranks > 1) json["ranks"] = plan.ranks;
  if (plan.usual_rows > 0) json["usual_rows"] = plan.usual_rows;
  return json;
}

Plan PlanFromJson(const ordered_json& json, const std::string& file) {
  RefuseNewer(json, "format", kPlanFormat, file, "remove it");
  try {
    if (json.at("format") != kPlanFormat) throw std::out_of_range("format is " + json.at("format").dump());
    const ordered_json& floor = json.at("floor");
    Plan plan{.budget = CountOf(json, "budget"),
              .floor = {.weights = CountOf(floor, "weights"),
                        .optimizer = CountOf(floor, "optimizer"),
                        .references = floor.contains("references") ? CountOf(floor, "references") : 0,
                        .workspace = CountOf(floor, "other")},
              .entries = {}};
    plan.floor.constants = CountOf(floor, "constants");
    plan.data_bytes = CountOf(json, "data_bytes");
    if (json.contains("cache_bytes")) plan.cache_bytes = CountOf(json, "cache_bytes", 0, plan.data_bytes);
    plan.drops_tables = json.value("drops_tables", false);
    if (json.contains("ranks")) plan.ranks = CountOf(json, "ranks", 2);
    if (json.contains("usual_rows")) plan.usual_rows = CountOf(json, "usual_rows", 1, kMostDrawRows);
    for (const ordered_json& entry : json.at("tasks")) plan.entries.push_back(EntryOf(entry));
    return plan;
  } catch (const std::exception& error) {
    throw InputError(file + " is no plan of medley's (" + error.what() + "); remove it");
  }
}

std::string PlanInALine(const Plan& plan, std::size_t tasks) {
  const auto count = [](std::size_t number, const std::string& name) {
    return std::to_string(number) + " " + name + (number == 1 ? "" : "s");
  };
  std::string text = count(tasks, "task");
  if (plan.entries.empty()) return text + ", none of which could be measured";
  if (plan.entries.size() != tasks) text += " in " + count(plan.entries.size(), "form");
  std::int64_t fewest = kMostDrawRows, most = 0, cut = 0;
  const PlannedTask* largest = &plan.entries.front();
  for (const PlannedTask& entry : plan.entries) {
    fewest = std::min(fewest, entry.rows), most = std::max(most, entry.rows);
    cut += entry.micro_rows < entry.rows ? 1 : 0;
    if (plan.Taken(entry) > plan.Taken(*largest)) largest = &entry;
  }
  std::vector<std::string> modes;
  for (const ModeTraits& mode : kModes) {
    if (std::ranges::any_of(plan.entries,
                            [&](const PlannedTask& entry) { return entry.way.mode == mode.mode; }))
      modes.emplace_back(mode.name);
  }
  text += ", " + JoinNames(modes, " or ") + ", " + (fewest < most ? std::to_string(fewest) + " to " : "") +
          std::to_string(most) + " rows a draw";
  if (cut > 0) text += " (" + std::to_string(cut) + " in micro-batches)";
  return text + ", at most " + FormatShare(plan.ShareOfBudget(*largest)) + " of " + FormatBytes(plan.budget) +
         " (" + largest->form.text() + ")";
}

std::string PlanTable(const Plan& plan, std::size_t columns) {
  Table table({"task", "mode", "variant", "passes", "rows", "micro rows", "predicted peak",
               "in all, of the budget", "ms, once"});
  table.Spares({"ms, once", "passes", "variant", "in all, of the budget"});
  std::int64_t margin = 0;
  bool all_confirmed = true;
  for (const PlannedTask& entry : plan.entries) {
    table.Add({entry.form.text(), entry.way.Words(), entry.variant, std::to_string(entry.passes),
               std::to_string(entry.rows), std::to_string(entry.micro_rows),
               FormatBytes(entry.predicted_peak), FormatBytesOf(plan.Taken(entry), plan.budget),
               entry.ms_per_step > 0 ? FormatNumber(entry.ms_per_step) : "-"});
    margin = std::max(margin, entry.ledger.margin);
    all_confirmed = all_confirmed && entry.confirmed;
  }
  const auto line = [](const std::string& name, std::int64_t bytes, const std::string& words = "") {
    std::string text = "  " + FormatBytes(bytes);
    text.resize(std::max<std::size_t>(text.size(), 13), ' ');
    return text + " " + name + (words.empty() ? "" : " (" + words + ")") + "\n";
  };
  const std::string reasons = Reasons(plan);
  std::string text = table.ToText(columns);
  if (plan.ranks > 1)
    text += "Rows are those of a draw, which " + std::to_string(plan.ranks) +
            " processes divide; micro rows, peaks and the budget are each one's.\n";
  if (!reasons.empty()) {
    text += plan.usual_rows > 0 ? "\nOf modes that fit alike, and of those that bring a forward to " +
                                      std::to_string(plan.usual_rows) + " rows:\n"
                                : "\nOf modes that fit alike:\n";
    text += reasons;
  }
  text +=
      "\nThe budget of " + FormatBytes(plan.budget) + " (" + std::to_string(plan.budget) + " bytes) holds\n";
  text +=
      line("parameters", plan.floor.weights) + line("optimizer", plan.floor.optimizer) +
      (plan.floor.references > 0 ? line("references", plan.floor.references) : "") +
      line("tables of the model and other", plan.floor.workspace) +
      line("tables of the tasks", plan.floor.constants,
           plan.drops_tables ? "beside those that are built for a draw, and dropped where others need room"
                             : "") +
      line("rows that wait", plan.waiting_bytes(), "data.ahead draws and the step's own, at most") +
      (plan.cache_bytes > 0 ? line("caches of the tasks", plan.cache_bytes, "of what they read, at most")
                            : "") +
      line("margin", margin,
           margin > 0 ? "for what the allocator rounds up and keeps" : "bytes are counted exactly");
  text += "and at the peak of a step of\n" + PeaksTable(plan, columns);
  if (!all_confirmed) {
    text += "Not all of these sizes were measured: where not, a line through the measured ones predicts.\n";
  }
  return text;
}

}  // namespace medley
