#include <gtest/gtest.h>

#include <medley/base/files.h>
#include <medley/run/validate.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

const Registry& Tasks() {
  static const Registry registry = Registry::Scan({.paths = {MEDLEY_CONFIG_FIXTURES},
                                                   .environment = false,
                                                   .user_directory = false,
                                                   .own_directory = false});
  return registry;
}

std::string CheckMistakes(const Workspace& work, const std::string& tasks,
                          const std::vector<std::string>& overrides = {}) {
  const auto file = work.WriteRun(tasks.empty() ? "" : "  \"tasks\": {" + tasks + "}");
  return MistakesOf([&] { CheckRun(file, overrides, Tasks()); });
}

TEST(CheckRun, GivesTheRunAndTheMixtureWhereAllFits) {
  const Workspace work;
  const CheckedRun checked = CheckRun(
      work.WriteRun("  \"tasks\": {\"alpha\": {\"rows\": 4, \"variant\": \"carry\", \"mode\": \"joint\","
                    " \"options\": {\"brightness\": 1}, \"terms\": {\"text\": 3}}}"),
      {"steps=3"}, Tasks());
  EXPECT_EQ(checked.run.steps, 3);
  EXPECT_EQ(checked.curriculum.stages.at(0).weights.size(), 2u);
  const auto sizes = TaskSizes(checked, Tasks());
  EXPECT_EQ(sizes.at("alpha").rows, 4);
  EXPECT_EQ(sizes.at("alpha").passes, 2);
  EXPECT_EQ(sizes.at("alpha").tokens_per_row, 24);
  EXPECT_EQ(sizes.at("beta").rows, TaskConfig().rows);
}

TEST(CheckRun, NamesTheTaskThatWasMeant) {
  const Workspace work;
  work.Write("weights.json", "{\n  \"weights\": {\n    \"alpha\": 1,\n    \"betta\": 2\n  }\n}\n");
  const std::string text = CheckMistakes(work, "\"alhpa\": {\"rows\": 3}");
  EXPECT_TRUE(Has(text,
                  "weights.json:4:5: weights.betta: no such task; did you mean 'beta'? (4 tasks: medley "
                  "tasks; searched: "))
      << text;
  EXPECT_TRUE(Has(text, "run.json:6:13: tasks.alhpa: no such task; did you mean 'alpha'?")) << text;
  EXPECT_EQ(Lines(text), 3u) << text;
}

// What a run with these tasks is told, of weights for 'alpha' and 'more'.
std::string MistakesOfKinds(const Workspace& work, const std::string& tasks, const TaskKinds& kinds) {
  work.Write("weights.json", "{\n  \"weights\": {\n    \"alpha\": 1,\n    \"more\": 2\n  }\n}\n");
  Registry registry = Tasks();
  registry.GiveNames(kinds);
  return MistakesOf([&] { CheckRun(work.WriteRun("  \"tasks\": {" + tasks + "}"), {}, registry); });
}

TEST(CheckRun, AFurtherNameOfATaskHasItsSpec) {
  const Workspace work;
  const auto mistakes = [&](const std::string& more) {
    return MistakesOfKinds(work, R"("more": {"kind": "alpha")" + more + "}", {{"more", "alpha"}});
  };
  EXPECT_EQ(mistakes(R"(, "variant": "carry", "options": {"brightness": 1}, "terms": {"text": 3})"), "");
  EXPECT_TRUE(Has(mistakes(R"(, "options": {"brightnes": 1})"),
                  "tasks.more.options.brightnes: no such option; did you mean 'brightness'?"));
  EXPECT_EQ(
      MistakesOfKinds(work, R"("alpha": {"kind": "alpha"}, "more": {"kind": "beta"})", {{"more", "beta"}}),
      "")
      << "that of the name itself";
}

