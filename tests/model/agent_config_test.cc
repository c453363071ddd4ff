#include <gtest/gtest.h>

#include <medley/model/agent/agent_config.h>
#include <medley/plugin/model_file.h>
#include <medley/weights/model_config_file.h>

#include "config/config_testing.h"
#include "tests/model/agent_file.h"
#include "tests/weights/pretrained_folder.h"

namespace medley::testing {
namespace {

std::string ModelMistakes(const Workspace& work, const std::string& language, const std::string& image,
                          const std::string& encoder = "") {
  work.Write("model.json", "{\"kind\": \"agent\", \"language\": {" + language + "}, \"image\": {" + image +
                               "}, \"encoder\": {" + encoder + "}, \"decoder\": {}}");
  return MistakesOf([&] { test::ReadAgentConfig(work / "model.json"); });
}

TEST(AgentConfig, ReadsBackTheSame) {
  const Workspace work;
  ModelFile model = ReadModelFile(work / "model.json", Registry());
  model.config.Set("language.rms_epsilon", 3e-7);
  model.config.Set("image.size", 224.0);
  model.config.Set("image.patch", 14.0);
  model.config.Set("encoder.pre_norm", true);
  const std::string text = ToJson(model.config, model.info).dump();
  work.Write("model.json", text);
  const ModelFile again = ReadModelFile(work / "model.json", Registry());
  EXPECT_EQ(ToJson(again.config, again.info).dump(), text);
  EXPECT_EQ(AgentConfig(again.config).image.size, 224);
}

TEST(AgentConfig, ThePublishedSizesAreLegal) {
  const Workspace work;
  EXPECT_EQ(
      ModelMistakes(work,
                    R"("hidden": 1024, "layers": 28, "heads": 16, "kv_heads": 8, "head_dim": 128, "ffn": 3072,
                             "vocabulary": 151936)",
                    R"("size": 224, "patch": 14)", R"("layers": 6, "heads": 8, "ffn": 2048)"),
      "");
}

TEST(AgentConfig, ACellDividesThePatchWhereThereIsAStem) {
  const Workspace work;
  const std::string odd = "\"size\": 126, \"patch\": 14";
  EXPECT_EQ(ModelMistakes(work, "", odd, "\"stem_cell\": 4"), "");
  EXPECT_EQ(ModelMistakes(work, "", odd, "\"stem\": 32, \"stem_cell\": 7"), "");
  EXPECT_TRUE(Has(ModelMistakes(work, "", odd, "\"stem\": 32, \"stem_cell\": 4"),
                  "encoder.stem_cell: expected a divisor of image.patch (14); found 4"));
}

// How small a picture may be is for the tasks to say.
TEST(AgentConfig, AnyMultipleOfThePatchIsAnImageSize) {
  const Workspace work;
  EXPECT_EQ(ModelMistakes(work, "", "\"size\": 100, \"patch\": 10"), "");
  EXPECT_EQ(ModelMistakes(work, "", "\"size\": 8, \"patch\": 8"), "");
  EXPECT_TRUE(Has(ModelMistakes(work, "", "\"size\": 0"),
                  "image.size: expected an integer of at least 1 and at most 4096, found 0"));
}

TEST(AgentConfig, SizesMustFitEachOther) {
  const Workspace work;
  EXPECT_TRUE(Has(ModelMistakes(work, "", "\"size\": 130"),
                  "image.size: expected a multiple of image.patch (16), such as 128 or 144; found 130"));
  EXPECT_TRUE(Has(ModelMistakes(work, "", "\"size\": 10"),
                  "image.size: expected a multiple of image.patch (16), such as 16; found 10"));
  EXPECT_TRUE(Has(ModelMistakes(work, "\"heads\": 4, \"kv_heads\": 3", ""),
                  "language.kv_heads: expected a divisor of language.heads (4); found 3"));
  EXPECT_TRUE(
      Has(ModelMistakes(work, "\"head_dim\": 15", ""),
          "language.head_dim: expected a multiple of 2, such as 14 or 16, as rotary positions turn pairs"));
  EXPECT_TRUE(Has(ModelMistakes(work, "\"hidden\": 66", ""), "language.hidden: expected a multiple of 4"));
  EXPECT_TRUE(Has(ModelMistakes(work, "\"hidden\": 64", "", "\"heads\": 5"),
                  "encoder.heads: expected a divisor of language.hidden (64); found 5"));
  EXPECT_TRUE(Has(ModelMistakes(work, "\"layers\": 0, \"rope_base\": 1", "\"scale\": 0"), "3 mistakes"));
  EXPECT_TRUE(Has(ModelMistakes(work, "", "", "\"dropout\": 1"),
                  "encoder.dropout: expected a number of at least 0 and at most 0.99, found 1"));
}

TEST(AgentConfig, AnotherKindIsRefused) {
  const Workspace work;
  work.Write("model.json", R"({"kind": "agnet", "language": {}, "image": {}, "encoder": {}, "decoder": {}})");
  EXPECT_TRUE(Has(MistakesOf([&] { ReadModelFile(work / "model.json", Registry()); }),
                  "kind: no such model; did you mean 'agent'?"));
}

// The path is relative to the file.
TEST(AgentConfig, APretrainedFolderGivesTheSizesOfTheLanguage) {
  const test::PublishedFolder folder(test::Json{{"rope_theta", 5e5}, {"attention_bias", true}});
  const Workspace work;
  std::filesystem::create_directory_symlink(folder.path(), work / "published");
  const auto read = [&](const std::string& more) {
    work.Write("model.json", R"({"kind": "agent", "language": {"pretrained": "published")" + more +
                                 R"(}, "encoder": {"heads": 2}})");
    return ReadModelFile(work / "model.json", Registry());
  };
  const ModelFile model = read("");
  const LanguageConfig language = AgentConfig(model.config).language;
  EXPECT_EQ(language.hidden, 16);
  EXPECT_EQ(language.vocabulary, test::kTableRows);
  EXPECT_EQ(language.rope_base, 5e5);
  EXPECT_EQ(language.attention_bias, AttentionBias::kQkvo);
  EXPECT_EQ(TableRows(language, 44), 44) << "it grows where it is full";
  EXPECT_EQ(TableRows(language, 20), test::kTableRows);
  const std::string text = ToJson(model.config, model.info).dump();
  work.Write("again.json", text);
  const ModelFile again = ReadModelFile(work / "again.json", Registry());
  EXPECT_EQ(ToJson(again.config, again.info).dump(), text);
  EXPECT_TRUE(std::filesystem::equivalent(again.config.pretrained(), folder.path()));

  EXPECT_EQ(MistakesOf([&] { read(R"(, "hidden": 16, "tied": true)"); }), "");
  const std::string mistakes = MistakesOf([&] { read(R"(, "hidden": 32, "attention_bias": "none")"); });
  EXPECT_TRUE(Has(mistakes, "language.hidden: expected 16, as ") && Has(mistakes, "found 32; leave it out") &&
              Has(mistakes, "language.attention_bias: expected \"qkvo\""))
      << mistakes;
  std::filesystem::remove(folder.path() / "model.safetensors");
  EXPECT_EQ(MistakesOf([&] { read(""); }), "") << "a resume needs its config.json alone";
  std::filesystem::remove(folder.path() / "config.json");
  EXPECT_TRUE(Has(MistakesOf([&] { read(""); }), "language.pretrained: "));
  std::filesystem::remove(work / "published");
  EXPECT_TRUE(Has(MistakesOf([&] { read(""); }), "language.pretrained: no such directory"));
}

// A run keeps the model file, so a resume knows what is ignored.
TEST(AgentConfig, KeysOfTheFolderThatMedleyNeedNotKnowAreNamedBesideIt) {
  const test::PublishedFolder folder;
  const Workspace work;
  std::filesystem::create_directory_symlink(folder.path(), work / "published");
  test::Json config = test::SmallPublishedConfig();
  config["attention_sink"] = 4;
  work.Write("published/config.json", config.dump(1));
  const auto read = [&](const std::string& ignored) {
    work.Write("model.json", R"({"kind": "agent", "language": {"pretrained": "published")" + ignored +
                                 R"(}, "encoder": {"heads": 2}})");
    return ReadModelFile(work / "model.json", Registry());
  };
  const auto mistakes = [&](const std::string& ignored) { return MistakesOf([&] { read(ignored); }); };
  EXPECT_TRUE(Has(mistakes(""), "config.json:14:2: attention_sink: is no key that medley knows"))
      << mistakes("");
  const ModelFile model = read(R"(, "ignored_keys": ["attention_sink"])");
  const std::string text = ToJson(model.config, model.info).dump();
  work.Write("again.json", text);
  EXPECT_EQ(ToJson(ReadModelFile(work / "again.json", Registry()).config, model.info).dump(), text);

  const std::string known = mistakes(R"(, "ignored_keys": ["attention_sink", "num_hidden_layers"])");
  EXPECT_TRUE(Has(known, "model.json:1:") && Has(known,
                                                 "language.ignored_keys.1: medley knows what "
                                                 "'num_hidden_layers' means"))
      << known;
  work.Write("model.json", R"({"kind": "agent", "language": {"ignored_keys": ["a"]}})");
  EXPECT_TRUE(Has(MistakesOf([&] { ReadModelFile(work / "model.json", Registry()); }),
                  "there is no \"pretrained\" beside it"));
}

TEST(AgentConfig, AFieldThatIsNotThereIsNamedWithTheModel) {
  const Workspace work;
  work.Write("model.json", R"({"kind": "agent"})");
  const ModelConfig config = ReadModelFile(work / "model.json", Registry()).config;
  EXPECT_EQ(config.Integer("language.hidden"), 64);
  try {
    config.Integer("language.hiden");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(Has(error.what(),
                    "the model 'agent' was asked for 'language.hiden': no such field; did you "
                    "mean 'language.hidden'?"))
        << error.what();
  }
}

}  // namespace
}  // namespace medley::testing
