#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>
#include <medley/base/error.h>
#include <medley/base/json_reader.h>
#include <medley/model/parameter_names.h>
#include <medley/weights/peft_weights.h>
#include <medley/weights/safetensors.h>

#include <fstream>
#include <limits>

#include "tests/model/agent_fixture.h"
#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley::testing_fixture {
namespace {

const test::LetterTokenizer kTokenizer;

LoraConfig LanguageLora() {
  LoraConfig lora{.rank = 3, .alpha = 8, .targets = {.names = {"q_proj", "down_proj"}}};
  lora.tokens = {5, 40};
  return lora;
}

AgentConfig SmallLanguageConfig(bool tied) {
  AgentConfig config = test::SmallConfig();
  config.language.tied = tied;
  return config;
}

struct AdaptedLanguage {
  explicit AdaptedLanguage(const LoraConfig& lora = LanguageLora(), bool tied = true,
                           at::Device device = at::kCPU)
      : adapters(AdaptersOf(lora, &kTokenizer)),
        agent(SmallLanguageConfig(tied), kTokenizer, 7, device, nullptr, adapters) {}

  const std::vector<Parameter>& parameters() const { return std::as_const(agent).parameters(); }
  at::Tensor Named(const std::string& name) const { return TensorNamed(parameters(), name); }
  void Randomize() const {
    const at::NoGradGuard no_grad;
    at::Generator generator = at::detail::createCPUGenerator(8);
    for (const Parameter& parameter : parameters()) {
      if (IsAdapter(parameter.name)) parameter.tensor.detach().normal_(0, 0.3, generator);
    }
  }
  void Write(const std::filesystem::path& folder) const {
    WritePeft(folder, parameters(), adapters, "", "/models/base");
  }

  Adapters adapters;
  Agent agent;
};

using Tensors = std::map<std::string, at::Tensor>;

void Rewrite(const std::filesystem::path& folder, const std::function<void(Tensors&)>& change) {
  Tensors tensors = ReadSafetensors(folder / kPeftWeightsFile);
  change(tensors);
  std::vector<Parameter> list;
  for (const auto& [name, tensor] : tensors) list.push_back({name, tensor});
  std::ofstream file(folder / kPeftWeightsFile, std::ios::binary);
  WriteSafetensors(list, {}, [&](const void* data, std::size_t size) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  });
}

