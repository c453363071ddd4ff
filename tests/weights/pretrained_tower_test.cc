#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/base/error.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_tower.h>
#include <medley/weights/pretrained_writer.h>
#include <medley/weights/safetensors.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/weights/pretrained_folder.h"
#include "tests/weights/published_agent.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::Has;

fs::path TowerCaseFolder(const std::string& name) {
  return fs::path(MEDLEY_SOURCE_DIR) / "tests/weights/tower_cases" / name;
}

// A copy of one of the parity test's folders, to be spoilt.
class CopiedFolder {
 public:
  explicit CopiedFolder(const std::string& name = "llava-clip-tied") {
    for (const fs::directory_entry& entry : fs::directory_iterator(TowerCaseFolder(name)))
      fs::copy_file(entry.path(), scratch_ / entry.path().filename().string());
    fs::remove(path() / "expect.safetensors");
  }
  const fs::path& path() const { return scratch_.path(); }
  ordered_json Json(const std::string& file = "config.json") const {
    std::ifstream in(path() / file);
    return ordered_json::parse(in);
  }
  void Change(const std::string& patch, const std::string& file = "config.json") const {
    ordered_json json = fs::exists(path() / file) ? Json(file) : ordered_json::object();
    json.merge_patch(ordered_json::parse(patch));
    WriteText(path() / file, json.dump(1));
  }
  std::map<std::string, at::Tensor> Tensors() const { return ReadSafetensors(path() / "model.safetensors"); }
  void Write(const std::map<std::string, at::Tensor>& tensors) const {
    // What was read is mapped from the file that is written.
    std::map<std::string, at::Tensor> own;
    for (const auto& [name, tensor] : tensors) own[name] = tensor.clone();
    test::WriteTensors(path() / "new.safetensors", own);
    fs::rename(path() / "new.safetensors", path() / "model.safetensors");
  }

 private:
  ScratchDirectory scratch_;
};

std::string RefusalOf(const fs::path& folder) {
  return test::MessageOf<InputError>([&] { ReadPretrainedTower(folder); });
}

TEST(PretrainedTower, SaysWhatLlavaTakes) {
  const PretrainedTower llava = ReadPretrainedTower(TowerCaseFolder("llava-clip-tied"));
  EXPECT_TRUE(llava.in_llava);
  EXPECT_TRUE(llava.has_rule());
  EXPECT_EQ(llava.tower.kind, TowerKind::kClip);
  EXPECT_EQ(llava.tower.layers, 2);  // -2 of three
  EXPECT_EQ(llava.tower.image_token, 137);
  EXPECT_EQ(llava.tower.rule.shortest_edge, 14);
  EXPECT_EQ(llava.tower.positions(), 5);
  EXPECT_EQ(ReadPretrainedConfig(TowerCaseFolder("llava-clip-tied")).architecture, "Qwen2ForCausalLM");
  EXPECT_TRUE(ReadPretrainedConfig(TowerCaseFolder("llava-clip-tied")).in_llava);

  const PretrainedTower siglip = ReadPretrainedTower(TowerCaseFolder("siglip-tanh"));
  EXPECT_FALSE(siglip.in_llava);
  EXPECT_FALSE(siglip.has_rule());
  EXPECT_EQ(siglip.tower.layers, 2);
  EXPECT_EQ(siglip.tower.rule.shortest_edge, 0);
  EXPECT_EQ(siglip.tower.epsilon, 1e-6);
  EXPECT_EQ(ReadPretrainedTower(TowerCaseFolder("llava-siglip-first-layer-inner-names")).tower.layers, 1);
  const TowerConfig other = ReadPretrainedTower(TowerCaseFolder("clip-gelu-epsilon")).tower;
  EXPECT_EQ(other.mean, (std::array<double, 3>{0.1, 0.5, 0.9}));
  EXPECT_EQ(other.deviation, (std::array<double, 3>{0.2, 0.4, 0.6}));
}

