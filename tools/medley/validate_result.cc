#include "tools/medley/validate_result.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/curriculum/forecast.h>
#include <medley/curriculum/form_table.h>
#include <medley/plugin/variant_of.h>
#include <medley/report/screen.h>
#include <medley/step/execution.h>
#include <medley/weights/model_config_file.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// How long a bar of all of a stage is.
constexpr int kBar = 40;

// A line or more, as printf's.
template <typename... Args>
void Say(const char* format, Args... args) {
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, format, args...)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, args...);
  text.pop_back();
  std::cout << Prose(text);
}

// With one pass all graphs are those of one pass: joint is sequential.
bool HasChoice(const VariantInfo& variant) {
  std::vector<Mode> modes = LegalModes(variant);
  if (variant.passes.size() == 1 && DefaultMode(variant) != Mode::kJoint) std::erase(modes, Mode::kJoint);
  return modes.size() > 1;
}

ModeBy WhoChooses(const TaskConfig& settings, const VariantInfo& variant, bool plans) {
  if (!settings.mode.empty()) return ModeBy::kConfig;
  return plans && HasChoice(variant) ? ModeBy::kPlan : ModeBy::kSpec;
}

TaskOutlook TaskOf(const Registry& registry, const Form& form, const Mixer::Share& share, double scale,
                   bool plans) {
  const TaskConfig& settings = form.settings;
  const VariantInfo variant = VariantOf(registry.Require(form.task), settings);
  return {.task = form.task,
          .kind = settings.kind,
          .variant = settings.variant,
          .mode = settings.mode.empty() ? std::string(ModeName(DefaultMode(variant))) : settings.mode,
          .mode_by = WhoChooses(settings, variant, plans),
          .share = share.asked,
          .rows = settings.rows,
          .draws = static_cast<double>(share.draws) * scale,
          .rows_in_all = static_cast<double>(share.rows) * scale,
          .passes = std::ssize(variant.passes)};
}

StageOutlook StageOf(const CurriculumDrawing& drawing, const Stage& stage, std::size_t number) {
  return {.name = stage.name,
          .words = drawing.has_stages() ? drawing.HeadOf(number) : "",
          .tasks = {},
          .paused = {}};
}

std::string ModeWords(const TaskOutlook& task) {
  if (task.mode_by == ModeBy::kPlan) return "planned";
  return task.mode + (task.mode_by == ModeBy::kConfig ? " (pinned)" : "");
}

std::string CountWords(double count, bool is_known) {
  return is_known ? std::to_string(std::llround(count)) : "-";
}

void Print(const TaskOutlook& task, int name_width) {
  Say("  %-*s %6.1f %% %5s %8s %11s  %lld, %s%s%s\n", name_width, task.task.c_str(), 100 * task.share,
      task.rows == 0 ? "auto" : std::to_string(task.rows).c_str(),
      CountWords(task.draws, task.knows_draws).c_str(), CountWords(task.rows_in_all, task.knows_rows).c_str(),
      static_cast<long long>(task.passes), ModeWords(task).c_str(),
      task.variant == "default" ? "" : (", " + task.variant).c_str(),
      task.kind.empty() ? "" : (", of kind " + task.kind).c_str());
}

// What only the plan knows.
void PrintWhatIsPlanned(const RunOutlook& outlook) {
  bool has_modes = false, has_rows = false, has_gaps = false;
  for (const StageOutlook& stage : outlook.stages) {
    for (const TaskOutlook& task : stage.tasks) {
      has_modes = has_modes || task.mode_by == ModeBy::kPlan;
      has_rows = has_rows || task.rows == 0;
      has_gaps = has_gaps || !task.knows_draws || !task.knows_rows;
    }
  }
  if (!outlook.run.plan) {
    Say("\n  Nothing is planned (\"plan\": false): the modes are these.\n");
  } else if (has_modes || has_rows) {
    std::string words = has_modes ? "planned: the mode is chosen" : "auto: the rows are chosen";
    if (has_modes && has_rows) words = "planned, auto: modes and rows are chosen";
    words += " before the first step, by what tasks take on the machine; medley plan CONFIG shows it";
    if (has_gaps) words += ". -: it hangs on rows that are auto";
    Say("\n  %s.\n", words.c_str());
  }
}

// Draws are counted in what their rows say, unless they are counted themselves.
void MarkUnknown(StageOutlook& stage, ShareUnit unit) {
  const bool has_auto = std::any_of(stage.tasks.begin(), stage.tasks.end(),
                                    [](const TaskOutlook& task) { return task.rows == 0; });
  for (TaskOutlook& task : stage.tasks) {
    task.knows_draws = unit == ShareUnit::kSteps || !has_auto;
    task.knows_rows = task.knows_draws && task.rows > 0;
  }
}

