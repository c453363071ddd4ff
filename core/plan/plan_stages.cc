#include <medley/plan/plan_stages.h>

#include <medley/base/bytes.h>
#include <medley/report/table.h>

namespace medley {
namespace {

std::string FormWords(const std::string& task, const PlannedTask& planned) {
  return task + " with " + std::to_string(planned.rows) + " rows, " +
         (planned.micro_rows < planned.rows ? std::to_string(planned.micro_rows) + " at once, " : "") +
         planned.way.Words() + ", " + FormatBytes(planned.predicted_peak) + " (" + planned.form.text() + ")";
}

}  // namespace

std::vector<PlannedStage> PlannedStages(const FormTable& forms, const Curriculum& curriculum,
                                        const Plan& plan) {
  if (curriculum.stages.front().name.empty()) return {};
  std::vector<PlannedStage> stages;
  for (const Stage& stage : curriculum.stages) {
    PlannedStage& planned = stages.emplace_back();
    planned.name = stage.name;
    planned.tasks = stage.Active().size();
    for (const std::string& task : stage.Active()) {
      const Form& form = forms.Of(stage, task);
      const PlannedTask* entry = plan.Find(form.id);
      if (entry == nullptr) continue;  // it could not be measured
      if (planned.largest == nullptr || entry->predicted_peak > planned.largest->predicted_peak)
        planned.largest = entry;
      if (!form.IsOwn()) planned.others.emplace_back(task, entry);
    }
  }
  return stages;
}

std::string StagesOfPlan(const FormTable& forms, const Curriculum& curriculum, const Plan& plan,
                         std::size_t columns) {
  const std::vector<PlannedStage> stages = PlannedStages(forms, curriculum, plan);
  if (stages.empty()) return "";
  Table table({"stage", "largest peak", "of", "tasks", "other than the config's"});
  table.Spares({"tasks", "of"}).Breaks("other than the config's");
  for (const PlannedStage& stage : stages) {
    std::string others;
    for (const auto& [task, entry] : stage.others)
      others += (others.empty() ? "" : "; ") + FormWords(task, *entry);
    table.Add({stage.name, stage.largest == nullptr ? "-" : FormatBytes(stage.largest->predicted_peak),
               stage.largest == nullptr ? "-" : stage.largest->form.text(), std::to_string(stage.tasks),
               others.empty() ? "-" : others});
  }
  return table.ToText(columns);
}

nlohmann::ordered_json ToJson(const std::vector<PlannedStage>& stages) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const PlannedStage& stage : stages) {
    nlohmann::ordered_json others = nlohmann::ordered_json::object();
    for (const auto& [task, entry] : stage.others) others[task] = entry->form.text();
    json.push_back({{"name", stage.name}, {"tasks", stage.tasks}, {"other_forms", std::move(others)}});
    if (stage.largest == nullptr) continue;
    json.back()["largest_peak"] = stage.largest->predicted_peak;
    json.back()["largest_task"] = stage.largest->form.text();
  }
  return json;
}

}  // namespace medley
