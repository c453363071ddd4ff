// medley estimate, as a user calls it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::CommandResult;
using test::Medley;
using test::PlainMedley;
using test::Shell;

CommandResult Estimate(const std::string& more) {
  return Shell("OMP_NUM_THREADS=1 " + Medley() +
               "estimate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json " + more + " 2>&1");
}

// Of one task, where the others would only take their time.
CommandResult EstimateOne(const std::string& more) {
  return Estimate("weights=" MEDLEY_SOURCE_DIR "/configs/weights/control.json " + more);
}

bool Has(const CommandResult& result, const std::string& part) {
  return result.out.find(part) != std::string::npos;
}

TEST(EstimateVerb, SaysWhatARunTakesAndWhereItFits) {
  const CommandResult result = Estimate("");
  EXPECT_EQ(result.code, 0) << result.out;
  for (const char* part :
       {"weights", "gradients", "optimizer", "inputs", "activations", "kv prefix", "logits", "working",
        "evaluation", "position_qa", "zoom_halfway", "RTX 3090", "H200", "Recommended: GTX 1650"})
    EXPECT_TRUE(Has(result, part)) << part << "\n" << result.out;
}

// 2.6 GiB of weights alone, before gradients and optimizer, may never be resident.
TEST(EstimateVerb, KnowsAModelThatItNeverAllocates) {
  const std::string model = "model=" MEDLEY_SOURCE_DIR "/configs/models/agent-qwen3-0.6b.json";
  const CommandResult result = Shell("OMP_NUM_THREADS=1 " + PlainMedley() +
                                     "estimate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json " + model +
                                     " --gpu rtx3090 2>&1");  // a child of this program
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(Has(result, "685,461,507 parameters")) << result.out;
  EXPECT_TRUE(Has(result, "2.6 GiB")) << result.out;
  EXPECT_TRUE(Has(result, "RTX 3090 (23.6 GiB;")) << result.out;
  EXPECT_LT(used.ru_maxrss, 1536 * 1024) << "KiB";  // of the largest of this test program's children so far
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

// Rows that fit in one process are its part; those that are asked for are divided.
TEST(EstimateVerb, OfSeveralProcessesSaysWhatOneTakesAndTheRowsOfAll) {
  const std::string rows = " --json --memory 1GiB tasks.control.rows=auto tasks.position_qa.rows=24";
  const auto advice = [&](const std::string& ranks) {
    const CommandResult result = Estimate(ranks + rows);
    EXPECT_EQ(result.code, 0) << result.out;
    const auto json = nlohmann::json::parse(result.out.substr(result.out.find('{')));
    std::map<std::string, nlohmann::json> tasks;
    for (const auto& task : json.at("advice").at("tasks")) tasks[task.at("task").get<std::string>()] = task;
    return tasks;
  };
  const auto one = advice(""), eight = advice("--ranks 8");
  EXPECT_FALSE(one.at("control").contains("draw_rows"));
  const auto part = eight.at("control").at("rows").get<std::int64_t>();
  EXPECT_LE(part, one.at("control").at("rows").get<std::int64_t>()) << "gradients are added up in a buffer";
  EXPECT_GT(part, one.at("control").at("rows").get<std::int64_t>() * 9 / 10);
  EXPECT_EQ(eight.at("control").at("draw_rows"), 8 * part);
  EXPECT_EQ(eight.at("position_qa").at("rows"), 3);
  EXPECT_EQ(eight.at("position_qa").at("draw_rows"), 24);
}

TEST(EstimateVerb, OfSeveralProcessesDividesTheMomentsWhereTheRunDoes) {
  const auto optimizer = [](const std::string& arguments) {
    const CommandResult result = EstimateOne(arguments + " --json");
    EXPECT_EQ(result.code, 0) << result.out;
    const auto json = nlohmann::json::parse(result.out.substr(result.out.find('{')));
    return json.at("model").at("optimizer").get<double>();
  };
  const double whole = optimizer("");
  EXPECT_EQ(optimizer("optimizer.shard=true"), whole);
  EXPECT_EQ(optimizer("--ranks 4"), whole);
  EXPECT_NEAR(optimizer("--ranks 4 optimizer.shard=true"), whole / 4, whole / 100);
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
  const CommandResult weights = EstimateOne("--memory 1MiB");
  EXPECT_EQ(weights.code, 5);
  EXPECT_TRUE(std::regex_search(weights.out, std::regex("on 1 MiB: [^]* more than the budget")))
      << weights.out;
  const CommandResult row =
      EstimateOne("--memory 9MiB data.threads=0 tasks.control.mode=joint tasks.control.recompute_every=0");
  EXPECT_EQ(row.code, 5);
  EXPECT_TRUE(std::regex_search(row.out, std::regex("task control needs .* bytes\\) are missing")))
      << row.out;
}

// The cells of a task's line in the last table.
std::vector<std::string> LineOf(const CommandResult& result, const std::string& task) {
  const std::size_t at = result.out.rfind("\n" + task + " ");
  if (at == std::string::npos) return {};
  std::istringstream line(result.out.substr(at + 1, result.out.find('\n', at + 1) - at - 1));
  std::vector<std::string> cells;
  for (std::string cell; line >> cell;) cells.push_back(cell);
  return cells;
}

TEST(EstimateVerb, RecommendsRowsAndAccumulation) {
  const CommandResult result = Estimate("--memory 40MiB");
  EXPECT_EQ(result.code, 0) << result.out;
  for (const auto& [task, rows] : {std::pair{"control", 32}, {"position_qa", 48}, {"zoom_gold", 16}}) {
    const std::vector<std::string> cells = LineOf(result, task);
    ASSERT_GE(cells.size(), 4U) << result.out;
    EXPECT_EQ(std::stoi(cells[2]) * std::stoi(cells[3]), rows) << result.out;
    EXPECT_GT(std::stoi(cells[3]), 1) << result.out;
  }
}

TEST(EstimateVerb, TakesTheConfigsBudgetOnTheCpu) {
  const CommandResult asked = EstimateOne("--memory 40MiB"), configured = EstimateOne("budget=40MiB");
  EXPECT_EQ(configured.code, 0) << configured.out;
  EXPECT_EQ(asked.out, configured.out);
  EXPECT_EQ(EstimateOne("budget=1MiB").code, 5);
}

TEST(EstimateVerb, TakesAnotherModeWhereTheFirstDoesNotFit) {
  const std::string config = "OMP_NUM_THREADS=1 " + Medley() +
                             "estimate " MEDLEY_SOURCE_DIR
                             "/configs/runs/memory.json data.threads=0 tasks.mem_canvas.rows=1 --memory ";
  const CommandResult ample = Shell(config + "1GiB 2>&1"), scarce = Shell(config + "13MiB 2>&1");
  EXPECT_EQ(ample.code, 0) << ample.out;
  EXPECT_EQ(LineOf(ample, "mem_canvas").at(1), "joint") << ample.out;
  EXPECT_EQ(scarce.code, 0) << scarce.out;
  EXPECT_TRUE(std::regex_search(scarce.out, std::regex("mem_canvas +(two_stage|joint \\+ recompute 1)")))
      << scarce.out;
}

TEST(EstimateVerb, CountsTheDrawsOfAStep) {
  const CommandResult one = EstimateOne("--memory 1GiB"),
                      three = EstimateOne("--memory 1GiB draws_per_step=3");
  const std::regex wait("Beside the peaks ([0-9.]+ .iB) of rows wait");
  std::smatch of_one, of_three;
  ASSERT_TRUE(std::regex_search(one.out, of_one, wait) && std::regex_search(three.out, of_three, wait));
  EXPECT_NE(of_one[1], of_three[1]);
  EXPECT_NE(LineOf(one, "control"), LineOf(three, "control"));
}

TEST(EstimateVerb, ChecksTheDeviceOfTheRunWhateverGpuIsAskedAbout) {
  const CommandResult result = EstimateOne("--check --gpu H100 threads=1 tasks.control.rows=8");
  EXPECT_EQ(result.code, 0) << result.out;
  const std::size_t at = result.out.find("One step of each task, run on cpu");
  ASSERT_NE(at, std::string::npos) << result.out;
  const std::string text = result.out.substr(at);
  std::smatch error;
  ASSERT_TRUE(std::regex_search(text, error, std::regex("control +8 .* ([+-][0-9.]+) %"))) << text;
  EXPECT_NEAR(std::atof(error[1].str().c_str()), 2, 2.5) << text;
}

// The lines of the table of several GPUs: the cells of each, the GPU's name in front.
std::vector<std::vector<std::string>> GpuLines(const CommandResult& result) {
  std::vector<std::vector<std::string>> lines;
  const std::size_t at = result.out.find("\nGPU  ");
  if (at == std::string::npos) return lines;
  std::istringstream text(result.out.substr(at + 1));
  std::string line, gpu;
  const std::regex gap(" {2,}");
  for (std::getline(text, line); std::getline(text, line) && !line.starts_with("rows: ");) {
    std::vector<std::string> cells(std::sregex_token_iterator(line.begin(), line.end(), gap, -1),
                                   std::sregex_token_iterator());
    if (cells[0].empty()) cells[0] = gpu;
    gpu = cells[0];
    lines.push_back(cells);
  }
  return lines;
}

TEST(EstimateVerb, OfSeveralGpusEachHasWhatItAloneIsToldToTake) {
  const std::string scarce = "--budget 160MiB tasks.control.rows=1024";
  const CommandResult table = Estimate("--gpus 'h100,rtx 3090' " + scarce);
  EXPECT_EQ(table.code, 0) << table.out;
  const auto lines = GpuLines(table);
  ASSERT_EQ(lines.size(), 12U) << table.out;
  int cut = 0;
  for (const std::string gpu : {"RTX 3090", "H100"}) {
    const CommandResult alone = Estimate("--gpu '" + gpu + "' " + scarce);
    EXPECT_EQ(alone.code, 0) << alone.out;
    for (const auto& line : lines) {
      ASSERT_EQ(line.size(), 6U) << table.out;
      if (line[0] != gpu) continue;
      const std::vector<std::string> cells = LineOf(alone, line[1]);
      ASSERT_GE(cells.size(), 4U) << alone.out;
      EXPECT_EQ(line[2], cells[1]);
      EXPECT_EQ(line[4], cells[2] + " x " + cells[3]) << line[1];
      EXPECT_EQ(std::stoi(line[3]), std::stoi(cells[2]) * std::stoi(cells[3])) << line[1];
      cut += std::stoi(cells[3]) > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(cut, 0) << table.out;
  EXPECT_TRUE(Has(table, "The smallest that takes every task: RTX 3090.")) << table.out;
}

TEST(EstimateVerb, AllGpusAreThereOnceTheSmallestFirst) {
  const CommandResult result = Estimate("--gpus all");
  EXPECT_EQ(result.code, 0) << result.out;
  const auto lines = GpuLines(result);
  std::vector<std::string> gpus;
  for (const auto& line : lines) {
    if (gpus.empty() || gpus.back() != line[0]) gpus.push_back(line[0]);
  }
  EXPECT_EQ(gpus.size(), 23U) << result.out;
  EXPECT_EQ(lines.size(), 6U + 22) << result.out;  // the smallest takes them as they are
  EXPECT_EQ(lines.back()[1], "as above");
  EXPECT_EQ(gpus.front(), "GTX 1650");
  EXPECT_EQ(gpus.back(), "B200");
  std::istringstream text(result.out.substr(result.out.find("\nGPU  ")));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(EstimateVerb, OnSeveralGpusAFormHasTheNameOfItsStage) {
  const auto file = std::filesystem::temp_directory_path() / ("stages-" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << R"({"stages": [{"name": "few", "weights": {"control": 1}, "until": {"steps": 5}},
                             {"name": "many", "weights": {"control": 1}, "set": {"tasks.control.rows": 96}}]})";
  const CommandResult result = Estimate("--gpus h100 weights=" + file.string());
  std::filesystem::remove(file);
  EXPECT_EQ(result.code, 0) << result.out;
  const auto lines = GpuLines(result);
  ASSERT_EQ(lines.size(), 2U) << result.out;
  EXPECT_EQ(lines[0][1], "control");
  EXPECT_EQ(lines[1][1], "control (many)");
  EXPECT_EQ(lines[1][4], "96 x 1");
}

TEST(EstimateVerb, SaysWhatEachOfSeveralGpusLacks) {
  const std::string model = "model=" MEDLEY_SOURCE_DIR "/configs/models/agent-qwen3-0.6b.json ";
  const CommandResult none = EstimateOne(model + "--gpus 'gtx 1650,t4' --budget 25%");
  EXPECT_EQ(none.code, 5) << none.out;
  EXPECT_TRUE(std::regex_search(
      none.out, std::regex("GTX 1650 +weights, optimizer +does not fit +- +- +-[0-9.]+ GiB\n")))
      << none.out;
  EXPECT_TRUE(Has(none, "the run fits none of the GPUs above")) << none.out;
  const CommandResult one = EstimateOne(model + "--gpus 'gtx 1650,b200'");
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_TRUE(Has(one, "The smallest that takes every task: B200.")) << one.out;
}

TEST(EstimateVerb, RefusesAListOfGpusWithAllThatIsWrong) {
  const CommandResult unknown = Estimate("--gpus 'rtx 3091,H100,V100'");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(Has(unknown, "no such GPU: 'rtx 3091'; did you mean 'RTX 3090'?\n")) << unknown.out;
  EXPECT_TRUE(Has(unknown, "no such GPU: 'V100'; did you mean 'V100 16 GB' or 'V100 32 GB'?")) << unknown.out;
  for (const char* wrong : {"--gpus T4 --gpu H100", "--gpus T4 --memory 8GiB", "--gpus T4 --check",
                            "--gpus ''", "--gpus T4 --budget half", "--budget 8GiB --memory 8GiB"}) {
    const CommandResult refused = Estimate(wrong);
    EXPECT_EQ(refused.code, 2) << wrong << refused.out;
    EXPECT_TRUE(Has(refused, "medley estimate: ")) << wrong << refused.out;
  }
}

// As plan has it: bytes, a part of what there is, or what is free.
TEST(EstimateVerb, ABudgetIsTheConfigsOrThatOfTheNamedGpu) {
  EXPECT_EQ(EstimateOne("--budget 40MiB").out, EstimateOne("budget=40MiB").out);
  EXPECT_EQ(EstimateOne("--budget 1MiB").code, 5);
  EXPECT_TRUE(std::regex_search(EstimateOne("--budget 50%").out, std::regex("\nOn [0-9.]+ GiB: the mode")));
  const CommandResult half = EstimateOne("--gpu 'rtx 3090' --budget 50%"),
                      whole = EstimateOne("--gpu 'rtx 3090'");
  EXPECT_EQ(half.code, 0) << half.out;
  EXPECT_TRUE(Has(half, "On RTX 3090 (12.1 GiB; ")) << half.out;
  EXPECT_EQ(EstimateOne("--gpu 'rtx 3090' --budget free").out, whole.out);
  const CommandResult more = EstimateOne("--gpu t4 --budget 16GiB");
  EXPECT_EQ(more.code, 2);
  EXPECT_TRUE(Has(more, "--budget: 16 GiB are more than T4 has: 14.5 GiB")) << more.out;
  const CommandResult of_none = EstimateOne("device=cuda --budget 50%");
  EXPECT_EQ(of_none.code, 2);
  EXPECT_TRUE(Has(of_none, "of which GPU? Name it")) << of_none.out;
  EXPECT_TRUE(Has(EstimateOne("device=cuda --budget 1GiB"), "\nOn 1 GiB: the mode"));
}

}  // namespace
}  // namespace medley
