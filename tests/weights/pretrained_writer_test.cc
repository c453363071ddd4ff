#include <gtest/gtest.h>

#include <medley/model/language_fields.h>
#include <medley/weights/pretrained_writer.h>

#include "tests/weights/pretrained_folder.h"

namespace medley::test {
namespace {

namespace fs = std::filesystem;

void WriteConfig(const fs::path& folder, const PretrainedConfig& config) {
  WriteText(folder / kPretrainedConfigFile, ToJson(config, "float32").dump(1));
}

TEST(PretrainedWriter, AConfigIsReadBackTheSameForEveryArchitecture) {
  for (const char* changes :
       {R"({})", R"({"attention_bias": true, "tie_word_embeddings": false, "rms_norm_eps": 1e-5})",
        R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "rope_theta": 5e5})",
        R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "max_position_embeddings": 77,
            "rope_parameters": {"rope_type": "llama3", "rope_theta": 7, "factor": 8, "low_freq_factor": 1,
                                "high_freq_factor": 4, "original_max_position_embeddings": 64}})"}) {
    const ScratchDirectory scratch;
    WriteText(scratch / "config.json", SmallPublishedConfig(Json::parse(changes)).dump());
    const PretrainedConfig config = ReadPretrainedConfig(scratch.path());
    EXPECT_EQ(ArchitectureOf(config.language), config.architecture);
    WriteConfig(scratch.path(), config);
    const PretrainedConfig again = ReadPretrainedConfig(scratch.path());
    EXPECT_EQ(FieldsOf(again.language), FieldsOf(config.language)) << changes;
    EXPECT_EQ(again.architecture, config.architecture);
    EXPECT_EQ(again.positions, config.positions);
  }
}

// What transformers asks for, by its names.
TEST(PretrainedWriter, AConfigHasBothSpellings) {
  const PretrainedConfig config{.architecture = "Qwen3ForCausalLM", .language = {.rope_base = 5e5}};
  const Json json = ToJson(config, "bfloat16");
  EXPECT_EQ(json.at("model_type"), "qwen3");
  EXPECT_EQ(json.at("rope_parameters"), (Json{{"rope_type", "default"}, {"rope_theta", 5e5}}));
  EXPECT_EQ(json.at("rope_theta"), 5e5);
  EXPECT_TRUE(json.at("rope_scaling").is_null());
  EXPECT_EQ(json.at("dtype"), "bfloat16");
  EXPECT_EQ(json.at("torch_dtype"), "bfloat16");
  EXPECT_EQ(json.at("num_key_value_heads"), 2);
}

TEST(PretrainedWriter, WhatNoClassOfTransformersComputesIsRefused) {
  LanguageConfig language;
  language.attention_bias = AttentionBias::kQkv;
  EXPECT_NE(Refusal([&] { ArchitectureOf(language); }), "");
  language.qk_norm = false;
  EXPECT_EQ(ArchitectureOf(language), "Qwen2ForCausalLM");
  language.attention_bias = AttentionBias::kNone;
  EXPECT_EQ(ArchitectureOf(language), "LlamaForCausalLM");
  language.heads = 6;
  EXPECT_NE(Refusal([&] { ArchitectureOf(language); }), "");
}

// In one file and in many, of any type that holds the values.
TEST(PretrainedWriter, WhatIsWrittenIsReadBackBitForBit) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t most : {kShardBytes, std::int64_t{2000}}) {
      const PublishedFolder from(Json{{"tie_word_embeddings", false}}, type);
      const PublishedModel model(from.path());
      OpenWeights(from.path()).Fill(model.set.list(), {.count = kTableRows});
      const ScratchDirectory scratch;
      fs::copy(from / "config.json", scratch / "config.json");
      WritePretrainedWeights(scratch.path(), model.set.list(), {}, type, most);
      EXPECT_EQ(fs::exists(scratch / kPretrainedWeightsFile), most == kShardBytes);
      if (most < kShardBytes) {
        const auto index = Json::parse(ReadText(scratch / kPretrainedIndexFile));
        EXPECT_EQ(index.at("weight_map").size(), from.tensors.size());
        EXPECT_EQ(index.at("weight_map").at("model.embed_tokens.weight").get<std::string>().substr(0, 18),
                  "model-00001-of-000");
      }
      for (const auto& [name, tensor] : from.tensors)
        EXPECT_EQ(PretrainedFiles(scratch.path()).Find(name)->type, type) << name;
      const PublishedModel again(scratch.path());
      OpenWeights(scratch.path()).Fill(again.set.list(), {.count = kTableRows});
      for (std::size_t i = 0; i < model.set.list().size(); ++i) {
        const Parameter& parameter = model.set.list()[i];
        EXPECT_TRUE(again.set.list()[i].tensor.equal(parameter.tensor)) << parameter.name;
      }
    }
  }
}

}  // namespace
}  // namespace medley::test
