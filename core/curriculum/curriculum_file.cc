#include <medley/curriculum/curriculum.h>

#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>
#include <medley/curriculum/shares.h>
#include <medley/curriculum/stage_check.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kLongestRamp = std::int64_t{1} << 30;  // draws

}  // namespace

// As it is written: one stage without end, or stages.
struct WeightsFile {
  enum class Kind { kWeights, kStages };
  Kind kind = Kind::kWeights;
  ShareUnit unit = ShareUnit::kRows;
  DrawOrder order = DrawOrder::kDeficit;
  Weights weights;
  Ramp ramp;
  std::vector<Stage> stages;
};

template <>
struct EnumNames<WeightsFile::Kind> {
  static constexpr std::array<std::string_view, 2> kNames = {"weights", "stages"};
};

template <>
inline constexpr std::string_view kDefinitionOf<Condition> = "condition";

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
void VisitRamp(Visitor& visit, Ramp& ramp, std::string_view help) {
  visit(ramp, {.name = "ramp", .help = help, .omit_default = true});
}

template <typename Visitor>
void Fields(Visitor& visit, Stage& c) {
  visit(c.name,
        {.name = "name", .help = "What logs and reports call it", .required = true, .is_label = true});
  VisitWeights(visit, c.weights);
  visit(c.until, {.name = "until",
                  .help = "When it ends. Not given: with the run; only the last stage may leave it out"});
  VisitRamp(visit, c.ramp,
            "From the shares that are in force when the stage begins to its own. Not given: at once");
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
  visit(c.moments,
        {.name = "moments",
         .help = "reset: the optimizer's moments, counts of updates and trend begin anew with the stage"});
  visit(c.set, {.name = "set",
                .help = "Of the run config, while the stage lasts: tasks.NAME. and rows, micro_rows, mode, "
                        "recompute_layers, terms.NAME or options.NAME",
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
  visit(
      c.unit,
      {.name = "unit",
       .help = "What the weights are shares of: rows; steps, which are draws; tokens, which are rows times "
               "the text widths that the passes of a task declare; or passes, rows times the passes that it "
               "declares. Not given: rows, and with the order urn, which draws nothing else, steps"});
  visit(
      c.order,
      {.name = "order",
       .help =
           "deficit: until weights change, no task is ever a largest batch behind its share; urn: weight is "
           "the number of cards in an urn that is drawn empty and filled again"});
  if (!chosen) return;
  if (c.kind == WeightsFile::Kind::kWeights) {
    VisitWeights(visit, c.weights);
    VisitRamp(
        visit, c.ramp,
        "Of an edit while the run goes on: from the shares that are in force to these. Not given: at once");
  } else {
    visit(c.stages, {.name = "stages", .help = "One after the other", .required = true});
  }
}

namespace {

// Of every kind, as it is written.
template <typename... Kinds>
ordered_json ConditionSchema(const std::variant<Kinds...>&) {
  return {{"oneOf", {SchemaWriter::Object(Condition{Kinds()})...}}};
}

// A card is a draw, whatever its rows: an urn can keep no other share.
void TakeUnitOfUrn(ConfigFile& file, WeightsFile& read, WeightsOf whose) {
  if (read.order != DrawOrder::kUrn) return;
  const JsonNode* unit = file.Find({"unit"});
  const bool is_given = unit != nullptr && unit->IsString() && unit->scalar == EnumName(read.unit);
  if (is_given && whose == WeightsOf::kBegunRun) return;
  if (is_given && read.unit != ShareUnit::kSteps)
    file.FailAt({"unit"}, "the order \"urn\" draws steps, whatever they hold: expected \"steps\", found \"" +
                              EnumName(read.unit) + "\"; leave it out, or take the order \"deficit\"");
  read.unit = ShareUnit::kSteps;
}

Curriculum WithoutMistakes(ConfigFile& file, const Diagnostics& diagnostics, WeightsOf whose) {
  Curriculum curriculum;
  ReadConfig(file, curriculum, whose);
  diagnostics.Throw();
  return curriculum;
}

}  // namespace

void ReadConfig(ConfigFile& file, Curriculum& curriculum, WeightsOf whose) {
  WeightsFile read;
  ReadFields(file, read, [] { return KeyPathsIn(CurriculumSchema()); });
  TakeUnitOfUrn(file, read, whose);
  curriculum = OneStage(std::move(read.weights), read.unit, read.order);
  curriculum.stages.front().ramp = read.ramp;
  if (read.kind == WeightsFile::Kind::kStages && !read.stages.empty())
    curriculum.stages = std::move(read.stages);
  CheckCurriculum(file, curriculum, whose);
}

Curriculum ReadCurriculum(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics, kLargestWeightsFile);
  return WithoutMistakes(file, diagnostics, WeightsOf::kUser);
}

Curriculum ParseCurriculum(const std::filesystem::path& path, const std::string& text) {
  Diagnostics diagnostics;
  ConfigFile file(path, text, diagnostics);
  return WithoutMistakes(file, diagnostics, WeightsOf::kBegunRun);
}

ordered_json ToJson(const Curriculum& curriculum) {
  WeightsFile file;
  file.unit = curriculum.unit;
  file.order = curriculum.order;
  if (curriculum.stages.size() == 1 && curriculum.stages.front().name.empty()) {
    file.weights = curriculum.stages.front().weights;
    file.ramp = curriculum.stages.front().ramp;
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
  schema["dependencies"] = {{"ramp", {"weights"}}};
  schema["not"] = {
      {"required", {"unit", "order"}},
      {"properties", {{"unit", {{"not", {{"const", "steps"}}}}}, {"order", {{"const", "urn"}}}}}};
  schema["definitions"] = {{std::string(kDefinitionOf<Condition>), ConditionSchema(Condition().kind)}};
  return schema;
}

}  // namespace medley
