// What --json prints, against the schemas in configs/schema: of every verb that has one, whatever it has to
// say.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/follows_schema.h"
#include "tests/tools/edited_runs.h"
#include "tests/tools/small_runs.h"
#include "tests/tools/trouble_run.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Medley;
using test::Shell;
using test::TroubleRun;

const std::string kConfigFolder = MEDLEY_SOURCE_DIR "/configs/";
const std::string kQuickstartFile = kConfigFolder + "runs/quickstart.json ";

// The names of all keys that a schema allows, and of all that a document has.
void AddAllowed(const json& schema, std::set<std::string>& keys) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.contains("properties")) {
    for (const auto& [key, below] : schema.at("properties").items()) keys.insert(key);
  }
  for (const json& below : schema) AddAllowed(below, keys);
}
void AddKeys(const json& document, std::set<std::string>& keys) {
  if (!document.is_structured()) return;
  for (const auto& [key, below] : document.items()) {
    if (document.is_object()) keys.insert(key);
    AddKeys(below, keys);
  }
}

// What a verb printed in several cases.
class Outputs {
 public:
  explicit Outputs(const std::string& name)
      : schema_(json::parse(ReadText(kConfigFolder + "schema/" + name + "-output.schema.json"))) {}

  // Runs "medley VERB ..." with --json: stdout has one document that follows the schema and nothing else. The
  // first that ends with a code is run without --json too, and ends alike.
  json Of(const std::string& arguments, int code) {
    const CommandResult printed = Shell(Medley() + arguments + " --json 2>/dev/null");
    EXPECT_EQ(printed.code, code) << arguments;
    if (codes_.insert(code).second) {
      EXPECT_EQ(Shell(Medley() + arguments + " 2>/dev/null >/dev/null").code, code) << arguments;
    }
    const json document = json::parse(printed.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(document.is_discarded()) << arguments << ": " << printed.out;
    EXPECT_EQ(test::SchemaMistakes(schema_, document), "") << arguments << ": " << printed.out;
    AddKeys(document, seen_);
    return document;
  }
  // The same of what cannot be answered: nothing on stdout, words on stderr.
  void Refuses(const std::string& arguments, int code = 2) {
    const CommandResult printed = Shell(Medley() + arguments + " --json 2>/dev/null");
    EXPECT_EQ(printed.code, code) << arguments;
    EXPECT_EQ(printed.out, "") << arguments;
    const CommandResult told = Shell(Medley() + arguments + " --json 2>&1 >/dev/null");
    EXPECT_NE(("\n" + told.out).find("\nmedley: "), std::string::npos) << told.out;
    EXPECT_EQ(Shell(Medley() + arguments + " >/dev/null 2>&1").code, code) << arguments;
  }
  // No key of the schema is idle, but for those that nothing here can bring about.
  void ExpectAllKeysSeen(const std::set<std::string>& but = {}) const {
    std::set<std::string> allowed;
    AddAllowed(schema_, allowed);
    for (const std::string& key : allowed) EXPECT_NE(seen_.contains(key), but.contains(key)) << key;
  }

 private:
  json schema_;
  std::set<std::string> seen_;
  std::set<int> codes_;
};

std::string TrainQuietly(const fs::path& run, const std::string& overrides) {
  return Medley() + "train " + kQuickstartFile + overrides + " --out " + run.string() + " >/dev/null 2>&1";
}

TEST(JsonOutput, ReportFollowsItsSchema) {
  const ScratchDirectory scratch;
  WriteText(scratch / "staged.json", test::kStagedWeights);
  ASSERT_EQ(
      Shell(TrainQuietly(scratch / "staged", std::string(test::kStaged) + (scratch / "staged.json").string() +
                                                 " budget=2GiB tensorboard=false"))
          .code,
      0);
  Outputs outputs("report");
  const json staged = outputs.Of("report " + (scratch / "staged").string(), 0);
  EXPECT_EQ(staged.at("stages").size(), 3U);
  EXPECT_EQ(staged.at("stages").at(1).at("name"), "b");
  EXPECT_GT(staged.at("tasks").at("control").at(0).at("measured_peak").at("largest"), 1 << 20);
  EXPECT_EQ(staged.at("scores"), json::object()) << "that nobody asked for";
  ASSERT_EQ(Shell(Medley() + "eval " + (scratch / "staged").string() + " --rows 4 >/dev/null 2>&1").code, 0);
  const json scored = outputs.Of("report " + (scratch / "staged").string(), 0);
  json of_eval = json::parse(ReadText(scratch / "staged/eval.json"));
  for (auto& [task, score] : of_eval.at("tasks").items()) {
    EXPECT_EQ(scored.at("scores").at(task).at("step"), of_eval.at("step"));
    EXPECT_EQ(scored.at("scores").at(task).at("figures"), score.at("figures"));
    EXPECT_EQ(scored.at("scores").at(task).at("value"), score.at("value"));
  }
  const std::string both = (scratch / "staged").string() + " --against " + (scratch / "staged").string();
  const json groups = outputs.Of("report " + both, 0);
  EXPECT_EQ(groups.at("groups").size(), 2U);
  EXPECT_EQ(groups.at("tasks").at("control").at("cells").at(1).at("difference").at("value"), 0);
  EXPECT_EQ(groups.at("mean_loss").at("cells").at(1).at("difference").at("verdict"), nullptr);
  EXPECT_EQ(outputs.Of("watch " + (scratch / "staged").string(), 0), scored);
  const json& progress = scored.at("progress");
  EXPECT_EQ(progress.at("is_over"), true) << "as its stages are, long before its steps";
  EXPECT_EQ(progress.at("step"), 12);
  EXPECT_EQ(progress.at("ends"), 12);
  EXPECT_EQ(progress.at("why"), "its last stage is over");
  EXPECT_EQ(progress.at("seconds_left"), nullptr);

  // A run that had just begun, and one with phases.
  fs::create_directory(scratch / "empty");
  WriteText(scratch / "empty/run.json", "{}");
  WriteText(scratch / "empty/config.resolved.json", R"({"steps": 3})");
  WriteText(scratch / "empty/receipt.json",
            R"({"format": 1, "under_estimates": 0, "overflows": 0, "tasks": {}, "stages": [
                {"number": 0, "name": "", "unit": "rows", "tasks": {"lines": {"asked": 1.0, "delivered": 1.0,
                 "charged": 8, "rows": 8, "steps": 2, "tokens_run": 80, "forwards": 2, "seconds": 0.5, "peak": 9,
                 "items": 5}}}]})");
  const std::string empty = "report " + (scratch / "empty").string();
  const json begun = outputs.Of(empty, 0);
  EXPECT_EQ(begun.at("phases").at("phases"), json::array());
  EXPECT_EQ(begun.at("progress").at("is_over"), false);
  EXPECT_EQ(begun.at("progress").at("seconds_left"), nullptr);
  WriteText(
      scratch / "empty/timing.jsonl",
      R"({"step":1,"seconds":2,"rows_per_second":4,"phase":"warmup","memory_now":1000,"memory_peak":1500,)"
      R"("tasks":{"lines":{"operations":60.0,"compute_seconds":1.5,"operations_per_second":40.0}}})"
      "\n"
      R"({"step":2,"seconds":0,"rows_per_second":4,"phase":"full","memory_now":900,"memory_peak":1500})"
      "\n");
  const json phases = outputs.Of(empty, 0).at("phases");
  EXPECT_EQ(phases.at("phases").at(1).at("grown_bytes"), -100);
  EXPECT_EQ(phases.at("phases").at(1).at("rows_per_second"), nullptr);
  EXPECT_EQ(phases.at("without_predictions"), 4);
  EXPECT_EQ(outputs.Of(empty, 0).at("speeds").at("lines").at("operations_per_second"), 40);
  json score = {{"metric", "accuracy"}, {"better", "higher"}, {"value", 0.5},  {"low", 0.25},
                {"high", 0.75},         {"chance", nullptr},  {"trivial", {}}, {"rows", 4},
                {"items", 4},           {"figures", {}},      {"loss", 3}};
  score["trivial"] = score["figures"] = json::object();
  const auto evaluated = [&](int step) {
    return json{{"step", step}, {"eval", {{"lines", score}}}}.dump() + "\n";
  };
  WriteText(scratch / "empty/metrics.jsonl", evaluated(0) + evaluated(1));
  EXPECT_EQ(outputs.Of(empty, 0).at("scores").at("lines").at("before"), score);
  outputs.ExpectAllKeysSeen({"unscored"});

  outputs.Refuses("report " + (scratch / "nowhere").string());
  WriteText(scratch / "empty/receipt.json", "{");
  outputs.Refuses(empty);
}

