// A run that begins with a Hugging Face folder, and becomes one.
#include <gtest/gtest.h>

#include <medley/checkpoint/checkpoint_files.h>
#include <medley/model/adapters.h>
#include <medley/report/picture.h>
#include <medley/run/input_files.h>

#include <algorithm>

#include "tests/tools/run_command.h"
#include "tests/weights/pretrained_folder.h"

namespace medley::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 2048;  // more than the vocabulary has tokens

// Of one task, and a folder whose table has a few spare rows.
class PretrainedRun : public ::testing::Test {
 protected:
  PretrainedRun() : folder_(Json{{"vocab_size", kRows}, {"max_position_embeddings", 321}}) {
    WriteText(scratch_ / "weights.json", R"({"unit": "rows", "weights": {"control": 1}})");
    WriteModel(folder_.path());
  }

  void WriteModel(const fs::path& pretrained) const {
    const Json stack = {{"layers", 1}, {"heads", 2}, {"ffn", 8}};
    WriteText(scratch_ / "model.json", Json{{"kind", "agent"},
                                            {"language", {{"pretrained", pretrained.string()}}},
                                            {"encoder", stack},
                                            {"decoder", stack}}
                                           .dump());
  }
  // So little that the weights of the first step are the folder's, which has no tokenizer of its own.
  CommandResult Train(const fs::path& out, const std::string& more) const {
    return Shell(
        Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " + out.string() +
        " threads=1 plan=false hours=0 seed=5 tensorboard=false eval.every=0 optimizer.learning_rate=1e-9 "
        "optimizer.weight_decay=0 allow_unknown_vocabulary=true tasks.control.rows=2 weights=" +
        (scratch_ / "weights.json").string() + " model=" + (scratch_ / "model.json").string() + " " + more +
        " 2>&1");
  }
  static Tensors Newest(const fs::path& run) {
    return ReadSafetensors(ListCheckpoints(run).at(0).path / "model.safetensors");
  }

  ScratchDirectory scratch_;
  PublishedFolder folder_;
};

TEST_F(PretrainedRun, BeginsWithTheFolderAndGoesOnWithItsConfigAlone) {
  const fs::path run = scratch_ / "run";
  const CommandResult trained = Train(run, "steps=1");
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "took " + std::to_string(folder_.tensors.size()) + " parameters from "))
      << trained.out;
  EXPECT_TRUE(Has(trained.out, "begin anew")) << trained.out;
  const Tensors first = Newest(run);
  for (const auto& [name, tensor] : folder_.tensors)
    EXPECT_TRUE(at::allclose(first.at(name), tensor, 0, 1e-6)) << name;

  fs::remove(folder_ / "model.safetensors");
  const auto resume = [&] { return Shell(Medley() + "resume " + run.string() + " --steps 2 2>&1"); };
  const CommandResult resumed = resume();
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  const CommandResult scored = Shell(Medley() + "eval " + run.string() + " --rows 4 2>&1");
  EXPECT_EQ(scored.code, 0) << scored.out;
  const std::string config = ReadText(folder_ / "config.json");
  WriteText(folder_ / "config.json", config + "\n");
  EXPECT_TRUE(Has(resume().out, "config.json (pretrained) is not what the run began with"));
}

TEST_F(PretrainedRun, WhatDoesNotFitEndsItBeforeThereIsARun) {
  folder_.tensors.erase("model.norm.weight");
  folder_.Write();
  const CommandResult refused = Train(scratch_ / "run", "steps=1");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "model.norm.weight: missing; expected F32 [16]")) << refused.out;
  EXPECT_FALSE(fs::exists(scratch_ / "run"));
  const CommandResult allowed = Train(scratch_ / "run", "--allow-missing 'model.norm.*' steps=1");
  EXPECT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_TRUE(Has(ReadText(scratch_ / "run/config.resolved.json"), "model.norm.*"));
  const CommandResult needless =
      Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
            (scratch_ / "other").string() + " 'allow_missing=[\"a*\"]' 2>&1");
  EXPECT_EQ(needless.code, 2);
  EXPECT_TRUE(Has(needless.out, "names no pretrained weights")) << needless.out;
}

