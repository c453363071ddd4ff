#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>
#include <medley/memory/cpu_allocator.h>

#include <cmath>

#include "tests/weights/pretrained_folder.h"
#include "tests/words.h"

namespace medley::test {
namespace {

namespace fs = std::filesystem;

// What is in a folder, as a model has it afterwards.
Tensors Filled(const fs::path& folder, std::int64_t rows = kTableRows,
               const PretrainedWeights::Tokens& tokens = {.count = kTableRows},
               std::vector<std::string> allow_missing = {}) {
  const PretrainedWeights weights = OpenWeights(folder, rows, std::move(allow_missing));
  const PublishedModel model(folder, rows, at::kCPU, &weights.given());
  weights.Fill(model.set.list(), tokens);
  Tensors filled;
  for (const Parameter& parameter : model.set.list()) filled[parameter.name] = parameter.tensor.detach();
  return filled;
}

void ExpectIn(const Tensors& filled, const Tensors& expected) {
  for (const auto& [name, tensor] : expected)
    EXPECT_TRUE(filled.at(name).equal(tensor.to(at::kFloat))) << name;
}

TEST(PretrainedWeights, AreReadInEveryTypeAndFromShards) {
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const PublishedFolder folder(Json::object(), dtype);
    ExpectIn(Filled(folder.path()), folder.tensors);
    folder.WriteShards();
    ExpectIn(Filled(folder.path()), folder.tensors);
  }
}

TEST(PretrainedWeights, OfEveryArchitectureAndUntied) {
  for (const char* changes : {R"({"tie_word_embeddings": false})", R"({"attention_bias": true})",
                              R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]})",
                              R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"]})"}) {
    const PublishedFolder folder(Json::parse(changes));
    ExpectIn(Filled(folder.path()), folder.tensors);
  }
}

// As the cache of huggingface_hub has it.
TEST(PretrainedWeights, AreFoundBehindLinks) {
  const PublishedFolder folder;
  folder.WriteShards();
  const ScratchDirectory cache;
  fs::create_directories(cache / "blobs");
  fs::create_directories(cache / "snapshots/1");
  int blob = 0;
  for (const auto& file : fs::directory_iterator(folder.path())) {
    const std::string name = std::to_string(blob++);
    fs::copy(file.path(), cache / "blobs" / name);
    fs::create_symlink(fs::path("../../blobs") / name, cache / "snapshots/1" / file.path().filename());
  }
  ExpectIn(Filled(cache / "snapshots/1"), folder.tensors);
}

TEST(PretrainedWeights, AValueThatIsNotFiniteIsRefusedWithItsPlace) {
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      for (const std::string name : {"model.embed_tokens.weight", "model.layers.0.mlp.down_proj.weight"}) {
        PublishedFolder folder(Json::object(), dtype);
        at::Tensor& tensor = folder.tensors.at(name);
        tensor[3][1] = value;
        tensor[tensor.size(0) - 1][0] = value;
        folder.Write();
        folder.WriteShards();
        const std::string refusal = Refusal([&] { Filled(folder.path()); });
        EXPECT_TRUE(Has(refusal, ".safetensors: the tensor '" + name + "' has 2 of ") &&
                    Has(refusal, "NaN or infinity, the first at [3, 1]"))
            << refusal;
      }
    }
  }
}

TEST(PretrainedWeights, WhatDoesNotFitIsInOneMessage) {
  PublishedFolder folder;
  folder.tensors.erase("model.norm.weight");
  folder.tensors["model.layers.0.mlp.up_proj.weight"] = at::zeros({24, 15});
  folder.tensors["model.layers.0.mlp.down_proj.weight"] = at::zeros({16, 24}, at::kDouble);
  folder.tensors["model.layers.7.mlp.up_proj.weight"] = at::zeros({24, 16});
  folder.Write();
  const std::string refusal = Refusal([&] { OpenWeights(folder.path()); });
  for (const char* words :
       {"4 problems", "model.norm.weight: missing; expected F32 [16]",
        "model.layers.0.mlp.up_proj.weight: expected F32 [24, 16] (or BF16, F16), found F32 [24, 15]",
        "model.layers.0.mlp.down_proj.weight: expected F32 [16, 24] (or BF16, F16), found F64 [16, 24]",
        "model.layers.7.mlp.up_proj.weight: unexpected"})
    EXPECT_TRUE(Has(refusal, words)) << words << "\n" << refusal;
}

