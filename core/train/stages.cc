#include <medley/train/stages.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/json_count.h>
#include <medley/report/term_loss.h>
#include <medley/step/schedule.h>

namespace medley {
namespace {

using nlohmann::json;

std::string Named(const Stage& stage) { return "stage " + stage.name; }

}  // namespace

const Stage& Stages::now() const {
  const std::vector<Stage>& stages = curriculum_.stages;
  return stages[std::min(number_, stages.size() - 1)];
}

double Stages::LearningRateScale() const {
  const Stage& stage = now();
  const double scale = Rise(counts_.steps(), stage.warmup_steps);
  return IsCooling() ? scale * Fall(cooled_, stage.cooldown_steps, stage.cooldown_to) : scale;
}

bool Stages::CoolsAtItsEnd() const {
  const Stage& last = curriculum_.stages.back();
  return last.until && last.cooldown_steps > 0 && last.cooldown_to < 1;
}

std::optional<std::int64_t> Stages::before_last_cooldown() const {
  const bool is_last = number_ + 1 == curriculum_.stages.size();
  return is_last && IsCooling() && CoolsAtItsEnd() ? std::optional(step_ - cooled_) : std::nullopt;
}

std::string Stages::Words() const {
  const Stage& stage = now();
  if (over() || stage.name.empty()) return "";
  if (IsCooling())
    return stage.name + ": cooling, step " + std::to_string(cooled_) + " of " +
           std::to_string(stage.cooldown_steps);
  return stage.until ? stage.name + ": " + WaitsFor(*stage.until, counts_, dropped_) : stage.name;
}

void Stages::TakeForms() const {
  if (setting_.take_forms) setting_.take_forms(now());
}

void Stages::Trained(StepRecord& record) {
  std::map<std::string, std::int64_t> rows;
  for (const Draw& draw : record.draws) rows[draw.task] += draw.rows;
  counts_.AddStep(rows, TotalLosses(record.losses));
  if (IsCooling()) ++cooled_;
  step_ = record.step;
  const bool ramped = std::exchange(ramping_, setting_.mixer.RampLeft() > 0);
  record.stage = {.number = static_cast<std::int64_t>(number_),
                  .name = now().name,
                  .unit = EnumName(setting_.mixer.mixture().unit),
                  .shares = {}};
  for (const auto& [task, share] : setting_.mixer.Shares()) {
    if (share.asked_so_far > 0 || share.charged > 0)
      record.stage.shares[task] = {
          .asked = share.asked_so_far, .delivered = share.delivered, .charged = share.charged};
  }
  if (ramped && !ramping_) Log(EntryNow(WeightEntry::Cause::kRamp));
}

std::vector<std::string> Stages::Asked(std::int64_t step) const {
  const Stage& stage = now();
  const std::int64_t every = stage.eval_every > 0 ? stage.eval_every : setting_.eval_every;
  const std::int64_t at = stage.eval_every > 0 ? counts_.steps() : step;
  if (over() || IsCooling() || every == 0 || at % every != 0) return {};
  std::vector<std::string> tasks = stage.Scored();
  std::erase_if(tasks, [&](const std::string& task) { return dropped_.count(task) > 0; });
  return tasks;
}

void Stages::Scored(const EvaluationRecord& record, std::int64_t step) {
  for (const std::string& task : Asked(step)) {
    const auto score = record.tasks.find(task);
    if (score != record.tasks.end()) counts_.AddScore(task, score->second.score.value);
  }
}

Stages::Going Stages::GoOn(std::int64_t step) {
  if (over()) return Going::kPresent;
  if (PassesThrough(step)) {
    Begin(number_ + 1, step);
    return Going::kEnded;
  }
  const Stage& stage = now();
  if (!stage.until) return Going::kPresent;
  if (!IsCooling()) {
    if (Judge(*stage.until, counts_, dropped_) != Verdict::kHolds) return Going::kPresent;
    setting_.console.Say("step " + std::to_string(step) + ": " + Named(stage) + " has what it waited for (" +
                         WaitsFor(*stage.until, counts_, dropped_) + ")" +
                         (stage.cooldown_steps == 0
                              ? ""
                              : "; it cools for " + std::to_string(stage.cooldown_steps) + " steps"));
    cooled_ = 0;
  }
  if (cooled_ < stage.cooldown_steps) return Going::kPresent;
  Begin(number_ + 1, step);
  return Going::kEnded;
}

// Nothing is left of the present stage, or nothing that it could wait for: then says so.
bool Stages::PassesThrough(std::int64_t step) const {
  const Stage& stage = now();
  std::string why;
  if (IsEmpty(number_)) {
    why = "all of its tasks were dropped";
  } else if (stage.until && !IsCooling() && Judge(*stage.until, counts_, dropped_) == Verdict::kGone) {
    why = "it waits for tasks that were dropped (" + InWords(*stage.until) + ")";
  } else {
    return false;
  }
  setting_.console.Warn("step " + std::to_string(step) + ": " + Named(stage) + " is passed through: " + why);
  return true;
}

// The next stage from this one on that has something to draw and to wait for. What is passed through leaves
// no trace: the mixer, the optimizer and the log know only what was drawn.
void Stages::Begin(std::size_t number, std::int64_t step) {
  number_ = number;
  counts_ = {};
  cooled_ = -1;
  const std::string at = "step " + std::to_string(step) + ": ";
  if (over()) return setting_.console.Say(at + "the last stage is over");
  if (PassesThrough(step)) return Begin(number_ + 1, step);
  begun_ = number_;
  const Stage& stage = now();
  std::map<std::string, double> before = SharesNow(setting_.mixer);
  TakeForms();
  // A drop that emptied the stage before left its task a share.
  SetMixtureWithout(Gone(), MixtureOf(curriculum_, number_), stage.ramp, Mixer::Accounts::kOpenAnew,
                    setting_.mixer);
  ramping_ = setting_.mixer.RampLeft() > 0;
  Log(EntryOf(setting_.mixer, step, WeightEntry::Cause::kStage, stage.name, std::move(before)));
  if (stage.moments == Moments::kReset) setting_.optimizer.Reset();
  setting_.console.Say(at + Named(stage) + " begins" +
                       (stage.until ? ", until " + InWords(*stage.until) : ""));
}

bool Stages::IsEmpty(std::size_t number) const { return MixtureOf(curriculum_, number).Active().empty(); }

Mixture Stages::MixtureOf(const Curriculum& curriculum, std::size_t number) const {
  Mixture mixture = curriculum.MixtureOf(number);
  for (const auto& [task, reason] : dropped_) mixture.Pause(task);
  return mixture;
}

std::set<std::string> Stages::Gone() const {
  std::set<std::string> tasks;
  for (const auto& [task, reason] : dropped_) tasks.insert(task);
  return tasks;
}

bool Stages::Drop(const std::string& task, const std::string& reason) {
  dropped_[task] = reason;
  std::map<std::string, double> before = SharesNow(setting_.mixer);
  const bool is_empty = IsEmpty(number_);
  if (!is_empty) setting_.mixer.Drop(task);
  WeightEntry entry =
      EntryOf(setting_.mixer, step_, WeightEntry::Cause::kDroppedTask, task, std::move(before));
  entry.words = reason;
  Log(std::move(entry));
  for (std::size_t later = number_ + 1; is_empty && later < curriculum_.stages.size(); ++later) {
    if (!IsEmpty(later)) return true;
  }
  return !is_empty;
}

void Stages::Save(json& progress) const {
  progress["dropped"] = dropped_;
  progress["weight_log"] = setting_.log.number();
  progress["weight_lines"] = setting_.log.Kept();
  progress["stage"] = {{"number", number_}, {"begun", begun_},     {"name", over() ? "" : now().name},
                       {"cooled", cooled_}, {"ramping", ramping_}, {"counts", counts_.Save()}};
}

StagePlace Stages::PlaceIn(const json& progress) {
  const auto saved = progress.find("stage");
  if (saved == progress.end()) return {};
  return {.number = static_cast<std::size_t>(CountOf(*saved, "number")),
          .cools = CountOf(*saved, "cooled", -1) > 0};
}

void Stages::Load(const json& progress) {
  dropped_ = progress.at("dropped").get<std::map<std::string, std::string>>();
  step_ = CountOf(progress, "step");
  const std::vector<Stage>& stages = curriculum_.stages;
  if (const auto saved = progress.find("stage"); saved != progress.end()) {
    const auto number = static_cast<std::size_t>(CountOf(*saved, "number"));
    const auto name = saved->at("name").get<std::string>();
    const bool is_there =
        number == stages.size() ? name.empty() : number < stages.size() && stages[number].name == name;
    if (!is_there)
      throw InputError(
          "the run is in stage " + std::to_string(number + 1) + (name.empty() ? "" : ", " + name) +
          ", which the weights file no longer has there. Stages that were begun keep their places "
          "and names");
    number_ = number;
    cooled_ = CountOf(*saved, "cooled", -1);
    ramping_ = saved->at("ramping").get<bool>();
    counts_ = StageCounts::Load(saved->at("counts"));
    begun_ = std::min(number_, stages.size() - 1);  // all that older medleys tell
    if (saved->contains("begun"))
      begun_ = std::min(begun_, static_cast<std::size_t>(CountOf(*saved, "begun")));
  }
  if (IsEmpty(begun_)) return;
  TakeForms();
  setting_.mixer.SetMixture(MixtureOf(curriculum_, begun_));
}

}  // namespace medley