TEST_F(PretrainedRun, TensorsThatTheModelLacksAreLeftAsideWhereTheyAreNamed) {
  folder_.tensors["score.weight"] = at::zeros({2, 16});
  folder_.Write();
  const CommandResult refused = Train(scratch_ / "run", "steps=1");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "score.weight: unexpected")) << refused.out;
  const CommandResult allowed = Train(scratch_ / "run", "--allow-unexpected 'score.*' steps=1");
  EXPECT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_TRUE(Has(allowed.out, "left aside: 1 tensor (score.weight)")) << allowed.out;
  EXPECT_EQ(Json::parse(ReadText(scratch_ / "run/config.resolved.json")).at("allow_unexpected"),
            Json({"score.*"}));
  const CommandResult resumed = Shell(Medley() + "resume " + (scratch_ / "run").string() + " --steps 2 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
}

TEST_F(PretrainedRun, BecomesAFolderThatIsReadBackBitForBit) {
  const fs::path run = scratch_ / "run", out = scratch_ / "exported";
  ASSERT_EQ(Train(run, "steps=2 checkpoint.every=1 optimizer.learning_rate=0.01").code, 0);
  const auto exported = [&](const fs::path& from) {
    return Shell(Medley() + "export " + from.string() + " --out " + out.string() + " 2>&1");
  };
  ASSERT_EQ(exported(run).code, 0);
  const Json config = Json::parse(ReadText(out / "config.json"));
  EXPECT_EQ(config.at("architectures"), Json({"Qwen3ForCausalLM"}));
  EXPECT_EQ(config.at("max_position_embeddings"), 321);
  EXPECT_EQ(config.at("vocab_size"), folder_.tensors.at("model.embed_tokens.weight").size(0));
  EXPECT_EQ(config.at("dtype"), "float32");

  std::vector<Parameter> parameters;
  const Tensors trained = Newest(run);
  for (const auto& [name, tensor] : trained) parameters.push_back({name, at::zeros_like(tensor)});
  const PretrainedWeights weights(
      {.directory = out, .root = "", .rows = ReadPretrainedConfig(out).language.vocabulary}, parameters);
  weights.Fill(parameters, {.count = kRows});
  for (const Parameter& parameter : parameters)
    EXPECT_TRUE(parameter.tensor.equal(trained.at(parameter.name))) << parameter.name;
  EXPECT_EQ(weights.given().size(), parameters.size());

  const CommandResult again = exported(run);
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(Has(again.out, "is there already and not empty")) << again.out;
  fs::remove_all(out);
  ASSERT_EQ(exported(run / "step-00000001").code, 0);
  EXPECT_FALSE(ReadSafetensors(out / "model.safetensors")
                   .at("model.norm.weight")
                   .equal(trained.at("model.norm.weight")))
      << "of the first step";
  WriteModel(out);
  const CommandResult next = Train(scratch_ / "next", "steps=1 allow_unknown_vocabulary=false");
  EXPECT_EQ(next.code, 0) << "it has the run's vocabulary: " << next.out;
  EXPECT_TRUE(Has(next.out, "took " + std::to_string(parameters.size()) + " parameters from ")) << next.out;
}