TEST(PretrainedWeights, ARepeatedHeadMustBeTheEmbedding) {
  PublishedFolder folder;
  folder.tensors["lm_head.weight"] = folder.tensors.at("model.embed_tokens.weight").clone();
  folder.Write();
  EXPECT_EQ(Refusal([&] { OpenWeights(folder.path()); }), "");
  folder.tensors["lm_head.weight"][3][4] += 1;
  folder.Write();
  EXPECT_TRUE(Has(Refusal([&] { OpenWeights(folder.path()); }),
                  "lm_head.weight: differs from model.embed_tokens.weight"));
}

// What names are where the body was saved without its head.
std::string OfTheBody(const std::string& name) {
  return name.starts_with("model.") ? name.substr(std::string("model.").size()) : name;
}

// As Qwen3-Embedding is published.
TEST(PretrainedWeights, NamesOfAFolderOfTheBodyAlone) {
  for (const bool sharded : {false, true}) {
    PublishedFolder folder;
    const Tensors expected = folder.tensors;
    folder.tensors.clear();
    for (const auto& [name, tensor] : expected) folder.tensors[OfTheBody(name)] = tensor;
    sharded ? folder.WriteShards() : folder.Write();
    ExpectIn(Filled(folder.path()), expected);
  }
}

TEST(PretrainedWeights, WhatIsWrongInSuchAFolderHasTheNameInItsFile) {
  PublishedFolder folder;
  const at::Tensor norm = folder.tensors.at("model.norm.weight");
  folder.tensors["norm.weight"] = norm + 1;  // and the other, too
  folder.Write();
  EXPECT_TRUE(Has(Refusal([&] { OpenWeights(folder.path()); }),
                  "norm.weight: it is in model.safetensors as model.norm.weight and in model.safetensors"));
  folder.tensors.erase("model.norm.weight");
  folder.tensors["layers.5.mlp.up_proj.weight"] = at::zeros({24, 16});
  folder.tensors["score.weight"] = at::zeros({2, 16});
  folder.Write();
  const std::string refusal = Refusal([&] { OpenWeights(folder.path()); });
  EXPECT_TRUE(Has(refusal, "2 problems") && Has(refusal, "\n  layers.5.mlp.up_proj.weight: unexpected") &&
              Has(refusal, "\n  score.weight: unexpected"))
      << refusal;
}

TEST(PretrainedWeights, WhatMayBeUnexpectedIsLeftAsideAndNamed) {
  PublishedFolder folder;
  const Tensors expected = folder.tensors;
  folder.tensors.clear();
  for (const auto& [name, tensor] : expected) folder.tensors[OfTheBody(name)] = tensor;
  folder.tensors["score.weight"] = at::zeros({2, 16});
  folder.tensors["layers.5.mlp.up_proj.weight"] = at::zeros({24, 16}, at::kDouble);
  folder.Write();
  const auto open = [&](std::vector<std::string> patterns) {
    return OpenWeights(folder.path(), kTableRows, {}, std::move(patterns));
  };
  EXPECT_TRUE(Has(Refusal([&] { open({"score.*"}); }), "layers.5.mlp.up_proj.weight: unexpected"));
  EXPECT_TRUE(Has(Refusal([&] {
                    open({"score.*", "*layers.5.*", "*.q_proj.*"});
                  }),
                  "allow_unexpected: no tensor that the model lacks matches '*.q_proj.*'"));
  const PretrainedWeights weights = open({"score.*", "model.layers.5.*"});
  EXPECT_TRUE(Has(weights.Words(), "; left aside: 2 tensors (layers.5.mlp.up_proj.weight, score.weight)"))
      << weights.Words();
  const PublishedModel model(folder.path(), kTableRows, at::kCPU, &weights.given());
  weights.Fill(model.set.list(), {.count = kTableRows});
  for (const Parameter& parameter : model.set.list()) {
    if (const auto found = expected.find(parameter.name); found != expected.end()) {
      EXPECT_TRUE(parameter.tensor.equal(found->second.to(at::kFloat))) << parameter.name;
    }
  }
}

// Its values are the embedding's or they are not: no pattern makes that one's of no matter.
TEST(PretrainedWeights, ATiedHeadThatDiffersIsNotOneOfThose) {
  PublishedFolder folder;
  folder.tensors["lm_head.weight"] = folder.tensors.at("model.embed_tokens.weight") + 1;
  folder.Write();
  EXPECT_TRUE(Has(Refusal([&] { OpenWeights(folder.path(), kTableRows, {}, {"lm_head.*"}); }),
                  "lm_head.weight: differs from model.embed_tokens.weight"));
}

