#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/curriculum/condition.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/curriculum_edit.h>
#include <medley/curriculum/mixer.h>
#include <medley/curriculum/stage_counts.h>
#include <medley/curriculum/weight_log.h>
#include <medley/report/console.h>
#include <medley/report/records.h>
#include <medley/update/optimizer.h>

namespace medley {

struct DecayMove;

// Which stage of its curriculum a run is in, and which tasks it gave up, for ever: what the mixer draws from
// follows from both. Says what it does. A change that the log cannot take is a warning, but for an edit.
//
// On the trainer's thread, between steps. After each step: Trained, Scored where it was evaluated, GoOn.
class Stages {
 public:
  // References outlive it. The mixer has the first stage's mixture.
  struct Setting {
    const Curriculum& curriculum;  // that the run starts or goes on with
    std::int64_t eval_every = 0;   // the run's
    Mixer& mixer;
    Optimizer& optimizer;
    WeightLog& log;
    Console& console;
    // Lets every task run in its form of the stage that is about to begin, and the mixer know its rows. None:
    // the tasks keep theirs.
    std::function<void(const Stage&)> take_forms{};
  };
  explicit Stages(const Setting& setting) : setting_(setting), curriculum_(setting.curriculum) {}

  const Curriculum& curriculum() const { return curriculum_; }
  // After the last stage: the run is done.
  bool over() const { return number_ >= curriculum_.stages.size(); }
  // The present one; where all are over, the last.
  const Stage& now() const;
  // What the run's learning rate is multiplied with at the next step.
  double LearningRateScale() const;
  // In the cooldown of the last stage: the step behind which it began.
  std::optional<std::int64_t> before_last_cooldown() const;
  // It will, or has begun to.
  bool CoolsAtItsEnd() const;
  // "direction: gold_direction_qa 0.62 of 0.8", "direction: cooling, step 12 of 300"; "" in a run of one
  // stage without end.
  std::string Words() const;

  // Takes those of the present stage, before anything of a run is loaded.
  void TakeForms() const;

  // A step was trained; its mixer's draws were committed. Adds to the record which stage it was of.
  void Trained(StepRecord& record);
  // The tasks whose score is asked for after this step.
  std::vector<std::string> Asked(std::int64_t step) const;
  // Their scores; others that the evaluation has do not count.
  void Scored(const EvaluationRecord& record, std::int64_t step);
  // After each step, and where a task was dropped: ends the stage where that is due, and brings the next one
  // into force; the first step that it has is the next one. kEnded: so it was, kPresent: the stage goes on.
  enum class Going { kPresent, kEnded };
  Going GoOn(std::int64_t step);

  // The task leaves every mixture and condition. False where no stage that is left has another task. Where
  // the present stage has none the mixer's mixture stays as it is: GoOn passes through it, or the run ends.
  bool Drop(const std::string& task, const std::string& reason);
  const std::map<std::string, std::string>& dropped() const { return dropped_; }

  // CheckWhatStays, of the present stage.
  void CheckEdit(ConfigFile& file, const Curriculum& next) const;
  // It was checked, and the mixer knows its tasks: from the next step on it holds. A task that it takes out
  // of the present stage stops at once, and a ramp is of the others. First it is in the log, with its text;
  // an Error where that cannot be written, or an InputError where the mixer refuses, and then nothing has
  // changed.
  void Edit(Curriculum next, const std::string& text, std::int64_t step);
  // The run begins with this text of its weights file, or an edit of it was refused.
  void LogStart(const std::string& text);
  void LogRefused(const std::string& text, const std::string& why);
  // The run's decay begins early, or its end moved.
  void LogDecay(const DecayMove& move);

  // Its keys of the progress section. To be loaded before the mixer, which compares its mixture with the
  // saved one. Throws what JSON or counts throw, or an InputError where the present stage is no longer in the
  // weights file; it is then half loaded.
  void Save(nlohmann::json& progress) const;
  void Load(const nlohmann::json& progress);
  // Reads a saved progress section; throws as Load does.
  static StagePlace PlaceIn(const nlohmann::json& progress);

 private:
  bool IsCooling() const { return cooled_ >= 0; }
  bool IsEmpty(std::size_t number) const;
  Mixture MixtureOf(const Curriculum& curriculum, std::size_t number) const;
  Mixer Edited(const Curriculum& next) const;
  std::set<std::string> Gone() const;  // the dropped tasks
  // From the next draw on, the mixer draws from the mixture. Tasks that are stopped have no part in a ramp to
  // it; where no other has a share, nothing can ramp.
  static void SetMixtureWithout(const std::set<std::string>& stopped, Mixture mixture, const Ramp& ramp,
                                Mixer::Accounts accounts, Mixer& mixer);
  bool PassesThrough(std::int64_t step) const;
  void Begin(std::size_t number, std::int64_t step);
  WeightEntry EntryNow(WeightEntry::Cause cause) const;
  void Log(WeightEntry entry);
  bool MixtureDiffers(const Curriculum& next) const;
  bool EndDiffers(const Curriculum& next) const;

  Setting setting_;
  Curriculum curriculum_;
  std::int64_t step_ = 0;  // of the run
  bool ramping_ = false;
  std::size_t number_ = 0,
              begun_ = 0;  // of the present stage, and of the last one that began: the mixer has its
  StageCounts counts_;
  std::int64_t cooled_ = -1;  // steps since `until` held; -1: it has not yet
  std::map<std::string, std::string> dropped_;
};

}  // namespace medley