TEST(CheckRun, AKindMustBeATasksNameAndStandUnderNoOthers) {
  const Workspace work;
  const std::string none = MistakesOfKinds(work, R"("more": {"kind": "alhpa"})", {{"more", "alhpa"}});
  EXPECT_TRUE(Has(none, "run.json:6:30: tasks.more.kind: 'alhpa' is no kind of task; did you mean 'alpha'?"))
      << none;
  EXPECT_EQ(Lines(none), 1U) << none;
  EXPECT_TRUE(Has(MistakesOfKinds(work, R"("alpha": {"kind": "beta"}, "more": {"kind": "beta"})",
                                  {{"alpha", "beta"}, {"more", "beta"}}),
                  "tasks.alpha.kind: 'alpha' is a task itself, so nothing else runs under that name"));
  EXPECT_TRUE(Has(MistakesOfKinds(work, R"("more": {"kind": "beta"}, "most": {"kind": "more"})",
                                  {{"more", "beta"}, {"most", "more"}}),
                  "tasks.most.kind: 'more' is a name of this config's for beta; say \"kind\": \"beta\""));
  EXPECT_TRUE(Has(MistakesOfKinds(work, R"("more": {"kind": "beta"}, "My Own": {"kind": "beta"})",
                                  {{"more", "beta"}, {"My Own", "beta"}}),
                  "tasks.My Own.kind: stands under 'My Own', which is no name for a task"));
}

TEST(CheckRun, AnUnknownNameMayBeAFurtherOne) {
  const Workspace work;
  const std::string text = MistakesOfKinds(work, R"("others": {"rows": 3})", {});
  EXPECT_TRUE(Has(text, "weights.more: no such task (4 tasks: medley tasks; searched: ")) << text;
  EXPECT_TRUE(
      Has(text, "; where it is a further name of one, tasks.more.kind in the run config says of which"))
      << text;
  EXPECT_TRUE(Has(text, "tasks.others: no such task (4 tasks")) << text;
  EXPECT_TRUE(Has(text, "; where it is a further name of one, \"kind\" says of which")) << text;
}

TEST(CheckRun, AnEditBringsNoFurtherName) {
  const Workspace work;
  Registry registry = Tasks();
  registry.GiveNames({{"more", "alpha"}});
  work.Write("weights.json", R"({"weights": {"alpha": 1}})");
  const CheckedRun run = CheckRun(work.WriteRun(R"(  "tasks": {"more": {"kind": "alpha"}})"), {}, registry);
  const auto edit = [&](const std::string& text) {
    return MistakesOf([&] {
      CheckEdit({work / "weights.json", text}, run.run, run.model->info, registry, WeightsOf::kUser, {});
    });
  };
  EXPECT_EQ(edit(R"({"weights": {"alpha": 1, "more": 1}})"), "");
  EXPECT_TRUE(Has(edit(R"({"weights": {"alpha": 1, "most": 1}})"), "weights.most: no such task (5 tasks"))
      << edit(R"({"weights": {"alpha": 1, "most": 1}})");
  EXPECT_TRUE(Has(edit(R"({"weights": {"alpha": 1, "most": 1}})"),
                  "; an edit brings no further name of a task: the run's config names its kinds, so add "
                  "tasks.most.kind and begin a run"));
}

// The mixer counts draws.
TEST(CheckRun, StepsAndDrawsTogetherAreBounded) {
  const Workspace work;
  const std::string text = CheckMistakes(work, "", {"steps=9007199254740991", "draws_per_step=65536"});
  EXPECT_TRUE(Has(text, "steps: expected at most 137438953471 with 65536 draws a step, found")) << text;
  EXPECT_EQ(CheckMistakes(work, "", {"steps=137438953471", "draws_per_step=65536"}), "");
}

TEST(CheckRun, OptionsTermsVariantsAndModesMustBeTheTasks) {
  const Workspace work;
  const std::string text = CheckMistakes(work, R"(
    "alpha": {"options": {"brightnes": 0.1}, "terms": {"txt": 1}},
    "beta": {"variant": "fussed"})");
  EXPECT_TRUE(
      Has(text, "run.json:7:27: tasks.alpha.options.brightnes: no such option; did you mean 'brightness'?"))
      << text;
  EXPECT_TRUE(Has(text, "tasks.alpha.terms.txt: no such term; did you mean 'text'? (allowed: text, picture)"))
      << text;
  EXPECT_TRUE(Has(text, "tasks.beta.variant: no such variant (allowed: default)")) << text;
  EXPECT_TRUE(Has(CheckMistakes(work, R"("alpha": {"options": {"brightness": 1.5}})"),
                  "expected 0.0 to 1.0 (of the sky), found 1.5"));
  EXPECT_TRUE(Has(CheckMistakes(work, R"("alpha": {"terms": {"text": 0, "picture": 0}})"),
                  "every term has the weight 0"));
  EXPECT_EQ(CheckMistakes(work, R"("alpha": {"terms": {"text": 0}})"), "");
}

