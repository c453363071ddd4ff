// configs/runs/llava.json, on a folder of its structure: somebody's pictures beside the game.
#include <gtest/gtest.h>

#include <medley/checkpoint/checkpoint_files.h>
#include <medley/report/picture.h>
#include <medley/weights/safetensors.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/tools/run_command.h"
#include "tests/weights/llava_folder.h"
#include "tests/words.h"

namespace medley::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kImage = 5;  // <image> of configs/tokenizers/small.model

class LlavaRun : public ::testing::Test {
 protected:
  LlavaRun() : folder_(/*vocabulary=*/1024, kImage) {
    WriteModel("model.json", folder_.path());
    // The same turns as plain's, for a vocabulary that has no names of chatml's.
    WriteText(scratch_ / "chat.json",
              R"({"head": "user:", "to_assistant": "<eos>assistant:", "to_last": "<eos>assistant:",
                  "to_user": "<eos>user:", "tail": "<eos>", "generation": "<eos>assistant:", "end": "<eos>",
                  "specials": ["<eos>", "<image>"], "image": "<image>", "images_first": true})");
  }

  void WriteModel(const std::string& name, const fs::path& folder) const {
    WriteText(scratch_ / name, ordered_json{{"kind", "agent"},
                                            {"language", {{"pretrained", folder.string()}}},
                                            {"tower", {{"pretrained", folder.string()}}},
                                            {"decoder", {{"layers", 1}, {"heads", 2}, {"ffn", 8}}}}
                                   .dump());
  }
  std::string Small(const std::string& model = "model.json") const {
    return " device=cpu dtype=fp32 threads=1 plan=false budget=2GiB steps=2 eval.every=0 eval.rows=2 "
           "eval.at_start=false tensorboard=false allow_unknown_vocabulary=true tasks.pictures.rows=2 "
           "tasks.position_qa.rows=2 tasks.near_gold_qa.rows=2 tasks.imagine_walls_only.rows=1 "
           "draws_per_step=4 tokenizer=" MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model model=" +
           (scratch_ / model).string() + " chat=" + (scratch_ / "chat.json").string() + " ";
  }
  CommandResult Do(const std::string& verb, const std::string& more) const {
    return Shell(Medley() + verb + " " MEDLEY_SOURCE_DIR "/configs/runs/llava.json " + Small() + more +
                 " 2>&1");
  }
  // Pictures unlike those that it was trained on.
  void ExpectPicturesAreSeenOrRefused(const fs::path& run) const {
    const fs::path corpus = MEDLEY_SOURCE_DIR "/tests/fuzz/corpus";
    std::ofstream(scratch_ / "pixel.png", std::ios::binary) << EncodePng(Picture(1, 1));
    std::string wide = ReadText(corpus / "jpeg/rgb.jpg");
    wide.replace(wide.find("\xff\xc0") + 7, 2, "\x4e\x20");  // 20,000
    std::ofstream(scratch_ / "wide.jpg", std::ios::binary) << wide;
    const auto shown = [&](const fs::path& picture, int code) {
      const CommandResult done = Shell(Medley() + "generate " + run.string() + " --task pictures --image " +
                                       picture.string() + " --prompt 'What do you see?' 2>&1");
      EXPECT_EQ(done.code, code) << done.out;
      return done.out;
    };
    shown(scratch_ / "pixel.png", 0);
    shown(corpus / "png/grey16-alpha.png", 0);
    EXPECT_TRUE(Has(shown(corpus / "jpeg/cmyk.jpg", 2), "its colours are CMYK"));
    EXPECT_TRUE(Has(shown(scratch_ / "wide.jpg", 2), "larger than 8192 pixels a side"));
  }
  static std::map<std::string, at::Tensor> Newest(const fs::path& run) {
    return ReadSafetensors(ListCheckpoints(run).at(0).path / "model.safetensors");
  }

  ScratchDirectory scratch_;
  LlavaFolder folder_;
};

