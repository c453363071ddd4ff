#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/model/lora_targets.h>
#include <medley/weights/peft_config.h>

#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"

namespace medley::testing_fixture {
namespace {

// As PEFT 0.21 writes it, in the middle of which stands `more`.
std::string Written(const std::string& more) {
  return R"({"alora_invocation_tokens": null, "alpha_pattern": {}, "arrow_config": null, "auto_mapping": null,
    "base_model_name_or_path": "/models/base", "bias": "none", "corda_config": null, "ensure_weight_tying": false,
    "eva_config": null, "fan_in_fan_out": false, "inference_mode": true, "init_lora_weights": true,
    "kasa_config": null, "layer_replication": null, "loftq_config": {}, "lora_bias": false, "lora_dropout": 0.05,
    "megatron_config": null, "megatron_core": "megatron.core", "modules_to_save": null, "peft_type": "LORA",
    "peft_version": "0.21.2", "qalora_group_size": 16, "rank_pattern": {}, "revision": null,
    "target_parameters": null, "task_type": "CAUSAL_LM", "use_dora": false, "use_qalora": false,
    "velora_config": null)" +
         (more.empty() ? "" : ", " + more) + "}";
}

class PeftConfigOf : public ::testing::Test {
 protected:
  PeftConfig Read(const std::string& json) {
    WriteText(scratch_ / kPeftConfigFile, json);
    return ReadPeftConfig(scratch_.path());
  }
  std::string Mistake(const std::string& json) {
    try {
      Read(json);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  std::string Taken(const std::string& json) {
    LoraTargets targets(Read(json).lora);
    std::string taken;
    for (const char* map : {"model.layers.0.self_attn.q_proj", "model.layers.0.mlp.up_proj",
                            "model.layers.1.self_attn.q_proj", "model.layers.1.mlp.up_proj"})
      taken += targets.Take(map, 64, 64) ? '1' : '0';
    return taken;
  }

 private:
  ScratchDirectory scratch_;
};

TEST_F(PeftConfigOf, PeftsOwnFileIsRead) {
  const PeftConfig config = Read(Written(R"("r": 4, "lora_alpha": 16, "target_modules": ["v_proj", "q_proj"],
    "use_rslora": true, "trainable_token_indices": [9, 3, 5])"));
  EXPECT_EQ(config.lora.rank, 4);
  EXPECT_EQ(config.lora.alpha, 16);
  EXPECT_TRUE(config.lora.rslora);
  EXPECT_EQ(config.lora.targets.names, (std::vector<std::string>{"v_proj", "q_proj"}));
  EXPECT_EQ(config.embedding_tokens, (std::vector<std::int64_t>{9, 3, 5}));
  EXPECT_EQ(config.lora.tokens, (std::vector<std::int64_t>{3, 5, 9}));
}

TEST_F(PeftConfigOf, WhatItLeavesOutHasPeftsDefaults) {
  const PeftConfig config = Read(R"({"peft_type": "LORA", "target_modules": "all-Linear"})");
  EXPECT_EQ(config.lora.rank, 8);
  EXPECT_EQ(config.lora.alpha, 8);
  EXPECT_FALSE(config.lora.rslora);
  EXPECT_EQ(config.lora.targets.pattern, kAllLinear);
  EXPECT_TRUE(config.lora.tokens.empty());
}

TEST_F(PeftConfigOf, TargetsMayBeNarrowedToLayersAndWithoutSome) {
  const auto of = [&](const std::string& more) {
    return Taken(R"({"peft_type": "LORA", "target_modules": )" + more + "}");
  };
  EXPECT_EQ(of(R"(["q_proj"], "layers_to_transform": 1)"), "0010");
  EXPECT_EQ(of(R"(["q_proj", "up_proj"], "layers_to_transform": [0], "layers_pattern": "layers")"), "1100");
  EXPECT_EQ(of(R"(["q_proj"], "layers_to_transform": [0], "layers_pattern": ["h"])"), "0000");
  EXPECT_EQ(of(R"("all-linear", "exclude_modules": ["up_proj"])"), "1010");
  EXPECT_EQ(of(R"(["q_proj", "up_proj"], "exclude_modules": "model\\.layers\\.0\\..*")"), "0011");
  EXPECT_EQ(of(R"(["q_proj", "up_proj"], "exclude_modules": ["0.mlp.up_proj"], "layers_to_transform": 0)"),
            "1000");
}

TEST_F(PeftConfigOf, RowsOfTokensMayBeNamedByTable) {
  const auto tokens = [&](const std::string& value) {
    return Read(Written(R"("target_modules": ["q_proj"], "trainable_token_indices": )" + value));
  };
  const PeftConfig both = tokens(R"({"model.embed_tokens": [7, 2], "lm_head": [2, 7]})");
  EXPECT_EQ(both.embedding_tokens, (std::vector<std::int64_t>{7, 2}));
  EXPECT_EQ(both.head_tokens, (std::vector<std::int64_t>{2, 7}));
  EXPECT_EQ(both.lora.tokens, (std::vector<std::int64_t>{2, 7}));
  EXPECT_EQ(tokens(R"({"lm_head": [4]})").lora.tokens, (std::vector<std::int64_t>{4}));
}

TEST_F(PeftConfigOf, WhatMedleysAdaptersCannotDoIsRefusedByName) {
  struct Case {
    const char *field, *value;
  };
  for (const Case& c : {Case{"use_dora", "true"},
                        {"bias", "\"all\""},
                        {"lora_bias", "true"},
                        {"rank_pattern", R"({"q_proj": 9})"},
                        {"alpha_pattern", R"({"q_proj": 9})"},
                        {"modules_to_save", R"(["lm_head"])"},
                        {"layer_replication", "[[0, 1]]"},
                        {"target_parameters", R"(["w"])"},
                        {"fan_in_fan_out", "true"},
                        {"use_qalora", "true"},
                        {"use_bdlora", R"({"nblocks": 2})"},
                        {"alora_invocation_tokens", "[1]"},
                        {"init_lora_weights", "\"pissa\""},
                        {"init_lora_weights", "\"olora\""},
                        {"something_new", "3"}}) {
    const std::string text = Mistake(R"({"peft_type": "LORA", "target_modules": ["q_proj"], ")" +
                                     std::string(c.field) + "\": " + c.value + "}");
    EXPECT_NE(text.find(c.field), std::string::npos) << c.field << ": " << text;
  }
  EXPECT_NE(Mistake(R"({"peft_type": "LOHA", "target_modules": ["q_proj"]})").find("'LOHA' is not supported"),
            std::string::npos);
  EXPECT_NE(Mistake(Written(R"("target_modules": ["q_proj"],
    "trainable_token_indices": {"embed_tokens": [1], "lm_head": [2]})"))
                .find("other tokens for lm_head"),
            std::string::npos);
}

TEST_F(PeftConfigOf, PatternsThatSayWhatAllAdaptersHaveAreRead) {
  const std::string written = Written(R"("r": 4, "lora_alpha": 12.5, "target_modules": ["q_proj"])");
  const auto patterned = [&](const std::string& rank, const std::string& alpha) {
    std::string json = written;
    json.replace(json.find(R"("rank_pattern": {})"), 18, R"("rank_pattern": )" + rank);
    json.replace(json.find(R"("alpha_pattern": {})"), 19, R"("alpha_pattern": )" + alpha);
    return Mistake(json);
  };
  EXPECT_EQ(patterned(R"({"q_proj": 4, "^model.layers.1": 4})", R"({"q_proj": 12.5})"), "");
  EXPECT_EQ(patterned("null", "{}"), "");
  for (const char* rank : {R"({"q_proj": 4, "v_proj": 2})", R"({"q_proj": "4"})", R"([4])", "4"})
    EXPECT_NE(patterned(rank, "{}").find("rank_pattern: is not supported"), std::string::npos) << rank;
  EXPECT_NE(patterned("{}", R"({"q_proj": 12})").find("or what lora_alpha says"), std::string::npos);
}

TEST_F(PeftConfigOf, AllMistakesComeAtOnce) {
  const std::string text = Mistake(R"({"peft_type": "LORA", "r": 0, "lora_alpha": "x", "use_dora": true,
    "trainable_token_indices": [1, 1]})");
  for (const char* part : {"r: expected a whole number above 0", "lora_alpha: expected a number above 0",
                           "use_dora: is not supported", "target_modules: missing", "the token 1 twice"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(PeftConfigOf, AValueOfAnotherTypeIsAMistakeAndNeverTheDefault) {
  for (const char* field : {"\"r\": null", "\"r\": false", "\"r\": []", "\"r\": 4.0", "\"lora_alpha\": null",
                            "\"lora_alpha\": \"\"", "\"use_rslora\": null", "\"use_rslora\": 0",
                            "\"use_rslora\": \"\"", "\"bias\": false", "\"bias\": {}"}) {
    const std::string key = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    const std::string text =
        Mistake(R"({"peft_type": "LORA", "target_modules": ["q_proj"], )" + std::string(field) + "}");
    EXPECT_NE(text.find(key + ": expected "), std::string::npos) << field << "\n" << text;
  }
}

TEST_F(PeftConfigOf, BeginningsThatLeaveTheBaseAloneAreRead) {
  for (const char* init : {"false", "\"gaussian\"", "\"eva\"", "\"orthogonal\""})
    EXPECT_EQ(Mistake(R"({"peft_type": "LORA", "target_modules": ["q_proj"], "init_lora_weights": )" +
                      std::string(init) + "}"),
              "");
}

TEST_F(PeftConfigOf, AFileOfAnotherKindIsRefused) {
  EXPECT_NE(Mistake("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(Mistake(std::string(300000, '[')).find("levels deep"), std::string::npos);
  EXPECT_THROW(ReadPeftConfig("/nowhere"), InputError);
}

}  // namespace
}  // namespace medley::testing_fixture