// Only what the run changed is another: the type, one more token that ends a text, and the table's rows;
// where these are of another vocabulary, the ids of the folder's tokens.
TEST_F(PretrainedRun, AnExportKeepsWhatTheFolderSaid) {
  const auto& tokens = ReadVocabulary(MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model").tokens;
  const auto id = [&](const char* token) {
    return std::find(tokens.begin(), tokens.end(), token) - tokens.begin();
  };
  const auto exported = [&](const PublishedFolder& folder, const Json& config, const Json& generation) {
    const Json written = SmallPublishedConfig(config);
    WriteText(folder / "config.json", written.dump(1));
    fs::remove(folder / "generation_config.json");
    if (!generation.is_null()) WriteText(folder / "generation_config.json", generation.dump(1));
    for (const char* made : {"run", "out"}) fs::remove_all(scratch_ / made);
    WriteModel(folder.path());
    EXPECT_EQ(Train(scratch_ / "run", "--allow-new-rows 68 steps=1").code, 0);
    const CommandResult done = Shell(Medley() + "export " + (scratch_ / "run").string() + " --out " +
                                     (scratch_ / "out").string() + " 2>&1");
    EXPECT_EQ(done.code, 0) << done.out;
    return written;
  };
  const auto out = [&](const char* name) { return Json::parse(ReadText(scratch_ / "out" / name)); };

  const Json told = {{"vocab_size", kRows},
                     {"torch_dtype", "bfloat16"},
                     {"initializer_range", 0.07},
                     {"bos_token_id", 11},
                     {"eos_token_id", {12, 13}},
                     {"use_cache", false},
                     {"transformers_version", "4.51.0"},
                     {"rope_theta", 1000000}};
  const Json generation = {{"do_sample", true},  {"temperature", 0.6}, {"top_p", 0.95},
                           {"bos_token_id", 11}, {"pad_token_id", 14}, {"eos_token_id", {12, id("<eos>")}}};
  Json expected = exported(folder_, told, generation);
  expected["torch_dtype"] = "float32";
  expected["eos_token_id"].push_back(id("<eos>"));
  EXPECT_EQ(out("config.json"), expected);
  EXPECT_EQ(out("generation_config.json"), generation);

  expected = exported(folder_, {{"vocab_size", kRows}, {"eos_token_id", 12}}, nullptr);
  expected["dtype"] = "float32", expected["torch_dtype"] = "float32";
  expected["eos_token_id"] = {12, id("<eos>")};
  EXPECT_EQ(out("config.json"), expected);
  const Json ends = {12, id("<eos>")};
  EXPECT_EQ(out("generation_config.json"),
            (Json{{"do_sample", false}, {"eos_token_id", ends}, {"pad_token_id", id("<pad>")}}));

  const PublishedFolder narrow(Json{{"vocab_size", 700}});
  Json fewer = told;
  fewer["vocab_size"] = 700;
  expected = exported(narrow, fewer, generation);
  expected["torch_dtype"] = "float32", expected["vocab_size"] = 768, expected["eos_token_id"] = id("<eos>");
  expected.erase("bos_token_id");
  EXPECT_EQ(nlohmann::json(out("config.json")), nlohmann::json(expected));
  EXPECT_EQ(nlohmann::json(out("generation_config.json")), (nlohmann::json{{"do_sample", true},
                                                                           {"temperature", 0.6},
                                                                           {"top_p", 0.95},
                                                                           {"eos_token_id", id("<eos>")},
                                                                           {"pad_token_id", id("<pad>")}}));
}

TEST_F(PretrainedRun, AdaptersGoOutAndComeInAgain) {
  const fs::path run = scratch_ / "run", adapter = scratch_ / "adapter", merged = scratch_ / "merged";
  const CommandResult trained =
      Train(run,
            "steps=2 optimizer.learning_rate=0.01 optimizer.warmup_steps=0 lora.rank=2 "
            "lora.tokens=[9] 'lora.targets=[\"q_proj\",\"down_proj\"]'");
  ASSERT_EQ(trained.code, 0) << trained.out;
  const auto exported = [&](const fs::path& from, const fs::path& out, const char* how) {
    return Shell(Medley() + "export " + from.string() + " --out " + out.string() + how + " 2>&1");
  };
  const CommandResult alone = exported(run, adapter, " --adapter");
  ASSERT_EQ(alone.code, 0) << alone.out;
  const Json config = Json::parse(ReadText(adapter / "adapter_config.json"));
  EXPECT_EQ(config.at("base_model_name_or_path"), folder_.path().string());
  EXPECT_EQ(config.at("target_modules"), Json({"q_proj", "down_proj"}));
  EXPECT_TRUE(fs::exists(adapter / "medley_image.safetensors"));

  const Tensors first = Newest(run);
  const CommandResult begun = Train(scratch_ / "again", "steps=1 lora.pretrained=" + adapter.string());
  ASSERT_EQ(begun.code, 0) << begun.out;
  EXPECT_TRUE(Has(begun.out, "tensors of adapters from ")) << begun.out;
  const Tensors again = Newest(scratch_ / "again");
  std::size_t adapters = 0;
  for (const auto& [name, tensor] : first) {
    if (!IsAdapter(name)) continue;
    EXPECT_TRUE(at::allclose(again.at(name), tensor, 0, 1e-6)) << name;
    ++adapters;
  }
  EXPECT_EQ(adapters, 2 * 2 * 2 + 1U);

  ASSERT_EQ(exported(run, merged, "").code, 0);
  const Tensors whole = ReadSafetensors(merged / "model.safetensors");
  const std::string map = "model.layers.0.self_attn.q_proj";
  const at::Tensor added = at::mm(first.at(map + kLoraB), first.at(map + kLoraA)) * 8;  // alpha 16 / rank 2
  EXPECT_GT(added.abs().max().item<float>(), 1e-4);
  EXPECT_TRUE(at::allclose(whole.at(map + ".weight"), first.at(map + ".weight") + added, 0, 1e-6));
  EXPECT_EQ(whole.size(), folder_.tensors.size());
  EXPECT_EQ(exported(scratch_ / "again", scratch_ / "none", " --adapter").code, 0);
}

// Elsewhere the rows of medley's own tokens are what lies in the folder's spare rows.
TEST_F(PretrainedRun, AdaptersWithoutNewTokensTakeTheFilledRowsAlong) {
  fs::copy_file(MEDLEY_SOURCE_DIR "/tests/text/cases/qwen.json", folder_ / "tokenizer.json");
  const std::string own = " tokenizer=" + (folder_ / "tokenizer.json").string();
  const CommandResult trained =
      Train(scratch_ / "run", "steps=2 optimizer.learning_rate=0.01 lora.rank=2 lora.new_tokens=false" + own);
  ASSERT_EQ(trained.code, 0) << trained.out;
  const CommandResult done = Shell(Medley() + "export " + (scratch_ / "run").string() + " --adapter --out " +
                                   (scratch_ / "adapter").string() + " 2>&1");
  ASSERT_EQ(done.code, 0) << done.out;
  const Json config = Json::parse(ReadText(scratch_ / "adapter/adapter_config.json"));
  EXPECT_EQ(config.at("trainable_token_indices"), Json({276, 277, 278}));
  const std::string rows = "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta";
  const at::Tensor mean = folder_.tensors.at("model.embed_tokens.weight").narrow(0, 0, 276).mean(0);
  const at::Tensor written = ReadSafetensors(scratch_ / "adapter/adapter_model.safetensors").at(rows);
  EXPECT_TRUE(at::allclose(written, mean.expand({3, 16}), 1e-5, 1e-6));
  const CommandResult again =
      Train(scratch_ / "again", "steps=1 lora.pretrained=" + (scratch_ / "adapter").string() + own);
  EXPECT_EQ(again.code, 0) << again.out;
}

// Where the run's config is trained anew, and where it is repeated.
TEST_F(PretrainedRun, ItsFolderIsFoundWhereItLiesNow) {
  const fs::path then = scratch_ / "models/published", run = scratch_ / "run";
  fs::create_directories(scratch_ / "models");
  fs::copy(folder_.path(), then);
  WriteModel(then);
  ASSERT_EQ(Train(run, "steps=1").code, 0);
  fs::rename(then, scratch_ / "published");
  const std::string line = Medley() + "train " + (run / "config.resolved.json").string() + " --out ";
  for (const std::string& how : {std::string("anew"), "again --replay " + run.string()}) {
    const CommandResult trained = Shell(line + (scratch_ / how).string() + " 2>&1");
    EXPECT_EQ(trained.code, 0) << trained.out;
    EXPECT_TRUE(Has(trained.out, "published, with the same config.json")) << trained.out;
  }
}

// As every vocabulary of fewer tokens than the table has rows would pass else.
TEST_F(PretrainedRun, AFolderWithoutATokenizerNeedsAWordWhichTheRunKeeps) {
  const fs::path run = scratch_ / "run";
  const CommandResult refused = Train(run, "steps=1 allow_unknown_vocabulary=false");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "nobody can tell whether the weights of ")) << refused.out;
  EXPECT_FALSE(fs::exists(run));
  const CommandResult trained =
      Train(run, "--allow-unknown-vocabulary steps=1 allow_unknown_vocabulary=false");
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "nothing was compared with the vocabulary (it has no tokenizer.json)"))
      << trained.out;
  const fs::path config = run / "config.resolved.json";
  Json kept = Json::parse(ReadText(config));
  EXPECT_EQ(kept.at("allow_unknown_vocabulary"), true);
  kept.erase("allow_unknown_vocabulary");  // as an older medley began it, and stopped before its first save
  WriteText(config, kept.dump());
  for (const CheckpointEntry& saved : ListCheckpoints(run)) fs::remove_all(saved.path);
  fs::remove(run / "LATEST");
  for (const char* verb : {"resume ", "eval --rows 2 "}) {
    const CommandResult goes_on = Shell(Medley() + verb + run.string() + " 2>&1");
    EXPECT_EQ(goes_on.code, 0) << goes_on.out;
  }
  const CommandResult exported =
      Shell(Medley() + "export " + run.string() + " --out " + (scratch_ / "out").string() + " 2>&1");
  EXPECT_EQ(exported.code, 0) << exported.out;
  EXPECT_TRUE(Has(exported.out, "whose tokens were not compared with the run's: it has no tokenizer.json"))
      << exported.out;
}