TEST_F(LlavaRun, TrainsOnSomebodysPicturesBesideTheGameAndComesOutAsAFolder) {
  const fs::path run = scratch_ / "run";
  for (const auto& [verb, more] : {std::pair{"validate", ""}, {"estimate", "--memory 4GiB"}}) {
    const CommandResult checked = Do(verb, more);
    EXPECT_EQ(checked.code, 0) << verb << checked.out;
  }
  const CommandResult trained = Do("train", "optimizer.learning_rate=0.01 --out " + run.string());
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "parameters from " + folder_.path().string())) << trained.out;

  // The tower rests, its projector does not.
  const auto begun = ReadSafetensors(folder_.path() / "model.safetensors"), now = Newest(run);
  const std::string layer = "encoder.layers.1.mlp.fc1.weight", map = "multi_modal_projector.linear_1.weight";
  EXPECT_TRUE(now.at("vision_tower." + layer).equal(begun.at("vision_tower.vision_model." + layer)));
  EXPECT_FALSE(now.at(map).equal(begun.at(map)));
  bool has_moments = false;
  for (const auto& [name, moments] : ReadSafetensors(ListCheckpoints(run).at(0).path / "optim.safetensors")) {
    EXPECT_FALSE(Has(name, "vision_tower.")) << name;
    has_moments = has_moments || Has(name, map);
  }
  EXPECT_TRUE(has_moments);

  const std::string picture = MEDLEY_SOURCE_DIR "/configs/texts/pictures/00-disc.png";
  for (const std::string& then :
       {"resume " + run.string() + " --steps 3", "eval " + run.string() + " --rows 2",
        "generate " + run.string() + " --task pictures --image " + picture + " --prompt 'What do you see?'",
        "export " + run.string() + " --out " + (scratch_ / "out").string()}) {
    const CommandResult done = Shell(Medley() + then + " 2>&1");
    EXPECT_EQ(done.code, 0) << then << "\n" << done.out;
  }
  ExpectPicturesAreSeenOrRefused(run);
  const ordered_json config = ordered_json::parse(ReadText(scratch_ / "out/config.json"));
  EXPECT_EQ(config.at("model_type"), "llava");
  EXPECT_EQ(config.at("image_token_index"), kImage);
  EXPECT_TRUE(fs::exists(scratch_ / "out/preprocessor_config.json"));
  WriteModel("again.json", scratch_ / "out");
  const CommandResult again =
      Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/llava.json " + Small("again.json") +
            "steps=1 --out " + (scratch_ / "again").string() + " 2>&1");
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_FALSE(Has(again.out, "begin anew")) << again.out;  // nor the picture decoder
}

TEST_F(LlavaRun, AdaptersOfTheTowerAreTrainedAndMergedWhereItComesOut) {
  const fs::path run = scratch_ / "run";
  const CommandResult trained =
      Do("train",
         "lora.rank=2 lora.alpha=4 'lora.targets=[\"q_proj\", \"fc1\"]' optimizer.groups=[] "
         "optimizer.learning_rate=0.01 --out " +
             run.string());
  ASSERT_EQ(trained.code, 0) << trained.out;
  const auto now = Newest(run);
  EXPECT_TRUE(now.contains("vision_tower.encoder.layers.0.mlp.fc1.lora_B.weight"));
  EXPECT_TRUE(now.contains("model.layers.1.self_attn.q_proj.lora_B.weight"));
  EXPECT_GT(now.at("vision_tower.encoder.layers.0.mlp.fc1.lora_B.weight").abs().max().item<double>(), 0);
  const std::string out = (scratch_ / "out").string();
  const CommandResult alone =
      Shell(Medley() + "export " + run.string() + " --adapter --out " + out + " 2>&1");
  EXPECT_EQ(alone.code, 2) << alone.out;
  EXPECT_TRUE(Has(alone.out, "the run's model has a vision tower")) << alone.out;
  ASSERT_EQ(Shell(Medley() + "export " + run.string() + " --out " + out + " 2>&1").code, 0);
  const auto merged = ReadSafetensors(scratch_ / "out/model.safetensors");
  const std::string fc1 = "vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight";
  EXPECT_FALSE(merged.at(fc1).equal(ReadSafetensors(folder_.path() / "model.safetensors").at(fc1)));
}