TEST(JsonOutput, PlanFollowsItsSchema) {
  const ScratchDirectory scratch;
  WriteText(scratch / "two.json", R"({"weights": {"position_qa": 1, "zoom_agent": 1}})");
  WriteText(scratch / "staged.json", test::kStagedWeights);
  const std::string two = "plan " + kQuickstartFile + "threads=1 weights=" + (scratch / "two.json").string();
  const std::string profile = " --out " + (scratch / "out").string();
  ASSERT_EQ(Shell(Medley() + two + " --budget 60MiB" + profile + " >/dev/null 2>&1").code, 0);
  const std::string again = two + " --profile " + (scratch / "out/profile.json").string() + " --budget ";

  Outputs outputs("plan");
  const json plan = outputs.Of(again + "60MiB", 0);
  EXPECT_EQ(plan.at("budget"), 60 << 20);
  EXPECT_EQ(plan.at("tasks").at(0).at("task"), "position_qa");
  EXPECT_EQ(plan.at("stages"), json::array());
  const json open = outputs.Of(again +
                                   "60MiB tasks.position_qa.rows=auto tasks.zoom_agent.rows=auto "
                                   "tasks.zoom_agent.recompute_layers=2/3",
                               0);
  EXPECT_EQ(open.at("tasks").at(1).at("recompute_layers"), "2/3");
  EXPECT_GT(open.at("usual_rows"), 1);
  const json staged = outputs.Of(
      "plan " + kQuickstartFile + test::kStaged + (scratch / "staged.json").string() + " --budget 1GiB", 0);
  EXPECT_EQ(staged.at("stages").at(1).at("other_forms").size(), 1U);
  const json referring = outputs.Of(
      "plan " MEDLEY_SOURCE_DIR "/configs/runs/talk-staged.json threads=1 tasks.solver.rows=4 --budget 1GiB",
      0);
  EXPECT_GE(referring.at("floor").at("references"), referring.at("floor").at("weights"));

  const json weights = outputs.Of(again + "1MiB", 5);
  EXPECT_FALSE(weights.at("refusals").at(0).contains("task"));
  const json row =
      outputs.Of(again + "50MiB tasks.position_qa.micro_rows=48 tasks.position_qa.mode=joint", 5);
  EXPECT_EQ(row.at("refusals").at(0).at("task"), "position_qa");
  EXPECT_TRUE(row.at("refusals").at(0).at("change").get<std::string>().starts_with("tasks.position_qa."));
  outputs.ExpectAllKeysSeen({"drops_tables", "tables", "own_rows"});

  outputs.Refuses("plan " + kQuickstartFile + "stesp=5");
  outputs.Refuses("plan nowhere.json");
}