std::string_view NameOf(ModeBy by) {
  return by == ModeBy::kConfig ? "config" : by == ModeBy::kPlan ? "plan" : "spec";
}

ordered_json ToJson(const TaskOutlook& task) {
  ordered_json json = {{"task", task.task},
                       {"variant", task.variant},
                       {"passes", task.passes},
                       {"mode", task.mode},
                       {"share", task.share},
                       {"rows", task.rows == 0 ? ordered_json("auto") : ordered_json(task.rows)},
                       {"draws", std::llround(task.draws)},
                       {"rows_in_all", std::llround(task.rows_in_all)},
                       {"mode_by", NameOf(task.mode_by)},
                       {"draws_are_known", task.knows_draws},
                       {"rows_in_all_are_known", task.knows_rows}};
  if (!task.kind.empty()) json["kind"] = task.kind;
  return json;
}

// `task_json`: what is known of its tasks.
template <typename TaskJson>
ordered_json StagesJson(const std::vector<StageOutlook>& stages, const TaskJson& task_json) {
  ordered_json json = ordered_json::array();
  for (const StageOutlook& stage : stages) {
    ordered_json tasks = ordered_json::array();
    for (const TaskOutlook& task : stage.tasks) tasks.push_back(task_json(task));
    json.push_back(
        {{"name", stage.name}, {"words", stage.words}, {"tasks", tasks}, {"paused", stage.paused}});
  }
  return json;
}

}  // namespace

RunOutlook OutlookOf(const CheckedRun& checked, const Registry& registry) {
  const RunConfig& run = checked.run;
  const Curriculum& curriculum = checked.curriculum;
  const CurriculumDrawing drawing(curriculum, {.sizes = TaskSizes(checked, registry),
                                               .seed = static_cast<std::uint64_t>(run.seed),
                                               .steps = run.steps,
                                               .draws_per_step = run.draws_per_step,
                                               .eval_every = run.eval.every});
  RunOutlook outlook{.run = run,
                     .unit = curriculum.unit,
                     .order = curriculum.order,
                     .model = checked.model->info.name,
                     .stages = {},
                     .length = drawing.has_stages() ? drawing.LengthOfRun() : "",
                     .choices = registry.Choices(curriculum.Named()),
                     .token_table = checked.token_table};
  const FormTable forms(run, curriculum);
  for (std::size_t i = 0; i < curriculum.stages.size(); ++i) {
    const Stage& stage = curriculum.stages[i];
    StageOutlook& made = outlook.stages.emplace_back(StageOf(drawing, stage, i));
    if (i >= drawing.longest().stages.size()) continue;
    const std::map<std::string, Mixer::Share>& shares = drawing.longest().stages[i].shares;
    for (const auto& [name, weight] : stage.weights) {
      if (weight == 0)
        made.paused.push_back(name);
      else
        made.tasks.push_back(
            TaskOf(registry, forms.Of(stage, name), shares.at(name), drawing.scale(), run.plan));
    }
    MarkUnknown(made, curriculum.unit);
  }
  return outlook;
}

WeightsOutlook OutlookOf(const Curriculum& curriculum) {
  std::map<std::string, TaskSize> sizes;
  for (const std::string& task : curriculum.All()) sizes[task] = {.rows = TaskConfig().rows};
  const CurriculumDrawing drawing(
      curriculum, {.sizes = sizes, .steps = static_cast<std::int64_t>(kLargestInteger), .eval_every = 1});
  WeightsOutlook outlook{.unit = curriculum.unit,
                         .tasks = sizes.size(),
                         .stages = {},
                         .length = drawing.has_stages() ? drawing.LengthOfRun() : ""};
  for (std::size_t i = 0; i < curriculum.stages.size(); ++i) {
    const Stage& stage = curriculum.stages[i];
    StageOutlook& made = outlook.stages.emplace_back(StageOf(drawing, stage, i));
    double sum = 0;
    for (const auto& [task, weight] : stage.weights) sum += weight;
    for (const auto& [task, weight] : stage.weights) {
      made.tasks.push_back({.task = task, .variant = {}, .mode = {}, .share = weight / sum});
      if (weight == 0) made.paused.push_back(task);
    }
  }
  return outlook;
}

