#include <medley/run/odd_settings.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <variant>

#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/curriculum/forecast.h>
#include <medley/data/jsonl_file.h>
#include <medley/report/table.h>
#include <medley/run/chat_template.h>
#include <medley/step/schedule.h>

namespace medley {
namespace {

constexpr std::int64_t kShortRun = 10;  // steps; a trial: that its rate does not fall is no mistake

std::string Count(std::int64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// A tenth of the steps, as a warm-up that is none of much.
std::string SomeSteps(std::int64_t steps) { return std::to_string(std::max<std::int64_t>(1, steps / 10)); }

class OddSettingsOf {
 public:
  OddSettingsOf(const CheckedRun& checked, const Registry& registry)
      : checked_(checked), run_(checked.run), registry_(registry) {}

  std::vector<OddSetting> Find() {
    LookAtWhatTrains();
    LookAtDevice();
    LookAtPretrained();
    LookAtTasks();
    return std::move(found_);
  }
  std::vector<std::string> FindWhatChangesTraining() {
    LookAtWhatTrains();
    std::vector<std::string> words;
    for (OddSetting& setting : found_) {
      if (setting.changes_training) words.push_back(std::move(setting.words));
    }
    return words;
  }

 private:
  void Odd(std::string words) { found_.push_back({std::move(words), true}); }
  void Idle(std::string words) { found_.push_back({std::move(words), false}); }
  std::string InARun() const { return " in a run of " + Count(run_.steps, "step"); }

  void LookAtWhatTrains() {
    LookAtSchedule();
    LookAtOptimizer();
    LookAtPhases();
    LookAtIntervals();
    LookAtStages();
    LookAtChat();
  }

  // What the weights or the vocabulary come with, and nobody follows.
  void LookAtChat() {
    if (!run_.chat.empty() || !checked_.model) return;
    std::vector<std::string> tasks;
    for (const std::string& name : checked_.curriculum.Named()) {
      const TaskInfo* task = registry_.Find(name);
      const OptionInfo* option = task == nullptr ? nullptr : task->FindOption("chat");
      const auto settings = run_.tasks.find(name);
      const bool is_given = settings != run_.tasks.end() && settings->second.options.contains("chat");
      if (option != nullptr && option->kind == OptionKind::kText && !is_given) tasks.push_back(name);
    }
    if (tasks.empty()) return;
    for (const std::filesystem::path& folder :
         {checked_.model->config.pretrained(), run_.tokenizer.parent_path()}) {
      const std::filesystem::path file = ChatTemplateIn(folder);
      if (file.empty()) continue;
      return Odd(
          "chat: " + DisplayPath(file) + " has a chat template, and nobody chose a chat format, so " +
          JoinNames(tasks) +
          " write conversations as 'plain', which is not what these weights know; set the key chat, "
          "to the file that tools/chat-format makes of that folder, or to \"plain\" where that is meant");
    }
  }

  void LookAtSchedule() {
    const OptimizerConfig& optimizer = run_.optimizer;
    if (optimizer.schedule == "one_cycle") {
      if (optimizer.rise_fraction * static_cast<double>(run_.steps) <= 1 && run_.steps >= kShortRun)
        Odd("optimizer.rise_fraction: " + FormatNumber(optimizer.rise_fraction) + InARun() +
            " is no step that rises; 0.3 would be " +
            Count(static_cast<std::int64_t>(0.3 * static_cast<double>(run_.steps)), "step"));
      return;
    }
    LookAtWarmUp(DecayOf(optimizer, run_.steps));
    LookAtDecay(DecayOf(optimizer, run_.steps));
  }

  void LookAtWarmUp(const Decay& decay) {
    const OptimizerConfig& optimizer = run_.optimizer;
    double highest = 0;
    for (const std::int64_t step : {decay.start - 1, decay.start, decay.start + decay.steps / 2,
                                    run_.steps - 1, std::min(optimizer.warmup_steps, run_.steps) - 1})
      if (step >= 0) highest = std::max(highest, ScheduleScale(optimizer, decay, step));
    if (optimizer.warmup_steps <= 1 || highest >= 1) return;
    const bool is_longer = optimizer.warmup_steps > run_.steps;
    Odd("optimizer.warmup_steps: " + Count(optimizer.warmup_steps, "step") + " of warm-up" + InARun() +
        (is_longer ? ""
                   : ", whose learning rate falls from step " + std::to_string(decay.start + 1) + " on") +
        ": it comes to " + FormatShare(highest) + " of " + FormatNumber(optimizer.learning_rate) +
        " and no further; " + SomeSteps(run_.steps) + " would do");
  }

  void LookAtDecay(const Decay& decay) {
    const OptimizerConfig& optimizer = run_.optimizer;
    if (optimizer.decay_fraction <= 0 || run_.steps < kShortRun) return;
    const std::string key = "optimizer.decay_fraction: " + FormatNumber(optimizer.decay_fraction);
    if (decay.steps <= 1)
      Odd(key + InARun() + " is " + Count(decay.steps, "step") +
          ", in which the learning rate does not fall; " +
          FormatNumber(std::ceil(200.0 / static_cast<double>(run_.steps)) / 100) +
          " would be two, 0 is none");
    else if (optimizer.final_scale == 1)
      Odd("optimizer.final_scale: 1 is where the decay begins, so the learning rate does not fall; below 1 "
          "it "
          "does, and decay_fraction 0 says that it stays");
  }

  void LookAtOptimizer() {
    const OptimizerConfig& optimizer = run_.optimizer;
    if (optimizer.average > 0) {
      const double horizon = 1 / (1 - optimizer.average);
      if (horizon > static_cast<double>(run_.steps))
        Odd("optimizer.average: " + FormatNumber(optimizer.average) + " averages over about " +
            FormatNumber(std::round(horizon)) + " steps" + InARun() +
            ": evaluations read an average that still holds the parameters that it began with; " +
            FormatNumber(1 - 10.0 / static_cast<double>(std::max<std::int64_t>(run_.steps, 11))) +
            " averages over a tenth of the steps");
    }
    if (optimizer.trend && optimizer.schedule == "wsd" &&
        optimizer.warmup_steps >= DecayOf(optimizer, run_.steps).start)
      Odd("optimizer.trend: acts between warm-up and decay, and there is no step between them; "
          "warmup_steps " +
          SomeSteps(run_.steps) + " would leave some");
    for (const ParameterGroup& group : optimizer.groups) {
      if (!group.frozen && group.learning_rate_scale == 0)
        Odd("optimizer.groups: '" + group.match +
            "' has learning_rate_scale 0, which trains nothing and keeps moments for it; \"frozen\": true "
            "keeps none");
    }
    std::set<std::string> patterns;
    for (const ParameterGroup& group : optimizer.groups) {
      if (patterns.contains(group.match) || patterns.contains("*"))
        Odd("optimizer.groups: '" + group.match + "' stands behind " +
            (patterns.contains(group.match) ? "itself" : "'*'") +
            ", and the first group that matches wins; put it in front, or leave it out");
      patterns.insert(group.match);
    }
  }

  void LookAtPhases() {
    if (!run_.phases) return;
    const std::int64_t first = run_.phases->warmup_steps + run_.phases->full_steps;
    if (first >= run_.steps)
      Odd("phases: the first prediction comes after step " + std::to_string(first) + " at the earliest" +
          InARun() + "; warmup_steps " + SomeSteps(run_.steps) + " and full_steps " +
          std::to_string(std::max<std::int64_t>(5, run_.steps / 20)) + " would leave room");
  }

  void LookAtIntervals() {
    const auto intervals = [&](std::int64_t every) { return every > run_.steps; };
    if (intervals(run_.eval.every))
      Odd("eval.every: " + Count(run_.eval.every, "step") + InARun() +
          ": nothing is evaluated while it trains, and no checkpoint is the best; " + SomeSteps(run_.steps) +
          " would evaluate ten times");
    if (intervals(run_.checkpoint.every))
      Idle("checkpoint.every: " + Count(run_.checkpoint.every, "step") + InARun() +
           ": it is saved at its end; " + SomeSteps(run_.steps) + " would save ten times");
    if (run_.data.threads == 0 && run_.data.ahead != DataConfig().ahead &&
        run_.data.ahead != kDataForGpu.ahead)
      Idle("data.ahead: with data.threads 0 nothing is sampled ahead; 1 thread would");
    if (run_.data.threads == 0 && run_.data.processes)
      Idle("data.processes: with data.threads 0 the trainer waits for its one process; each thread has one");
  }

  void LookAtDevice() {
    if (run_.device != "cpu") return;
    if (run_.dtype == "fp16")
      Odd("dtype: fp16 on the CPU is for trying: products are made in fp32 of the fp16 numbers and rounded, "
          "which is not faster than fp32; bf16 is for a CPU that multiplies it");
    if (run_.deterministic) Idle("deterministic: the CPU always is, so it changes nothing there");
    if (run_.matmul_precision != "float")
      Idle("matmul_precision: is a GPU's, and the run is on the CPU; \"device\": \"cuda\" would have it");
  }

  // The other keys of that kind are refused.
  void LookAtPretrained() {
    if (!checked_.model || !checked_.model->config.pretrained().empty() ||
        !checked_.model->config.pretrained_tower().empty())
      return;
    const auto idle = [&](const char* key) {
      Idle(std::string(key) +
           ": is for a model that begins with published weights, and this one does not; leave it out");
    };
    if (!run_.allow_missing.empty()) idle("allow_missing");
    if (!run_.allow_unexpected.empty()) idle("allow_unexpected");
  }

  void LookAtStages() {
    const std::vector<Stage>& stages = checked_.curriculum.stages;
    if (stages.front().name.empty()) return;  // there are none
    for (const Stage& stage : stages) LookAtStage(stage);
    const std::int64_t most = std::max<std::int64_t>(1, kLargestForecast / run_.draws_per_step);
    if (run_.steps > most) return;  // takes long, and stages are seldom longer
    const Forecast soonest = ForecastRun(checked_.curriculum, {.sizes = TaskSizes(checked_, registry_),
                                                               .steps = run_.steps,
                                                               .draws_per_step = run_.draws_per_step,
                                                               .eval_every = run_.eval.every,
                                                               .measured = Measured::kAlwaysGood});
    const std::size_t begun = soonest.stages.size();
    if (begun < stages.size())
      Odd("stages: " + stages[begun].name + (begun + 1 < stages.size() ? " and those behind it are" : " is") +
          " never begun" + InARun() + ", as those before it take all of them; give it more steps");
  }

  void LookAtStage(const Stage& stage) {
    const std::string key = "stage " + stage.name + ": ";
    const auto* steps = stage.until ? std::get_if<until::Steps>(&stage.until->kind) : nullptr;
    if (steps != nullptr && stage.warmup_steps > steps->steps + stage.cooldown_steps)
      Odd(key + "warmup of " + Count(stage.warmup_steps, "step") + ", and it ends after " +
          std::to_string(steps->steps) + "; " + SomeSteps(steps->steps) + " would do");
    if (steps != nullptr && stage.ramp.draws > steps->steps * run_.draws_per_step)
      Odd(key + "its ramp takes " + Count(stage.ramp.draws, "draw") + ", and it has " +
          std::to_string(steps->steps * run_.draws_per_step) + ": its own shares are never reached; " +
          SomeSteps(steps->steps * run_.draws_per_step) + " would do");
    if (stage.cooldown_steps > 0 && stage.cooldown_to == 1)
      Odd(key +
          "cooldown_to 1 is where the cooldown begins, so the learning rate does not fall; 0.1 is usual");
  }

  void LookAtTasks() {
    const std::vector<std::string> drawn = checked_.curriculum.All();
    for (const auto& [name, settings] : run_.tasks) {
      if (std::ranges::find(drawn, name) == drawn.end())
        Idle("tasks." + name + ": the weights file does not name it, so its settings do nothing");
      else
        LookAtHeldOut(name, settings);
    }
  }

  // Of a file with an item a line; by their hashes it may be a few more or less.
  void LookAtHeldOut(const std::string& name, const TaskConfig& settings) {
    const TaskInfo* task = registry_.Find(name);
    if (task == nullptr) return;
    std::int64_t items = 0;
    double share = 0;
    for (const OptionInfo& option : task->options) {
      const auto given = settings.options.find(option.name);
      const OptionValue value = given == settings.options.end() ? option.Default() : given->second;
      const auto* number = std::get_if<double>(&value);
      if (option.name == "held_out" && number != nullptr) share = *number;
      const auto* path = std::get_if<std::string>(&value);
      if (option.kind == OptionKind::kPath && path != nullptr && path->ends_with(".jsonl"))
        items += JsonlFile(*path).size();
    }
    const double held_out = share < 1 ? share * static_cast<double>(items) : share;
    if (held_out <= 0 || items == 0 || static_cast<double>(run_.eval.rows) <= 1.5 * held_out) return;
    Idle("eval.rows: " + std::to_string(run_.eval.rows) + ", but of the " + Count(items, "item") + " of '" +
         name + "' about " + FormatNumber(std::round(held_out)) +
         " are held out, and each is asked once; a larger tasks." + name + ".options.held_out tells more");
  }

  const CheckedRun& checked_;
  const RunConfig& run_;
  const Registry& registry_;
  std::vector<OddSetting> found_;
};

}  // namespace

std::vector<OddSetting> OddSettings(const CheckedRun& checked, const Registry& registry) {
  return OddSettingsOf(checked, registry).Find();
}

std::vector<std::string> WhatChangesTraining(const CheckedRun& checked, const Registry& registry) {
  return OddSettingsOf(checked, registry).FindWhatChangesTraining();
}

}  // namespace medley
