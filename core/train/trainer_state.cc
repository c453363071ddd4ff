#include <medley/report/table.h>
#include <medley/train/device.h>
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
  return state;
}

json Trainer::SaveProgress() const {
  json state = {
      {"step", progress_.step}, {"last_losses", progress_.last_losses}, {"dropped", progress_.dropped}};
  state["evaluated"] = nullptr;
  if (progress_.evaluated)
    state["evaluated"] = {{"loss", progress_.evaluated->loss}, {"tasks", progress_.evaluated->tasks}};
  return state;
}

void Trainer::LoadProgress(const json& state) {
  progress_.step = state.at("step").get<std::int64_t>();
  progress_.last_losses = state.at("last_losses").get<std::map<std::string, double>>();
  progress_.dropped = state.at("dropped").get<std::map<std::string, std::string>>();
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

std::string TrainingSummary(const Run& run, const TrainingProgress& progress, std::int64_t memory_peak,
                            const std::filesystem::path& directory) {
  Table table({"task", "rows", "draws", "share asked", "delivered", "last loss", "constants"});
  for (const auto& [task, share] : run.mixer->Shares()) {
    const auto loss = progress.last_losses.find(task);
    const std::int64_t constants = run.is_loaded(task) ? run.task(task).ConstantBytes(run.device) : 0;
    table.Add({task, std::to_string(share.rows), std::to_string(share.draws), FormatShare(share.asked),
               FormatShare(share.delivered),
               loss == progress.last_losses.end() ? "-" : FormatNumber(loss->second),
               FormatBytes(static_cast<double>(constants))});
  }
  std::string text =
      "after step " + std::to_string(progress.step) + " of " + std::to_string(run.config.steps) + ":\n";
  text += table.ToText();
  text += "largest share error " + FormatShare(run.mixer->ShareError());
  text += ", memory peak " + FormatBytes(static_cast<double>(memory_peak)) + "\n";
  for (const auto& [task, reason] : progress.dropped) text += "dropped: " + task + " (" + reason + ")\n";
  return text + "the run lies in " + directory.string();
}

}  // namespace medley