// The number is the run's own from there on: a resume that begins anew grows the table again.
TEST_F(PretrainedRun, TokensThatTheFolderDoesNotKnowNeedANumber) {
  const PublishedFolder narrow(Json{{"vocab_size", 700}});
  WriteModel(narrow.path());
  const CommandResult refused = Train(scratch_ / "run", "steps=1");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "run.json:") || Has(refused.out, "quickstart.json:")) << refused.out;
  EXPECT_TRUE(Has(refused.out, "has 700 rows, none for 68 tokens")) << refused.out;
  EXPECT_EQ(Train(scratch_ / "run", "--allow-new-rows 67 steps=1").code, 2);
  EXPECT_FALSE(fs::exists(scratch_ / "run"));
  const CommandResult allowed = Train(scratch_ / "run", "--allow-new-rows 68 steps=1");
  ASSERT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_TRUE(Has(allowed.out, "by their number 68 rows are new: of 68 other tokens")) << allowed.out;
  const auto rows = [&] { return Newest(scratch_ / "run").at("model.embed_tokens.weight").size(0); };
  EXPECT_EQ(rows(), 768);

  for (const CheckpointEntry& saved : ListCheckpoints(scratch_ / "run")) fs::remove_all(saved.path);
  fs::remove(scratch_ / "run/LATEST");
  const CommandResult anew = Shell(Medley() + "resume " + (scratch_ / "run").string() + " 2>&1");
  EXPECT_EQ(anew.code, 0) << anew.out;
  EXPECT_TRUE(Has(anew.out, "68 rows are new")) << anew.out;
  EXPECT_EQ(rows(), 768);
  const Json config = Json::parse(ReadText(scratch_ / "run/config.resolved.json"));
  EXPECT_EQ(config.at("allow_new_rows"), 68);
}

