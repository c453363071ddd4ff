// medley inspect, as a user types it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

const std::string kSource = MEDLEY_SOURCE_DIR;
const std::string kCase = kSource + "/tests/weights/hf_cases/qwen3-kv4-group2-sharded";

CommandResult Inspect(const std::string& arguments) {
  return Shell(Medley() + "inspect " + arguments + " 2>&1");
}

// A run of two steps.
fs::path Trained(const fs::path& out) {
  const CommandResult trained =
      Shell(Medley() + "train " + kSource + "/configs/runs/control.json --out " + out.string() +
            " threads=1 plan=false steps=2 eval.every=0 tasks.control.rows=2 2>&1");
  EXPECT_EQ(trained.code, 0) << trained.out;
  return out;
}

std::string AgainstTiny(const fs::path& path) {
  return path.string() + " --model " + kSource + "/configs/models/agent-tiny.json --tokenizer " + kSource +
         "/configs/tokenizers/small.model";
}

TEST(InspectCommand, AFoldersShardsAndItsSizesArePrinted) {
  const CommandResult shown = Inspect(kCase);
  EXPECT_EQ(shown.code, 0) << shown.out;
  EXPECT_TRUE(Has(shown.out, "Qwen3ForCausalLM: width ")) << shown.out;
  EXPECT_TRUE(Has(shown.out, "model-00002-of-")) << shown.out;
  EXPECT_TRUE(Has(shown.out, "model.layers.1.self_attn.q_norm.weight  16 ")) << shown.out;
}

TEST(InspectCommand, WhatChangesAFoldersMeaningIsSaid) {
  const ScratchDirectory scratch;
  const fs::path folder = scratch.path() / "folder";
  fs::copy(kCase, folder);
  EXPECT_FALSE(Has(Inspect(folder.string()).out, "quantize_config.json"));
  std::ofstream(folder / "quantize_config.json") << "{}";
  const CommandResult shown = Inspect(folder.string());
  EXPECT_EQ(shown.code, 0) << shown.out;
  EXPECT_TRUE(Has(shown.out, "has quantize_config.json: quantized weights are not supported")) << shown.out;
  std::ofstream(scratch.path() / "model.json")
      << R"({"kind": "agent", "language": {"pretrained": "folder"}, "encoder": {"heads": 2}, "decoder": {"heads": 2}})";
  const std::string asked = folder.string() + " --model " + (scratch.path() / "model.json").string() +
                            " --tokenizer " + kSource +
                            "/configs/tokenizers/small.model --allow-unknown-vocabulary";
  EXPECT_EQ(Inspect(asked).code, 2);
  fs::remove(folder / "quantize_config.json");
  const CommandResult grown = Inspect(asked);
  EXPECT_EQ(grown.code, 2) << grown.out;
  EXPECT_TRUE(Has(grown.out, "by their number 658 rows are new: of 658 other tokens")) << grown.out;
  EXPECT_TRUE(Has(grown.out, "small.model: the weights do not know 658 tokens")) << grown.out;
  EXPECT_EQ(Inspect(asked + " --allow-new-rows 657").code, 2);
  const CommandResult allowed = Inspect(asked + " --allow-new-rows 658");
  EXPECT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_TRUE(Has(allowed.out, "fits ")) << allowed.out;
  const CommandResult unknown = Inspect(asked.substr(0, asked.rfind(" --")) + " --allow-new-rows 658");
  EXPECT_EQ(unknown.code, 2) << unknown.out;
  EXPECT_TRUE(Has(unknown.out, "small.model: nobody can tell whether the weights of ")) << unknown.out;
  std::ofstream(folder / "adapter_config.json") << "{}";
  EXPECT_EQ(Inspect(asked + " --allow-new-rows 658").code, 2) << "adapters that nobody applies";
  const CommandResult applied = Inspect(asked + " --allow-new-rows 658 --adapters " + folder.string());
  EXPECT_EQ(applied.code, 0) << applied.out;
}

TEST(InspectCommand, ACheckpointFitsItsOwnModelAndNoOther) {
  const ScratchDirectory scratch;
  const fs::path run = Trained(scratch.path() / "run");
  const CommandResult fits = Inspect(AgainstTiny(run));
  EXPECT_EQ(fits.code, 0) << fits.out;
  EXPECT_TRUE(Has(fits.out, "step-00000002")) << fits.out;
  EXPECT_TRUE(Has(fits.out, "model.embed_tokens.weight.exp_avg")) << "the optimizer's, too: " << fits.out;
  EXPECT_TRUE(Has(fits.out, "\nfits ")) << fits.out;

  const fs::path other = scratch.path() / "wider.json";
  std::ofstream(other) << R"({"kind": "agent", "language": {"hidden": 32}, "encoder": {"layers": 3}})";
  const CommandResult refused = Inspect(run.string() + " --model " + other.string() + " --tokenizer " +
                                        kSource + "/configs/tokenizers/small.model");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "model.norm.weight: expected 32, found 64")) << refused.out;
  EXPECT_TRUE(Has(refused.out, "img_enc.layers.2.self_norm.weight: missing; expected 32")) << refused.out;
}

TEST(InspectCommand, WhatCannotBeLookedAtIsSaid) {
  const ScratchDirectory scratch;
  const CommandResult empty = Inspect(scratch.path().string());
  EXPECT_EQ(empty.code, 2);
  EXPECT_TRUE(Has(empty.out, "expected a safetensors file, a Hugging Face folder, a checkpoint"))
      << empty.out;
  const fs::path file = scratch.path() / "huge.safetensors";
  std::ofstream(file, std::ios::binary) << std::string("\0\0\0\x40\1\0\0\0{}", 10);  // claims 5 GB of header
  const CommandResult huge = Inspect(file.string());
  EXPECT_EQ(huge.code, 2);
  EXPECT_TRUE(Has(huge.out, "claims a header of 5368709120 bytes")) << huge.out;
  const CommandResult no_tokenizer = Inspect(Trained(scratch.path() / "run").string() + " --model " +
                                             kSource + "/configs/models/agent-tiny.json");
  EXPECT_EQ(no_tokenizer.code, 2);
  EXPECT_TRUE(Has(no_tokenizer.out, "--tokenizer")) << no_tokenizer.out;
}

}  // namespace
}  // namespace medley