TEST(CheckRun, AnOptionIsOfItsKind) {
  const Workspace work;
  const auto mistake = [&](const std::string& option) {
    return CheckMistakes(work, "\"alpha\": {\"options\": {" + option + "}}");
  };
  EXPECT_EQ(mistake(R"("brightness": 1, "order": "far", "mirror": false)"), "");
  EXPECT_TRUE(Has(mistake(R"("brightness": true)"), "expected 0.0 to 1.0 (of the sky), found true"));
  EXPECT_TRUE(Has(mistake(R"("order": "up")"), "expected near or far (which comes first), found \"up\""));
  EXPECT_TRUE(Has(mistake(R"("order": 1)"), "expected near or far (which comes first), found 1.0"));
  EXPECT_EQ(mistake(R"("named": "")"), "");
  EXPECT_EQ(mistake(R"("named": "anybody's.own")"), "");
  EXPECT_TRUE(Has(mistake(R"("named": 1)"), "expected a text (whose it is), found 1.0"));
  EXPECT_TRUE(Has(mistake(R"("mirror": 1)"), "expected true or false (left and right), found 1.0"));
  EXPECT_TRUE(
      Has(mistake(R"("clips": true)"), "expected the path of a file or a directory (a folder), found true"));
}

// On the command line to the working directory.
TEST(CheckRun, APathIsRelativeToTheFileThatNamesIt) {
  const Workspace work;
  work.Write("data/one.csv", "x\n");
  const auto path = [&](const std::string& tasks, const std::vector<std::string>& overrides) {
    const auto file = work.WriteRun("  \"tasks\": {" + tasks + "}");
    const CheckedRun checked = CheckRun(file, overrides, Tasks());
    return std::get<std::string>(checked.run.tasks.at("alpha").options.at("clips"));
  };
  const std::string expected = std::filesystem::canonical(work / "data").string();
  EXPECT_EQ(path(R"("alpha": {"options": {"clips": "data"}})", {}), expected);
  EXPECT_EQ(path(R"("alpha": {"options": {"clips": "data/../data/one.csv"}})", {}), expected + "/one.csv");
  const auto from_here = std::filesystem::relative(expected, std::filesystem::current_path());
  EXPECT_EQ(path("", {"tasks.alpha.options.clips=" + from_here.string()}), expected);
  const std::string missing = CheckMistakes(work, R"("alpha": {"options": {"clips": "dato"}})");
  EXPECT_TRUE(Has(missing, "tasks.alpha.options.clips: no such file: ") &&
              Has(missing, "did you mean 'data'?"))
      << missing;
}

TEST(CheckRun, AFileThatATaskNeedsMustBeNamed) {
  const Workspace work;
  work.Write("weights.json", R"({"weights": {"alpha": 1, "delta": 1}})");
  const std::string text = CheckMistakes(work, "");
  EXPECT_TRUE(Has(
      text, "task delta needs tasks.delta.options.file, the path of a file or a directory (what is read)"))
      << text;
  EXPECT_EQ(CheckMistakes(work, R"("delta": {"options": {"file": "weights.json"}})"), "");
  work.Write("weights.json", R"({"weights": {"alpha": 1, "delta": 0}})");
  EXPECT_EQ(CheckMistakes(work, ""), "") << "a paused task needs nothing";
}

TEST(CheckRun, AStageCannotChangeAPath) {
  const Workspace work;
  work.Write("weights.json",
             R"({"stages": [{"name": "a", "weights": {"alpha": 1}, "until": {"steps": 2}},
                 {"name": "b", "weights": {"alpha": 1}, "set": {"tasks.alpha.options.clips": "weights.json"}}]})");
  EXPECT_TRUE(Has(CheckMistakes(work, ""), "a stage cannot change a path; set it in the run config"));
}

