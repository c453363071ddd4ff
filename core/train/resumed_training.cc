#include <medley/train/resumed_training.h>

#include <utility>

#include <medley/base/json_count.h>
#include <medley/checkpoint/adapters_section.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/model/device.h>
#include <medley/report/step_record_json.h>

namespace medley {
namespace {

std::optional<PhaseState> PhasesOf(const RunConfig& config) {
  if (!config.phases) return std::nullopt;
  return PhaseState(*config.phases, static_cast<std::uint64_t>(config.seed));
}

}  // namespace

using nlohmann::json;

ResumedTraining::ResumedTraining(Run& run, PlanInForce& plan, WeightLog& log, Console& console,
                                 TrainerStart start)
    : run_(run),
      plan_(plan),
      console_(console),
      start_(std::move(start)),
      run_path_(RunOfRank(start_.directory, run.cluster->place().rank)),
      alone_(run.cluster->alone()),
      rounds_(*run.cluster),
      division_(*run.host, plan, run.cluster->place(), run.config.draws_per_step),
      weights_file_(start_.directory / kRunWeights, alone_),
      hours_(
          run.config, console, alone_ ? start_.now : [this] { return agreement_->clock(); }, start_.script),
      stages_({.curriculum = run.curriculum,
               .eval_every = run.config.eval.every,
               .mixer = *run.mixer,
               .optimizer = *run.optimizer,
               .log = log,
               .console = console,
               .take_forms = [this](const Stage& stage) { TakeForms(stage); }}),
      prefetcher_({.threads = run.config.data.threads,
                   .seed = static_cast<std::uint64_t>(run.config.seed),
                   .device = run.device,
                   .host = *run.host,
                   .contract = *run.contract,
                   .plan = plan}),
      tables_(run.device, *run.host, plan),
      evaluation_({.config = run.config.eval,
                   .seed = static_cast<std::uint64_t>(run.config.seed),
                   .with_sheets = run.config.tensorboard,
                   .device = run.device,
                   .model = *run.model,
                   .tokenizer = run.tokenizer.get(),
                   .references = run.references.get(),
                   .optimizer = *run.optimizer,
                   .tasks = prefetcher_,
                   .plan = plan,
                   .mixer = *run.mixer,
                   .rules = *run.rules,
                   .tables = tables_,
                   .alone = alone_,
                   .division = division_,
                   .rounds = rounds_,
                   .console = console}),
      receipts_(start_.directory, console),
      phases_(PhasesOf(run.config)),
      loss_scale_(FloatTypeOf(*run.model) == at::kHalf),
      state_(State()) {
  Load();
  agreement_ = MakeStepAgreement({*run.cluster, run.exchange.get(), rounds_, *run.optimizer, *run.mixer, plan,
                                  weights_file_, std::chrono::seconds(run.config.peer_timeout)});
}

TrainingState ResumedTraining::State() {
  Mixer& mixer = *run_.mixer;
  const at::Device device = run_.device;
  TrainingState state{run_.optimizer->weights().list(), run_.optimizer->State(), {}};
  state.parts = run_.optimizer->Parts();
  if (run_.references) {
    for (Parameter& average : run_.references->State()) state.optimizer.push_back(std::move(average));
  }
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
  // A run may go on in another type, which has none.
  state.sections.push_back({"loss_scale", 1,
                            [this] { return loss_scale_.on() ? loss_scale_.Save() : json(); },
                            [this](const json& s) { loss_scale_.Load(s); },
                            /*optional=*/true});
  state.sections.push_back({"receipt", 1, [this] { return receipts_.ToJson(); },
                            [this](const json& s) {
                              if (run_.cluster->is_first()) receipts_.Load(s);  // that is the first one's
                            },
                            /*optional=*/true});
  if (phases_)
    state.sections.push_back({"phases", 1,
                              [this] { return (phases_before_ ? *phases_before_ : *phases_).Save(); },
                              [this](const json& s) { phases_->Load(s); }});
  if (const Adapters adapters = run_.Adapted(); adapters.any())
    state.sections.push_back(AdaptersSection(adapters));
  return state;
}

void ResumedTraining::Load() {
  stages_.TakeForms();
  if (start_.from) {
    state_.convert_optimizer = [this](std::map<std::string, at::Tensor>& saved) {
      for (const std::string& words : run_.optimizer->ConvertState(saved)) console_.Say(words);
    };
    LoadCheckpoint(start_.from->path, state_);
    state_.convert_optimizer = nullptr;
    run_.optimizer->weights().Round();
    if (run_.references) run_.references->Round();
  } else {
    run_.optimizer->Begin();
  }
}

// Rows that were sampled ahead may be of other forms.
void ResumedTraining::TakeForms(const Stage& stage) {
  if (!plan_.TakeForms(stage)) return;
  prefetcher_.WhileIdle([&] {
    for (const std::string& task : stages_.curriculum().Named()) {
      const Form& form = plan_.FormOf(task);
      const std::int64_t rows = plan_.RowsOf(task).value_or(form.settings.rows);
      run_.mixer->SetSize(task, SizeOf(run_.host->Variant(form), rows));
    }
  });
}

json ResumedTraining::SaveProgress() const {
  json state = {{"step", step_}, {"last_losses", last_losses_}, {"overflows", plan_.Save()}};
  stages_.Save(state);
  evaluation_.Save(state);
  hours_.Save(state);
  if (unreported_) state["unreported"] = ToJson(*unreported_);
  return state;
}

void ResumedTraining::LoadProgress(const json& state) {
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

bool ResumedTraining::IsReported(const std::filesystem::path& checkpoint) {
  return !ReadSection(checkpoint, "progress").contains("unreported");
}

}  // namespace medley
