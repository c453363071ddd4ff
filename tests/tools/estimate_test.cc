// medley estimate, as a user calls it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

const std::string kOneTask = "weights=" MEDLEY_SOURCE_DIR "/configs/weights/control.json ";

// Of one task, where the others would only take their time.
CommandResult EstimateOne(const std::string& more) { return Estimate(kOneTask + more); }

// What goes to stdout alone: on a busy machine stderr tells how far it is.
std::string Shown(const std::string& more) {
  return Shell("OMP_NUM_THREADS=1 " + Medley() +
               "estimate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json " + more + " 2>/dev/null")
      .out;
}

nlohmann::json Told(const std::string& more) { return nlohmann::json::parse(Shown(more + " --json")); }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool Has(const CommandResult& result, const std::string& part) {
  return result.out.find(part) != std::string::npos;
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

TEST(EstimateVerb, SaysWhatARunTakesAndWhereItFits) {
  const CommandResult result = Estimate("--all");
  EXPECT_EQ(result.code, 0) << result.out;
  for (const char* part :
       {"parameters", "gradients", "optimizer", "inputs", "activations", "kv prefix", "logits", "working",
        "evaluation", "position_qa", "zoom_halfway", "RTX 3090", "H200", "Recommended: GTX 1650"})
    EXPECT_TRUE(Has(result, part)) << part << "\n" << result.out;
}

// The verdict, then that GPU's table and nothing of the others: a terminal has room for it.
TEST(EstimateVerb, BeginsWithWhetherItFitsAndShowsTheAskedGpuAlone) {
  const std::vector<std::string> lines = Lines(Shown("--gpu 'RTX 3090'"));
  ASSERT_GE(lines.size(), 9U);
  EXPECT_LE(lines.size(), 16U);
  std::smatch verdict;
  ASSERT_TRUE(std::regex_match(lines[0], verdict,
                               std::regex(R"(RTX 3090: fits, ([0-9.]+) % of 22\.1 GiB at most \((\w+)\))")))
      << lines[0];
  double most = 0;
  std::string fullest;
  std::size_t tasks = 0;
  for (const std::string& line : lines) {
    std::smatch share;
    for (const char* other : {"GTX 1650", "RTX 4090", "H100"})
      EXPECT_EQ(line.find(other), std::string::npos) << line;
    if (!std::regex_search(line, share, std::regex(R"(^(\w+) .* \(([0-9.]+) %\) )"))) continue;
    if (line == lines[0]) continue;
    ++tasks;
    if (std::stod(share[2]) > most) fullest = share[1];
    most = std::max(most, std::stod(share[2]));
  }
  EXPECT_EQ(tasks, 6U);
  EXPECT_EQ(verdict[2], fullest);
  EXPECT_EQ(std::stod(verdict[1]), most);
}

// The largest of what a step and what an evaluation takes, by the numbers that are told.
TEST(EstimateVerb, TheVerdictIsOfTheFullestTaskOfStepsAndOfEvaluations) {
  const auto expect = [](const std::string& more, bool in_evaluation, bool evaluates = true) {
    const nlohmann::json told = Told(more);
    const auto &verdict = told.at("verdict"), &advice = told.at("advice");
    const auto budget = advice.at("budget").get<double>(), waiting = advice.at("waiting").get<double>();
    double most = 0;
    for (const nlohmann::json& task : advice.at("tasks")) {
      most = std::max(most, (task.at("peak").get<double>() + waiting) / budget);
      if (evaluates) most = std::max(most, (task.at("evaluation_peak").get<double>() + waiting) / budget);
    }
    EXPECT_NEAR(verdict.at("share").get<double>(), most, 1e-12) << more;
    EXPECT_EQ(verdict.at("in_evaluation"), in_evaluation) << more;
  };
  expect("--memory 1GiB", false);
  expect(kOneTask + "--memory 100MiB tasks.control.rows=1", true);
  const std::string few = Shown(kOneTask + "--memory 100MiB tasks.control.rows=1");
  EXPECT_TRUE(few.starts_with("100 MiB: fits, ") && few.find(" % of it at most (evaluating control)\n") < 40)
      << few;
  expect("--memory 100MiB eval.every=0 " + kOneTask + "tasks.control.rows=1", false, false);
}

TEST(EstimateVerb, SaysInItsFirstLineThatTasksFitInPiecesOrWhatIsMissing) {
  EXPECT_TRUE(std::regex_search(Shown("--memory 40MiB"),
                                std::regex(R"(^40 MiB: fits in pieces, [0-9.]+ % of it at most \()")));
  const std::string model = "model=" MEDLEY_SOURCE_DIR "/configs/models/agent-qwen3-0.6b.json ";
  const std::string
      floor = Shown(kOneTask + model + "--gpu t4 --budget 5GiB"),
      row = Shown(kOneTask +
                  "--memory 9MiB data.threads=0 tasks.control.mode=joint tasks.control.recompute_every=0");
  EXPECT_TRUE(std::regex_search(
      floor,
      std::regex("^T4 within 5GiB: does not fit: parameters and optimizer need [0-9.]+ .iB more than ")))
      << floor;
  EXPECT_TRUE(
      std::regex_search(row, std::regex("^9 MiB: does not fit: one row of control needs [0-9.]+ .iB more")))
      << row;
  EXPECT_TRUE(Shown(kOneTask + "--ranks 8 --gpu t4").starts_with("8 x T4: fits, "));
}

// Up to the smallest that takes all as configured; a line names those that are larger.
TEST(EstimateVerb, WithoutAGpuBeginsWithTheOneToTake) {
  const std::string tiny = Shown("");
  EXPECT_TRUE(
      tiny.starts_with("Recommended: GTX 1650, the smallest of 23 GPUs for every task as configured.\n"))
      << tiny;
  EXPECT_LE(Lines(tiny).size(), 12U) << tiny;
  EXPECT_TRUE(Has({.code = 0, .out = tiny}, "So do the larger ones: GTX 1050 Ti, RTX 3070, ")) << tiny;
  const std::string large = Shown(kOneTask + "tasks.control.rows=64 model=" MEDLEY_SOURCE_DIR
                                             "/configs/models/agent-qwen3-0.6b.json");
  std::smatch names;
  ASSERT_TRUE(
      std::regex_search(large, names,
                        std::regex("^Recommended: (\\w[^,]*), the smallest of 23 GPUs for every task as "
                                   "configured; (\\w[^;]*)\\s+takes\\s+them\\s+in\\s+pieces\\.\n")))
      << large;
  EXPECT_NE(names[1], names[2]);
  const auto line = [&](const std::string& gpu) { return LineOf({.code = 0, .out = large}, gpu); };
  EXPECT_EQ(line(names[1]).back(), "yes") << large;
  EXPECT_TRUE(Has({.code = 0, .out = large}, "in pieces: 1 of 1 task\n")) << large;
  EXPECT_TRUE(Has({.code = 0, .out = large}, "no: parameters and optimizer need ")) << large;
}

// 2.6 GiB of weights alone, before gradients and optimizer, may never be resident.
TEST(EstimateVerb, KnowsAModelThatItNeverAllocates) {
  const std::string model = "model=" MEDLEY_SOURCE_DIR "/configs/models/agent-qwen3-0.6b.json";
  const CommandResult result = Shell("OMP_NUM_THREADS=1 " + PlainMedley() +
                                     "estimate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json " + model +
                                     " --gpu rtx3090 --all 2>&1");  // a child of this program
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(Has(result, "685,461,507 parameters")) << result.out;
  EXPECT_TRUE(Has(result, "2.6 GiB")) << result.out;
  EXPECT_TRUE(Has(result, "RTX 3090: fits")) << result.out;
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
  const CommandResult configured = EstimateOne("budget=40MiB");
  EXPECT_EQ(configured.code, 0) << configured.out;
  EXPECT_EQ(Shown(kOneTask + "--memory 40MiB"), Shown(kOneTask + "budget=40MiB"));
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
  EXPECT_LT(Told(kOneTask + "--memory 1GiB").at("advice").at("waiting"),
            Told(kOneTask + "--memory 1GiB draws_per_step=3").at("advice").at("waiting"));
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
  EXPECT_TRUE(Has(table, "2 of 2 GPUs take every task; the smallest is RTX 3090.\n")) << table.out;
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
      none.out, std::regex("GTX 1650 +parameters, optimizer +does not fit +- +- +-[0-9.]+ GiB\n")))
      << none.out;
  EXPECT_TRUE(Has(none, "None of 2 GPUs takes every task.\n")) << none.out;
  EXPECT_TRUE(Has(none, "the run fits none of the GPUs above")) << none.out;
  const CommandResult one = EstimateOne(model + "--gpus 'gtx 1650,b200'");
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_TRUE(Has(one, "1 of 2 GPUs takes every task: B200.\n")) << one.out;
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
  EXPECT_EQ(Shown(kOneTask + "--budget 40MiB"), Shown(kOneTask + "budget=40MiB"));
  EXPECT_EQ(EstimateOne("--budget 1MiB").code, 5);
  EXPECT_TRUE(std::regex_search(Shown(kOneTask + "--budget 50%"), std::regex("^[0-9.]+ GiB: fits, ")));
  const CommandResult half = EstimateOne("--gpu 'rtx 3090' --budget 50%");
  EXPECT_EQ(half.code, 0) << half.out;
  EXPECT_TRUE(Has(half, "RTX 3090 within 50%: fits, ") && Has(half, " of 11.2 GiB at most ")) << half.out;
  EXPECT_EQ(Shown(kOneTask + "--gpu 'rtx 3090' --budget free"), Shown(kOneTask + "--gpu 'rtx 3090'"));
  const CommandResult more = EstimateOne("--gpu t4 --budget 16GiB");
  EXPECT_EQ(more.code, 2);
  EXPECT_TRUE(Has(more, "--budget: 16 GiB are more than T4 has: 14.5 GiB")) << more.out;
  const CommandResult of_none = EstimateOne("device=cuda --budget 50%");
  EXPECT_EQ(of_none.code, 2);
  EXPECT_TRUE(Has(of_none, "of which GPU? Name it")) << of_none.out;
  EXPECT_TRUE(Shown(kOneTask + "device=cuda --budget 1GiB").starts_with("1 GiB: fits, "));
}

}  // namespace
}  // namespace medley
