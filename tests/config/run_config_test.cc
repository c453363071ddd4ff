#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include <medley/config/key_paths.h>
#include <medley/config/run_config.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;

std::string RunMistakes(const Workspace& work, const std::string& more,
                        const std::vector<std::string>& overrides = {}) {
  const fs::path file = work.WriteRun(more);
  return MistakesOf([&] { ReadRunConfig(file, overrides); });
}

// As a double it would be its neighbour.
TEST(RunConfig, ASeedThatIsNotKeptExactlyIsRefusedAndShownAsItIs) {
  const Workspace work;
  const std::string text = RunMistakes(work, "\"seed\": 9007199254740993");
  EXPECT_TRUE(Has(text,
                  "seed: expected an integer of at least 0 and at most 9007199254740991, found "
                  "9007199254740993"))
      << text;
}

TEST(RunConfig, APluginPathMayBeAPlugin) {
  const Workspace work;
  work.Write("one.so", "");
  EXPECT_EQ(RunMistakes(work, "\"plugin_path\": [\"one.so\", \".\"]"), "");
  EXPECT_TRUE(Has(RunMistakes(work, "\"plugin_path\": [\"two.so\"]"), "no such file"));
}

TEST(RunConfig, FillsInDefaultsAndMakesPathsAbsolute) {
  const Workspace work;
  const RunConfig config =
      ReadRunConfig(work.WriteRun("  \"steps\": 7, \"tasks\": {\"alpha\": {\"rows\": 32}}"));
  EXPECT_EQ(config.steps, 7);
  EXPECT_EQ(config.model, fs::canonical(work / "model.json"));
  EXPECT_EQ(config.tasks.at("alpha").rows, 32);
  EXPECT_EQ(config.tasks.at("alpha").variant, "default");
  EXPECT_EQ(config.optimizer.beta2, RunConfig().optimizer.beta2);
}

TEST(RunConfig, PathsAreRelativeToTheFileThatNamesThem) {
  const Workspace work;
  work.Write(
      "runs/deep/run.json",
      R"({"model": "../../model.json", "tokenizer": "../../small.model", "weights": "../../weights.json",
                 "control_text": "../../control.txt"})");
  EXPECT_EQ(ReadRunConfig(work / "runs/deep/run.json").weights, fs::canonical(work / "weights.json"));
}

// A name is looked for in PATH once it is run, and a link is run by its own place.
TEST(RunConfig, AnEventsProgramIsAPathWhereItHasASlash) {
  const Workspace work;
  work.Write("tools/tell", "");
  fs::create_symlink("tools/tell", work / "link");
  const auto command = [&](const std::string& program, const std::vector<std::string>& overrides = {}) {
    return ReadRunConfig(work.WriteRun("\"on_event\": [\"" + program + "\", \"./a\"]"), overrides).on_event;
  };
  using Command = std::vector<std::string>;
  const std::string real = fs::canonical(work.path()).string();
  EXPECT_EQ(command("mail"), (Command{"mail", "./a"}));
  EXPECT_EQ(command("tools/../tools/tell"), (Command{real + "/tools/tell", "./a"}));
  EXPECT_EQ(command("./link"), (Command{real + "/link", "./a"}));
  EXPECT_EQ(command("mail", {"on_event=[\"./tell\"]"}), Command{(fs::current_path() / "tell").string()});
  EXPECT_TRUE(command("mail", {"on_event=[]"}).empty());
  EXPECT_FALSE(ToJson(ReadRunConfig(work.WriteRun())).contains("on_event"));
}

TEST(RunConfig, AnEventsProgramThatIsNoneIsRefused) {
  const Workspace work;
  EXPECT_TRUE(Has(RunMistakes(work, "\"on_event\": \"mail\""), "run.json:6:13: on_event: expected an array"));
  EXPECT_TRUE(
      Has(RunMistakes(work, "\"on_event\": [\"\"]"), "on_event.0: expected a string that is not empty"));
  EXPECT_TRUE(Has(RunMistakes(work, "\"on_event\": [\"a\", 3]"), "on_event.1: expected a string"));
  EXPECT_TRUE(Has(RunMistakes(work, "\"on_event\": [\"a\", \"b\\u0000c\"]"), "on_event.1: has a zero byte"));
}