TEST(PretrainedTower, RefusesByNameWhatMedleyDoesNotCompute) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"vision_feature_select_strategy": "full"})",
       "vision_feature_select_strategy: expected default, found 'full': medley takes the vectors of a "
       "CLIP's"},
      {R"({"vision_feature_layer": 4})",
       "vision_feature_layer: expected a state behind one of the tower's 3 layers (1 to 3, or -3 to -1), "
       "found 4"},
      {R"({"vision_feature_layer": [-2, -1]})", "vision_feature_layer: expected a whole number"},
      {R"({"multimodal_projector_bias": false})",
       "multimodal_projector_bias: medley's projectors have biases"},
      {R"({"projector_hidden_act": "silu"})", "projector_hidden_act: 'silu' is not supported; medley has"},
      {R"({"image_grid_pinpoints": [[1, 2]]})",
       "image_grid_pinpoints: is not supported: medley sees a picture"},
      {R"({"quantization_config": {"bits": 4}})", "quantization_config: is not supported"},
      {R"({"projector_depth": 3})", "projector_depth: is no key that medley knows"},
      {R"({"model_type": "llava_next"})",
       "model_type: 'llava_next' is not supported; medley reads the towers"},
      {R"({"vision_config": {"model_type": "dinov2"}})",
       "vision_config.model_type: 'dinov2' is not supported"},
      {R"({"vision_config": {"model_type": null}})", "not there; medley reads the towers"},
      {R"({"vision_config": {"num_channels": 1}})",
       "num_channels: medley's pictures have 3 colours, found 1"},
      {R"({"vision_config": {"hidden_act": "silu"}})", "vision_config.hidden_act: 'silu' is not supported"},
      {R"({"vision_config": {"num_attention_heads": 3}})", "expected a divisor of hidden_size (16), found 3"},
      {R"({"vision_config": {"patch_size": 15}})", "patch_size: expected at most image_size (14), found 15"},
      {R"({"vision_config": {"image_size": [14, 28]}})", "vision_config.image_size: expected a whole number"},
      {R"({"vision_config": {"attention_dropout": 0.1}})", "attention_dropout: is not supported"},
      {R"({"vision_config": {"window": 7}})", "vision_config.window: is no key that medley knows"}};
  for (const auto& [patch, words] : cases) {
    const CopiedFolder folder;
    folder.Change(patch);
    const std::string found = RefusalOf(folder.path());
    EXPECT_TRUE(Has(found, words)) << patch << "\n" << found;
  }
}

TEST(PretrainedTower, RefusesPreparationsThatMedleyDoesNotDo) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"do_resize": false})", "do_resize: expected true: medley always does it"},
      {R"({"do_pad": true})", "do_pad: expected false: medley pads no pictures"},
      {R"({"resample": 0})", "resample: expected 2 (bilinear) or 3 (bicubic), found 0"},
      {R"({"rescale_factor": 1.0})", "rescale_factor: expected 1/255"},
      {R"({"image_mean": [0.5, 0.5]})", "image_mean: expected three numbers, of red, green and blue"},
      {R"({"image_std": [0.5, 0, 0.5]})", "image_std: expected numbers above 0"},
      {R"({"crop_size": {"height": 14, "width": 15}})",
       "crop_size: expected 14 pixels a side, as config.json"},
      {R"({"do_center_crop": false})", "size: a picture whose shorter side alone is given"},
      {R"({"do_center_crop": false, "size": 14})", "size: a picture whose shorter side alone is given"},
      {R"({"default_to_square": true, "size": 20})", "size: expected 14 pixels a side, as config.json"},
      {R"({"image_processor_type": "ViTImageProcessor"})",
       "image_processor_type: 'ViTImageProcessor' is not supported; medley prepares pictures as CLIP"},
      {R"({"feature_extractor_type": "LlavaNextImageProcessor"})",
       "feature_extractor_type: 'LlavaNextImageProcessor' is not supported"},
      {R"({"size": {"shortest_edge": 0}})", "size: expected a shortest edge of 1 to 65536, found 0"},
      {R"({"do_flip": true})", "do_flip: is no key that medley knows"}};
  for (const auto& [patch, words] : cases) {
    const CopiedFolder folder;
    folder.Change(patch, "preprocessor_config.json");
    const std::string found = RefusalOf(folder.path());
    EXPECT_TRUE(Has(found, words)) << patch << "\n" << found;
    EXPECT_TRUE(Has(found, "preprocessor_config.json")) << found;
  }
}

TEST(PretrainedTower, ReadsPreparationsInTheirOtherSpellings) {
  const CopiedFolder clip("llava-clip-tied");
  clip.Change(R"({"size": 20, "crop_size": 14, "resample": 2})", "preprocessor_config.json");
  const TowerConfig cropped = ReadPretrainedTower(clip.path()).tower;
  EXPECT_EQ(cropped.rule.shortest_edge, 20);
  EXPECT_EQ(cropped.rule.resampling, PictureRule::Resampling::kBilinear);
  // What a file leaves out is as its class has it, whatever the tower.
  clip.Change(R"({"image_processor_type": "SiglipImageProcessorFast", "size": null, "crop_size": null,
                  "do_center_crop": null, "image_mean": null, "image_std": null})",
              "preprocessor_config.json");
  const TowerConfig squashed = ReadPretrainedTower(clip.path()).tower;
  EXPECT_EQ(squashed.rule.shortest_edge, 0);
  EXPECT_EQ(squashed.mean, (std::array<double, 3>{0.5, 0.5, 0.5}));
  const CopiedFolder siglip("llava-siglip-full");
  fs::remove(siglip.path() / "preprocessor_config.json");
  siglip.Change(
      R"({"image_processor": {"size": {"height": 12, "width": 12}, "image_mean": [0.1, 0.2, 0.3]}})",
      "processor_config.json");
  EXPECT_EQ(ReadPretrainedTower(siglip.path()).tower.mean, (std::array<double, 3>{0.1, 0.2, 0.3}));
}

