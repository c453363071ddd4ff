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

std::string StagesOfPlan(const FormTable& forms, const Curriculum& curriculum, const Plan& plan) {
  if (curriculum.stages.front().name.empty()) return "";
  Table table({"stage", "tasks", "largest peak", "of", "other than the config's"});
  table.Spares({"tasks", "of"}).Breaks("other than the config's");
  for (const Stage& stage : curriculum.stages) {
    const PlannedTask* largest = nullptr;
    std::string others;
    for (const std::string& task : stage.Active()) {
      const Form& form = forms.Of(stage, task);
      const PlannedTask* planned = plan.Find(form.id);
      if (planned == nullptr) continue;  // it could not be measured
      if (largest == nullptr || planned->predicted_peak > largest->predicted_peak) largest = planned;
      if (!form.IsOwn()) others += (others.empty() ? "" : "; ") + FormWords(task, *planned);
    }
    table.Add({stage.name, std::to_string(stage.Active().size()),
               largest == nullptr ? "-" : FormatBytes(largest->predicted_peak),
               largest == nullptr ? "-" : largest->form.text(), others.empty() ? "-" : others});
  }
  return table.ToText();
}

}  // namespace medley
