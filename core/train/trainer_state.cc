#include <medley/base/bytes.h>
#include <medley/model/device.h>
#include <medley/report/table.h>
#include <medley/train/trainer.h>

namespace medley {

using nlohmann::json;

TrainingState Trainer::State() {
  TrainingState state{run_.model->parameters(), run_.optimizer->State(), {}};
  // Progress first: a dropped task must be out of the mixture before the mixer compares it with the saved
  // one.
  state.sections.push_back(
      {"progress", 1, [this] { return SaveProgress(); }, [this](const json& s) { LoadProgress(s); }});
  state.sections.push_back(
      {"mixer", 1, [this] { return run_.mixer->Save(); }, [this](const json& s) { run_.mixer->Load(s); }});
  state.sections.push_back({"generators", 1, [this] { return SaveGenerators(run_.device); },
                            [this](const json& s) { LoadGenerators(s, run_.device); }});
  state.sections.push_back({"receipt", 1, [this] { return receipts_.ToJson(); },
                            [this](const json& s) { receipts_.Load(s); }, /*optional=*/true});
  return state;
}

json Trainer::SaveProgress() const {
  json state = {{"step", progress_.step},
                {"last_losses", progress_.last_losses},
                {"dropped", progress_.dropped},
                {"overflows", oom_.Save()},
                {"eval_rows_at_once", progress_.eval_rows_at_once}};
  state["evaluated"] = nullptr;
  if (progress_.evaluated)
    state["evaluated"] = {{"loss", progress_.evaluated->loss}, {"tasks", progress_.evaluated->tasks}};
  return state;
}

void Trainer::LoadProgress(const json& state) {
  progress_.step = state.at("step").get<std::int64_t>();
  progress_.last_losses = state.at("last_losses").get<std::map<std::string, double>>();
  progress_.dropped = state.at("dropped").get<std::map<std::string, std::string>>();
  oom_.Load(state.value("overflows", json::object()));
  progress_.eval_rows_at_once =
      state.value("eval_rows_at_once", json::object()).get<std::map<std::string, std::int64_t>>();
  progress_.evaluated.reset();
  const json evaluated = state.value("evaluated", json());
  if (evaluated.is_object())
    progress_.evaluated = MeanEvaluation{evaluated.at("loss").get<double>(),
                                         evaluated.at("tasks").get<std::vector<std::string>>()};
  for (auto& [name, weight] : run_.mixture.weights) {
    if (progress_.dropped.count(name) != 0) weight = 0;
  }
  if (!progress_.dropped.empty()) run_.mixer->SetMixture(run_.mixture);
}

std::string Trainer::Summary() const {
  Table table({"task", "rows", "draws", "share asked", "delivered", "last loss", "constants"});
  for (const auto& [task, share] : run_.mixer->Shares()) {
    const auto loss = progress_.last_losses.find(task);
    const std::int64_t constants = run_.is_loaded(task) ? run_.task(task).ConstantBytes(run_.device) : 0;
    table.Add({task, std::to_string(share.rows), std::to_string(share.draws), FormatShare(share.asked),
               FormatShare(share.delivered),
               loss == progress_.last_losses.end() ? "-" : FormatNumber(loss->second),
               FormatBytes(static_cast<double>(constants))});
  }
  std::string text =
      "after step " + std::to_string(progress_.step) + " of " + std::to_string(run_.config.steps) + ":\n";
  text += table.ToText();
  text += "largest share error " + FormatShare(run_.mixer->ShareError());
  text += ", memory peak " + FormatBytes(static_cast<double>(status_->memory_peak())) + "\n";
  const MemoryLedger& peak = memory_->largest();
  if (peak.total() > 0)
    text += "the largest step's " + FormatBytes(peak.total()) + ": " + peak.Words() + "\n";
  const double waited = seconds_in_steps_ > 0 ? prefetcher_.seconds_waited() / seconds_in_steps_ : 0;
  text += "waited for data " + FormatShare(waited) + " of the steps' time\n";
  if (const std::int64_t under = receipts_.receipt().under(); under > 0)
    text += std::to_string(under) + " draws took more memory than was planned: medley report " +
            directory_.string() + "\n";
  for (const auto& [task, reason] : progress_.dropped) text += "dropped: " + task + " (" + reason + ")\n";
  return text + "the run lies in " + directory_.string();
}

}  // namespace medley
