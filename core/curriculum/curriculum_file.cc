#include <medley/curriculum/curriculum.h>

#include <algorithm>

#include <medley/base/suggest.h>
#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>
#include <medley/curriculum/shares.h>

namespace medley {
namespace {

using nlohmann::ordered_json;
using Path = std::vector<std::string>;

constexpr std::int64_t kLongestRamp = std::int64_t{1} << 30;  // draws

}  // namespace

// As it is written: one stage without end, or stages.
struct WeightsFile {
  enum class Kind { kWeights, kStages };
  Kind kind = Kind::kWeights;
  ShareUnit unit = ShareUnit::kRows;
  DrawOrder order = DrawOrder::kDeficit;
  Weights weights;
  std::vector<Stage> stages;
};

template <>
struct EnumNames<WeightsFile::Kind> {
  static constexpr std::array<std::string_view, 2> kNames = {"weights", "stages"};
};

template <>
inline constexpr std::string_view kDefinitionOf<Condition> = "condition";

template <typename Visitor>
void Fields(Visitor& visit, Condition& c) {
  if (!visit.Choose(c.kind)) return;
  switch (c.kind) {
    case Condition::Kind::kSteps:
      return visit(c.steps, {.name = "steps", .help = "Of the stage", .required = true, .low = 1});
    case Condition::Kind::kRows:
      visit(c.rows, {.name = "rows", .help = "Trained in the stage", .required = true, .low = 1});
      return visit(c.of, {.name = "of", .help = "Of this task. Not given: of all tasks"});
    case Condition::Kind::kLoss:
      visit(c.loss, {.name = "loss",
                     .help = "A task of the stage: its loss, smoothed over some fifty of its steps",
                     .required = true});
      return visit(c.below, {.name = "below", .help = "Holds below this", .required = true});
    case Condition::Kind::kScore:
      visit(c.score, {.name = "score",
                      .help = "A task: its score on eval.rows held-out rows, under the stage's settings",
                      .required = true});
      visit(c.at_least, {.name = "at_least", .help = "Holds from this upwards"});
      visit(c.at_most, {.name = "at_most", .help = "Holds from this downwards"});
      return visit(c.evaluations, {.name = "evaluations",
                                   .help = "How many in a row must say so",
                                   .low = 1,
                                   .high = kMostEvaluations});
    case Condition::Kind::kAll:
      return visit(c.all, {.name = "all", .help = "Holds where all of these do", .required = true});
    case Condition::Kind::kAny:
      return visit(c.any, {.name = "any", .help = "Holds where one of these does", .required = true});
  }
}

template <typename Visitor>
void Fields(Visitor& visit, Ramp& c) {
  visit(c.draws,
        {.name = "draws", .help = "How many it takes", .required = true, .low = 1, .high = kLongestRamp});
  visit(c.shape, {.name = "shape", .help = "How the shares move"});
}

template <typename Visitor>
void VisitWeights(Visitor& visit, Weights& weights) {
  visit(weights, {.name = "weights",
                  .help = "By task; 0: paused. Ties go to the first",
                  .required = true,
                  .low = 0,
                  .high = kLargestWeight});
}

template <typename Visitor>
void Fields(Visitor& visit, Stage& c) {
  visit(c.name,
        {.name = "name", .help = "What logs and reports call it", .required = true, .is_label = true});
  VisitWeights(visit, c.weights);
  visit(c.until, {.name = "until",
                  .help = "When it ends. Not given: with the run; only the last stage may leave it out"});
  visit(c.ramp,
        {.name = "ramp",
         .help = "From the shares that are in force when the stage begins to its own. Not given: at once",
         .omit_default = true});
  visit(
      c.warmup_steps,
      {.name = "warmup", .help = "Steps from its start in which the learning rate rises linearly", .low = 0});
  visit(c.cooldown_steps, {.name = "cooldown",
                           .help = "Steps after \"until\" held, in which the learning rate falls linearly; "
                                   "then the next stage begins",
                           .low = 0});
  visit(c.cooldown_to, {.name = "cooldown_to",
                        .help = "Times the learning rate, towards which it falls in the cooldown",
                        .low = 0,
                        .high = 1});
  visit(c.moments, {.name = "moments",
                    .help = "reset: AdamW's moments and counts of updates begin anew with the stage"});
  visit(c.set, {.name = "set",
                .help = "Of the run config, while the stage lasts: tasks.NAME. and rows, micro_rows, mode, "
                        "recompute_every, terms.NAME or options.NAME",
                .omit_default = true});
  visit(c.keep, {.name = "keep", .help = "Its last checkpoint is never removed"});
  visit(c.eval_every,
        {.name = "eval_every",
         .help = "Steps of the stage between the evaluations that \"until\" asks for. Not given "
                 "or 0: the run's eval.every",
         .low = 0});
}

template <typename Visitor>
void Fields(Visitor& visit, WeightsFile& c) {
  const bool chosen = visit.Choose(c.kind);
  visit(c.unit, {.name = "unit", .help = "What the weights are shares of"});
  visit(c.order,
        {.name = "order",
         .help = "deficit: no task is ever further behind its share than one largest batch; urn: weight is "
                 "the number of cards in an urn that is drawn empty and filled again"});
  if (!chosen) return;
  if (c.kind == WeightsFile::Kind::kWeights) {
    VisitWeights(visit, c.weights);
  } else {
    visit(c.stages, {.name = "stages", .help = "One after the other", .required = true});
  }
}

namespace {

Path Below(Path path, std::initializer_list<std::string> keys) {
  path.insert(path.end(), keys);
  return path;
}

// Where a stage's set names a task first.
Path PathOfSet(const ConfigFile& file, const Path& set, const std::string& task) {
  if (const JsonNode* node = file.Find(set)) {
    for (const JsonMember& member : node->members) {
      if (member.key.starts_with("tasks." + task + ".")) return Below(set, {member.key});
    }
  }
  return set;
}

// The mistakes that one value alone does not show.
class CurriculumCheck {
 public:
  CurriculumCheck(ConfigFile& file, const Curriculum& curriculum) : file_(file), curriculum_(curriculum) {}