TEST(JsonOutput, EvalFollowsItsSchema) {
  const TroubleRun fine, dropped;
  ASSERT_EQ(Shell(fine.Train("steps=2 optimizer.average=0.5")).code, 0);
  ASSERT_EQ(Shell(dropped.Train("steps=6 on_task_error=drop tasks.trouble.options.fails_at=2 "
                                "tasks.trouble.options.scores=2"))
                .code,
            3);
  const auto eval = [](const TroubleRun& run) { return "eval " + run.run().string() + " --rows 4 "; };
  Outputs outputs("eval");
  const json scored = outputs.Of(eval(fine), 0);
  EXPECT_EQ(scored, json(fine.Json("eval.json")));
  EXPECT_EQ(scored.at("averaged"), true);
  EXPECT_EQ(outputs.Of(eval(dropped), 0).at("tasks").size(), 1U);
  EXPECT_EQ(outputs.Of(eval(dropped) + "--all", 3).at("failed").size(), 1U);
  const json against = outputs.Of(eval(fine) + "--against " + dropped.run().string(), 0).at("against");
  EXPECT_TRUE(against.at("skipped").contains("trouble")) << against;
  EXPECT_EQ(against.at("tasks").at("control").at("rows"), 4);
  const json nan = outputs.Of(eval(fine) + "tasks.trouble.options.scores=0", 3);
  EXPECT_EQ(nan.at("tasks").at("trouble").at("value"), nullptr);
  EXPECT_EQ(nan.at("overrides").size(), 1U);
  outputs.ExpectAllKeysSeen({"config"});  // of no run: EvalCommand.TheModelAsItBegins...

  outputs.Refuses(eval(fine) + "steps=3");
  outputs.Refuses("eval " + (fine / "nowhere").string());
}