TEST_F(PretrainedRun, AnAdapterInTheFolderIsRefusedOrBeginsTheRun) {
  ASSERT_EQ(
      Train(scratch_ / "run", "steps=2 optimizer.learning_rate=0.01 optimizer.warmup_steps=0 lora.rank=2")
          .code,
      0);
  ASSERT_EQ(Shell(Medley() + "export " + (scratch_ / "run").string() + " --adapter --out " +
                  (scratch_ / "adapter").string() + " 2>&1")
                .code,
            0);
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"})
    fs::copy_file(scratch_ / "adapter" / name, folder_ / name);
  const CommandResult refused = Train(scratch_ / "base", "steps=1");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "has adapter_config.json: other software adds those adapters")) << refused.out;
  const CommandResult both = Train(scratch_ / "both", "steps=1 lora.pretrained=" + folder_.path().string());
  ASSERT_EQ(both.code, 0) << both.out;
  const Tensors first = Newest(scratch_ / "run"), again = Newest(scratch_ / "both");
  for (const auto& [name, tensor] : first) {
    if (!IsAdapter(name)) continue;
    EXPECT_TRUE(at::allclose(again.at(name), tensor, 0, 1e-6)) << name;
  }
}

// Elsewhere they would be added to the folder's.
TEST_F(PretrainedRun, AdaptersOfOtherWeightsThanTheFoldersAreNotExportedAlone) {
  ASSERT_EQ(Train(scratch_ / "full", "steps=2 optimizer.learning_rate=0.01 optimizer.warmup_steps=0").code,
            0);
  const CommandResult taken =
      Train(scratch_ / "run", "steps=1 lora.rank=2 init_from.run=" + (scratch_ / "full").string());
  ASSERT_EQ(taken.code, 0) << taken.out;
  const std::string line =
      Medley() + "export " + (scratch_ / "run").string() + " --out " + (scratch_ / "out").string();
  const CommandResult refused = Shell(line + " --adapter 2>&1");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(Has(refused.out, "than the run was trained with")) << refused.out;
  EXPECT_EQ(Shell(line + " 2>&1").code, 0);
  const CommandResult none = Shell(Medley() + "export " + (scratch_ / "full").string() + " --out " +
                                   (scratch_ / "other").string() + " --adapter 2>&1");
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(Has(none.out, "the run has no adapters")) << none.out;
}