  void Check() {
    for (std::size_t i = 0; i < curriculum_.stages.size(); ++i) {
      CheckStageWeights(i);
      CheckStage(i);
    }
  }

 private:
  void CheckStageWeights(std::size_t stage) {
    const Path path = Below(curriculum_.PathOf(stage), {"weights"});
    const JsonNode* weights = file_.Find(path);
    if (weights == nullptr || !weights->IsObject()) return;
    for (const JsonMember& member : weights->members) {
      if (member.key == kComment) continue;
      const bool good = member.value.scalar.is_number() && member.value.scalar.get<double>() >= 0 &&
                        member.value.scalar.get<double>() <= kLargestWeight;
      if (!good) return;  // reported; the sum of the others says nothing
    }
    for (const WeightProblem& problem : CheckWeights(curriculum_.MixtureOf(stage)))
      file_.FailAt(problem.task.empty() ? path : Below(path, {problem.task}), problem.message);
  }

  void CheckStage(std::size_t number) {
    const Stage& stage = curriculum_.stages[number];
    const Path path = curriculum_.PathOf(number);
    for (std::size_t i = 0; i < number && !stage.name.empty(); ++i) {
      if (curriculum_.stages[i].name == stage.name)
        file_.FailAt(Below(path, {"name"}), "stage " + std::to_string(i + 1) + " is called \"" + stage.name +
                                                "\" too; give each a name of its own");
    }
    if (!stage.until && number + 1 < curriculum_.stages.size())
      file_.FailAt(Below(path, {"until"}),
                   "missing, and so the stages behind it would never begin; say when the stage ends, such as "
                   "{\"steps\": 1000}");
    if (!stage.until && stage.cooldown_steps > 0)
      file_.FailAt(Below(path, {"cooldown"}), "begins once \"until\" holds, and the stage has none");
    if (stage.ramp.draws > 0 && number == 0)
      file_.FailAt(Below(path, {"ramp"}), "the first stage has none: there are no shares before it");
    if (stage.ramp.draws > 0 && curriculum_.order == DrawOrder::kUrn)
      file_.FailAt(Below(path, {"ramp"}), kNoRampOfUrns);
    if (stage.until) CheckCondition(*stage.until, stage, Below(path, {"until"}));
    CheckSet(stage, Below(path, {"set"}));
  }