// Words and a picture of a model as it is, and classes of a task.
TEST(JsonOutput, GenerateFollowsItsSchema) {
  const ScratchDirectory scratch;
  const std::string run = (scratch / "run").string(), classes = (scratch / "classes").string();
  WriteText(scratch / "weights.json", test::kOneTaskWeights);
  ASSERT_EQ(Shell(Medley() + "train " + kQuickstartFile + test::kOneTask +
                  (scratch / "weights.json").string() + " steps=1 --out " + run)
                .code,
            0);
  const std::string series = std::string(MEDLEY_PLUGIN_FIXTURES) + "/series/series.so";
  WriteText(scratch / "model.json", R"({"kind": "series_net"})");
  WriteText(scratch / "trend.json", R"({"weights": {"trend": 1}})");
  WriteText(scratch / "classes.json",
            R"({"model": "model.json", "weights": "trend.json", "steps": 1, "threads": 1, "plan": false,
                "eval": {"every": 0}, "tasks": {"trend": {"rows": 2}}})");
  ASSERT_EQ(Shell(Medley() + "train " + (scratch / "classes.json").string() + " --plugin-path " + series +
                  " --out " + classes)
                .code,
            0);
  ASSERT_EQ(Shell(Medley() + "sample control --rows 1 --out " + (scratch / "s.png").string() +
                  " --pictures " + (scratch / "p").string())
                .code,
            0);
  Outputs outputs("generate");
  const std::string generate = "generate " + run + " --prompt a --tokens 3 ";
  const json said = outputs.Of(generate + "--image " + (scratch / "p/image-1.png").string() + " --out " +
                                   (scratch / "drawn.png").string(),
                               0);
  EXPECT_EQ(said.at("picture"), (scratch / "drawn.png").string());
  EXPECT_FALSE(said.contains("task"));
  EXPECT_FALSE(outputs.Of(generate, 0).contains("picture"));
  WriteText(scratch / "series.txt", "1 2 3 4\n");
  const json classified =
      outputs.Of("generate " + classes + " --image " + (scratch / "series.txt").string(), 0);
  EXPECT_EQ(classified.at("task"), "trend");
  EXPECT_EQ(classified.at("classes").size(), 3U);
  EXPECT_EQ(classified.at("reply"), classified.at("classes").at(0).at("name"));
  outputs.ExpectAllKeysSeen();
  outputs.Refuses(generate + "--image " + (scratch / "nowhere.png").string());
  outputs.Refuses("generate " + classes + " --prompt a");
}

// Nothing that could be scored is a result too.
TEST(JsonOutput, EvalSaysWhyNoTaskCouldBeScored) {
  const TroubleRun run;
  WriteText(run / "alone.json", R"({"weights": {"trouble": 1}})");
  ASSERT_EQ(
      Shell(run.Train("steps=1 tasks.trouble.options.scores=2 weights=" + (run / "alone.json").string()))
          .code,
      0);
  Outputs outputs("eval");
  const json none = outputs.Of("eval " + run.run().string() + " --rows 2", 1);
  EXPECT_EQ(none.at("tasks"), json::object());
  EXPECT_TRUE(none.at("failed").contains("trouble"));
}