// The run configs of configs/runs on a folder of their structure, with its own tokenizer and tiny layers.
class FlagshipRun : public PretrainedRun {
 protected:
  FlagshipRun() { WriteTokenizer(); }

  // The case's, and small.model's merges behind its own: so the prompts of all tasks fit their tables.
  void WriteTokenizer() const {
    Json tokenizer = Json::parse(ReadText(MEDLEY_SOURCE_DIR "/tests/text/cases/qwen.json"));
    Json &tokens = tokenizer["model"]["vocab"], &merges = tokenizer["model"]["merges"];
    const std::size_t before = tokens.size();
    for (std::string piece : ReadVocabulary(MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model").tokens) {
      if (piece.starts_with("\u2581")) piece.replace(0, 3, "\u0120");  // how each writes a space
      if (piece.front() == '<' || tokens.contains(piece)) continue;
      const std::size_t merged = merges.size();
      for (std::size_t at = 1; at < piece.size(); ++at) {
        const std::string left = piece.substr(0, at), right = piece.substr(at);
        if (tokens.contains(left) && tokens.contains(right)) merges.push_back(left + " " + right);
      }
      if (merges.size() > merged) tokens[piece] = tokens.size();
    }
    for (Json& added : tokenizer["added_tokens"])
      added["id"] = added["id"].get<std::size_t>() + tokens.size() - before;
    WriteText(folder_ / "tokenizer.json", tokenizer.dump());
  }
  static CommandResult Do(const std::string& verb, const std::string& config, const std::string& more) {
    return Shell(Medley() + verb + " " MEDLEY_SOURCE_DIR "/configs/runs/" + config + " " + more + " 2>&1");
  }
  // What any small run of these configs has otherwise.
  std::string Here() const {
    return " device=cpu threads=1 eval.rows=1 eval.every=0 steps=1 tensorboard=false model=" +
           (scratch_ / "model.json").string() + " tokenizer=" + (folder_ / "tokenizer.json").string();
  }
  // And of one task.
  std::string Small() const {
    return Here() + " budget=2GiB tasks.control.rows=2 weights=" + (scratch_ / "weights.json").string();
  }
};

// One row of each, as to plan all of them takes minutes here: rows are planned of two that are unlike.
TEST_F(FlagshipRun, TrainsAllTasksFromThePlanToAnAnswerByOverridesAlone) {
  const fs::path run = scratch_ / "run", two = scratch_ / "two.json", all = scratch_ / "all.json";
  Json model = Json::parse(ReadText(scratch_ / "model.json")), mixture;
  model["image"] = {{"size", 128}, {"patch", 64}};
  WriteText(scratch_ / "model.json", model.dump());
  WriteText(scratch_ / "white.png", EncodePng(Picture(128, 128, 255)));
  WriteText(two, R"({"weights": {"control": 1, "mem_canvas": 1}})");
  const std::string config = "qwen3-0.6b-24gb.json", small = Here() + " dtype=fp32 budget=48MiB";
  const CommandResult planned = Do("plan", config, small + " weights=" + two.string());
  EXPECT_EQ(planned.code, 0) << planned.out;

  std::string a_row_of_each = " plan=false draws_per_step=22 weights=" + all.string();
  const Json tasks = Json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/runs/" + config)).at("tasks");
  EXPECT_EQ(tasks.size(), 22U);
  for (const auto& [task, settings] : tasks.items()) {
    a_row_of_each += " tasks." + task + ".rows=1";
    mixture["weights"][task] = 1;
  }
  WriteText(all, mixture.dump());
  const CommandResult trained = Do("train", config, "--out " + run.string() + small + a_row_of_each);
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "step 0 evaluated")) << trained.out;
  for (const std::string& then :
       {"resume " + run.string() + " --steps 2", "eval " + run.string(),
        "export " + run.string() + " --out " + (scratch_ / "exported").string(),
        "generate " + run.string() + " --image " + (scratch_ / "white.png").string() + " --prompt a"}) {
    const CommandResult done = Shell(Medley() + then + " 2>&1");
    EXPECT_EQ(done.code, 0) << then << "\n" << done.out;
  }
  const Json report = Json::parse(Shell(Medley() + "report " + run.string() + " --json").out);
  for (const auto& [task, settings] : tasks.items()) {
    const Json& score = report.at("scores").at(task);
    EXPECT_EQ(score.at("step"), 2) << task;
    EXPECT_TRUE(score.contains("before")) << task;
    EXPECT_EQ(report.at("tasks").at(task).at(0).at("draws"), 2) << task;
  }
}

