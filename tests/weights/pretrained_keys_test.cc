#include <gtest/gtest.h>

#include <medley/base/files.h>
#include <medley/model/language_fields.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_keys.h>

#include <set>

#include "tests/weights/pretrained_folder.h"
#include "tests/words.h"

namespace medley::test {
namespace {

// What transformers takes, writes and looks at, by class: hf_keys.py collected it from versions 4 and 5.
Json KeysOfTransformers() { return Json::parse(ReadFile(MEDLEY_SOURCE_DIR "/tests/weights/hf_keys.json")); }

// The config with a value at a key, also with null.
Json With(const std::string& key, const Json& value) {
  Json config = SmallPublishedConfig();
  config[key] = value;
  return config;
}

std::string RefusalOfAll(const Json& config, const std::vector<std::string>& ignored = {}) {
  const ScratchDirectory scratch;
  WriteText(scratch / "config.json", config.dump(1));
  return Refusal([&] { ReadPretrainedConfig(scratch.path(), ignored); });
}

const std::vector<Json> kAnyValues = {nullptr,
                                      false,
                                      true,
                                      0,
                                      -1,
                                      3,
                                      0.5,
                                      2.0,
                                      1e300,
                                      "",
                                      "full",
                                      Json::array(),
                                      {"x"},
                                      Json::object(),
                                      {{"bits", 4}},
                                      std::int64_t{1} << 60};

TEST(PretrainedKeys, EveryKeyOfTransformersIsReadHarmlessOrRefused) {
  const Json known = KeysOfTransformers();
  const KeyTable table = PretrainedKeys();
  std::set<std::string> keys;
  for (const char* type : {"LlamaConfig", "Qwen2Config", "Qwen3Config"}) {
    for (const char* list : {"constructor", "written", "looked_at"}) {
      EXPECT_GT(known.at(type).at(list).size(), 20) << type << " " << list;
      for (const Json& key : known.at(type).at(list)) {
        EXPECT_TRUE(table.UseOf(key.get<std::string>())) << type << " " << list << ": " << key;
        keys.insert(key.get<std::string>());
      }
    }
  }
  EXPECT_GT(keys.size(), 100);
  EXPECT_EQ(known.at("versions").front().get<std::string>().front(), '4');
  EXPECT_EQ(known.at("versions").back().get<std::string>().front(), '5');
}

TEST(PretrainedKeys, NoKeyStandsInTwoLists) {
  for (const KeyTable& table : {PretrainedKeys(), RopeKeys()}) {
    std::set<std::string_view> names(table.harmless.begin(), table.harmless.end());
    for (const ReadKey& key : table.read) names.insert(key.name);
    for (const RefusedKey& key : table.refused) names.insert(key.name);
    EXPECT_EQ(names.size(), table.harmless.size() + table.read.size() + table.refused.size());
  }
}

// Each kind of value at each key that is read: its own kind passes or is out of bounds, every other one is
// refused by name.
TEST(PretrainedKeys, AValueOfAnotherTypeIsRefusedAndNeverTheDefault) {
  const auto fits = [](const Json& value, const ReadKey& key) {
    if (value.is_null()) return key.or_null;
    switch (key.type) {
      case KeyType::kInteger:
        return value.is_number_integer();
      case KeyType::kNumber:
        return value.is_number();
      case KeyType::kSwitch:
        return value.is_boolean();
      case KeyType::kText:
        return value.is_string();
      case KeyType::kArray:
        return value.is_array();
      case KeyType::kObject:
        return value.is_object();
    }
    return false;
  };
  for (const ReadKey& key : PretrainedKeys().read) {
    const std::string name(key.name);
    for (const Json& value : kAnyValues) {
      const std::string refusal = RefusalOfAll(With(name, value));
      if (!fits(value, key)) {
        EXPECT_TRUE(Has(refusal, ": " + name + ": ") && Has(refusal, "expected ")) << value << "\n"
                                                                                   << refusal;
      }
    }
  }
  for (const ReadKey& key : RopeKeys().read) {
    const std::string name(key.name);
    for (const Json& value : kAnyValues) {
      for (const char* place : {"rope_parameters", "rope_scaling"}) {
        if (fits(value, key)) continue;
        const std::string refusal = RefusalOfAll(With(place, {{name, value}}));
        EXPECT_TRUE(Has(refusal, std::string(place) + "." + name + ": expected ")) << value << "\n"
                                                                                   << refusal;
      }
    }
  }
}

TEST(PretrainedKeys, ARefusedKeyMayOnlySayNothing) {
  for (const RefusedKey& key : PretrainedKeys().refused) {
    const Json neutral = Json::parse(key.neutral);
    ASSERT_FALSE(neutral.empty()) << key.name;
    for (const Json& value : kAnyValues) {
      const bool says_nothing = std::find(neutral.begin(), neutral.end(), value) != neutral.end();
      const std::string refusal = RefusalOfAll(With(std::string(key.name), value));
      EXPECT_EQ(refusal.empty(), says_nothing) << key.name << " " << value << "\n" << refusal;
      if (!says_nothing) {
        EXPECT_TRUE(Has(refusal, ": " + std::string(key.name) + ": is not supported: ") &&
                    Has(refusal, "; expected " + neutral.front().dump()))
            << refusal;
      }
    }
  }
  EXPECT_EQ(RefusalOfAll(With("is_causal", true)), "");
  EXPECT_TRUE(Has(RefusalOfAll(With("is_causal", false)), "is_causal: is not supported"));
}

// But for an id of a token that the table has no row of.
TEST(PretrainedKeys, AHarmlessOneMaySayAnything) {
  for (const std::string_view key : PretrainedKeys().harmless) {
    for (const Json& value : kAnyValues) {
      if (key.ends_with("_token_id") && (value.is_number() || value.is_array())) continue;
      EXPECT_EQ(RefusalOfAll(With(std::string(key), value)), "") << key << " " << value;
    }
  }
}

TEST(PretrainedKeys, AnUnknownOneIsRefusedWhereItStandsUnlessItIsNamed) {
  const ScratchDirectory scratch;
  WriteText(scratch / "config.json",
            "{\"model_type\": \"llama\",\n  \"residual_multiplier\": 0.22, \"max_windw_layers\": 1}");
  const auto refusal = [&](const std::vector<std::string>& ignored) {
    return Refusal([&] { ReadPretrainedConfig(scratch.path(), ignored); });
  };
  EXPECT_TRUE(
      Has(refusal({}), "config.json:2:3: residual_multiplier: is no key that medley knows. It may change"))
      << refusal({});
  EXPECT_TRUE(Has(refusal({}), "did you mean 'max_window_layers'? It may")) << refusal({});
  EXPECT_TRUE(Has(refusal({}), "name it in \"ignored_keys\"")) << refusal({});
  EXPECT_FALSE(Has(refusal({"residual_multiplier"}), "residual_multiplier"));
  EXPECT_EQ(refusal({"residual_multiplier", "max_windw_layers"}), "");
}

// It has weights of its own, and no advice would help: its model file may not change.
TEST(PretrainedKeys, ARunThatHasBegunReadsWhatAnOlderMedleyRead) {
  Json config = SmallPublishedConfig();
  const ScratchDirectory scratch;
  const auto read = [&](KeysOf whose) {
    WriteText(scratch / "config.json", config.dump(1));
    return ReadPretrainedConfig(scratch.path(), {}, whose).language;
  };
  const LanguageConfig before = read(KeysOf::kUser);
  config["hidden_size"] = config.at("hidden_size").get<double>();
  config["residual_multiplier"] = 0.22;
  config["attention_bias"] = nullptr;
  config["sliding_window"] = 0;
  config["is_causal"] = nullptr;
  EXPECT_NE(Refusal([&] { read(KeysOf::kUser); }), "");
  const LanguageConfig after = read(KeysOf::kBegunRun);
  EXPECT_EQ(after.hidden, before.hidden);
  EXPECT_EQ(after.attention_bias, before.attention_bias);
  config["hidden_size"] = "16";
  EXPECT_TRUE(Has(Refusal([&] { read(KeysOf::kBegunRun); }), "hidden_size: expected a whole number"));
}

// The keys of another class say nothing.
TEST(PretrainedKeys, AnotherArchitectureIsToldAlone) {
  const std::string refusal = RefusalOfAll({{"model_type", "gemma3"}, {"query_pre_attn_scalar", 256}});
  EXPECT_TRUE(Has(refusal, "'gemma3' is not supported")) << refusal;
  EXPECT_FALSE(Has(refusal, "query_pre_attn_scalar")) << refusal;
}

// Of the keys that are refused only code of the folder's own is the user's to judge.
TEST(PretrainedKeys, WhatMedleyKnowsCannotBeIgnored) {
  const Json code = {{"AutoModelForCausalLM", "modeling_other.OtherForCausalLM"}};
  EXPECT_TRUE(
      Has(RefusalOfAll(With("auto_map", code)), "auto_map: is not supported: code of the folder's own"));
  EXPECT_EQ(RefusalOfAll(With("auto_map", code), {"auto_map"}), "");
  EXPECT_NE(RefusalOfAll(With("is_causal", false), {"is_causal"}), "");
  EXPECT_NE(RefusalOfAll(With("hidden_size", nullptr), {"hidden_size"}), "");
}

// A suggestion takes a look at every name, and a stranger's file may have a hundred thousand keys.
TEST(PretrainedKeys, OfManyUnknownKeysTheFirstHundredAreCompared) {
  Json config = SmallPublishedConfig();
  for (int i = 100; i < 400; ++i) config["max_position_embeddings" + std::to_string(i)] = i;
  const std::string refusal = RefusalOfAll(config);
  std::size_t suggestions = 0;
  for (std::size_t at = 0;
       (at = refusal.find("did you mean 'max_position_embeddings'", at)) != std::string::npos; ++at)
    ++suggestions;
  EXPECT_EQ(suggestions, 100);
  EXPECT_TRUE(Has(refusal, "max_position_embeddings399: is no key that medley knows. "));
}

TEST(PretrainedFolder, WhatChangesItsMeaningIsToldByName) {
  const PublishedFolder folder;
  EXPECT_TRUE(FolderProblems(folder.path()).empty());
  for (const char* name : {"README.md", "generation_config.json", "tokenizer.json", "modeling_other.py"})
    WriteText(folder / name, "{}");
  EXPECT_TRUE(FolderProblems(folder.path()).empty());

  WriteText(folder / "adapter_config.json", "{}");
  ASSERT_EQ(FolderProblems(folder.path()).size(), 1);
  const std::string adapters = FolderProblems(folder.path()).front();
  EXPECT_TRUE(Has(adapters, "has adapter_config.json") && Has(adapters, "\"lora\": {\"pretrained\": ") &&
              Has(adapters, "move adapter_config.json"))
      << adapters;
  EXPECT_TRUE(FolderProblems(folder.path(), folder.path()).empty()) << "they are applied";
  EXPECT_EQ(FolderProblems(folder.path(), folder.path() / "..").size(), 1) << "others are";
  std::filesystem::remove(folder / "adapter_config.json");

  for (const char* name : {"quantize_config.json", "quant_config.json", "hf_quant_config.json"}) {
    WriteText(folder / name, "{}");
    ASSERT_EQ(FolderProblems(folder.path()).size(), 1) << name;
    EXPECT_TRUE(Has(FolderProblems(folder.path()).front(), std::string("has ") + name)) << name;
    std::filesystem::remove(folder / name);
  }
}

}  // namespace
}  // namespace medley::test
