#include <algorithm>
#include <set>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/curriculum/curriculum_changes.h>
#include <medley/train/run_hours.h>
#include <medley/train/stages.h>

namespace medley {

WeightEntry Stages::EntryNow(WeightEntry::Cause cause) const {
  return EntryOf(setting_.mixer, step_, cause, now().name, SharesNow(setting_.mixer));
}

void Stages::Log(WeightEntry entry) {
  try {
    setting_.log.Add(std::move(entry));
  } catch (const Error& error) {
    setting_.console.Warn(std::string("a change of the weights could not be written down: ") + error.what());
  }
}

void Stages::LogStart(const std::string& text) {
  WeightEntry entry = EntryOf(setting_.mixer, step_, WeightEntry::Cause::kStart, now().name, {});
  entry.text = text;
  Log(std::move(entry));
}

void Stages::LogRefused(const std::string& text, const std::string& why) {
  WeightEntry entry = EntryNow(WeightEntry::Cause::kRefusedEdit);
  entry.text = text;
  entry.words = why;
  Log(std::move(entry));
}

void Stages::LogDecay(const DecayMove& move) {
  WeightEntry entry =
      EntryNow(move.begins ? WeightEntry::Cause::kEarlyDecay : WeightEntry::Cause::kDecayRefit);
  entry.words = move.words;
  entry.ends = move.ends;
  entry.of_steps = move.of_steps;
  Log(std::move(entry));
}

void Stages::CheckEdit(ConfigFile& file, const Curriculum& next) const {
  CheckWhatStays(file, curriculum_, next, {.number = number_, .cools = cooled_ > 0});
  if (over() || number_ >= next.stages.size() || !MixtureOf(next, number_).Active().empty()) return;
  std::vector<std::string> words;
  for (const std::string& task : next.stages[number_].Active())
    words.push_back(task + " (" + dropped_.at(task) + ")");
  if (words.empty()) return;  // which was said
  std::vector<std::string> path = next.PathOf(number_);
  path.emplace_back("weights");
  file.FailAt(path, "the tasks with a weight above 0 were all dropped, and stay so: " + JoinNames(words) +
                        ". Give one that is left a weight");
}

bool Stages::MixtureDiffers(const Curriculum& next) const {
  if (over()) return false;
  const Stage &before = now(), &after = next.stages[number_];
  return before.weights != after.weights || before.ramp.draws != after.ramp.draws ||
         before.ramp.shape != after.ramp.shape;
}

bool Stages::EndDiffers(const Curriculum& next) const {
  const auto end_of = [](const Stage& stage) {
    Stage end;
    end.until = stage.until;
    end.cooldown_steps = stage.cooldown_steps;
    return ToJson(end);
  };
  return end_of(now()) != end_of(next.stages[number_]);
}

void Stages::SetMixtureWithout(const std::set<std::string>& stopped, Mixture mixture, const Ramp& ramp,
                               Mixer::Accounts accounts, Mixer& mixer) {
  const std::map<std::string, double> shares = SharesNow(mixer);
  const bool any_stays =
      std::ranges::any_of(shares, [&](const auto& share) { return stopped.count(share.first) == 0; });
  mixer.SetMixture(std::move(mixture), any_stays ? ramp : Ramp{}, accounts);
  for (const auto& [task, share] : shares) {
    if (stopped.count(task) > 0 && mixer.RampLeft() > 0) mixer.Drop(task);
  }
}

// The mixer as it will be.
Mixer Stages::Edited(const Curriculum& next) const {
  Mixer after = setting_.mixer;
  if (!MixtureDiffers(next)) return after;
  const Ramp &ramp = next.stages[number_].ramp, &old = now().ramp;
  const bool same = ramp.draws == old.draws && ramp.shape == old.shape;
  Mixture mixture = MixtureOf(next, number_);
  const std::vector<std::string> active = mixture.Active();
  std::set<std::string> stopped;
  for (const std::string& task : now().Active()) {
    if (std::ranges::find(active, task) == active.end()) stopped.insert(task);
  }
  SetMixtureWithout(stopped, std::move(mixture), same ? Ramp{after.RampLeft(), ramp.shape} : ramp,
                    Mixer::Accounts::kGoOn, after);
  return after;
}

void Stages::Edit(Curriculum next, const std::string& text, std::int64_t step) {
  const bool was_over = over();
  Mixer after = Edited(next);
  WeightEntry entry = EntryOf(after, step, WeightEntry::Cause::kEdit, now().name, SharesNow(setting_.mixer));
  entry.text = text;
  const std::string words = EditInWords(curriculum_, next, number_, Gone());
  entry.words = InWords(ChangesOf(curriculum_, next, number_, Gone()));  // beside it stand all shares
  setting_.log.Add(std::move(entry));
  setting_.mixer = std::move(after);
  ramping_ = setting_.mixer.RampLeft() > 0;
  if (cooled_ == 0 && EndDiffers(next)) cooled_ = -1;  // it is judged anew after the next step
  curriculum_ = std::move(next);
  const std::string at = "step " + std::to_string(step) + ": ";
  setting_.console.Say(at + "the weights were edited: " + words);
  if (was_over && !over()) return Begin(number_, step);
  if (over() || !now().until || IsCooling()) return;
  if (Judge(*now().until, counts_, dropped_) == Verdict::kHolds)
    setting_.console.Warn(at + "stage " + now().name +
                          " has what it waits for already; it ends after the next step");
}

}  // namespace medley