TEST(JsonOutput, ValidateFollowsItsSchema) {
  const ScratchDirectory scratch;
  WriteText(scratch / "staged.json", R"({"unit": "steps", "stages": [
    {"name": "a", "weights": {"control": 1, "zoom_gold": 0}, "until": {"steps": 40}},
    {"name": "b", "weights": {"control": 1, "zoom_gold": 3}, "ramp": {"draws": 20}}]})");
  WriteText(scratch / "bad.json", "{\n  \"unit\": \"rwos\",\n  \"weights\": {\"control\": -2}\n}");
  const std::string staged = (scratch / "staged.json").string(), bad = (scratch / "bad.json").string();
  Outputs outputs("validate");
  const json run =
      outputs.Of("validate " + kQuickstartFile + "steps=100 tasks.zoom_gold.rows=auto weights=" + staged, 0);
  const json& stage = run.at("run").at("stages").at(1);
  EXPECT_EQ(stage.at("tasks").at(1).at("rows"), "auto");
  EXPECT_EQ(stage.at("tasks").at(1).at("share"), 0.75);
  EXPECT_EQ(run.at("run").at("stages").at(0).at("paused"), json({"zoom_gold"}));
  EXPECT_EQ(outputs.Of("validate " + kQuickstartFile, 0).at("run").at("length"), "");
  EXPECT_EQ(outputs.Of("validate " + staged, 0).at("weights").at("stages").size(), 2U);
  outputs.Of("validate " + kConfigFolder + "models/agent-tiny.json", 0);
  EXPECT_GT(outputs.Of("validate " + kConfigFolder + "gpus/rtx-3090.json", 0).at("gpu").at("usable"),
            1LL << 34);
  const std::string format = (scratch / "format.json").string();
  WriteText(format, R"({"head": "Q:", "to_assistant": "<eos>A:", "to_user": "<eos>Q:", "tail": "<eos>", )"
                    R"("generation": "<eos>A:", "end": "<eos>"})");
  EXPECT_EQ(outputs.Of("validate " + format, 0).at("chat").at("end"), "<eos>");

  const json mistakes = outputs.Of("validate " + bad, 2).at("mistakes");
  ASSERT_EQ(mistakes.size(), 2U);
  EXPECT_EQ(mistakes.at(1).at("line"), 3);
  EXPECT_EQ(mistakes.at(1).at("column"), 26);
  EXPECT_EQ(mistakes.at(1).at("file"), bad);
  EXPECT_EQ(outputs.Of("validate " + kQuickstartFile + "steps=0 device=tpu", 2).at("mistakes").size(), 2U);
  EXPECT_FALSE(outputs.Of("validate nowhere.json", 2).at("mistakes").at(0).contains("line"));
  EXPECT_EQ(outputs.Of("validate " + staged + " steps=4", 2).at("kind"), "weights");
  outputs.ExpectAllKeysSeen({"token_table"});

  outputs.Refuses("validate");
  EXPECT_EQ(Shell(Medley() + "validate --schema run --json 2>/dev/null").code, 2);
}

TEST(JsonOutput, WeightsFollowTheirSchemas) {
  const ScratchDirectory scratch;
  WriteText(scratch / "template.json", test::kEditedWeights);
  const fs::path run = scratch / "run";
  ASSERT_EQ(
      Shell(TrainQuietly(run, test::kEdited + (scratch / "template.json").string() + " plan=false steps=4"))
          .code,
      0);
  Outputs history("weights-history"), diff("weights-diff");
  const std::string directory = run.string();
  const json begun = history.Of("weights history " + directory, 0);
  EXPECT_EQ(begun.at("entries").size(), 1U);
  EXPECT_EQ(begun.at("entries").at(0).at("after").at("zoom_gold"), 0.75);
  EXPECT_EQ(diff.Of("weights diff " + directory, 0).at("changes"), json::array());

  WriteText(run / kRunWeights, test::EditedWeights("6"));
  const json changed = diff.Of("weights diff " + directory, 0);
  EXPECT_EQ(changed.at("changes").at(0).at("key"), "weights.control");
  EXPECT_EQ(changed.at("changes").at(0).at("after"), 6);
  WriteText(run / kRunWeights, R"({"unit": "steps", "weights": {"control": 1, "contrl": 3}})");
  const json refused = diff.Of("weights diff " + directory, 2);
  EXPECT_NE(refused.at("refused").get<std::string>().find("contrl"), std::string::npos);
  EXPECT_EQ(refused.at("changes").size(), 2U);
  WriteText(run / kRunWeights, R"({"unit": "steps", "stages": [)"
                               R"({"name": "a", "weights": {"control": 1}, "until": {"steps": 9}},)"
                               R"({"name": "b", "weights": {"control": 1}}]})");
  const json stages = diff.Of("weights diff " + directory, 0).at("changes");
  EXPECT_EQ(stages.back().at("key"), "stages.b");
  EXPECT_EQ(stages.back().at("before"), nullptr);
  diff.ExpectAllKeysSeen();

  // A log that was cut, whose entries can still be told.
  const std::string log = ReadText(run / kWeightLog);
  WriteText(run / kWeightLog, log.substr(0, log.find('\n') + 1));
  EXPECT_EQ(history.Of("weights history " + directory, 2).at("entries").size(), 1U);
  history.ExpectAllKeysSeen();
  WriteText(run / kWeightLog, "");
  history.Refuses("weights history " + directory);
  diff.Refuses("weights diff " + directory);
  history.Refuses("weights history " + (scratch / "nowhere").string());
}