TEST(PretrainedTower, ASecondVisionConfigMustBeTheFirst) {
  const CopiedFolder folder("clip-whole-rest-of-pixels");
  const TowerConfig tower = ReadPretrainedTower(folder.path()).tower;
  ordered_json config = folder.Json();
  config["vision_config_dict"] = nullptr;
  WriteText(folder.path() / "config.json", config.dump());
  EXPECT_EQ(ReadPretrainedTower(folder.path()).tower, tower);
  config["vision_config_dict"] = config["vision_config"];
  WriteText(folder.path() / "config.json", config.dump());
  EXPECT_EQ(ReadPretrainedTower(folder.path()).tower, tower);
  // What it leaves out is the class's, not the first one's.
  config["vision_config_dict"].erase("hidden_size");
  WriteText(folder.path() / "config.json", config.dump());
  const std::string found = RefusalOf(folder.path());
  EXPECT_TRUE(Has(found, "vision_config_dict: it is another tower than vision_config")) << found;
}

TEST(PretrainedTower, AnUnknownKeyMayBeNamedAsIgnored) {
  const CopiedFolder folder;
  folder.Change(R"({"projector_depth": 3})");
  ordered_json file = test::TowerFile(folder.path(), /*with_language=*/false);
  EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { test::ReadAgentFile(file); }), "projector_depth"));
  file["tower"]["ignored_keys"] = {"projector_depth"};
  EXPECT_EQ(test::ReadAgentFile(file).config.Integer("tower.width"), 16);
  file["tower"]["ignored_keys"] = {"vision_feature_layer"};
  EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { test::ReadAgentFile(file); }),
                  "tower.ignored_keys.0: medley knows what 'vision_feature_layer' means"));
}

TEST(PretrainedTower, AFileThatSaysOtherwiseIsRefused) {
  ordered_json file = test::TowerFile(TowerCaseFolder("llava-clip-tied"), /*with_language=*/true);
  EXPECT_EQ(test::ReadAgentFile(file).Pictures()->size, 14);
  EXPECT_EQ(test::ReadAgentFile(file).Pictures()->rule.shortest_edge, 14);
  file["tower"]["width"] = 32;
  file["image"] = {{"size", 28}};
  const std::string found = test::MessageOf<InputError>([&] { test::ReadAgentFile(file); });
  EXPECT_TRUE(Has(found, "tower.width: expected 16, as ")) << found;
  EXPECT_TRUE(Has(found, "image.size: expected 14, as ")) << found;
}

// A tower alone says nothing of a token for pictures, nor how they are prepared.
TEST(PretrainedTower, AFileMaySayWhatATowerAloneDoesNot) {
  ordered_json file = test::TowerFile(TowerCaseFolder("siglip-tanh"), /*with_language=*/false);
  file["tower"]["image_token"] = 9;
  file["tower"]["mean_red"] = 0.25;
  const AgentConfig config(test::ReadAgentFile(file).config);
  EXPECT_EQ(config.tower.image_token, 9);
  EXPECT_EQ(config.tower.mean, (std::array<double, 3>{0.25, 0.5, 0.5}));
}

TEST(PretrainedTower, WeightsThatAreMissingUnexpectedOrMisshapenAreNamed) {
  const auto refusal = [](const CopiedFolder& folder) {
    return test::MessageOf<InputError>(
        [&] { test::PublishedAgent(test::TowerFile(folder.path(), /*with_language=*/true)); });
  };
  {
    const CopiedFolder folder;
    auto tensors = folder.Tensors();
    tensors.erase("vision_tower.encoder.layers.1.mlp.fc1.bias");
    tensors["vision_tower.encoder.gate"] = at::zeros({2});
    tensors["multi_modal_projector.linear_2.weight"] = at::zeros({4, 4});
    folder.Write(tensors);
    const std::string found = refusal(folder);
    EXPECT_TRUE(Has(found, "3 problems")) << found;
    EXPECT_TRUE(Has(found, "vision_tower.encoder.layers.1.mlp.fc1.bias: missing; expected F32 [24]"))
        << found;
    EXPECT_TRUE(Has(found, "vision_tower.encoder.gate: unexpected: the model has no such parameter"))
        << found;
    EXPECT_TRUE(Has(found, "multi_modal_projector.linear_2.weight: expected F32 [16, 16]")) << found;
  }
  {  // another tower's weights
    const CopiedFolder folder("llava-siglip-full");
    folder.Write(CopiedFolder("llava-clip-tied").Tensors());
    EXPECT_TRUE(Has(refusal(folder), "vision_tower.embeddings.patch_embedding.bias: missing"));
  }
  {  // layers that do not run, closing norms and a head are left aside, whatever they are
    const CopiedFolder folder;
    auto tensors = folder.Tensors();
    tensors["vision_tower.encoder.layers.2.mlp.fc1.bias"] = at::zeros({1});
    folder.Write(tensors);
    EXPECT_EQ(refusal(folder), "");
  }
}