TEST(PretrainedWeights, AHeadThatSuchAFolderLacksIsNamedWithItsRemedy) {
  PublishedFolder folder(Json{{"tie_word_embeddings", false}});
  folder.tensors.erase("lm_head.weight");
  folder.Write();
  const std::string refusal = Refusal([&] { OpenWeights(folder.path()); });
  EXPECT_TRUE(
      Has(refusal, "lm_head.weight: missing; expected F32 [40, 16]; \"allow_missing\": [\"lm_head.*\"]"))
      << refusal;
  EXPECT_EQ(Refusal([&] { OpenWeights(folder.path(), kTableRows, {"lm_head.*"}); }), "");
}

TEST(PretrainedWeights, AnglesThatOlderFoldersStoreAreLeftAside) {
  PublishedFolder folder;
  const Tensors expected = folder.tensors;
  for (const char* name : {"model.layers.0.self_attn.rotary_emb.inv_freq",
                           "layers.1.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"})
    folder.tensors[name] = at::full({3}, 7, at::kDouble);
  folder.Write();
  ExpectIn(Filled(folder.path()), expected);
  folder.WriteShards();
  ExpectIn(Filled(folder.path()), expected);
  folder.tensors["model.layers.0.self_attn.rotary_emb.cos_cached"] = at::zeros({3});
  folder.Write();
  EXPECT_TRUE(Has(Refusal([&] { OpenWeights(folder.path()); }), "rotary_emb.cos_cached: unexpected"));
}

TEST(PretrainedWeights, WhatMayBeMissingBeginsAnewAndIsNamed) {
  PublishedFolder folder;
  folder.tensors.erase("model.layers.1.mlp.up_proj.weight");
  folder.Write();
  EXPECT_TRUE(Has(Refusal([&] { OpenWeights(folder.path(), kTableRows, {"*.q_proj.*"}); }),
                  "model.layers.1.mlp.up_proj.weight: missing"));
  EXPECT_TRUE(Has(Refusal([&] {
                    OpenWeights(folder.path(), kTableRows, {"*up_proj*", "nothing*"});
                  }),
                  "no parameter of the model matches 'nothing*'"));
  EXPECT_TRUE(Has(OpenWeights(folder.path(), kTableRows, {"*up_proj*"}).Words(),
                  "2 parameters (img_enc.weight, model.layers.1.mlp.up_proj.weight) begin anew"));
  const Tensors filled = Filled(folder.path(), kTableRows, {.count = kTableRows}, {"*up_proj*"});
  ExpectIn(filled, folder.tensors);
  const PublishedModel fresh(folder.path());
  for (const Parameter& parameter : fresh.set.list()) {
    if (folder.tensors.count(parameter.name) == 0) {
      EXPECT_TRUE(filled.at(parameter.name).equal(parameter.tensor)) << parameter.name;
    }
  }
}

TEST(PretrainedWeights, OtherPartsOfTheModelAreReadBackFromMedleysOwnFile) {
  const PublishedFolder folder;
  const Tensors image = {{"img_enc.weight", at::randn({3, 2})}};
  WriteTensors(folder / kImageWeightsFile, image);
  ExpectIn(Filled(folder.path()), image);
  WriteTensors(folder / kImageWeightsFile, {{"img_enc.bias", at::randn({3})}});
  const std::string refusal = Refusal([&] { OpenWeights(folder.path()); });
  EXPECT_TRUE(Has(refusal, "img_enc.weight: missing") && Has(refusal, "img_enc.bias: unexpected")) << refusal;
}

TEST(PretrainedWeights, NewTokensBeginAsTheMeanOfThoseThatAreKnown) {
  for (const bool tied : {true, false}) {
    const PublishedFolder folder(Json{{"tie_word_embeddings", tied}});
    const at::Tensor& table = folder.tensors.at("model.embed_tokens.weight");
    // 30 tokens and spare rows, of which the tokenizer's two new ones take some.
    Tensors filled = Filled(folder.path(), kTableRows, {.count = 32, .added = {30, 31}});
    const at::Tensor mean = table.narrow(0, 0, 30).mean(0);
    const at::Tensor& found = filled.at("model.embed_tokens.weight");
    EXPECT_TRUE(found.narrow(0, 0, 30).equal(table.narrow(0, 0, 30)));
    for (const std::int64_t row : {30, 31}) EXPECT_TRUE(at::allclose(found[row], mean, 1e-5, 1e-6)) << row;
    EXPECT_TRUE(found.narrow(0, 32, 8).equal(table.narrow(0, 32, 8))) << "spare rows stay";
    // Full: the table is longer than the folder's.
    filled = Filled(folder.path(), kTableRows + 3, {.count = kTableRows + 3, .added = {40, 41, 42}});
    for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
      if (filled.count(name) == 0) continue;
      const at::Tensor& grown = filled.at(name);
      EXPECT_TRUE(grown.narrow(0, 0, kTableRows).equal(folder.tensors.at(name)));
      for (const std::int64_t row : {40, 41, 42})
        EXPECT_TRUE(at::allclose(grown[row], folder.tensors.at(name).mean(0), 1e-5, 1e-6)) << name;
    }
    EXPECT_EQ(filled.count("lm_head.weight"), tied ? 0u : 1u);
  }
}