std::string FolderMistake(const std::filesystem::path& folder, const AdaptedLanguage& adapted) {
  try {
    PeftWeights(folder, "", adapted.adapters, adapted.parameters());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PeftWeights, WhatIsWrittenIsReadBack) {
  for (const bool tied : {true, false}) {
    const ScratchDirectory scratch;
    const AdaptedLanguage written(LanguageLora(), tied), shapes(LanguageLora(), tied, at::kMeta),
        read(LanguageLora(), tied);
    written.Randomize();
    written.Write(scratch.path());
    const PeftConfig config = ReadPeftConfig(scratch.path());
    EXPECT_EQ(config.lora.rank, 3);
    EXPECT_EQ(config.lora.alpha, 8);
    EXPECT_EQ(config.lora.targets, LanguageLora().targets);
    EXPECT_EQ(config.lora.tokens, LanguageLora().tokens);
    const PeftWeights weights(scratch.path(), "", read.adapters, shapes.parameters());
    weights.Fill(read.parameters());
    for (const Parameter& parameter : read.parameters()) {
      if (!IsAdapter(parameter.name)) continue;
      EXPECT_LT(test::LargestDifference(parameter.tensor, written.Named(parameter.name)), 1e-6)
          << parameter.name;
    }
  }
}

TEST(PeftWeights, AValueThatIsNotFiniteIsRefusedWithItsPlace) {
  const AdaptedLanguage adapted;
  const ScratchDirectory scratch;
  adapted.Randomize();
  adapted.Write(scratch.path());
  const Tensors whole = ReadSafetensors(scratch / kPeftWeightsFile);
  for (const auto& [name, tensor] : whole) {
    Rewrite(scratch.path(), [&](Tensors& tensors) {
      tensors = whole;
      tensors[name] = tensor.clone();
      tensors[name][1][2] = std::numeric_limits<double>::infinity();
    });
    const PeftWeights weights(scratch.path(), "", adapted.adapters, adapted.parameters());
    const std::string words = test::MessageOf<InputError>([&] { weights.Fill(adapted.parameters()); });
    EXPECT_TRUE(test::Has(words, "the tensor '" + name + "' has 1 of ") &&
                test::Has(words, "the first at [1, 2]"))
        << words;
  }
}

// Elsewhere a token that the run filled, and did not train, has another row.
TEST(PeftWeights, RowsThatAreOnlyFilledGoAlong) {
  for (const bool trained : {true, false}) {
    for (const bool tied : {true, false}) {
      const ScratchDirectory scratch;
      LoraConfig lora = LanguageLora();
      if (!trained) lora.tokens = {}, lora.new_tokens = false;
      const AdaptedLanguage adapted(lora, tied);
      adapted.Randomize();
      WritePeft(scratch.path(), adapted.parameters(), adapted.adapters, "", "", {40, 7});
      const std::vector<std::int64_t> tokens =
          trained ? std::vector<std::int64_t>{5, 7, 40} : std::vector<std::int64_t>{7, 40};
      const PeftConfig config = ReadPeftConfig(scratch.path());
      EXPECT_EQ(config.embedding_tokens, tokens);
      EXPECT_EQ(config.head_tokens, tied ? std::vector<std::int64_t>{} : tokens);
      const Tensors tensors = ReadSafetensors(scratch / kPeftWeightsFile);
      for (const char* table : {"model.embed_tokens", "lm_head"}) {
        const auto rows =
            tensors.find("base_model.model." + std::string(table) + ".token_adapter.trainable_tokens_delta");
        ASSERT_EQ(rows != tensors.end(), !tied || std::string(table) != "lm_head");
        if (rows == tensors.end()) continue;
        at::Tensor whole = adapted.Named(std::string(table) + ".weight").detach().clone();
        const at::Tensor changes = adapted.Named(std::string(table) + ".row_changes");
        for (std::size_t i = 0; i < adapted.adapters.tokens.size(); ++i)
          whole[adapted.adapters.tokens[i]] += changes[static_cast<std::int64_t>(i)].detach();
        EXPECT_LT(test::LargestDifference(rows->second, whole.index_select(0, at::tensor(tokens))), 1e-6)
            << table;
      }
    }
  }
}

TEST(PeftWeights, AreWrittenUnderPeftsNamesInFloat) {
  const ScratchDirectory scratch;
  AdaptedLanguage adapted;
  adapted.agent.To(at::kCPU, at::kDouble);
  adapted.Randomize();
  adapted.Write(scratch.path());
  const Tensors tensors = ReadSafetensors(scratch / kPeftWeightsFile);
  ASSERT_EQ(tensors.size(), 9U);  // 2 layers, 2 maps, 2 matrices; rows
  const at::Tensor& a = tensors.at("base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(a.sizes(), (at::IntArrayRef{3, 16}));
  EXPECT_EQ(a.scalar_type(), at::kFloat);
  // Not how far the rows are from the table's: the rows.
  const at::Tensor expected =
      adapted.Named("model.embed_tokens.weight")[40] + adapted.Named("model.embed_tokens.row_changes")[1];
  const at::Tensor& rows =
      tensors.at("base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta");
  EXPECT_LT(test::LargestDifference(rows[1], expected), 1e-6);
  const auto json = ReadJson(ReadText(scratch / kPeftConfigFile), "config");
  EXPECT_EQ(json.at("base_model_name_or_path"), "/models/base");
  EXPECT_EQ(json.at("trainable_token_indices"), (std::vector<int>{5, 40}));
}

TEST(PeftWeights, TargetsOfOneTextAreWrittenOut) {
  const auto written = [](const std::string& pattern) {
    const ScratchDirectory scratch;
    LoraConfig lora = LanguageLora();
    lora.targets = {.names = {}, .pattern = pattern};
    AdaptedLanguage(lora).Write(scratch.path());
    return ReadPeftConfig(scratch.path()).lora.targets.names;
  };
  EXPECT_EQ(written(R"(.*\.1\..*\.[qk]_proj)"),
            (std::vector<std::string>{"model.layers.1.self_attn.k_proj", "model.layers.1.self_attn.q_proj"}));
  EXPECT_EQ(written(kAllLinear), (std::vector<std::string>{"down_proj", "gate_proj", "k_proj", "o_proj",
                                                           "q_proj", "up_proj", "v_proj"}));
}

TEST(PeftWeights, RowsAreInTheOrderOfTheFoldersConfig) {
  const ScratchDirectory scratch;
  const AdaptedLanguage written, read;
  written.Randomize();
  written.Write(scratch.path());
  Rewrite(scratch.path(), [](Tensors& tensors) {
    at::Tensor& rows = tensors.at("base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta");
    rows = rows.flip(0).to(at::kBFloat16).to(at::kFloat);
  });
  WriteText(scratch / kPeftConfigFile, R"({"peft_type": "LORA", "r": 3, "lora_alpha": 8,
    "target_modules": ["q_proj", "down_proj"], "trainable_token_indices": [40, 5]})");
  PeftWeights(scratch.path(), "", read.adapters, read.parameters()).Fill(read.parameters());
  EXPECT_LT(test::LargestDifference(read.Named("model.embed_tokens.row_changes"),
                                    written.Named("model.embed_tokens.row_changes")),
            0.01);
}

TEST(PeftWeights, RowsOfATokenThatTheRunDoesNotTrainAreRefused) {
  const ScratchDirectory scratch;
  const AdaptedLanguage written, read;
  written.Write(scratch.path());
  WriteText(scratch / kPeftConfigFile, R"({"peft_type": "LORA", "r": 3, "lora_alpha": 8,
    "target_modules": ["q_proj", "down_proj"], "trainable_token_indices": [6, 40]})");
  try {
    PeftWeights(scratch.path(), "", read.adapters, read.parameters());
    FAIL() << "expected an InputError";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("has a row of token 6, which the run does not train"),
              std::string::npos)
        << error.what();
  }
}