void Print(const RunOutlook& outlook) {
  const RunConfig& run = outlook.run;
  Say("ok: %lld steps of %lld draw%s on %s, weights in %s (%s)\n\n", static_cast<long long>(run.steps),
      static_cast<long long>(run.draws_per_step), run.draws_per_step == 1 ? "" : "s", run.device.c_str(),
      EnumName(outlook.unit).c_str(), EnumName(outlook.order).c_str());
  std::size_t longest = 0;
  for (const StageOutlook& stage : outlook.stages) {
    for (const TaskOutlook& task : stage.tasks) longest = std::max(longest, task.task.size());
  }
  const int width = static_cast<int>(longest);
  Say("  %-*s %8s %5s %8s %11s  %s\n", width, "task", "share", "rows", "draws", "rows in all",
      "passes, mode");
  for (const StageOutlook& stage : outlook.stages) {
    if (!stage.words.empty()) Say("  -- %s\n", stage.words.c_str());
    for (const TaskOutlook& task : stage.tasks) Print(task, width);
    if (!stage.paused.empty()) Say("  paused: %s\n", JoinNames(stage.paused).c_str());
  }
  if (!outlook.length.empty()) Say("\n  %s\n", outlook.length.c_str());
  PrintWhatIsPlanned(outlook);
  for (const std::string& line : outlook.choices) Say("  %s\n", line.c_str());
  const std::string tokenizer = run.tokenizer.empty() ? "" : ", tokenizer " + DisplayPath(run.tokenizer);
  Say("\n  model %s (%s)%s, seed %lld\n", DisplayPath(run.model).c_str(), outlook.model.c_str(),
      tokenizer.c_str(), static_cast<long long>(run.seed));
  if (!outlook.token_table.empty()) Say("  %s\n", outlook.token_table.c_str());
}

// Stages one below the other, a bar for every share.
void Print(const WeightsOutlook& outlook) {
  Say("ok: weights of %zu tasks, in %s; medley validate of a run says whether the tasks are there\n",
      outlook.tasks, EnumName(outlook.unit).c_str());
  std::size_t longest_name = 0;
  for (const StageOutlook& stage : outlook.stages) {
    for (const TaskOutlook& task : stage.tasks) longest_name = std::max(longest_name, task.task.size());
  }
  for (const StageOutlook& stage : outlook.stages) {
    if (!stage.words.empty()) Say("\n  %s\n", stage.words.c_str());
    for (const TaskOutlook& task : stage.tasks) {
      const std::string bar(static_cast<std::size_t>(std::ceil(kBar * task.share)), '#');
      Say("    %-*s %5.1f %%  %s\n", static_cast<int>(longest_name), task.task.c_str(), 100 * task.share,
          bar.c_str());
    }
  }
  if (outlook.length.empty()) return;
  Say("\n  %s. Counted with %lld rows a draw and one draw a step; medley validate of a run counts with "
      "the run's\n",
      outlook.length.c_str(), static_cast<long long>(TaskConfig().rows));
}

void Print(const ModelFile& model) {
  Say("ok: a model '%s', %s\n", model.info.name.c_str(), Printable(model.info.summary).c_str());
  std::cout << JsonText(ToJson(model.config, model.info), 2) << '\n';
}

void Print(const Gpu& gpu) {
  Say("ok: a GPU '%s', %s, of them %s for tensors\n", gpu.name.c_str(), FormatBytes(gpu.memory).c_str(),
      FormatBytes(gpu.usable()).c_str());
}

ordered_json ToJson(const RunOutlook& outlook) {
  const RunConfig& run = outlook.run;
  ordered_json json = {
      {"steps", run.steps},
      {"draws_per_step", run.draws_per_step},
      {"device", run.device},
      {"seed", run.seed},
      {"unit", EnumName(outlook.unit)},
      {"order", EnumName(outlook.order)},
      {"stages", StagesJson(outlook.stages, [](const TaskOutlook& task) { return ToJson(task); })},
      {"length", outlook.length},
      {"choices", outlook.choices},
      {"warnings", outlook.warnings},
      {"model", {{"file", run.model.string()}, {"kind", outlook.model}}}};
  if (!run.tokenizer.empty()) json["tokenizer"] = run.tokenizer.string();
  if (!outlook.token_table.empty()) json["token_table"] = outlook.token_table;
  return json;
}

ordered_json ToJson(const WeightsOutlook& outlook) {
  const auto share = [](const TaskOutlook& task) -> ordered_json {
    return {{"task", task.task}, {"share", task.share}};
  };
  return {{"unit", EnumName(outlook.unit)},
          {"stages", StagesJson(outlook.stages, share)},
          {"length", outlook.length}};
}

ordered_json ToJson(const ModelFile& model) {
  return {{"name", model.info.name},
          {"summary", Printable(model.info.summary)},
          {"config", ToJson(model.config, model.info)}};
}

void Print(const ChatStrings& chat) {
  Say("ok: a chat format '%s', %s\n", chat.name.c_str(),
      chat.image.empty() ? "without pictures among words" : "with pictures among words");
}

ordered_json ToJson(const Gpu& gpu) {
  return {{"name", gpu.name},           {"memory", gpu.memory}, {"context", gpu.context},
          {"workspace", gpu.workspace}, {"margin", gpu.margin}, {"usable", gpu.usable()}};
}

}  // namespace medley
