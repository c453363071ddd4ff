#pragma once

// A run of three small tasks without plugins or files: what the trainer's tests start from.

#include <medley/base/file_digest.h>
#include <medley/base/stop_signal.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/weight_log.h>
#include <medley/model/device.h>
#include <medley/model/float_type.h>
#include <medley/plan/run_planner.h>
#include <medley/run/run.h>
#include <medley/train/admission.h>
#include <medley/train/resumed_weights.h>
#include <medley/train/trainer.h>
#include <medley/update/parameter_groups.h>
#include <medley/weights/safetensors.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/report/silent_console.h"
#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {

inline constexpr std::int64_t kMiB = 1 << 20;

using RowHook = std::function<void(const RowRange&)>;

// A scripted task with a score: how near the model's first output is to 0.
class ScoredTask : public ScriptedTask {
 public:
  ScoredTask(Script script, std::string pass) : ScriptedTask(std::move(script)), pass_(std::move(pass)) {}
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    context.ForEachPiece(rows, [&](EvalPass& pass) {
      const at::Tensor image = pass.Pixels("picture");
      for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
        outcomes.score.push_back(image[row].mean().item<double>());
        outcomes.trivial["half"].push_back(0.5);
      }
      if (!outcomes.input.defined()) {
        outcomes.input = pass.batch().Column("picture");
        outcomes.target = outcomes.input;
        outcomes.output = outcomes.input;
      }
    });
    return outcomes;
  }

 private:
  std::string pass_;
};

// False until several rows run at once: a contract check begins with single ones, and ends with a few
// together.
inline std::function<bool(const PassContext&)> AfterTheCheck() {
  return [started = std::make_shared<bool>(false)](const PassContext& context) {
    *started = *started || context.batch().size() > 1;
    return *started;
  };
}

struct FixtureTask {
  std::unique_ptr<TaskInfo> info;
  std::unique_ptr<LoadedTask> task;
};

// `hook` sees every range that the task samples, and may throw.
inline FixtureTask ScoredQa(const std::string& name, int passes, RowHook hook) {
  FixtureTask made;
  TaskInfo info = QaInfo(name, passes);
  info.score = {.name = "brightness", .higher_is_better = false, .chance = std::nullopt};
  made.info = std::make_unique<TaskInfo>(std::move(info));
  Script script{.sample =
                    [passes, hook](const RowRange& rows) {
                      if (hook) hook(rows);
                      return QaRows(rows, passes);
                    },
                .run = QaPass};
  made.task = std::make_unique<LoadedTask>(*made.info, made.info->variants.front(), "fixture",
                                           std::make_unique<ScoredTask>(std::move(script), "q0"));
  return made;
}

// Tasks of no plugin. A test may hear when one is asked for, and say which count as loaded.
class FixtureHost final : public TaskHost {
 public:
  LoadedTask& Get(const Form& form) override {
    if (on_get) on_get(form.id.text());
    return *tasks.at(form.task).task;
  }
  LoadedTask* Find(const FormId& form) const override {
    const std::string& name = form.text();
    return is_loaded && !is_loaded(name) ? nullptr : tasks.at(name.substr(0, name.find('@'))).task.get();
  }
  const VariantInfo& Variant(const Form& form) override { return tasks.at(form.task).info->variants.front(); }
  std::optional<TaskOrigin> OriginOf(const std::string&) const override { return std::nullopt; }

  std::map<std::string, FixtureTask> tasks;
  std::function<void(const std::string&)> on_get;
  std::function<bool(const std::string&)> is_loaded;
};

struct TinyRun {
  TinyRun(const RunConfig& config, const Curriculum& curriculum) : run(config, curriculum) {}

  FixtureHost* host = nullptr;  // the run's
  Run run;
  std::map<FormId, Execution> executions;  // what the plan in force begins with

  std::map<std::string, FixtureTask>& tasks() { return host->tasks; }
  LoadedTask& task(const std::string& name) { return host->Get(run.forms.Own(name)); }
  Execution& execution(const std::string& task) { return executions.at(FormId(task)); }
  std::vector<Form> Own(const std::vector<std::string>& names) const {
    std::vector<Form> forms;
    for (const std::string& name : names) forms.push_back(run.forms.Own(name));
    return forms;
  }
  PlanInForce& plan() {
    if (!in_force_) in_force_.emplace(run.forms, executions);
    return *in_force_;
  }
  Prefetcher::Setting Sampling() {
    return {.threads = run.config.data.threads,
            .seed = static_cast<std::uint64_t>(run.config.seed),
            .device = run.device,
            .host = *host,
            .contract = *run.contract,
            .plan = plan()};
  }

 private:
  std::optional<PlanInForce> in_force_;
};

// What of a session a trainer needs beside its run.
struct TrainerCompany {
  TrainerCompany(Run& run, PlanInForce& plan, const std::filesystem::path& directory, Console& console,
                 const std::optional<FoundCheckpoint>& from)
      : log(from ? ResumeWeights(directory, from, console).log : WeightLog(directory, WeightLines())),
        admission(run, run.forms, *run.mixer, plan, console) {
    if (!from) WriteText(directory / kRunWeights, kText);
  }
  static constexpr const char* kText = "nobody reads it";

  StopSignal stop;
  WeightLog log;
  Admission admission;
};