TEST(JsonOutput, EstimateFollowsItsSchema) {
  const ScratchDirectory scratch;
  WriteText(scratch / "two.json", R"({"weights": {"control": 1, "zoom_gold": 1}})");  // each more is a second
  const std::string estimate =
      "estimate " + kQuickstartFile + "threads=1 weights=" + (scratch / "two.json").string() + " ";
  Outputs outputs("estimate");
  const json open = outputs.Of(estimate + "tasks.control.rows=auto", 0);
  EXPECT_EQ(open.at("tasks").at(0).at("rows_are_auto"), true);
  EXPECT_EQ(open.at("tasks").at(0).at("peak_by_rows").at(2).at("rows"), 4);
  EXPECT_FALSE(open.contains("advice"));
  const json referring = outputs.Of("estimate " MEDLEY_SOURCE_DIR "/configs/runs/talk-staged.json", 0);
  EXPECT_GE(referring.at("model").at("references"), referring.at("model").at("weights"));
  const json gpu = outputs.Of(estimate + "--gpu 'RTX 3090'", 0);
  EXPECT_EQ(gpu.at("on_gpu"), true);
  EXPECT_GT(gpu.at("advice").at("budget"), 1LL << 34);
  EXPECT_EQ(gpu.at("verdict").at("fits"), "as configured");
  EXPECT_EQ(open.at("recommended").at("as_configured"), "GTX 1650");
  WriteText(scratch / "three.json", R"({"weights": {"control": 1, "zoom_gold": 1, "mem_canvas": 1}})");
  const json advice = outputs
                          .Of("estimate " + kQuickstartFile +
                                  "threads=1 --memory 200MiB weights=" + (scratch / "three.json").string() +
                                  " tasks.control.rows=auto tasks.zoom_gold.rows=auto "
                                  "tasks.mem_canvas.rows=auto tasks.mem_canvas.recompute_layers=2/3",
                              0)
                          .at("advice");
  EXPECT_TRUE(advice.at("tasks").at(2).contains("balanced")) << advice;
  EXPECT_GT(advice.at("usual_rows"), 1);
  const json parts = outputs.Of(estimate + "--ranks 2 --memory 1GiB", 0);
  EXPECT_EQ(parts.at("ranks"), 2);
  const json checked = outputs.Of(estimate + "--check --memory 200MiB tasks.control.rows=2", 0);
  EXPECT_GT(checked.at("check").at(0).at("measured"), 1 << 20);
  const json refused = outputs.Of(
      estimate + "--memory 9MiB data.threads=0 tasks.control.mode=joint tasks.control.recompute_every=0", 5);
  EXPECT_EQ(refused.at("refusals").at(0).at("task"), "control");
  EXPECT_GT(refused.at("refusals").at(0).at("missing"), 0);
  EXPECT_EQ(refused.at("verdict").at("missing"), refused.at("refusals").at(0).at("missing"));
  EXPECT_EQ(outputs.Of(estimate + "budget=1MiB", 5).at("gpus").back().at("fits"), "as configured");
  const json fits = outputs.Of(estimate + "--gpus 'RTX 3090,H100'", 0).at("fits");
  EXPECT_EQ(fits.at(0).at("gpu"), "RTX 3090");
  EXPECT_EQ(fits.at(0).at("tasks").size(), open.at("tasks").size());
  EXPECT_GT(fits.at(1).at("tasks").at(0).at("rows_of_a_forward"), 0);
  const json none = outputs
                        .Of(estimate + "--gpus 'gtx 1650,t4' --budget 25% model=" + kConfigFolder +
                                "models/agent-qwen3-0.6b.json",
                            5)
                        .at("fits");
  EXPECT_EQ(none.at(0).at("fits"), false);
  outputs.ExpectAllKeysSeen();

  outputs.Refuses(estimate + "--gpu 'RTX 3091'");
  outputs.Refuses(estimate + "tasks.contrl.rows=4");
}

}  // namespace
}  // namespace medley