// Trained values have masters in float.
TEST_F(LlavaRun, ARestingTowerIsInHalfType) {
  const fs::path run = scratch_ / "run";
  const CommandResult trained = Do("train", "dtype=bf16 steps=1 --out " + run.string());
  ASSERT_EQ(trained.code, 0) << trained.out;
  const auto now = Newest(run);
  EXPECT_EQ(now.at("vision_tower.encoder.layers.0.mlp.fc1.weight").scalar_type(), at::kBFloat16);
  EXPECT_EQ(now.at("multi_modal_projector.linear_1.weight").scalar_type(), at::kFloat);
}

TEST_F(LlavaRun, APlanIsNeverBelowWhatItsStepsTake) {
  const fs::path run = scratch_ / "run";
  const CommandResult trained = Do("train", "plan=true budget=64MiB --out " + run.string());
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_EQ(ordered_json::parse(ReadText(run / "receipt.json")).at("under_estimates"), 0);
  const CommandResult checked = Do("estimate", "--memory 4GiB --check");
  EXPECT_EQ(checked.code, 0) << checked.out;
}

TEST_F(LlavaRun, InspectShowsItsTowerAndWhetherItFits) {
  const std::string line = Medley() + "inspect " + folder_.path().string();
  const CommandResult shown = Shell(line + " 2>&1");
  EXPECT_EQ(shown.code, 0) << shown.out;
  EXPECT_TRUE(Has(shown.out, "tower (siglip): width 12, 2 layers that run")) << shown.out;
  EXPECT_TRUE(Has(shown.out, "Qwen2ForCausalLM")) << shown.out;
  const std::string alone = MEDLEY_SOURCE_DIR "/tests/weights/tower_cases/clip-whole-rest-of-pixels";
  const CommandResult clip = Shell(Medley() + "inspect " + alone + " 2>&1");
  EXPECT_EQ(clip.code, 0) << clip.out;
  EXPECT_TRUE(Has(clip.out, "tower (clip): width 20, 2 layers that run")) << clip.out;
  WriteText(folder_.path() / "preprocessor_config.json", R"({"do_pad": true})");
  const CommandResult spoilt = Shell(line + " 2>&1");
  EXPECT_EQ(spoilt.code, 2) << spoilt.out;
  EXPECT_TRUE(Has(spoilt.out, "do_pad: expected false")) << spoilt.out;
}

TEST_F(LlavaRun, AFolderThatDoesNotFitEndsItWithWords) {
  const auto refused = [&](const std::string& more) {
    const CommandResult result = Do("train", more + " --out " + (scratch_ / "no").string());
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_FALSE(fs::exists(scratch_ / "no"));
    return result.out;
  };
  const fs::path preprocessor = folder_.path() / "preprocessor_config.json";
  const std::string text = ReadText(preprocessor);
  WriteText(preprocessor, R"({"do_pad": true, "size": {"height": 64, "width": 64}})");
  const std::string other = refused("");
  EXPECT_TRUE(Has(other, "do_pad: expected false: medley pads no pictures")) << other;
  EXPECT_TRUE(Has(other, "size: expected 128 pixels a side, as config.json says")) << other;
  WriteText(preprocessor, text);
  EXPECT_TRUE(Has(refused("lora.rank=2 'lora.targets=[\"fc3\"]'"), "fc3"));
  fs::rename(folder_.path() / "model.safetensors", folder_.path() / "kept");
  EXPECT_TRUE(Has(refused(""), "lacks model.safetensors"));
}

}  // namespace
}  // namespace medley::test