TEST(CheckRun, SequentialIsRefusedWhereSomethingIsCarried) {
  const Workspace work;
  EXPECT_TRUE(Has(CheckMistakes(work, R"("alpha": {"variant": "carry", "mode": "sequential"})"),
                  "\"sequential\" cannot be: pass 'first' of the variant 'carry' makes the carry 'canvas'"));
  EXPECT_EQ(CheckMistakes(work, R"("alpha": {"variant": "carry"})"), "");
  EXPECT_EQ(CheckMistakes(work, R"("alpha": {"mode": "sequential"})"), "");
}

TEST(CheckRun, TwoStageIsRefusedWhereNothingIsCarried) {
  const Workspace work;
  EXPECT_TRUE(Has(CheckMistakes(work, R"("alpha": {"mode": "two_stage"})"),
                  "\"two_stage\" cannot be: no pass of the variant 'default' makes a carry"));
  EXPECT_EQ(CheckMistakes(work, R"("alpha": {"variant": "carry", "mode": "two_stage"})"), "");
  EXPECT_EQ(CheckMistakes(work, R"("alpha": {"recompute_every": 2})"), "");
}

TEST(CheckRun, TheModelMustTakeAndGiveWhatTheTasksNeed) {
  const Workspace work;
  work.Write("weights.json", R"({"weights": {"alpha": 1, "gamma": 1}})");
  const std::string text = CheckMistakes(work, "");
  EXPECT_TRUE(Has(
      text,
      "run.json:2:12: model: task gamma hands in 'sound', which the model 'agent' has not (images, tokens"))
      << text;
  EXPECT_TRUE(Has(text, "task gamma asks for 'speech'")) << text;
  work.Write("weights.json", R"({"weights": {"alpha": 1, "gamma": 0}})");
  EXPECT_EQ(CheckMistakes(work, ""), "") << "a paused task asks for nothing";
}

TEST(CheckRun, MistakesOfAllFilesComeAtOnce) {
  const Workspace work;
  work.Write("model.json",
             R"({"kind": "agent", "language": {}, "image": {"size": 100}, "encoder": {}, "decoder": {}})");
  work.Write("weights.json", R"({"weights": {"alpha": -1}})");
  work.Write("control.txt", " \n\n");
  const std::string text = CheckMistakes(work, "\"alpha\": {\"rows\": 0}", {"stepz=5"});
  EXPECT_TRUE(Has(text, "model.json:1:")) << text;
  EXPECT_TRUE(Has(text, "weights.json:1:")) << text;
  EXPECT_TRUE(Has(text, "run.json:6:31: tasks.alpha.rows")) << text;
  EXPECT_TRUE(Has(text, "control.txt is empty")) << text;
  EXPECT_TRUE(Has(text, "command line: stepz")) << text;
}

