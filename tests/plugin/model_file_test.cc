// Models of plugins' notes and their files, known without loading anything.
#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/model/model_spec_check.h>
#include <medley/plugin/info_json.h>
#include <medley/plugin/model_file.h>
#include <medley/weights/model_config_file.h>

#include <nlohmann/json.hpp>

#include "tests/plugin/test_files.h"
#include "tests/words.h"

namespace medley::testing {
namespace {

using test::Has;
using test::MessageOf;

namespace fs = std::filesystem;

// What the compiler is asked of a model's spec.
TEST(ModelSpecRules, RefuseWhatNoFileCouldSay) {
  const auto spec = [](ModelField field, std::string_view group = "body") {
    ModelSpec spec{.name = "net"};
    spec.groups.Add({.name = group});
    spec.fields.Add(field);
    spec.rules.Add({.field = field.name, .divides = field.name});
    return spec;
  };
  const ModelField good = IntegerField("heads", 2, 1, 8, "");
  EXPECT_TRUE(detail::FieldNamesAreGood(spec(good)) && detail::FieldsAreGood(spec(good)) &&
              detail::RulesAreGood(spec(good)));
  EXPECT_FALSE(detail::FieldNamesAreGood(spec(good, "kind")));
  EXPECT_FALSE(detail::FieldNamesAreGood(spec(good, "heads")));
  EXPECT_FALSE(detail::FieldsAreGood(spec(IntegerField("heads", 2, 1, 1e19, ""))));
  EXPECT_FALSE(detail::RulesAreGood(spec(IntegerField("heads", 2, 0, 8, "")))) << "divides by 0";
}

class ModelFiles : public ::testing::Test {
 protected:
  std::string Mistakes(const std::string& text) {
    WriteBytes(directory_ / "model.json", text);
    return MessageOf([&] { ReadModelFile(directory_ / "model.json", registry_); });
  }