class TestTrainer final : private TrainerCompany, public Trainer {
 public:
  TestTrainer(Run& run, PlanInForce& plan, const std::filesystem::path& directory, Console& console,
              const std::optional<FoundCheckpoint>& from = std::nullopt, SecondsSource now = SteadySeconds,
              PredictorHooks hooks = {})
      : TrainerCompany(run, plan, directory, console, from),
        Trainer(run, plan, log, admission, console,
                {.directory = directory,
                 .from = from,
                 .weights = {.text = kText, .text_of_file = kText},
                 .now = std::move(now),
                 .hooks = std::move(hooks)}) {}
  TestTrainer(TinyRun& tiny, const std::filesystem::path& directory, Console& console,
              const std::optional<FoundCheckpoint>& from = std::nullopt, SecondsSource now = SteadySeconds,
              PredictorHooks hooks = {})
      : TestTrainer(tiny.run, tiny.plan(), directory, console, from, std::move(now), std::move(hooks)) {}

  void BeginAtLossScale(double scale) { loss_scale_.Load({{"scale", scale}, {"steps", 0}}); }
};

inline RunConfig TinyConfig(std::int64_t steps) {
  RunConfig config;
  config.seed = 3;
  config.steps = steps;
  config.checkpoint = {.every = 1, .keep = 1000};
  config.eval = {.every = 5, .rows = 40};
  config.optimizer.learning_rate = 0.01;
  config.optimizer.warmup_steps = 3;
  config.tasks["one"].rows = 5;
  config.tasks["two"].rows = 3;
  config.tasks["three"].rows = 2;
  return config;
}

inline std::unique_ptr<TinyRun> MakeTinyRun(const RunConfig& config,
                                            std::map<std::string, RowHook> hooks = {}) {
  auto tiny = std::make_unique<TinyRun>(config, OneStage({{"one", 5}, {"two", 3}, {"three", 2}}));
  Run& run = tiny->run;
  run.registry = std::make_unique<Registry>();
  const ModelInfo info;
  run.model_file = ModelFile{info, ModelConfig(info)};
  auto host = std::make_unique<FixtureHost>();
  tiny->host = host.get();
  run.host = std::move(host);
  int passes = 0;
  for (const char* name : {"one", "two", "three"})
    tiny->tasks()[name] = ScoredQa(name, ++passes, hooks[name]);
  auto model = std::make_unique<FixtureModel>();
  model->To(at::kCPU, at::kFloat);
  const std::vector<Parameter> start = TrainedOf(config.optimizer, *model);
  model->To(at::kCPU, FloatTypeNamed(config.dtype));
  run.model = std::move(model);
  std::map<std::string, TaskSize> sizes;
  for (const auto& [name, task] : tiny->tasks()) {
    tiny->executions[FormId(name)].way.mode = Mode::kSequential;
    // The mixer learns from a plan how many "auto" is.
    sizes[name] = {.rows = std::max<std::int64_t>(1, run.forms.Own(name).settings.rows),
                   .passes = 1,
                   .tokens_per_row = 1};
  }
  const auto seed = static_cast<std::uint64_t>(config.seed);
  SeedGenerators(seed, at::kCPU);
  run.mixer = std::make_unique<Mixer>(run.curriculum.MixtureOf(0), sizes, seed);
  run.contract = std::make_unique<ContractCheck>(*run.model, at::kCPU);
  run.executor = std::make_unique<StepExecutor>(*run.model, at::kCPU, run.contract.get());
  run.optimizer = std::make_unique<Optimizer>(*run.model, config.optimizer, start);
  return tiny;
}

using test::SilentConsole;

// How a training ended: finished, or with an error.
struct Ended {
  ExitCode code = ExitCode::kDone;
  std::string error, words;
  std::int64_t step = 0;
  std::map<std::string, std::string> dropped;
};

inline Ended TrainToTheEnd(Trainer& trainer, const SilentConsole& console) {
  Ended ended;
  try {
    ended.code = trainer.Train();
  } catch (const Error& error) {
    ended.code = error.code();
    ended.error = error.what();
  }
  ended.step = trainer.step();
  ended.dropped = trainer.dropped();
  ended.words = console.words();
  return ended;
}

// A checkpoint's state.json without the receipt: measured bytes are another run's when something else lives
// beside it.
inline std::string StateWithoutReceipt(const std::filesystem::path& checkpoint) {
  auto state = nlohmann::ordered_json::parse(ReadText(checkpoint / "state.json"));
  EXPECT_EQ(state.erase("receipt"), 1u);
  return state.dump();
}

// Everything of a run that must be the same again: the metrics, and the newest checkpoint but for its
// manifest, which holds the offsets of logs with times in them, and for what was measured.
inline std::map<std::string, std::string> EndState(const std::filesystem::path& run) {
  const std::filesystem::path checkpoint = ListCheckpoints(run).at(0).path;
  std::map<std::string, std::string> state = {{"step", checkpoint.filename().string()}};
  for (const char* name : {"model.safetensors", "optim.safetensors"})
    state[name] = HashText(ReadText(checkpoint / name));
  state["state.json"] = HashText(StateWithoutReceipt(checkpoint));
  for (const char* name : {"metrics.jsonl", "losses.csv"}) state[name] = HashText(ReadText(run / name));
  return state;
}

}  // namespace medley::testing_fixture
