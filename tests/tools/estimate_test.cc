// medley estimate, as a user calls it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <string>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::CommandResult;
using test::Medley;
using test::Shell;

CommandResult Estimate(const std::string& more) {
  return Shell("OMP_NUM_THREADS=1 " + Medley() +
               "estimate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json " + more + " 2>&1");
}

bool Has(const CommandResult& result, const std::string& part) {
  return result.out.find(part) != std::string::npos;
}

TEST(EstimateVerb, SaysWhatARunTakesAndWhereItFits) {
  const CommandResult result = Estimate("");
  EXPECT_EQ(result.code, 0) << result.out;
  for (const char* part :
       {"weights", "gradients", "optimizer", "inputs", "activations", "kv prefix", "logits", "working",
        "evaluation", "position_qa", "zoom_halfway", "RTX 3090", "H200", "Recommended: RTX 3090"})
    EXPECT_TRUE(Has(result, part)) << part << "\n" << result.out;
}

TEST(EstimateVerb, KnowsAModelThatItNeverAllocates) {
  // 2.7 GB of weights would not fit: the limit is on address space, of which libtorch's code is most.
  const std::string model = "model=" MEDLEY_SOURCE_DIR "/configs/models/agent-qwen3-0.6b.json";
  const CommandResult result = Estimate(model + " --gpu rtx3090");
  EXPECT_TRUE(Has(result, "685,461,507 parameters")) << result.out;
  EXPECT_TRUE(Has(result, "2.6 GiB")) << result.out;
  EXPECT_TRUE(Has(result, "RTX 3090 (23.6 GiB;")) << result.out;
}

TEST(EstimateVerb, TheCheckFindsTheEstimateNear) {
  std::string few = "threads=1";
  for (const char* task :
       {"control", "arrow_to_gold", "position_qa", "zoom_agent", "zoom_gold", "zoom_halfway"})
    few += " tasks." + std::string(task) + ".rows=8";
  const CommandResult result = Estimate("--check " + few);
  EXPECT_EQ(result.code, 0) << result.out;
  const std::string text = result.out.substr(result.out.find("One step of each task"));
  const std::regex error(R"(([+-][0-9.]+) %)");
  int tasks = 0;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), error); it != std::sregex_iterator();
       ++it, ++tasks) {
    const double percent = std::atof((*it)[1].str().c_str());
    EXPECT_GE(percent, -0.5) << text;
    EXPECT_LE(percent, 4) << text;
  }
  EXPECT_EQ(tasks, 6) << text;
}

TEST(EstimateVerb, RefusesAnUnknownGpuAndTwoLimits) {
  const CommandResult unknown = Estimate("--gpu 'RTX 3091'");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(Has(unknown, "no such GPU: 'RTX 3091'; did you mean 'RTX 3090'?")) << unknown.out;
  const CommandResult both = Estimate("--gpu H100 --memory 8GiB");
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(Has(both, "--gpu") && Has(both, "--memory")) << both.out;
  for (const char* memory : {"8gigs", "0", "-3GiB"})
    EXPECT_EQ(Estimate("--memory " + std::string(memory)).code, 2) << memory;
  const CommandResult config = Estimate("tasks.contrl.rows=4");
  EXPECT_EQ(config.code, 2);
  EXPECT_TRUE(Has(config, "did you mean 'control'?")) << config.out;
}

TEST(EstimateVerb, SaysWhatIsMissingWithExitCode5) {
  const CommandResult weights = Estimate("--memory 1MiB");
  EXPECT_EQ(weights.code, 5);
  EXPECT_TRUE(Has(weights, "the weights and the optimizer's state need")) << weights.out;
  const CommandResult row = Estimate("--memory 17MiB tasks.control.rows=1");
  EXPECT_EQ(row.code, 5);
  EXPECT_TRUE(
      std::regex_search(row.out, std::regex("one row of [a-z_]+ needs .* more than there is on 17 MiB")))
      << row.out;
}

TEST(EstimateVerb, RecommendsRowsAndAccumulation) {
  const CommandResult result = Estimate("--memory 40MiB");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(std::regex_search(result.out, std::regex("control +[0-9]+ +[2-9]"))) << result.out;
}

}  // namespace
}  // namespace medley