TEST(RunConfig, TheResolvedConfigReadsBackTheSame) {
  const Workspace work;
  fs::create_directory(work / "other_run");
  const RunConfig config = ReadRunConfig(work.WriteRun(R"(
    "device": "cuda", "threads": 3, "seed": 9, "steps": 12, "hours": 0.25, "draws_per_step": 2,
    "on_task_error": "drop", "on_event": ["/bin/mail", "a b"], "init_from": {"run": "other_run", "match": ["img_*"]},
    "plugin_path": ["."], "eval": {"every": 5, "rows": 9}, "checkpoint": {"every": 1, "keep": 3},
    "optimizer": {"name": "muon", "learning_rate": 0.1, "average": 0.9, "trend": {"beta": 0.25},
                  "groups": [{"match": "a*", "frozen": true},
                             {"match": "b", "weight_decay": 0, "learning_rate_scale": 0.5, "rule": "adamw"}]},
    "tasks": {"alpha": {"rows": 64, "micro_rows": 16, "mode": "joint", "variant": "fused",
                        "recompute_layers": "5/7",
                        "options": {"x": 0.1}, "terms": {"t": 2}}})"));
  const std::string dumped = ToJson(config).dump(2);
  work.Write("elsewhere/config.json", dumped);
  EXPECT_EQ(ToJson(ReadRunConfig(work / "elsewhere/config.json")).dump(2), dumped);
  EXPECT_TRUE(Has(dumped, "\"micro_rows\": 16"));
  EXPECT_LT(ReadRunConfig(work / "elsewhere/config.json").optimizer.groups[0].weight_decay, 0);
}

TEST(RunConfig, AllMistakesOfAFileComeAtOnceFromTopToBottomWithLineAndColumn) {
  const Workspace work;
  const std::string text = RunMistakes(work, R"(  "stepz": 5,
  "threads": "many",
  "draws_per_step": 0,
  "seed": 1.5,
  "device": "gpu",
  "eval": {"every": 3, "row": 4},
  "tasks": {"alpha": {"rows": -1, "mode": "joined", "options": {"x": null}}})");
  const std::string file = (work / "run.json").string();
  EXPECT_EQ(Lines(text), 10u) << text;
  EXPECT_TRUE(Has(text, "9 mistakes in the input\n")) << text;
  EXPECT_TRUE(Has(text, file + ":6:3: stepz: unknown key; did you mean 'steps'? (allowed: ")) << text;
  EXPECT_TRUE(
      Has(text, file + ":7:14: threads: expected an integer of at least 0 and at most 4096, found \"many\""))
      << text;
  EXPECT_TRUE(Has(text, file + ":8:21: draws_per_step: expected an integer of at least 1")) << text;
  EXPECT_TRUE(Has(text, file + ":9:11: seed: expected an integer of at least 0, found 1.5")) << text;
  EXPECT_TRUE(Has(text, file + ":10:13: device: expected \"cpu\" or \"cuda\", found \"gpu\"")) << text;
  EXPECT_TRUE(Has(
      text,
      file + ":11:24: eval.row: unknown key; did you mean 'rows'? (allowed: every, rows, seed, at_start)"))
      << text;
  EXPECT_TRUE(Has(
      text,
      ": tasks.alpha.rows: expected an integer of at least 1 and at most 1048576, or \"auto\", found -1"));
  EXPECT_TRUE(Has(text,
                  ": tasks.alpha.mode: expected \"joint\", \"sequential\" or \"two_stage\", found "
                  "\"joined\"; did you mean 'joint'?"))
      << text;
  EXPECT_TRUE(Has(text, ": tasks.alpha.options.x: expected a number, true, false, or a string, found null"))
      << text;
  EXPECT_LT(text.find("stepz"), text.find("threads"));
}

TEST(RunConfig, MissingKeysAndMissingFilesAreNamed) {
  const Workspace work;
  work.Write("empty.json", "{}");
  const std::string missing = MistakesOf([&] { ReadRunConfig(work / "empty.json"); });
  EXPECT_TRUE(Has(missing, ":1:1: model: missing; it is required")) << missing;
  EXPECT_TRUE(Has(missing, ":1:1: weights: missing; it is required")) << missing;
  work.Write("run.json", "{\"model\": \"modle.json\", \"weights\": \".\"}");
  const std::string text = MistakesOf([&] { ReadRunConfig(work / "run.json"); });
  EXPECT_TRUE(Has(
      text, ":1:11: model: no such file: " + (work / "modle.json").string() + "; did you mean 'model.json'?"))
      << text;
  EXPECT_TRUE(Has(text, "weights: ") && Has(text, "is a directory; expected a file")) << text;
  EXPECT_TRUE(Has(MistakesOf([&] { ReadRunConfig(work / "rum.json"); }), "no such file")) << text;
}

TEST(RunConfig, AFifoIsRefusedAndNotWaitedFor) {
  const Workspace work;
  ASSERT_EQ(mkfifo((work / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(Has(MistakesOf([&] { ReadRunConfig(work / "pipe"); }), "is a FIFO; expected a file"));
}

TEST(RunConfig, TextThatIsNoJsonIsRefusedWhereItBreaks) {
  const Workspace work;
  const auto mistake = [&](const std::string& text) {
    work.Write("run.json", text);
    return MistakesOf([&] { ReadRunConfig(work / "run.json"); });
  };
  EXPECT_TRUE(Has(mistake("{\n  \"steps\": 5,\n}"), "run.json:3:1: not valid JSON"))
      << mistake("{\n  \"steps\": 5,\n}");
  EXPECT_TRUE(Has(mistake("{\n  // why\n}"), "run.json:2:3: not valid JSON")) << mistake("{\n  // why\n}");
  EXPECT_TRUE(Has(mistake("{// why\n}"), "JSON has no comments"));
  EXPECT_TRUE(Has(mistake("{\"hours\": NaN}"), "run.json:1:11: not valid JSON"));
  EXPECT_TRUE(Has(mistake("{\"hours\": NaN}"), "JSON has no NaN"));
  EXPECT_TRUE(
      Has(mistake("{\"hours\": 1e999}"), "run.json:1:11: not valid JSON: the number 1e999 is too large"));
  EXPECT_TRUE(Has(mistake(""), "not valid JSON"));
  EXPECT_TRUE(Has(mistake("[]"), "expected an object, found an array"));
  EXPECT_TRUE(Has(mistake(std::string(100000, '[')), "nested more than 64 levels deep"));
  EXPECT_TRUE(Has(mistake("{\"steps\": 5,\n \"steps\": 6}"),
                  "run.json:2:2: steps: the key stands twice (first on line 1)"));
}

// Both took minutes, and gigabytes of words.
TEST(RunConfig, AHundredThousandMistakesAreAThousandLines) {
  const Workspace work;
  std::string text = "{\"x\":1";
  for (int i = 0; i < 100'000; ++i) text += ",\n\"y" + std::to_string(i) + "\":1";
  work.Write("run.json", text + "}");
  const std::string mistakes = MistakesOf([&] { ReadRunConfig(work / "run.json"); });
  EXPECT_LT(mistakes.size(), 2'000'000u);
  EXPECT_TRUE(Has(mistakes, "\nand more"));
  work.Write("run.json", "{\"" + std::string(1 << 20, 'k') + "\": 1}");
  EXPECT_LT(MistakesOf([&] { ReadRunConfig(work / "run.json"); }).size(), 10'000u);
}

TEST(RunConfig, NoStepsAtAllAreRefusedWithWhatScoresTheModelAsItBegins) {
  const Workspace work;
  work.Write("run.json", R"({"steps": 0})");
  const std::string mistakes = MistakesOf([&] { ReadRunConfig(work / "run.json"); });
  EXPECT_TRUE(Has(mistakes, "medley eval CONFIG --out DIR")) << mistakes;
  EXPECT_TRUE(Has(mistakes, "eval.at_start")) << mistakes;
}

TEST(RunConfig, NumbersThatNoRunCanHaveAreRefused) {
  const Workspace work;
  for (const char* bad : {"\"steps\": 0",
                          "\"steps\": -5",
                          "\"steps\": 1e30",
                          "\"hours\": -1",
                          "\"threads\": -2",
                          "\"seed\": -1",
                          "\"seed\": 9007199254740993",
                          "\"optimizer\": {\"learning_rate\": 0}",
                          "\"optimizer\": {\"beta1\": 1}",
                          "\"optimizer\": {\"decay_fraction\": 1.1}",
                          "\"optimizer\": {\"clip_norm\": -1}",
                          "\"steps\": 18446744073709551616",
                          "\"steps\": true",
                          "\"steps\": \"5\"",
                          "\"checkpoint\": {\"keep\": 0}",
                          "\"tasks\": {\"a\": {\"terms\": {\"t\": -1}}}",
                          "\"optimizer\": {\"groups\": [{\"frozen\": true}]}",
                          "\"tasks\": []",
                          "\"tasks\": {\"a\": 5}",
                          "\"plugin_path\": [\"nowhere\"]",
                          "\"device\": \"\"",
                          "\"tasks\": {\"a\": {\"rows\": 4, \"micro_rows\": 8}}",
                          "\"balance\": 1.1",
                          "\"balance\": -0.1",
                          "\"tasks\": {\"a\": {\"recompute_layers\": \"3/2\"}}",
                          "\"tasks\": {\"a\": {\"recompute_layers\": 0.5}}",
                          "\"tasks\": {\"a\": {\"recompute_layers\": \"1/2\", \"recompute_every\": 2}}",
                          "\"tasks\": {\"a\": {\"rows\": \"many\"}}",
                          "\"tasks\": {\"a\": {\"rows\": \"auto\", \"micro_rows\": 8}}",
                          "\"plan\": false, \"tasks\": {\"a\": {\"rows\": \"auto\"}}",
                          "\"budget\": 0",
                          "\"budget\": -0.5",
                          "\"budget\": \"\"",
                          "\"budget\": \"half\"",
                          "\"budget\": \"150%\"",
                          "\"budget\": true",
                          "\"init_from\": {}",
                          "\"tasks\": {\"a\": {\"mode\": \"\"}}"}) {
    EXPECT_NE(RunMistakes(work, bad), "") << bad;
  }
  for (const char* good :
       {"\"budget\": 0.5", "\"budget\": 6442450944", "\"budget\": \"6GiB\"", "\"budget\": \"free\"",
        "\"steps\": 1e3", "\"steps\": 5.0", "\"seed\": 9007199254740991", "\"optimizer\": {\"beta1\": 0}",
        "\"tasks\": {\"a\": {\"rows\": \"auto\"}}", "\"plan\": false", "\"hours\": 1e-3",
        "\"$schema\": \"x\"", "\"tasks\": {}"}) {
    EXPECT_EQ(RunMistakes(work, good), "") << good;
  }
}

TEST(RunConfig, MistakesOfTheOptimizersRulesAreNamed) {
  const Workspace work;
  const auto mistake = [&](const std::string& optimizer) {
    return RunMistakes(work, "\"optimizer\": {" + optimizer + "}");
  };
  EXPECT_TRUE(Has(mistake(R"("name": "muno")"), "did you mean 'muon'?")) << mistake(R"("name": "muno")");
  EXPECT_TRUE(Has(mistake(R"("groups": [{"match": "a", "rule": "lion"}])"), "optimizer.groups.0.rule: "));
  EXPECT_TRUE(Has(mistake(R"("momentum": 0.9)"), "optimizer.momentum: is Muon's"));
  EXPECT_EQ(mistake(R"("momentum": 0.9, "groups": [{"match": "a", "rule": "muon"}])"), "");
  EXPECT_EQ(mistake(R"("momentum": 0.9, "name": "sgd")"), "");
  EXPECT_TRUE(Has(mistake(R"("average": 1)"), "optimizer.average: "));
  EXPECT_TRUE(Has(mistake(R"("trend": {"beta": 0})"), "optimizer.trend.beta: "));
  EXPECT_TRUE(Has(mistake(R"("trend": {"gamma": 1})"), "optimizer.trend.gamma: "));
  EXPECT_TRUE(Has(mistake(R"("trend": {}, "warmup_steps": 0)"), "optimizer.trend: needs a warm-up"));
  EXPECT_TRUE(
      Has(mistake(R"("trend": {}, "schedule": "one_cycle")"), "the rate of one_cycle always rises or falls"));
  EXPECT_EQ(mistake(R"("name": "muon", "momentum": 0, "average": 0, "trend": {})"), "");
}

TEST(RunConfig, PhasesNeedAnAverageAndThresholdsInTheirRange) {
  const Workspace work;
  const auto mistake = [&](const std::string& phases, const std::string& optimizer = R"("average": 0.9)") {
    return RunMistakes(work, "\"optimizer\": {" + optimizer + "}, \"phases\": {" + phases + "}");
  };
  EXPECT_EQ(mistake(""), "");
  EXPECT_EQ(mistake(R"("warmup_steps": 0, "full_steps": 5, "correct_steps": 1, "allowance": 0.5)"), "");
  EXPECT_TRUE(Has(mistake("", ""), "phases: needs an average of the parameters")) << mistake("", "");
  EXPECT_TRUE(Has(mistake("", R"("average": 0.9, "trend": {}, "warmup_steps": 0)"), "needs a warm-up"));
  for (const char* bad : {R"("allowance": 0)", R"("allowance": 1)", R"("full_steps": 4)",
                          R"("warmup_steps": -1)", R"("correct_steps": 0)", R"("predict": 5)"})
    EXPECT_TRUE(Has(mistake(bad), "phases.")) << bad << ": " << mistake(bad);
  const RunConfig config = ReadRunConfig(work.WriteRun(R"("optimizer": {"average": 0.9}, "phases": {})"));
  EXPECT_TRUE(config.optimizer.keeps_line && !config.optimizer.keeps_last_step);
  EXPECT_EQ(config.phases->full_steps, 20);
  EXPECT_FALSE(ReadRunConfig(work.WriteRun(R"("optimizer": {"average": 0.9})")).optimizer.keeps_line);
}

TEST(RunConfig, RowsThatFillTheBudgetAreAWord) {
  const Workspace work;
  const RunConfig config = ReadRunConfig(work.WriteRun("\"tasks\": {\"a\": {\"rows\": \"auto\"}}"));
  EXPECT_EQ(config.tasks.at("a").rows, 0);
  EXPECT_EQ(ToJson(config)["tasks"]["a"]["rows"], "auto");
  EXPECT_EQ(ReadRunConfig(work.WriteRun(), {"tasks.a.rows=auto"}).tasks.at("a").rows, 0);
}

TEST(RunConfig, ABudgetIsANumberOrWordsAndReadsBackTheSame) {
  const Workspace work;
  EXPECT_EQ(ReadRunConfig(work.WriteRun()).budget, "");
  EXPECT_FALSE(ToJson(ReadRunConfig(work.WriteRun())).contains("budget"));
  for (const std::string value : {"0.5", "6442450944", "6GiB", "50%"}) {
    const RunConfig config = ReadRunConfig(work.WriteRun(), {"budget=" + value});
    EXPECT_EQ(config.budget, value);
    work.Write("elsewhere/config.json", ToJson(config).dump());
    EXPECT_EQ(ReadRunConfig(work / "elsewhere/config.json").budget, value);
  }
  EXPECT_TRUE(Has(RunMistakes(work, "\"budget\": \"half\""),
                  "budget: expected bytes (6GiB, 512MiB, 6442450944), a fraction"));
}

TEST(Overrides, ReplaceAndAddValues) {
  const Workspace work;
  const RunConfig config =
      ReadRunConfig(work.WriteRun("  \"steps\": 7, \"optimizer\": {\"groups\": [{\"match\": \"a\"}]}"),
                    {"steps=11", "device=cuda", "tasks.alpha.rows=48", "eval={\"every\": 4}",
                     "optimizer.learning_rate=2e-3", "optimizer.groups.0.frozen=true",
                     "optimizer.groups.1.match=b*", "steps=12", "tasks.alpha.options.x=0.25"});
  EXPECT_EQ(config.steps, 12);
  EXPECT_EQ(config.device, "cuda");
  EXPECT_EQ(config.tasks.at("alpha").rows, 48);
  EXPECT_EQ(config.tasks.at("alpha").options.at("x"), OptionValue(0.25));
  EXPECT_EQ(config.eval.every, 4);
  EXPECT_EQ(config.optimizer.learning_rate, 2e-3);
  ASSERT_EQ(config.optimizer.groups.size(), 2u);
  EXPECT_TRUE(config.optimizer.groups[0].frozen);
  EXPECT_EQ(config.optimizer.groups[1].match, "b*");
}

TEST(Overrides, PathsAreRelativeToTheWorkingDirectory) {
  const Workspace work;
  const fs::path before = fs::current_path();
  const fs::path run = work.WriteRun();
  work.Write("here/other.json", "{\"weights\": {\"alpha\": 1}}");
  fs::current_path(work / "here");
  const fs::path weights = ReadRunConfig(run, {"weights=other.json"}).weights;
  fs::current_path(before);
  EXPECT_EQ(weights, fs::canonical(work / "here/other.json"));
}

TEST(Overrides, MistakesNameTheCommandLine) {
  const Workspace work;
  const std::string text = RunMistakes(work, "",
                                       {"stepz=5", "optimizer.learning_rat=1", "threads=many", "nonsense",
                                        "=5", "a..b=1", "model.x=1", "steps="});
  EXPECT_TRUE(Has(text, "command line: stepz: unknown key; did you mean 'steps'?")) << text;
  EXPECT_TRUE(Has(text, "command line: optimizer.learning_rat: unknown key; did you mean 'learning_rate'?"))
      << text;
  EXPECT_TRUE(
      Has(text, "command line: threads: expected an integer of at least 0 and at most 4096, found \"many\""));
  EXPECT_TRUE(Has(
      text, "command line: expected key.path=value such as optimizer.learning_rate=1e-3, found 'nonsense'"));
  EXPECT_TRUE(Has(text, "found '=5'") && Has(text, "found 'a..b=1'")) << text;
  EXPECT_TRUE(Has(text, "command line: model.x: model is \"model.json\" and has no 'x'")) << text;
  EXPECT_TRUE(Has(text, "command line: steps: expected an integer of at least 1, found \"\"")) << text;
}

TEST(Overrides, MayMendTheFile) {
  const Workspace work;
  EXPECT_EQ(RunMistakes(work, "  \"steps\": -4", {"steps=4"}), "");
}

// A GPU's steps take a few milliseconds: what suits the CPU's would let it wait.
TEST(RunConfig, AGpuGetsMoreDataThreadsUnlessTheyAreGiven) {
  const Workspace work;
  const auto read = [&](const std::vector<std::string>& overrides, const std::string& more = "") {
    return ReadRunConfig(work.WriteRun(more), overrides).data;
  };
  EXPECT_EQ(read({}).threads, 1);
  EXPECT_EQ(read({}).ahead, 4);
  EXPECT_EQ(read({"device=cuda"}).threads, 4);
  EXPECT_EQ(read({"device=cuda"}).ahead, 16);
  EXPECT_EQ(read({"device=cuda", "data.threads=2"}).threads, 2);
  EXPECT_EQ(read({"device=cuda", "data.threads=2"}).ahead, 16);
  EXPECT_EQ(read({"device=cuda"}, "  \"data\": {\"ahead\": 1}").ahead, 1);
}

TEST(RunConfig, AdaptersThatAreNotSaidMoreOfHaveDefaults) {
  const Workspace work;
  EXPECT_FALSE(ToJson(ReadRunConfig(work.WriteRun())).contains("lora"));
  const LoraConfig lora = ReadRunConfig(work.WriteRun(R"("lora": {"rank": 4})")).lora;
  EXPECT_EQ(lora.rank, 4);
  EXPECT_EQ(lora.alpha, 16);
  EXPECT_EQ(lora.targets.names.size(), 7u);
  EXPECT_TRUE(lora.new_tokens);
}

TEST(RunConfig, AdaptersReadBackTheSame) {
  const Workspace work;
  for (const char* targets : {R"(["q_proj", "v_proj"])", R"(".*\\.q_proj")", R"("all-linear")"}) {
    const std::string dumped =
        ToJson(ReadRunConfig(work.WriteRun(R"("lora": {"rank": 4, "alpha": 8, "dropout": 0.1, "rslora": true,
          "new_tokens": false, "tokens": [7, 3], "pretrained": "adapter", "targets": )" +
                                           std::string(targets) + "}")))
            .dump(2);
    work.Write("elsewhere/config.json", dumped);
    EXPECT_EQ(ToJson(ReadRunConfig(work / "elsewhere/config.json")).dump(2), dumped);
    EXPECT_TRUE(Has(dumped, "\"dropout\": 0.1")) << dumped;
  }
  const RunConfig given = ReadRunConfig(work.WriteRun(), {"lora.rank=2", "lora.targets=all-linear"});
  EXPECT_EQ(given.lora.targets.pattern, kAllLinear);
}

TEST(RunConfig, MistakesOfAdaptersAreNamed) {
  const Workspace work;
  const auto mistake = [&](const std::string& lora) { return RunMistakes(work, "\"lora\": {" + lora + "}"); };
  EXPECT_TRUE(Has(mistake(""), "lora.rank: missing; give the rank of the adapters, or \"pretrained\""));
  EXPECT_TRUE(Has(mistake("\"rank\": 0"), "lora.rank: expected an integer of at least 1"))
      << mistake("\"rank\": 0");
  EXPECT_EQ(Lines(mistake("\"rank\": 0")), 1u) << mistake("\"rank\": 0");
  EXPECT_TRUE(Has(mistake(R"("rank": 1, "alpha": 0)"), "lora.alpha: expected a number above 0"));
  EXPECT_TRUE(Has(mistake(R"("rank": 1, "dropout": 1)"),
                  "lora.dropout: expected a number of at least 0 and below 1"));
  EXPECT_TRUE(Has(mistake(R"("rank": 1, "targets": [])"), "lora.targets: expected at least one element"));
  EXPECT_TRUE(
      Has(mistake(R"("rank": 1, "targets": 3)"), "lora.targets: expected a text or an array, found 3"));
  EXPECT_TRUE(Has(mistake(R"("rank": 1, "targets": "(")"), "lora.targets: '(' is no regular expression"));
  EXPECT_TRUE(Has(mistake(R"("rank": 1, "ranks": 3)"), "lora.ranks: unknown key; did you mean 'rank'?"));
}

// By its name alone; and below an object that has no such key, those that are nearest to it.
TEST(RunConfig, AKeyOnAnotherLevelIsNamedWhereItBelongs) {
  const Workspace work;
  const auto file = work.WriteRun();
  std::map<std::string, std::vector<std::string>> keys;  // by their names
  for (std::string key : KeyPathsOf<RunConfig>()) {
    const std::string name = key.substr(key.rfind('.') + 1);
    for (std::size_t star; (star = key.find('*')) != std::string::npos;) key.replace(star, 1, "NAME");
    keys[name].push_back("'" + key + "'");
  }
  int looked = 0;
  for (const auto& [name, meant] : keys) {
    for (const std::string parent : {"", "eval.", "optimizer."}) {
      const auto has = [&](const std::string& key) { return key == "'" + parent + name + "'"; };
      if (name == "*" || std::any_of(meant.begin(), meant.end(), has)) continue;
      const std::string text = MistakesOf([&] { ReadRunConfig(file, {parent + name + "=1"}); });
      if (Has(text, "(allowed: ")) continue;  // one of that level is as near
      ++looked;
      const auto named =
          std::count_if(meant.begin(), meant.end(), [&](const auto& key) { return Has(text, key); });
      EXPECT_TRUE(Has(text, parent + name + ": unknown key; did you mean '")) << text;
      EXPECT_GE(named, parent.empty() ? std::ssize(meant) : 1) << text;
      EXPECT_EQ(std::count(text.begin(), text.end(), '\''), 2 * named) << "nothing else: " << text;
    }
  }
  EXPECT_GT(looked, 100);
}

TEST(RunConfig, AKeyOfTheFileOnAnotherLevelIsNamedWithItsPlace) {
  const Workspace work;
  const std::string file = work / "run.json";
  EXPECT_TRUE(Has(RunMistakes(work, R"(  "alpha": {"rows": 4})"),
                  file + ":6:3: alpha: unknown key; did you mean 'tasks.alpha.rows'?"));
  EXPECT_TRUE(Has(RunMistakes(work, R"(  "tasks": {"rows": 4})"),
                  "tasks.rows: expected an object, found 4; did you mean 'tasks.NAME.rows'?"));
  EXPECT_TRUE(Has(RunMistakes(work, R"(  "tasks": {"alpha": {"brightness": 1}})"),
                  "tasks.alpha.brightness: unknown key; did you mean 'tasks.alpha.options.brightness' or "
                  "'tasks.alpha.terms.brightness'?"));
  EXPECT_TRUE(Has(RunMistakes(work, R"(  "zebra": 4)"), "zebra: unknown key (allowed: "))
      << "nothing is near";
  // Each takes a look at every key: of very many only the first.
  std::string many;
  for (int i = 0; i < 500; ++i)
    many += (i > 0 ? ", " : "") + ("\"" + std::to_string(i) + "\": {\"momentum\": 1}");
  const std::string text = RunMistakes(work, many);
  EXPECT_TRUE(Has(text, "did you mean 'optimizer.momentum'?") && Has(text, "499: unknown key (allowed: "));
}

}  // namespace
}  // namespace medley::testing
