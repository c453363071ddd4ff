#include <gtest/gtest.h>

#include <medley/model/language_fields.h>

#include "tests/weights/pretrained_folder.h"
#include "tests/words.h"

namespace medley::test {
namespace {

namespace fs = std::filesystem;

PretrainedConfig Read(const Json& config) {
  const ScratchDirectory scratch;
  WriteText(scratch / "config.json", config.dump(1));
  return ReadPretrainedConfig(scratch.path());
}

std::string RefusalOf(const Json& changes) {
  return Refusal([&] { Read(SmallPublishedConfig(changes)); });
}

TEST(PretrainedConfig, ReadsBothSpellingsAlike) {
  const PretrainedConfig now = Read(SmallPublishedConfig(
      {{"rope_parameters", {{"rope_theta", 5e5}, {"rope_type", "default"}}}, {"dtype", "bfloat16"}}));
  const PretrainedConfig before = Read(
      SmallPublishedConfig({{"rope_theta", 5e5}, {"rope_scaling", nullptr}, {"torch_dtype", "bfloat16"}}));
  EXPECT_EQ(FieldsOf(now.language), FieldsOf(before.language));
  EXPECT_EQ(now.language.rope_base, 5e5);
  EXPECT_EQ(now.language.head_dim, 6);
  EXPECT_TRUE(now.language.tied);
  EXPECT_EQ(now.architecture, "Qwen3ForCausalLM");
}

TEST(PretrainedConfig, AbsentFieldsHaveTheDefaultsOfTheirClass) {
  const PretrainedConfig qwen3 =
      Read({{"model_type", "qwen3"}, {"hidden_size", 1024}, {"num_attention_heads", 64}});
  EXPECT_EQ(qwen3.language.head_dim, 128);
  EXPECT_EQ(qwen3.language.kv_heads, 32);
  EXPECT_EQ(qwen3.language.vocabulary, 151936);
  EXPECT_EQ(qwen3.language.ffn, 22016);
  EXPECT_EQ(qwen3.language.layers, 32);
  EXPECT_EQ(qwen3.language.rope_base, 1e4);
  EXPECT_EQ(qwen3.language.rms_epsilon, 1e-6);
  EXPECT_EQ(qwen3.positions, 32768);
  EXPECT_FALSE(qwen3.language.tied);
  EXPECT_TRUE(qwen3.language.qk_norm);
  EXPECT_EQ(qwen3.language.attention_bias, AttentionBias::kNone);

  const PretrainedConfig qwen2 =
      Read({{"model_type", "qwen2"}, {"hidden_size", 1024}, {"num_attention_heads", 64}});
  EXPECT_EQ(qwen2.language.head_dim, 16);
  EXPECT_EQ(qwen2.language.kv_heads, 32);
  EXPECT_FALSE(qwen2.language.qk_norm);
  EXPECT_EQ(qwen2.language.attention_bias, AttentionBias::kQkv);

  const PretrainedConfig llama =
      Read({{"model_type", "llama"}, {"hidden_size", 64}, {"num_attention_heads", 4}});
  EXPECT_EQ(llama.language.head_dim, 16);
  EXPECT_EQ(llama.language.kv_heads, 4);
  EXPECT_EQ(llama.language.vocabulary, 32000);
  EXPECT_EQ(llama.language.ffn, 11008);
  EXPECT_EQ(llama.positions, 2048);
  EXPECT_EQ(llama.language.attention_bias, AttentionBias::kNone);
}

TEST(PretrainedConfig, AnIdOfASpecialTokenWithoutARowIsRefusedByItsKey) {
  const std::string rows = std::to_string(Read(SmallPublishedConfig()).language.vocabulary);
  const std::int64_t first = std::stoll(rows);
  for (const char* key : {"pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"}) {
    for (const Json& good : {Json(nullptr), Json(-1), Json(first - 1), Json({0, first - 1})})
      EXPECT_EQ(RefusalOf({{key, good}}), "") << key << good;
    for (const Json& bad : {Json(first), Json({0, first + 7}), Json(1e300)}) {
      const std::string refusal = RefusalOf({{key, bad}});
      EXPECT_TRUE(Has(refusal, "config.json:") && Has(refusal, std::string(key) + ": expected an id below " +
                                                                   rows + ", the rows of the embedding"))
          << refusal;
    }
  }
  const ScratchDirectory scratch;
  WriteText(scratch / "config.json", SmallPublishedConfig().dump());
  WriteText(scratch / "generation_config.json",
            Json{{"top_k", 1 << 20}, {"eos_token_id", {1, first}}}.dump(1));
  const std::string refusal = Refusal([&] { ReadPretrainedConfig(scratch.path()); });
  EXPECT_TRUE(Has(refusal, "generation_config.json:") && Has(refusal, "eos_token_id: expected an id below"))
      << refusal;
  EXPECT_EQ(Refusal([&] { ReadPretrainedConfig(scratch.path(), {"eos_token_id"}); }), "")
      << "who knows better";
  EXPECT_EQ(Refusal([&] { ReadPretrainedConfig(scratch.path(), {}, KeysOf::kBegunRun); }), "");
  WriteText(scratch / "generation_config.json", "no JSON");
  EXPECT_EQ(Refusal([&] { ReadPretrainedConfig(scratch.path()); }), "") << "it is others'";
}

// Of the class that is not said to have as many as it has heads.
TEST(PretrainedConfig, KeyHeadsThatDoNotDivideTheHeadsAreRefusedByName) {
  const std::string given = RefusalOf({{"num_key_value_heads", 3}});
  EXPECT_TRUE(Has(given, "num_key_value_heads: expected a divisor of num_attention_heads (4), found 3"))
      << given;
  EXPECT_TRUE(Has(given, "config.json:9:")) << given;
  for (const auto& [type, name] : {std::pair{"qwen3", "Qwen3ForCausalLM"}, {"qwen2", "Qwen2ForCausalLM"}}) {
    const std::string absent = Refusal([&, of = type] {
      Read({{"model_type", of}, {"num_attention_heads", 16}});
    });
    EXPECT_TRUE(Has(absent, std::string("(16), found 32, which ") + name + " has where nothing is said"))
        << absent;
  }
  EXPECT_EQ(Refusal([] { Read({{"model_type", "llama"}, {"num_attention_heads", 16}}); }), "");
}

TEST(PretrainedConfig, ANullOfKeyHeadsIsTheNumberOfHeadsInEveryClass) {
  for (const char* type : {"qwen3", "qwen2", "llama"}) {
    const auto config = Json::parse(std::string(R"({"model_type": ")") + type +
                                    R"(", "num_attention_heads": 6, "num_key_value_heads": null})");
    EXPECT_EQ(Read(config).language.kv_heads, 6) << type;
  }
}

TEST(PretrainedConfig, AttentionBiasCoversTheOutputToo) {
  EXPECT_EQ(Read(SmallPublishedConfig({{"attention_bias", true}})).language.attention_bias,
            AttentionBias::kQkvo);
  // The class has no such field: transformers ignores it.
  EXPECT_EQ(Read({{"model_type", "qwen2"}, {"attention_bias", false}}).language.attention_bias,
            AttentionBias::kQkv);
}

TEST(PretrainedConfig, LlamaFactorsAreReadWhereverTheyStand) {
  const Json factors = {{"factor", 8.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}};
  Json now = factors, before = factors;
  now["rope_type"] = "llama3", now["rope_theta"] = 5e5, now["original_max_position_embeddings"] = 64;
  before["type"] = "llama3", before["original_max_position_embeddings"] = 64;
  const auto read = [](const Json& more) {
    Json config = {{"model_type", "llama"}, {"max_position_embeddings", 512}};
    config.update(more);
    return Read(config).language;
  };
  const LanguageConfig a = read({{"rope_parameters", now}}),
                       b = read({{"rope_scaling", before}, {"rope_theta", 5e5}});
  EXPECT_EQ(FieldsOf(a), FieldsOf(b));
  EXPECT_EQ(a.rope_scaling.factor, 8);
  EXPECT_EQ(a.rope_scaling.original_positions, 64);
  before.erase("original_max_position_embeddings");
  EXPECT_EQ(read({{"rope_scaling", before}}).rope_scaling.original_positions, 512);
  before.erase("low_freq_factor");
  EXPECT_TRUE(Has(Refusal([&] { read({{"rope_scaling", before}}); }), "has no low_freq_factor"));
}

TEST(PretrainedConfig, ASlidingWindowThatNoLayerUsesIsNone) {
  for (const char* changes :
       {R"({"use_sliding_window": false, "sliding_window": 4, "max_window_layers": 1})",
        R"({"use_sliding_window": true, "sliding_window": 4, "max_window_layers": 2})",
        R"({"use_sliding_window": true, "sliding_window": 4, "max_window_layers": 1,
            "layer_types": ["full_attention", "full_attention"]})",
        R"({"use_sliding_window": false, "sliding_window": 4, "max_window_layers": 0})"})
    EXPECT_EQ(RefusalOf(Json::parse(changes)), "") << changes;
  // Written, as merge_patch would take the null away.
  Json config = SmallPublishedConfig({{"use_sliding_window", true}, {"max_window_layers", 1}});
  config["sliding_window"] = nullptr;
  EXPECT_EQ(Refusal([&] { Read(config); }), "");
}