TEST(PretrainedTower, ATowerAndALanguageMayComeFromTwoFolders) {
  ordered_json file = test::TowerFile(TowerCaseFolder("clip-whole-rest-of-pixels"), /*with_language=*/false);
  file["language"] = {{"pretrained", TowerCaseFolder("llava-siglip-full").string()}};
  file["decoder"]["heads"] = 2;
  test::PublishedAgent published(file);
  const std::string words = published.weights().Words();
  EXPECT_TRUE(Has(words, "begin anew")) << words;  // the projector and the picture decoder
  EXPECT_TRUE(Has(words, "left aside")) << words;
  const auto& given = published.weights().given();
  EXPECT_TRUE(given.contains("vision_tower.pre_layrnorm.weight"));
  EXPECT_TRUE(given.contains("model.layers.1.mlp.up_proj.weight"));
  EXPECT_FALSE(given.contains("multi_modal_projector.linear_1.weight"));

  const CopiedFolder spoilt("clip-whole-rest-of-pixels");
  auto tensors = spoilt.Tensors();
  tensors.erase("vision_model.pre_layrnorm.bias");
  spoilt.Write(tensors);
  file["tower"]["pretrained"] = spoilt.path().string();
  const std::string refused = test::MessageOf<InputError>([&] { test::PublishedAgent{file}; });
  EXPECT_TRUE(Has(refused,
                  "vision_tower.pre_layrnorm.bias: missing; expected F32 [20]; in " + spoilt.path().string()))
      << refused;
}

// Of a model that cuts what it sees in its own way.
TEST(PretrainedTower, ItsLayersMayBeTakenAlone) {
  const fs::path folder = TowerCaseFolder("clip-whole-rest-of-pixels");
  const TowerConfig config = ReadPretrainedTower(folder).tower;
  ParameterSet set(1, at::kCPU);
  const TowerLayers layers(set, config, "seen.");
  const auto open = [&](bool layers_only) {
    return PretrainedWeights({.tower = {.directory = folder, .root = "seen.", .layers_only = layers_only}},
                             set.list());
  };
  const PretrainedWeights weights = open(true);
  EXPECT_EQ(weights.given().size(), set.list().size());
  weights.Fill(set.list(), {});
  const auto tensors = ReadSafetensors(folder / "model.safetensors");
  for (const Parameter& parameter : set.list())
    EXPECT_TRUE(parameter.tensor.equal(tensors.at("vision_model." + parameter.name.substr(5))))
        << parameter.name;
  EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { open(false); }), "class_embedding: unexpected"));
}

// What is exported and read again is the same model, whichever state the folder took.
TEST(PretrainedTower, AWrittenLlavaIsReadToTheSameNumbers) {
  for (const char* name : {"llava-clip-tied", "llava-siglip-full", "llava-siglip-first-layer-inner-names"}) {
    SCOPED_TRACE(name);
    test::PublishedAgent published(test::TowerFile(TowerCaseFolder(name), /*with_language=*/true));
    const ScratchDirectory scratch;
    const PretrainedConfig text = ReadPretrainedConfig(TowerCaseFolder(name));
    const TowerConfig& tower = published.config().tower;
    WriteText(scratch / "config.json", LlavaJson(tower, ToJson(text, "float32"), "float32").dump(1));
    WriteText(scratch / "preprocessor_config.json", PreprocessorJson(tower).dump(1));
    WritePretrainedWeights(scratch.path(), published.agent().parameters(),
                           {.language = "", .tower = "vision_tower.", .projector = "multi_modal_projector."},
                           at::kFloat);
    test::PublishedAgent again(test::TowerFile(scratch.path(), /*with_language=*/true));
    EXPECT_EQ(again.config().tower.layers, tower.layers);
    EXPECT_EQ(again.config().tower.rule.shortest_edge, tower.rule.shortest_edge);
    EXPECT_EQ(again.config().tower.mean, tower.mean);
    for (std::size_t i = 0; i < published.agent().parameters().size(); ++i) {
      const Parameter &a = published.agent().parameters()[i], &b = again.agent().parameters()[i];
      EXPECT_EQ(a.name, b.name);
      EXPECT_TRUE(a.tensor.equal(b.tensor)) << a.name;
    }
  }
}

}  // namespace
}  // namespace medley
