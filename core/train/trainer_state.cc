#include <medley/base/bytes.h>
#include <medley/base/json_count.h>
#include <medley/checkpoint/adapters_section.h>
#include <medley/model/device.h>
#include <medley/report/step_record_json.h>
#include <medley/report/table.h>
#include <medley/train/trainer.h>

namespace medley {

using nlohmann::json;

TrainingState Trainer::State() {
  Mixer& mixer = *run_.mixer;
  const at::Device device = run_.device;
  TrainingState state{run_.optimizer->weights().list(), run_.optimizer->State(), {}};
  state.parts = run_.optimizer->Parts();
  // Progress first: the mixer compares its mixture with the saved one, so it must be the present stage's,
  // without dropped tasks.
  state.sections.push_back(
      {"progress", 1, [this] { return SaveProgress(); }, [this](const json& s) { LoadProgress(s); }});
  state.sections.push_back({"mixer", 1, [&mixer] { return mixer.Save(); },
                            [this, &mixer](const json& s) {
                              if (const std::string words = mixer.Load(s); !words.empty())
                                console_.Say(words);
                            }});
  state.sections.push_back({"generators", 1, [device] { return SaveGenerators(device); },
                            [device](const json& s) { LoadGenerators(s, device); }});
  state.sections.push_back({"receipt", 1, [this] { return receipts_.ToJson(); },
                            [this](const json& s) {
                              if (run_.cluster->is_first()) receipts_.Load(s);  // that is the first one's
                            },
                            /*optional=*/true});
  if (phases_)
    state.sections.push_back({"phases", 1,
                              [this] { return predictor_ ? predictor_->Save() : phases_->Save(); },
                              [this](const json& s) { phases_->Load(s); }});
  if (const Adapters adapters = run_.Adapted(); adapters.any())
    state.sections.push_back(AdaptersSection(adapters));
  return state;
}

TrainingState Trainer::LoadState() {
  TrainingState state = State();
  stages_.TakeForms();
  if (start_.from) {
    state.convert_optimizer = [this](std::map<std::string, at::Tensor>& saved) {
      for (const std::string& words : run_.optimizer->ConvertState(saved)) console_.Say(words);
    };
    LoadCheckpoint(start_.from->path, state);
    state.convert_optimizer = nullptr;
    run_.optimizer->weights().Round();
  } else {
    run_.optimizer->Begin();
  }
  return state;
}

// Where each process has a part of what is saved; nothing where the first has all.
std::optional<SavingTogether> Trainer::SavesTogether() {
  if (!run_.optimizer->is_divided()) return std::nullopt;
  return SavingTogether{.place = run_.Shard(),
                        .all_or_none = [this](const std::function<void()>& work) { rounds_.AllOrNone(work); },
                        .everyones = [this](const std::string& own) { return rounds_.Everyones(own); }};
}

json Trainer::SaveProgress() const {
  json state = {{"step", step_}, {"last_losses", last_losses_}, {"overflows", plan_.Save()}};
  stages_.Save(state);
  evaluation_.Save(state);
  hours_.Save(state);
  if (unreported_) state["unreported"] = ToJson(*unreported_);
  return state;
}

void Trainer::LoadProgress(const json& state) {
  step_ = CountOf(state, "step");
  last_losses_ = state.at("last_losses").get<std::map<std::string, double>>();
  plan_.Load(state.value("overflows", json::object()));
  evaluation_.Load(state);
  hours_.Load(state);
  if (state.contains("unreported")) unreported_ = StepRecordFromJson(state.at("unreported"));
  if (unreported_ && unreported_->step != step_)
    throw std::out_of_range("unreported.step is " + std::to_string(unreported_->step) + " after step " +
                            std::to_string(step_));
  stages_.Load(state);
}

bool Trainer::IsReported(const std::filesystem::path& checkpoint) {
  return !ReadSection(checkpoint, "progress").contains("unreported");
}

double Trainer::ShareWaited() const {
  return seconds_in_steps_ > 0 ? prefetcher_.seconds_waited() / seconds_in_steps_ : 0;
}

std::string Trainer::Summary() const {
  // Shares as the receipt has them: against what was asked while it was, of the stage alone.
  Table table({"task", "rows", "draws", "asked", "delivered", "last loss", "constants"});
  table.Spares({"constants"});
  for (const auto& [task, share] : run_.mixer->Shares()) {
    const auto loss = last_losses_.find(task);
    const LoadedTask* loaded = run_.host->Find(plan_.IdOf(task));
    const std::int64_t constants = loaded == nullptr ? 0 : loaded->ConstantBytes(run_.device);
    table.Add({task, std::to_string(share.rows), std::to_string(share.draws), FormatShare(share.asked_so_far),
               FormatShare(share.delivered), loss == last_losses_.end() ? "-" : FormatNumber(loss->second),
               FormatBytes(constants)});
  }
  std::string text = "after step " + std::to_string(step_) + " of " + std::to_string(run_.config.steps);
  if (hours_.is_early())
    text += ", decayed early, in steps " + std::to_string(hours_.begun().start) + " to " +
            std::to_string(hours_.decay().end());
  text += ":\n";
  text += table.ToText();
  const std::string& stage = stages_.now().name;
  if (const ShareUnit unit = run_.mixer->mixture().unit; unit != ShareUnit::kRows || !stage.empty())
    text += "(asked and delivered: of " + std::string(NameOf(unit)) +
            (stage.empty() ? "" : ", in stage " + stage) + ")\n";
  if (const std::int64_t under = receipts_.receipt().under(); under > 0)
    text += std::to_string(under) + " draws took more memory than was planned: medley report " +
            start_.directory.string() + "\n";
  if (const std::string words = DataWaitWords(ShareWaited(), prefetcher_.waits(), run_.config.data.threads);
      !words.empty())
    text += words + "\n";
  for (const auto& [task, reason] : stages_.dropped()) text += "dropped: " + task + " (" + reason + ")\n";
  return text;
}

std::string Trainer::Account() const {
  std::string text = "largest share error " + FormatShare(run_.mixer->ShareError()) + ", memory peak " +
                     FormatBytes(progress_.memory_peak()) + "\n";
  const MemoryLedger& peak = memory_.largest();
  if (peak.total() > 0)
    text += "the largest step took " + FormatBytes(peak.total()) +
            " with the rows that waited: " + peak.Words() + "\n";
  text += "waited for data " + FormatShare(ShareWaited()) + " of the steps' time\n";
  if (!alone_ && seconds_in_steps_ > 0)
    text += "as " + run_.cluster->Words() + ", " + FormatShare(exchanged_ / seconds_in_steps_) +
            " of the steps' time went into waiting for the other processes and adding up with them; all "
            "processes: " +
            progress_.rank_work().Words(1000 * seconds_in_steps_) + "\n";
  return text + "the run lies in " + start_.directory.string();
}

}  // namespace medley