TEST(CheckRun, TheTokenizerMustBeAVocabulary) {
  const Workspace work;
  const std::string vocabulary = Workspace::kVocabulary;
  for (const std::string& bytes :
       {std::string(), std::string("# medley\n"), std::string("\n# a text\n"), vocabulary + "\n",
        vocabulary.substr(0, vocabulary.size() - 1), "\x12" + vocabulary.substr(1)}) {
    work.Write("small.model", bytes);
    const std::string text = CheckMistakes(work, "");
    EXPECT_TRUE(Has(text, "run.json:3:16: tokenizer: ") &&
                Has(text, "is neither a tokenizer.json nor a SentencePiece vocabulary"))
        << text;
  }
  work.Write("small.model", vocabulary + vocabulary);
  EXPECT_EQ(CheckMistakes(work, ""), "");
  EXPECT_EQ(CheckMistakes(work, "", {"tokenizer=" MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model"}), "");
}

TEST(CheckRun, ATokenizerJsonIsReadWholeAndHasTheTokensOfTheTasks) {
  const Workspace work;
  const std::string cases = MEDLEY_SOURCE_DIR "/tests/text/cases/";
  EXPECT_EQ(CheckMistakes(work, "", {"tokenizer=" + cases + "qwen.json"}), "");
  std::string text = ReadFile(cases + "qwen.json");
  text.replace(text.find("\"t h\""), 5, "\"t x\"");
  work.Write("small.model", text);
  const std::string mistakes = CheckMistakes(work, "");
  EXPECT_TRUE(Has(mistakes, "run.json:3:16: tokenizer: ") && Has(mistakes, "small.model:1:")) << mistakes;
  EXPECT_TRUE(Has(mistakes, "model.merges.0: the merge needs the token \"tx\"")) << mistakes;
}

TEST(CheckRun, SpecialTokensAreMedleys) {
  const Workspace work;
  const std::string qwen = std::string("tokenizer=") + MEDLEY_SOURCE_DIR "/tests/text/cases/qwen.json";
  EXPECT_EQ(CheckMistakes(work, "", {qwen, R"(special_tokens={"<clock>": "<|im_start|>"})"}), "");
  const std::string text = CheckMistakes(work, "", {qwen, R"(special_tokens={"<clok>": "<|im_start|>"})"});
  EXPECT_TRUE(Has(text, "special_tokens: no such special token; did you mean '<clock>'?")) << text;
  EXPECT_TRUE(Has(CheckMistakes(work, "", {R"(special_tokens={"<pad>": "<|pad|>"})"}),
                  "small.model is a SentencePiece model, which has medley's special tokens"));
}

TEST(CheckRun, TheVocabularyMustHaveTheTokensOfTheTasks) {
  const Workspace work;
  work.Write("weights.json", R"({"weights": {"alpha": 1, "gamma": 1}})");
  const std::string text = CheckMistakes(work, "");
  EXPECT_TRUE(Has(text,
                  "run.json:3:16: tokenizer: task gamma needs special tokens that this vocabulary has "
                  "not: <clock>; make one that has them"))
      << text;
  EXPECT_FALSE(Has(text, "task alpha needs")) << text;
  for (const std::string& tokenizer :
       {std::string(MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model"),
        work.Write("more.model",
                   Workspace::kVocabulary + std::string("\n\x0e\n\x07<clock>\x15\x00\x00\x00\x00", 16))
            .string()}) {
    EXPECT_FALSE(Has(CheckMistakes(work, "", {"tokenizer=" + tokenizer}), "special tokens")) << tokenizer;
  }
  work.Write("weights.json", R"({"weights": {"alpha": 1, "gamma": 0}})");
  EXPECT_EQ(CheckMistakes(work, ""), "") << "a paused task needs nothing";
}

TEST(CheckRun, TheControlTextMustBeUtf8) {
  const Workspace work;
  for (const char* good :
       {"a", "\n\n z\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\r\n", "\xed\x9f\xbf\xee\x80\x80"}) {
    work.Write("control.txt", good);
    EXPECT_EQ(CheckMistakes(work, ""), "") << good;
  }
  // A lone byte, cut characters, longer forms than needed, a surrogate, a number too large.
  for (const std::string bad :
       {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82z"}) {
    work.Write("control.txt", "one\ntwo\nbad " + bad + "\nfour\n");
    const std::string text = CheckMistakes(work, "");
    EXPECT_TRUE(Has(text, "run.json:5:19: control_text: ") && Has(text, "control.txt:3: not UTF-8")) << text;
  }
  work.Write("control.txt", std::string("one\n\0", 5));
  EXPECT_TRUE(Has(CheckMistakes(work, ""), "control.txt:2: not UTF-8"));
  work.Write("control.txt", "\xef\xbb\xbfone\n");
  EXPECT_TRUE(Has(CheckMistakes(work, ""), "control.txt begins with a byte order mark"));
}

TEST(CheckRun, ARunToStartFromMustHaveACheckpoint) {
  const Workspace work;
  std::filesystem::create_directories(work / "docs/step-one");
  const auto mistakes = [&](const std::string& run) {
    return CheckMistakes(work, "", {"init_from={\"run\": \"" + (work / run).string() + "\"}"});
  };
  EXPECT_TRUE(Has(mistakes("docs"), "init_from.run: ") && Has(mistakes("docs"), "docs has no checkpoint"))
      << mistakes("docs");
  work.Write("docs/step-00000009", "a file");
  EXPECT_TRUE(Has(mistakes("docs"), "docs has no checkpoint"));
  std::filesystem::create_directories(work / "docs/step-00000010");
  EXPECT_EQ(mistakes("docs"), "");
  EXPECT_EQ(mistakes("docs/step-00000010"), "");  // a checkpoint itself
}

TEST(CheckRun, TokensOfATaskWithoutTextCannotBeShared) {
  const Workspace work;
  work.Write("weights.json", R"({"unit": "tokens", "weights": {"beta": 1}})");
  EXPECT_TRUE(Has(CheckMistakes(work, ""), "weights.json: weights.beta: the task has no text"));
}

TEST(CheckRun, FindsThePluginPathsOfAConfigEvenIfTheRestIsWrong) {
  const Workspace work;
  std::filesystem::create_directory(work / "mine");
  const auto file = work.WriteRun("  \"stepz\": 1, \"plugin_path\": [\"mine\"]");
  EXPECT_EQ(PluginPaths(file, {}), std::vector{std::filesystem::canonical(work / "mine")});
  EXPECT_TRUE(PluginPaths(work / "nothing.json", {}).empty());
}

TEST(CheckRun, AdaptersOfAFolderAreItsOwn) {
  const Workspace work;
  work.Write("adapter/adapter_config.json",
             R"({"peft_type": "LORA", "r": 4, "lora_alpha": 12, "use_rslora": true,
    "target_modules": ["q_proj", "up_proj"], "trainable_token_indices": [9, 2]})");
  const auto check = [&](const std::string& more) {
    return CheckRun(work.WriteRun(R"("lora": {"pretrained": "adapter", "dropout": 0.1)" + more + "}"),
                    {"tokenizer=" MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model"}, Tasks())
        .run.lora;
  };
  const LoraConfig lora = check("");
  EXPECT_EQ(lora.rank, 4);
  EXPECT_EQ(lora.alpha, 12);
  EXPECT_TRUE(lora.rslora);
  EXPECT_EQ(lora.targets.names, (std::vector<std::string>{"q_proj", "up_proj"}));
  EXPECT_EQ(lora.tokens, (std::vector<std::int64_t>{2, 9}));
  EXPECT_EQ(lora.dropout, 0.1);
  EXPECT_EQ(check(R"(, "rank": 4, "alpha": 12)").rank, 4);
  const std::string text = MistakesOf([&] { check(R"(, "rank": 8, "targets": ["q_proj"])"); });
  EXPECT_TRUE(Has(text, "lora.rank: is 8, and 4 in ")) << text;
  EXPECT_TRUE(Has(text, "lora.targets: is [\"q_proj\"], and [\"q_proj\",\"up_proj\"] in ")) << text;
}

TEST(CheckRun, WhatIsWrongWithAFolderOfAdaptersIsSaidAtItsKey) {
  const Workspace work;
  const auto text = [&] {
    return MistakesOf([&] { CheckRun(work.WriteRun(R"("lora": {"pretrained": "adapter"})"), {}, Tasks()); });
  };
  EXPECT_TRUE(Has(text(), "lora.pretrained: no such file: ") && Has(text(), "adapter_config.json")) << text();
  work.Write("adapter/adapter_config.json",
             R"({"peft_type": "LORA", "use_dora": true, "target_modules": "all-linear"})");
  EXPECT_TRUE(Has(text(), "use_dora: is not supported")) << text();
}

TEST(CheckRun, AdaptersMustFitTheModelsLanguage) {
  const Workspace work;
  const auto text = [&](const std::string& lora) {
    return MistakesOf([&] { CheckRun(work.WriteRun("\"lora\": {" + lora + "}"), {}, Tasks()); });
  };
  EXPECT_EQ(text(R"("rank": 4)"), "");
  EXPECT_TRUE(
      Has(text(R"("rank": 64)"), "run.json:6:18: lora.rank: expected at most 32, the smaller side of "))
      << text(R"("rank": 64)");
  EXPECT_TRUE(Has(text(R"("rank": 4, "targets": ["q_prj"])"),
                  "lora.targets: 'q_prj' is no linear map of the model's language; it has down_proj, "));
}

TEST(CheckRun, AFrozenGroupOfARunThatBeginsHasNoSettingsOfTraining) {
  const Workspace work;
  const auto mistakes = [&](const std::string& group, RunAge state = RunAge::kBegins) {
    const auto file = work.WriteRun("\"optimizer\": {\"groups\": [{\"match\": \"a\"" + group + "}]}");
    return MistakesOf([&] { CheckRun(file, {}, Tasks(), state); });
  };
  EXPECT_TRUE(
      Has(mistakes(", \"frozen\": true, \"learning_rate_scale\": 0.5"),
          "optimizer.groups.0.learning_rate_scale: acts on what is trained, and the group is frozen"));
  EXPECT_TRUE(
      Has(mistakes(", \"frozen\": true, \"weight_decay\": 0"), "optimizer.groups.0.weight_decay: acts on"));
  EXPECT_EQ(mistakes(", \"learning_rate_scale\": 0.5, \"weight_decay\": 0"), "");
  EXPECT_EQ(mistakes(", \"frozen\": true"), "");
  EXPECT_EQ(mistakes(", \"frozen\": true, \"weight_decay\": 0", RunAge::kBegun), "") << "of an older medley";
}

// An older medley took an urn's unit, which has no effect.
TEST(CheckRun, AnEditThatTheRunHadTakenIsTakenAgain) {
  const Workspace work;
  const CheckedRun checked = CheckRun(work.WriteRun(), {}, Tasks());
  const WeightsText urn{work / "weights.json",
                        R"({"unit": "rows", "order": "urn", "weights": {"alpha": 1, "beta": 1}})"};
  const auto mistakes = [&](WeightsOf whose) {
    return MistakesOf([&] { CheckEdit(urn, checked.run, checked.model->info, Tasks(), whose, {}); });
  };
  EXPECT_TRUE(Has(mistakes(WeightsOf::kUser), "the order \"urn\" draws steps"));
  EXPECT_EQ(mistakes(WeightsOf::kBegunRun), "");
  const auto repeat = [&] { CheckRun(work.WriteRun(), {}, Tasks(), RunAge::kBegins, urn); };
  EXPECT_EQ(MistakesOf(repeat), "") << "a replay begins with the weights of a run that had begun";
}

TEST(CheckRun, ARampOfTheFirstStageIsForARunThatGoesOn) {
  const Workspace work;
  const std::string ramp = R"({"weights": {"alpha": 1, "beta": 1}, "ramp": {"draws": 4}})";
  const auto file = work.WriteRun();
  const CheckedRun checked = CheckRun(file, {}, Tasks());
  const WeightsText edit{work / "weights.json", ramp};
  EXPECT_EQ(
      MistakesOf([&] { CheckEdit(edit, checked.run, checked.model->info, Tasks(), WeightsOf::kUser, {}); }),
      "");
  work.Write("weights.json", ramp);
  EXPECT_TRUE(Has(MistakesOf([&] { CheckRun(file, {}, Tasks()); }),
                  "weights.json:1:46: ramp: the first stage has none"));
  EXPECT_EQ(MistakesOf([&] { CheckRun(file, {}, Tasks(), RunAge::kBegun); }), "");
}

// The saved config holds what they are; the folder may be gone by then.
TEST(CheckRun, AdaptersOfABegunRunNeedNoFolder) {
  const Workspace work;
  const auto file =
      work.WriteRun(R"("lora": {"pretrained": "gone", "rank": 4, "alpha": 12, "targets": ["q_proj"]})");
  EXPECT_EQ(CheckRun(file, {}, Tasks(), RunAge::kBegun).run.lora.rank, 4);
}

TEST(CheckRun, ASettingAmongTheOptionsIsNamedWhereItBelongs) {
  const Workspace work;
  EXPECT_TRUE(Has(CheckMistakes(work, R"("alpha": {"options": {"micro_rows": 2}})"),
                  "tasks.alpha.options.micro_rows: no such option; did you mean 'tasks.alpha.micro_rows'?"));
  EXPECT_TRUE(Has(CheckMistakes(work, R"("alpha": {"options": {"zebra": 2}})"), "no such option (allowed: "));
}

}  // namespace
}  // namespace medley::testing