TEST(PeftWeights, HalfTypesAreWidened) {
  const ScratchDirectory scratch;
  const AdaptedLanguage written, read;
  written.Randomize();
  written.Write(scratch.path());
  Rewrite(scratch.path(), [](Tensors& tensors) {
    bool half = false;
    for (auto& [name, tensor] : tensors) tensor = tensor.to((half = !half) ? at::kHalf : at::kBFloat16);
  });
  PeftWeights(scratch.path(), "", read.adapters, read.parameters()).Fill(read.parameters());
  const std::string name = "model.layers.0.mlp.down_proj.lora_B.weight";
  EXPECT_LT(test::LargestDifference(read.Named(name), written.Named(name)), 0.01);
}

TEST(PeftWeights, EverythingThatDoesNotFitIsNamedAtOnce) {
  const ScratchDirectory scratch;
  const AdaptedLanguage adapted;
  adapted.Write(scratch.path());
  Rewrite(scratch.path(), [](Tensors& tensors) {
    tensors.erase("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
    tensors.at("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight") = at::zeros({24, 2});
    tensors.at("base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight") =
        at::zeros({24, 3}, at::kLong);
    tensors["base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight"] = at::zeros({3, 16});
  });
  const std::string text = FolderMistake(scratch.path(), adapted);
  for (const char* part :
       {"4 problems", "layers.0.self_attn.q_proj.lora_A.weight: missing; expected F32 [3, 16]",
        "layers.0.self_attn.q_proj.lora_B.weight: expected F32 [24, 3] (or BF16, F16), found F32 [24, 2]",
        "layers.1.self_attn.q_proj.lora_B.weight: expected F32 [24, 3] (or BF16, F16), found I64 [24, 3]",
        "layers.0.self_attn.k_proj.lora_A.weight: unexpected"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

// As PEFT saves it where the vocabulary was resized.
TEST(PeftWeights, AWholeTableInTheFolderIsRefused) {
  const ScratchDirectory scratch;
  const AdaptedLanguage adapted;
  adapted.Write(scratch.path());
  Rewrite(scratch.path(), [](Tensors& tensors) {
    tensors["base_model.model.model.embed_tokens.weight"] = at::zeros({135, 16});
  });
  EXPECT_NE(FolderMistake(scratch.path(), adapted).find("embed_tokens.weight: unexpected"),
            std::string::npos);
}

TEST(PeftWeights, RowsOfAHeadThatIsTiedAreRefused) {
  const ScratchDirectory scratch;
  AdaptedLanguage(LanguageLora(), /*tied=*/false).Write(scratch.path());
  EXPECT_NE(FolderMistake(scratch.path(), AdaptedLanguage())
                .find("lm_head.token_adapter.trainable_tokens_delta: unexpected"),
            std::string::npos);
}

}  // namespace
}  // namespace medley::testing_fixture