TEST_F(FlagshipRun, BeginsWithAdaptersToo) {
  const CommandResult trained =
      Do("train", "qwen3-0.6b-12gb.json",
         "--out " + (scratch_ / "run").string() + Small() + " dtype=bf16 lora.rank=4");
  EXPECT_EQ(trained.code, 0) << trained.out;
}

// A clone has config.json alone.
TEST_F(FlagshipRun, NamesEveryFileThatIsNotThere) {
  const std::string out = "--out " + (scratch_ / "run").string();
  const auto refused = [&](const std::string& verb, const std::string& lacking) {
    const CommandResult result = Do(verb, "qwen3-0.6b-24gb.json", out + Small());
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_TRUE(Has(result.out, "the model begins with lacks " + lacking)) << verb << "\n" << result.out;
  };
  fs::rename(folder_ / "tokenizer.json", folder_ / "kept");
  fs::rename(folder_ / "model.safetensors", folder_ / "kept too");
  for (const char* verb : {"train", "eval", "plan"}) refused(verb, "tokenizer.json, model.safetensors (or ");
  for (const char* verb : {"validate", "estimate"}) {
    const CommandResult counted =
        Do(verb, "qwen3-0.6b-24gb.json", Small() + (verb[0] == 'e' ? " --memory 2GiB" : ""));
    EXPECT_EQ(counted.code, 0) << counted.out;
    EXPECT_TRUE(Has(counted.out, "has no tokenizer.json: texts have the widths")) << counted.out;
  }
  fs::rename(folder_ / "kept", folder_ / "tokenizer.json");
  for (const char* verb : {"train", "eval"}) refused(verb, "model.safetensors (or ");
  const CommandResult planned = Do("plan", "qwen3-0.6b-24gb.json", Small());
  EXPECT_EQ(planned.code, 0) << "it reads no weights: " << planned.out;
  fs::remove(folder_ / "config.json");
  for (const char* verb : {"train", "plan"}) refused(verb, "config.json, model.safetensors (or ");
  EXPECT_FALSE(fs::exists(scratch_ / "run"));
}

TEST_F(FlagshipRun, AnotherArchitectureOrTokenizerIsRefused) {
  const auto refused = [&](const std::string& more) {
    const CommandResult result =
        Do("train", "qwen3-0.6b-24gb.json", "--out " + (scratch_ / "run").string() + Small() + more);
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_FALSE(fs::exists(scratch_ / "run"));
    return result.out;
  };
  for (const char* file : {"configs/tokenizers/small.model", "tests/text/cases/gpt2.json"}) {
    const std::string strange = refused(" tokenizer=" MEDLEY_SOURCE_DIR "/" + std::string(file));
    EXPECT_TRUE(Has(strange, "the weights do not know")) << strange;
  }
  fs::rename(folder_ / "tokenizer.json", scratch_ / "tokenizer.json");
  const std::string unknown = refused(" tokenizer=" + (scratch_ / "tokenizer.json").string());
  EXPECT_TRUE(Has(unknown, "nobody can tell whether the weights")) << unknown;
  fs::rename(scratch_ / "tokenizer.json", folder_ / "tokenizer.json");
  WriteText(folder_ / "config.json",
            SmallPublishedConfig({{"architectures", {"GPT2LMHeadModel"}}, {"model_type", "gpt2"}}).dump());
  const std::string other = refused("");
  EXPECT_TRUE(Has(other, "gpt2")) << other;
}

// A field of the model may be called so.
TEST_F(FlagshipRun, OnlyTheLanguageBeginsWithAFolder) {
  Json model = Json::parse(ReadText(scratch_ / "model.json"));
  model["encoder"]["pretrained"] = "nowhere";
  WriteText(scratch_ / "model.json", model.dump());
  const CommandResult refused = Do("train", "qwen3-0.6b-24gb.json", Small());
  EXPECT_TRUE(Has(refused.out, "encoder.pretrained: unknown key")) << refused.out;
}

}  // namespace
}  // namespace medley::test