  TempDirectory directory_;
  Registry registry_ = ScanOnly({Fixture("series")});
};

TEST_F(ModelFiles, ARegistryKnowsMedleysOwnModelsAndThoseOfPlugins) {
  std::vector<std::string> names;
  for (const ModelInfo* model : registry_.models()) names.push_back(model->name);
  EXPECT_EQ(names, (std::vector<std::string>{"agent", "mlp", "series_net"}));
  EXPECT_EQ(registry_.FileOfModel("agent"), nullptr);
  EXPECT_EQ(registry_.FileOfModel("series_net")->path, fs::canonical(Fixture("series")));
  EXPECT_EQ(registry_.FindModel("series_nett"), nullptr);
}

TEST_F(ModelFiles, TheNoteSaysAllOfTheSpec) {
  const ModelInfo& model = *registry_.FindModel("series_net");
  EXPECT_EQ(model.version, "3");
  EXPECT_EQ(model.summary, "classifies series");
  EXPECT_EQ(model.FindField("body.gain")->above_low, true);
  EXPECT_EQ(model.FindField("body.activation")->words, (std::vector<std::string>{"tanh", "relu"}));
  EXPECT_EQ(std::ranges::find(model.sizes, "frames", &SizeInfo::name)->lengths, "lengths");
  EXPECT_EQ(model.inputs.at(0).dimensions, (std::vector<std::string>{"rows", "frames", "channels"}));
  EXPECT_FALSE(model.tokenizer);
  EXPECT_EQ(registry_.Find("trend")->variants.at(0).passes.at(0).Size("frames"), 40);
}

TEST_F(ModelFiles, AFileHasTheDefaultsOfWhatItDoesNotSay) {
  EXPECT_EQ(
      Mistakes(R"({"kind": "series_net", "classes": 5, "body": {"activation": "relu", "bias": false}})"), "");
  const ModelConfig config = ReadModelFile(directory_ / "model.json", registry_).config;
  EXPECT_EQ(config.kind(), "series_net");
  EXPECT_EQ(config.Integer("classes"), 5);
  EXPECT_EQ(config.Integer("body.width"), 16);
  EXPECT_EQ(config.Word("body.activation"), "relu");
  EXPECT_FALSE(config.Switch("body.bias"));
  EXPECT_EQ(config.Number("body.gain"), 1);
  EXPECT_TRUE(Has(MessageOf([&] { config.Integer("body.widht"); }), "did you mean 'body.width'?"));
  EXPECT_TRUE(
      Has(MessageOf([&] { config.Switch("classes"); }), "'classes' of the model 'series_net' is no switch"));
}

TEST_F(ModelFiles, EveryMistakeIsSaidWithItsPlace) {
  const std::string text = Mistakes(R"({"kind": "series_net",
 "classes": 1, "body": {"width": 7, "activation": "tan", "bias": 1, "gain": 0, "colour": 3}})");
  for (const char* part :
       {":2:13: classes: expected an integer of at least 2",
        "body.width: expected a multiple of 2, such as 6 or 8, as halves are compared; found 7",
        "body.activation: ", "did you mean 'tanh'?", "body.bias: expected true or false",
        "body.gain: expected a number above 0"}) {
    EXPECT_TRUE(Has(text, part)) << part << "\n" << text;
  }
  EXPECT_TRUE(Has(text, "body.colour: ")) << text;
}

TEST_F(ModelFiles, AnUnknownKindNamesThoseThatThereAre) {
  const std::string text = Mistakes(R"({"kind": "series"})");
  EXPECT_TRUE(Has(text, ":1:10: kind: no such model")) << text;
  EXPECT_TRUE(Has(text, "agent, mlp, series_net")) << text;
  EXPECT_TRUE(Has(Mistakes("{}"), "kind: expected the name of a model (agent, mlp, series_net)"));
}

TEST_F(ModelFiles, ADumpReadsBackTheSameAndFollowsTheSchema) {
  const ModelInfo& model = *registry_.FindModel("series_net");
  const std::string dumped = ToJson(ModelConfig(model), model).dump();
  EXPECT_EQ(Mistakes(dumped), "");
  const ModelFile again = ReadModelFile(directory_ / "model.json", registry_);
  EXPECT_EQ(ToJson(again.config, again.info).dump(), dumped);
  const auto schema = ModelSchema(model);
  EXPECT_EQ(schema["properties"]["kind"]["enum"][0], "series_net");
  EXPECT_EQ(schema["properties"]["body"]["properties"]["activation"]["enum"].size(), 2U);
  EXPECT_EQ(schema["properties"]["body"]["properties"]["gain"]["exclusiveMinimum"], 0);
  EXPECT_EQ(schema["properties"]["classes"]["minimum"], 2);
}

TEST_F(ModelFiles, AModelWithTheNameOfMedleysOwnIsRefused) {
  std::string bytes = ReadBytes(Fixture("series"));
  bytes = Patched(bytes, "\"name\":\"series_net\"", "\"name\":\"agent\"     ");
  WriteBytes(directory_ / "mine.so", bytes);
  const Registry registry = ScanOnly({directory_.path()});
  ASSERT_EQ(registry.rejected().size(), 1U);
  EXPECT_TRUE(Has(registry.rejected()[0].reason, "its model 'agent' has the name of one of medley's own"));
}

TEST_F(ModelFiles, ASpecThatContradictsItselfIsABadNote) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"lengths\":\"lengths\"", "\"lengths\":\"lengthy\""},
           {"\"multiple\":2,", "\"multiple\":0,"},
           {"\"frames\",\"channels\"]", "\"frames\",\"chanells\"]"},
           {"\"name\":\"body.bias\"", "\"name\":\"brow.bias\""},
           {"\"value\":16,", "\"value\":-6,"}}) {
    WriteBytes(directory_ / "mine.so", Patched(ReadBytes(Fixture("series")), from, to));
    const Registry registry = ScanOnly({directory_.path()});
    ASSERT_EQ(registry.rejected().size(), 1U) << to;
    EXPECT_EQ(registry.rejected()[0].state, "bad note");
    EXPECT_TRUE(Has(registry.rejected()[0].reason, "has a model with")) << registry.rejected()[0].reason;
  }
}

TEST_F(ModelFiles, ToolsGetTheSpecAsJson) {
  const auto json = ModelToJson(*registry_.FindModel("series_net"), registry_);
  EXPECT_EQ(json["fields"].size(), 7U);
  EXPECT_EQ(json["fields"][3]["name"], "body.width");
  EXPECT_EQ(json["fields"][5]["above"], 0);
  EXPECT_EQ(json["rules"][0]["multiple_of"], 2);
  EXPECT_EQ(json["plugin"], fs::canonical(Fixture("series")).string());
  EXPECT_TRUE(ModelToJson(*registry_.FindModel("agent"), registry_)["plugin"].is_null());
}

}  // namespace
}  // namespace medley::testing