// Beside the parameters there is never a second copy of anything large.
TEST(PretrainedWeights, TakeTheMemoryOfWhatTheModelKeeps) {
  InstallCpuAllocator();
  const PublishedFolder folder(Json{{"hidden_size", 256}, {"intermediate_size", 1024}, {"vocab_size", 8000}},
                               at::kBFloat16);
  for (const auto& [sharded, type] :
       {std::pair{false, at::kFloat}, {false, at::kBFloat16}, {true, at::kFloat}, {true, at::kBFloat16}}) {
    if (sharded) folder.WriteShards();
    const std::int64_t before = ReadCpuMemory().now;
    ResetCpuPeak();
    const PretrainedWeights weights = OpenWeights(folder.path(), 8000);
    EXPECT_LT(ReadCpuMemory().peak - before, 100'000) << "headers alone";
    const PublishedModel model(folder.path(), 8000, at::kCPU, &weights.given());
    weights.Fill(model.set.list(), {.count = 8000, .added = {7998, 7999}},
                 [wanted = type](const Parameter&) { return wanted; });
    const auto kept = static_cast<double>(ReadCpuMemory().now - before);
    double weigh = 0;
    for (const Parameter& parameter : model.set.list())
      weigh += static_cast<double>(parameter.tensor.numel() * c10::elementSize(type));
    EXPECT_NEAR(kept, weigh, 0.01 * weigh);
    EXPECT_LE(static_cast<double>(ReadCpuMemory().peak - before), 1.1 * kept) << sharded << type;
  }
}

TEST(PretrainedWeights, FilesThatAreMissingOrDisagreeAreNamed) {
  const auto refusal = [](const PublishedFolder& folder) {
    return Refusal([&] { OpenWeights(folder.path()); });
  };
  const PublishedFolder folder;
  folder.WriteShards();
  const std::string index = ReadText(folder / "model.safetensors.index.json");
  const std::string first = PublishedFolder::Shard(0), second = PublishedFolder::Shard(1);

  fs::rename(folder / second, folder / "away");
  EXPECT_TRUE(Has(refusal(folder), second)) << refusal(folder);
  fs::copy(folder / first, folder / second);
  EXPECT_TRUE(Has(refusal(folder), "model.embed_tokens.weight: it is in " + first + " and in " + second))
      << refusal(folder);
  EXPECT_TRUE(Has(refusal(folder), "the index says that it is in " + second)) << refusal(folder);
  fs::rename(folder / "away", folder / second);

  Json edited = Json::parse(index);
  edited["weight_map"].erase("model.norm.weight");
  edited["weight_map"]["model.more.weight"] = first;
  WriteText(folder / "model.safetensors.index.json", edited.dump());
  EXPECT_TRUE(Has(refusal(folder), "model.more.weight: the index says that it is in " + first));
  EXPECT_TRUE(Has(refusal(folder), "model.norm.weight: it is in ") &&
              Has(refusal(folder), "not in the index"));

  for (const char* bad : {"{}", "[]", R"({"weight_map": {"a": "../x.safetensors"}})",
                          R"({"weight_map": {"a": 1}})", R"({"weight_map": [)"}) {
    WriteText(folder / "model.safetensors.index.json", bad);
    EXPECT_TRUE(Has(refusal(folder), "model.safetensors.index.json")) << bad << refusal(folder);
  }
  fs::remove(folder / "model.safetensors.index.json");
  EXPECT_TRUE(Has(refusal(folder), "has neither model.safetensors nor model.safetensors.index.json"));
}

TEST(PretrainedWeights, AHeaderThatClaimsGigabytesIsRefusedBeforeAnyOfThemIsAskedFor) {
  InstallCpuAllocator();
  const PublishedFolder folder;
  const std::string good = ReadText(folder / "model.safetensors");
  std::string bad = good;
  const std::uint64_t claimed = 5'000'000'000;
  for (std::size_t i = 0; i < 8; ++i) bad[i] = static_cast<char>(claimed >> (8 * i));
  WriteText(folder / "model.safetensors", bad);
  EXPECT_TRUE(Has(Refusal([&] { OpenWeights(folder.path()); }), "claims a header of 5000000000 bytes"));
  WriteText(folder / "model.safetensors", good.substr(0, good.size() - 4));
  EXPECT_TRUE(Has(Refusal([&] { OpenWeights(folder.path()); }), "model.safetensors"));
}

}  // namespace
}  // namespace medley::test