// Where a class has a number of its own as its default, null is none.
TEST(PretrainedConfig, ANullIsTheDefaultOnlyWhereItIsTheClassesOwn) {
  const auto read = [](const char* type, const char* more) {
    return Read(
        Json::parse(std::string(R"({"hidden_size": 512, "num_attention_heads": 32, "model_type": ")") + type +
                    "\", " + more + "}"));
  };
  const char* null_width = R"("head_dim": null, "layer_types": null, "rope_scaling": null)";
  EXPECT_EQ(read("llama", null_width).language.head_dim, 16);
  EXPECT_EQ(read("qwen2", null_width).language.head_dim, 16);
  EXPECT_TRUE(Has(Refusal([&] { read("qwen3", null_width); }), "head_dim: expected a whole number"));
}

TEST(PretrainedConfig, WhatALanguageCannotDoIsRefusedByName) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"use_sliding_window": true, "sliding_window": 4, "max_window_layers": 1})",
       "use_sliding_window: sliding attention is not supported"},
      {R"({"layer_types": ["full_attention", "sliding_attention"]})", "sliding attention is not supported"},
      {R"({"layer_types": ["full_attention"]})",
       "layer_types: expected one for each of the 2 layers, found 1"},
      {R"({"layer_types": []})", "layer_types: expected one for each of the 2 layers, found 0"},
      {R"({"layer_types": ["full_attention", "full_attention", "full_attention"]})", "found 3"},
      {R"({"use_sliding_window": true, "max_window_layers": 0})", "sliding attention is not supported"},
      {R"({"use_sliding_window": true, "max_window_layers": 1.5})",
       "max_window_layers: expected a whole number of at least 0"},
      {R"({"use_sliding_window": 1})", "use_sliding_window: expected true or false, found 1"},
      {R"({"hidden_size": 16.0})", "hidden_size: expected a whole number of at least 1"},
      {R"({"rope_theta": "1e6"})", "rope_theta: expected a number above 0"},
      {R"({"architectures": "Qwen3ForCausalLM"})", "architectures: expected an array or null"},
      {R"({"architectures": [7]})", "architectures.0: expected a text, found 7"},
      {R"({"rope_scaling": {"type": "yarn", "factor": 4.0}})", "the rope type 'yarn' is not supported"},
      {R"({"rope_parameters": {"rope_type": "linear", "factor": 4.0}})", "'linear' is not supported"},
      {R"({"rope_parameters": {"full_attention": {"rope_theta": 1e6}}})",
       "full_attention: is no key that medley knows"},
      {R"({"partial_rotary_factor": 0.5})", "partial rotary positions are not supported"},
      {R"({"rope_parameters": {"partial_rotary_factor": 0.5}})", "partial rotary positions"},
      {R"({"mlp_bias": true})", "mlp_bias: is not supported"},
      {R"({"hidden_act": "gelu"})", "hidden_act: 'gelu' is not supported; medley has silu"},
      {R"({"attention_dropout": 0.1})",
       "attention_dropout: is not supported: medley drops none of attention's weights; expected 0, found "
       "0.1"},
      {R"({"quantization_config": {"bits": 4}})", "quantization_config: is not supported"},
      {R"({"model_type": "mistral"})",
       "model_type: 'mistral' is not supported; medley reads Qwen3ForCausalLM, Qwen2ForCausalLM, "
       "LlamaForCausalLM"},
      {R"({"architectures": ["Qwen3MoeForCausalLM"]})", "'Qwen3MoeForCausalLM' is not supported"},
      {R"({"architectures": ["Qwen3ForSequenceClassification"]})", "is not supported; medley reads"},
      {R"({"architectures": ["LlamaForCausalLM"]})", "expected Qwen3ForCausalLM"},
      {R"({"model_type": null})", "model_type: not there"},
      {R"({"hidden_size": 0})", "hidden_size: expected a whole number of at least 1"},
      {R"({"num_hidden_layers": 1e9})", "num_hidden_layers: expected a whole number"},
      {R"({"head_dim": "wide"})", "head_dim: expected a whole number"},
      {R"({"tie_word_embeddings": 1})", "tie_word_embeddings: expected true or false, found 1"},
      {R"({"rms_norm_eps": -1})", "rms_norm_eps: expected a number above 0"}};
  for (const auto& [changes, words] : cases)
    EXPECT_TRUE(Has(RefusalOf(Json::parse(changes)), words)) << changes << "\n"
                                                             << RefusalOf(Json::parse(changes));
}

TEST(PretrainedConfig, EveryProblemIsInOneMessage) {
  const std::string refusal = RefusalOf({{"mlp_bias", true}, {"hidden_act", "relu"}, {"hidden_size", -4}});
  EXPECT_TRUE(Has(refusal, "3 mistakes") && Has(refusal, "mlp_bias") && Has(refusal, "'relu'") &&
              Has(refusal, "hidden_size"))
      << refusal;
}

TEST(PretrainedConfig, AFolderWithoutOneIsRefusedAndSoIsABomb) {
  const ScratchDirectory scratch;
  const auto refusal = [&] { return Refusal([&] { ReadPretrainedConfig(scratch.path()); }); };
  EXPECT_TRUE(Has(refusal(), "config.json"));
  const std::string nested(300'000, '[');
  for (const std::string& text :
       {R"({"model_type": )" + nested, nested, std::string("[]"), std::string("{")}) {
    WriteText(scratch / "config.json", text);
    EXPECT_TRUE(Has(refusal(), "config.json")) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace medley::test