  void CheckCondition(const Condition& condition, const Stage& stage, const Path& path) {
    const auto check_list = [&](const std::vector<Condition>& list, const char* key) {
      for (std::size_t i = 0; i < list.size(); ++i)
        CheckCondition(list[i], stage, Below(path, {key, std::to_string(i)}));
    };
    check_list(condition.all, "all");
    check_list(condition.any, "any");
    if (condition.kind == Condition::Kind::kScore) {
      if (condition.at_least.has_value() == condition.at_most.has_value())
        file_.FailAt(path, "a score needs one of the keys \"at_least\" and \"at_most\"");
      RequireTask(condition.score, curriculum_.Named(), Below(path, {"score"}), "no stage draws this task");
    }
    constexpr const char* kNotDrawn = "the stage does not draw this task";
    if (condition.kind == Condition::Kind::kLoss)
      RequireTask(condition.loss, stage.Active(), Below(path, {"loss"}), kNotDrawn);
    if (condition.kind == Condition::Kind::kRows && condition.of)
      RequireTask(*condition.of, stage.Active(), Below(path, {"of"}), kNotDrawn);
  }

  void CheckSet(const Stage& stage, const Path& path) {
    for (const auto& [task, change] : stage.set.tasks)
      RequireTask(task, curriculum_.Named(), PathOfSet(file_, path, task), "no stage draws this task");
  }

  void RequireTask(const std::string& task, const std::vector<std::string>& tasks, const Path& path,
                   const std::string& problem) {
    if (task.empty() || std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return;
    file_.FailAt(path, problem + DidYouMean(task, tasks) + " (drawn: " + JoinNames(tasks) + ")");
  }

  ConfigFile& file_;
  const Curriculum& curriculum_;
};

// Of every kind, as it is written.
ordered_json ConditionSchema() {
  ordered_json kinds = ordered_json::array();
  for (std::size_t kind = 0; kind < EnumNames<Condition::Kind>::kNames.size(); ++kind) {
    Condition condition;
    condition.kind = static_cast<Condition::Kind>(kind);
    kinds.push_back(SchemaWriter::Object(condition));
    if (condition.kind != Condition::Kind::kScore) continue;
    kinds.back()["oneOf"] = {{{"required", {"at_least"}}}, {{"required", {"at_most"}}}};
  }
  return {{"oneOf", std::move(kinds)}};
}

Curriculum WithoutMistakes(ConfigFile& file, const Diagnostics& diagnostics) {
  Curriculum curriculum;
  ReadConfig(file, curriculum);
  diagnostics.Throw();
  return curriculum;
}

}  // namespace

void ReadConfig(ConfigFile& file, Curriculum& curriculum) {
  WeightsFile read;
  ReadFields(file, read);
  curriculum = OneStage(std::move(read.weights), read.unit, read.order);
  if (read.kind == WeightsFile::Kind::kStages && !read.stages.empty())
    curriculum.stages = std::move(read.stages);
  CurriculumCheck(file, curriculum).Check();
}

Curriculum ReadCurriculum(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics, kLargestWeightsFile);
  return WithoutMistakes(file, diagnostics);
}

Curriculum ParseCurriculum(const std::filesystem::path& path, const std::string& text) {
  Diagnostics diagnostics;
  ConfigFile file(path, text, diagnostics);
  return WithoutMistakes(file, diagnostics);
}

ordered_json ToJson(const Curriculum& curriculum) {
  WeightsFile file;
  file.unit = curriculum.unit;
  file.order = curriculum.order;
  if (curriculum.stages.size() == 1 && curriculum.stages.front().name.empty()) {
    file.weights = curriculum.stages.front().weights;
  } else {
    file.kind = WeightsFile::Kind::kStages;
    file.stages = curriculum.stages;
  }
  return FieldDumper::Dump(file);
}

ordered_json ToJson(const Stage& stage) { return FieldDumper::Dump(stage); }

ordered_json CurriculumSchema() {
  ordered_json schema = SchemaWriter::File<WeightsFile>(
      "medley weights file", "How much of each task a run trains, in one stage or in several.");
  ordered_json& properties = schema["properties"];
  WeightsFile of_stages;
  of_stages.kind = WeightsFile::Kind::kStages;
  const ordered_json stages = SchemaWriter::Object(of_stages);
  properties["stages"] = stages["properties"]["stages"];
  schema.erase("required");
  schema["oneOf"] = {{{"required", {"weights"}}}, {{"required", {"stages"}}}};
  schema["definitions"] = {{std::string(kDefinitionOf<Condition>), ConditionSchema()}};
  return schema;
}

}  // namespace medley
