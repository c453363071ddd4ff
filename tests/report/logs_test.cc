#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include <medley/report/console.h>
#include <medley/report/metrics.h>
#include <medley/report/progress.h>
#include <medley/report/short_names.h>
#include <medley/report/step_record_json.h>
#include <medley/report/table.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

StepRecord Record(std::int64_t step, const std::string& task, double loss) {
  StepRecord record;
  record.step = step;
  record.draws = {{task, 10 * step, 4}};
  record.losses[task]["image"] = {.sum = 4 * loss, .count = 4, .weight = 2};
  record.gradient_norm = 0.5;
  record.learning_rate = 1e-3;
  record.seconds = 0.25;
  record.memory_peak = 1 << 20;
  return record;
}

// The logs of a run, as it puts them together.
RecordSinks LogsOf(const std::filesystem::path& directory, const std::vector<std::string>& tasks,
                   const LogMarks& marks) {
  static Console silent(std::tmpfile());
  RecordSinks logs;
  logs.Add(std::make_unique<MetricsLog>(directory, marks, silent));
  logs.Add(std::make_unique<TimingLog>(directory, marks, silent));
  logs.Add(
      std::make_unique<LossesTable>(directory, tasks, silent));  // from metrics.jsonl, once that was cut back
  return logs;
}

LogMarks Synced(RecordSinks& logs) {
  LogMarks marks;
  logs.Sync(marks);
  return marks;
}

ScoreRecord ScoreOf(double value) {
  return {.metric = "score",
          .score = {.value = value, .low = value, .high = value},
          .chance = std::nullopt,
          .trivial = {},
          .figures = {},
          .rows = 32,
          .loss = 0.75};
}

// Of an edited log: each would cost every step a byte.
TEST(LossesTable, HasNotAsManyColumnsAsALogMayName) {
  const ScratchDirectory scratch;
  nlohmann::json line = {{"step", 1}, {"terms", nlohmann::json::object()}};
  for (int i = 0; i < 600; ++i) line["terms"]["task-" + std::to_string(i)] = {{{"weighted", 1.0}}};
  WriteText(scratch / kMetricsLog, line.dump() + "\n");
  Console silent(stderr);
  const LossesTable table(scratch.path(), {"own"}, silent);
  const std::string text = ReadText(scratch / kLossesTable);
  EXPECT_EQ(text.find("step,own,task-0,"), 0u) << text.substr(0, 100);
  EXPECT_EQ(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find('\n')), ','), 256);
}

// RLIMIT_FSIZE stands in for a full disk.
TEST(Metrics, HoldOnlyWhatIsDeterministicAndTheCsvAColumnATask) {
  const ScratchDirectory scratch;
  {
    RecordSinks logs = LogsOf(scratch.path(), {"control", "zoom_gold"}, {});
    logs.Take(Record(1, "zoom_gold", 0.75));
    logs.Take(Record(2, "control", 0.5));
    const LogMarks marks = Synced(logs);
    EXPECT_EQ(marks.size(), 2u);
    for (const auto& [log, mark] : marks) {
      const std::string text = ReadText(scratch / log);
      EXPECT_EQ(mark, (LogMark{static_cast<std::int64_t>(text.size()), HashText(text)})) << log;
    }
  }
  const std::string text = ReadText(scratch / "metrics.jsonl");
  const auto line = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(line.at("terms").at("zoom_gold").at("image").at("weighted"), 1.5);
  EXPECT_EQ(line.at("draws").at(0).at("begin"), 10);
  EXPECT_FALSE(line.contains("seconds"));
  EXPECT_EQ(ReadText(scratch / "losses.csv"), "step,control,zoom_gold\n1,,1.5\n2,1.0,\n");
  EXPECT_NE(ReadText(scratch / "timing.jsonl").find("\"rows_per_second\":16.0"), std::string::npos);
}

// The columns of a run that goes on are made from metrics.jsonl: they must say the same.
TEST(Metrics, ATermWithoutAnItemHasNoValueAndItsTaskNoTotal) {
  const ScratchDirectory scratch;
  LogMarks marks;
  {
    RecordSinks logs = LogsOf(scratch.path(), {"control", "fused"}, {});
    StepRecord record = Record(1, "fused", 0.5);
    record.losses["control"]["image"] = {.sum = 1, .count = 4, .weight = 2};
    record.losses["control"]["unused"] = {.sum = 0, .count = 0, .weight = 0};
    record.losses["fused"]["second"] = {.sum = 0, .count = 0, .weight = 1};
    logs.Take(record);
    marks = Synced(logs);
  }
  const std::string columns = "step,control,fused\n1,0.5,\n";
  EXPECT_EQ(ReadText(scratch / "losses.csv"), columns);
  const auto line = nlohmann::json::parse(ReadText(scratch / "metrics.jsonl"));
  const auto& second = line.at("terms").at("fused").at("second");
  EXPECT_TRUE(second.at("mean").is_null());
  EXPECT_TRUE(second.at("weighted").is_null());
  EXPECT_EQ(second.at("count"), 0);
  EXPECT_EQ(line.at("terms").at("fused").at("image").at("weighted"), 1);
  EXPECT_EQ(line.at("loss"), 1.5) << "what this step made less";
  const RecordSinks again = LogsOf(scratch.path(), {"control", "fused"}, marks);
  EXPECT_EQ(ReadText(scratch / "losses.csv"), columns);
}

TEST(Metrics, AResumeWithOtherTasksGivesThePastTheirColumns) {
  const ScratchDirectory scratch;
  LogMarks marks;
  {
    RecordSinks logs = LogsOf(scratch.path(), {"control"}, {});
    logs.Take(Record(1, "control", 0.5));
    marks = Synced(logs);
    logs.Take(Record(2, "control", 0.25));
  }
  {
    RecordSinks logs = LogsOf(scratch.path(), {"extra"}, marks);
    logs.Take(Record(2, "extra", 0.75));
  }
  EXPECT_EQ(ReadText(scratch / "losses.csv"), "step,extra,control\n1,,1.0\n2,1.5,\n");
}

TEST(Metrics, AnEvaluationStandsInTheLineOfItsStepAndAScoreThatIsNoNumberIsNull) {
  const ScratchDirectory scratch;
  RecordSinks logs = LogsOf(scratch.path(), {"control"}, {});
  StepRecord record = Record(1, "control", 0.5);
  record.evaluation.emplace().tasks = {{"control", ScoreOf(0.25)}, {"zoom", ScoreOf(std::nan(""))}};
  logs.Take(record);
  logs.Take(Record(2, "control", 0.5));
  const std::string text = ReadText(scratch / "metrics.jsonl");
  const auto evaluated = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(evaluated.at("eval").at("control").at("value"), 0.25);
  EXPECT_EQ(evaluated.at("eval").at("control").at("loss"), 0.75);
  EXPECT_TRUE(evaluated.at("eval").at("zoom").at("value").is_null());
  EXPECT_FALSE(nlohmann::json::parse(text.substr(text.find('\n') + 1)).contains("eval"));
}

// A task that a step draws twice has the higher of its peaks.
TEST(Metrics, TheTimesTellPeaksLedgerGuardAndOverflowsWhereThereAreAny) {
  const ScratchDirectory scratch;
  Console silent(std::tmpfile());
  TimingLog log(scratch.path(), {}, silent);
  StepRecord record = Record(1, "zoom", 0.5);
  record.draws.push_back({"zoom", 14, 6});
  record.constant_bytes = {{"zoom", 77}};
  for (const std::int64_t peak : {300, 500, 400})
    record.receipts.push_back({.form = FormId("zoom"), .mode = "joint", .measured = peak});
  record.memory = PeakMemory{.ledger = {.weights = 10, .constants = 77}, .constants = {{"zoom", 77}}};
  record.guard = {{.level = GuardLevel::kCritical, .kind = "leak", .task = "zoom", .words = "it keeps"},
                  {.level = GuardLevel::kWarning, .kind = "floor", .task = "", .words = "it rose"}};
  record.overflows = {{.task = "zoom", .in_backward = true, .from = 8, .to = 4, .left_bytes = 3},
                      {.task = "zoom", .in_backward = false, .from = 4, .to = 2},
                      {.task = ""}};
  log.Take(record);
  log.Take(Record(2, "zoom", 0.5));
  const std::string text = ReadText(scratch / "timing.jsonl");
  const auto line = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(line.at("tasks").at("zoom"),
            (nlohmann::json{{"rows", 10}, {"constant_bytes", 77}, {"memory_peak", 500}}));
  EXPECT_EQ(line.at("memory").at("total"), 87);
  EXPECT_EQ(
      line.at("guard").at(0),
      (nlohmann::json{{"level", "critical"}, {"kind", "leak"}, {"task", "zoom"}, {"words", "it keeps"}}));
  EXPECT_EQ(line.at("guard").at(1).at("level"), "warning");
  EXPECT_EQ(
      line.at("out_of_memory").at(0),
      (nlohmann::json{{"task", "zoom"}, {"phase", "backward"}, {"from", 8}, {"to", 4}, {"left_bytes", 3}}));
  EXPECT_EQ(line.at("out_of_memory").at(1).at("phase"), "forward");
  EXPECT_EQ(line.at("out_of_memory").at(2), (nlohmann::json{{"task", ""}, {"phase", "between draws"}}));
  const auto quiet = nlohmann::json::parse(text.substr(text.find('\n') + 1));
  for (const char* key : {"memory", "guard", "out_of_memory"}) EXPECT_FALSE(quiet.contains(key)) << key;
  EXPECT_FALSE(quiet.at("tasks").at("zoom").contains("memory_peak"));
}

TEST(TermLoss, HasNoMeanWithoutAnItemAndNoPartInTheTotalWithoutAWeight) {
  const TermLoss some{.sum = 6, .count = 4, .weight = 2}, none{}, figure{.sum = 5, .count = 0, .weight = 0};
  EXPECT_EQ(some.mean(), 1.5);
  EXPECT_EQ(some.weighted(), 3);
  EXPECT_EQ(none.mean(), std::nullopt);
  EXPECT_EQ(none.weighted(), std::nullopt);
  EXPECT_EQ(figure.weighted(), 0);
  EXPECT_EQ(TotalLoss({{"a", some}, {"b", some}, {"c", figure}}), 6);
  EXPECT_EQ(TotalLoss({{"a", some}, {"b", none}}), std::nullopt);
}

TEST(Progress, TheLineTellsLossSpeedMemoryAndTimeLeft) {
  Progress progress(0, 101);
  progress.Add(Record(1, "control", 0.5));
  EXPECT_EQ(progress.Line(), "step 1/101:  control 1; 0:25 left, 16 rows/s, memory 0 B (peak 1 MiB)");
  progress.EndsAt(101, 7.9);
  EXPECT_TRUE(progress.Line().starts_with("step 1/101:  control 1; 0:08 left")) << progress.Line();
  progress.EndsAt(41, 600);
  EXPECT_TRUE(progress.Line().starts_with("step 1/41:  control 1; 0:10 left")) << progress.Line();
}

TEST(Progress, SaysThatStepsWaitForDataForWhomAndWhatHelps) {
  EXPECT_EQ(DataWaitWords(0.29, {{"slow", 3.0}}, 1), "");
  EXPECT_EQ(DataWaitWords(0.5, {}, 1), "");
  const std::string words = DataWaitWords(0.5, {{"slow", 3.0}, {"quick", 1.0}}, 1);
  EXPECT_TRUE(words.starts_with("50 % waiting for data (slow)")) << words;
  if (std::thread::hardware_concurrency() >= 2) {
    EXPECT_EQ(words, "50 % waiting for data (slow): data.threads=2");
    EXPECT_EQ(DataWaitWords(0.5, {{"slow", 3.0}}, 0), "50 % waiting for data (slow): data.threads=1");
  }
  EXPECT_EQ(DataWaitWords(0.99, {{"slow", 3.0}}, 4096), "99 % waiting for data (slow)") << "no such machine";

  Progress progress(0, 101, /*data_threads=*/4096);
  StepRecord record = Record(1, "control", 0.5);
  record.data_waits = {{"control", 200.0}};  // ms, of 250
  progress.Add(record);
  EXPECT_EQ(progress.Line().find("waiting"), std::string::npos) << "one step tells nothing";
  for (int step = 2; step < 12; ++step) {
    record.step = step;
    progress.Add(record);
  }
  EXPECT_NE(progress.Line().find("; 80 % waiting for data (control), 0:2"), std::string::npos)
      << progress.Line();
}

TEST(StepRecordJson, GivesTheSameLineInTheLogAsTheRecord) {
  const ScratchDirectory scratch;
  StepRecord record = Record(7, "zoom", 0.1);
  record.draws.push_back({"control", 3, 2});
  record.losses["control"]["none"] = {.sum = 0, .count = 0, .weight = 0.3};
  record.delivered = {{"zoom", 1.0 / 3}};
  record.receipts = {{.form = FormId("zoom@1f3a9c"),
                      .mode = "joint",
                      .micro_rows = 2,
                      .measured = 5,
                      .operations = std::int64_t{1} << 50,
                      .seconds = 0.5}};
  EXPECT_EQ(ToJson(record).at("receipts").at(0).at("task"), "zoom@1f3a9c") << "as older medleys wrote it";
  const StepRecord again = StepRecordFromJson(nlohmann::json::parse(ToJson(record).dump()));
  Console console(stdout);
  MetricsLog log(scratch.path(), {}, console);
  log.Take(record);
  log.Take(again);
  const std::string text = ReadText(scratch / "metrics.jsonl");
  EXPECT_EQ(text.substr(0, text.size() / 2), text.substr(text.size() / 2));
  EXPECT_EQ(again.receipts.at(0).form, FormId("zoom@1f3a9c"));
  EXPECT_EQ(again.receipts.at(0).measured, 5);
  EXPECT_EQ(again.receipts.at(0).operations, std::int64_t{1} << 50);
  EXPECT_EQ(again.receipts.at(0).seconds, 0.5);
  EXPECT_EQ(again.delivered, record.delivered);
  nlohmann::json older = ToJson(record);
  older["receipts"][0].erase("operations");
  older["receipts"][0].erase("seconds");
  EXPECT_EQ(StepRecordFromJson(older).receipts.at(0).measured, 5);
}

// Each step waits for another one, so that all together wait for a quarter of the time.
TEST(Progress, SaysHowMuchProcessesWaitForEachOtherAndMostlyForWhom) {
  Progress progress(0, 101);
  StepRecord record;
  record.seconds = 1;
  for (record.step = 1; record.step <= 60; ++record.step) {
    record.rank_work_ms = record.step % 3 == 0 ? std::vector<double>{1000, 500} : std::vector{500., 1000.};
    progress.Add(record);
  }
  EXPECT_NE(progress.Line().find("25 % waiting for processes (rank 1)"), std::string::npos)
      << progress.Line();
  EXPECT_EQ(progress.rank_work().Words(60 * 1000), "25 % waiting for processes (rank 1)");
  EXPECT_EQ(RankWork().Words(1), "");
}

TEST(Progress, EightyColumnsShowTheLossOfEachOfSixTasks) {
  Progress progress(0, 8500);
  StepRecord record = Record(4321, "control", 0.00123);
  for (const char* task : {"arrow_to_gold", "position_qa", "zoom_agent", "zoom_gold", "zoom_halfway"})
    record.losses[task]["image"] = {.sum = 0.1234, .count = 2, .weight = 1};
  progress.Add(record);
  EXPECT_EQ(progress.Line(80), "4321/8500 atgo .062 cont .0025 pqa .062 zage .062 zgol .062 zhal .062");
  EXPECT_NE(progress.Line(200).find("  zoom_halfway 0.0617; 17:"), std::string::npos) << progress.Line(200);
  Progress one(0, 8500);
  one.Add(Record(20, "control", 0.5));
  EXPECT_EQ(one.Line(60), "step 20/8500:  control 1; 35:20 left, 16 rows/s");
}

TEST(Progress, TheLastScoresStandBehindTheLosses) {
  Progress progress(0, 8500);
  StepRecord evaluated = Record(4000, "control", 0.00123);
  evaluated.losses["zoom_gold"]["image"] = {.sum = 0.1234, .count = 2, .weight = 1};
  evaluated.losses["new"]["image"] = {.sum = 0.5, .count = 1, .weight = 1};
  evaluated.evaluation.emplace().tasks = {{"control", ScoreOf(0.03412)},
                                          {"zoom_gold", ScoreOf(std::nan(""))}};
  progress.Add(evaluated);
  progress.Add(Record(4001, "control", 0.00123));  // no evaluation: the scores stay
  const std::string all = progress.Line();
  EXPECT_TRUE(all.starts_with("step 4001/8500:  control 0.00246 (0.03412)  new 0.5  zoom_gold 0.0617 (-); "))
      << all;
  EXPECT_EQ(progress.Line(58), "4001/8500 cont .0025/.034 new .5 zgol .062/-; 18:45 left");
  EXPECT_EQ(progress.Line(45), "4001/8500 cont .0025/.034 new .5 zgol .062/-");
  EXPECT_EQ(progress.Line(44), "4001/8500 cont .0025/.034 +2; 18:45 left");
  for (std::size_t columns = 37; columns < 120; ++columns) EXPECT_LT(progress.Line(columns).size(), columns);

  StepRecord later = Record(4100, "control", 0.00123);
  later.evaluation.emplace().tasks = {{"control", ScoreOf(0.5)}};
  progress.Add(later);
  EXPECT_NE(progress.Line().find("control 0.00246 (0.5)  new 0.5  zoom_gold 0.0617 (-); "),
            std::string::npos);
  // The stage and what it waits for are the first that stands behind.
  progress.SetStage("turn: step 3 of 20");
  EXPECT_NE(progress.Line().find("; turn: step 3 of 20, "), std::string::npos);
}

// The run of all 22 tasks: the scores are what its line is for.
TEST(Progress, WhereNotAllTasksFitThoseDrawnLastAreShownWithTheirScores) {
  Progress progress(0, 8500);
  std::vector<std::string> tasks;
  for (int i = 10; i < 32; ++i) tasks.push_back("imagine_" + std::to_string(i));
  StepRecord evaluated;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    evaluated = Record(static_cast<std::int64_t>(i), tasks[i], 0.0125);
    if (i + 1 == tasks.size()) {
      evaluated.evaluation.emplace();
      for (const std::string& task : tasks) evaluated.evaluation->tasks[task] = ScoreOf(0.25);
    }
    progress.Add(evaluated);
  }
  EXPECT_EQ(progress.Line(80), "21/8500 i31 .025/.25 i30 .025/.25 i29 .025/.25 i28 .025/.25 +18; 35:20 left");
  progress.Add(Record(22, tasks[3], 0.0125));
  EXPECT_EQ(progress.Line(80), "22/8500 i13 .025/.25 i31 .025/.25 i30 .025/.25 i29 .025/.25 +18; 35:20 left");
  for (std::size_t columns = 40; columns < 700; ++columns) {
    const std::string line = progress.Line(columns);
    EXPECT_LT(line.size(), columns);
    EXPECT_NE(line.find(".25"), std::string::npos) << line;
  }
  // Every task has its turn, also where each step draws all of them.
  StepRecord all = Record(100, tasks[0], 0.0125);
  for (const std::string& task : tasks) all.losses[task] = all.losses[tasks[0]];
  std::set<std::string> seen;
  for (; all.step < 130; ++all.step) {
    progress.Add(all);
    seen.insert(progress.Line(80).substr(9, 3));
  }
  EXPECT_EQ(seen.size(), tasks.size());
}

// At whatever width, and whoever else is there.
TEST(Progress, ATaskHasOneShortNameInAllLines) {
  Progress progress(0, 8500);
  const auto told = progress.AddTasks({"zoom_agent", "zoom_gold", "control", "qa"});
  EXPECT_EQ(told, (std::vector<std::string>{"zoom_agent", "zoom_gold", "control"})) << "qa is qa";
  StepRecord record = Record(4321, "control", 0.00123);
  for (const char* task : {"zoom_agent", "zoom_gold", "qa"}) record.losses[task] = record.losses["control"];
  progress.Add(record);
  const auto names = [](const std::string& line) {
    std::set<std::string> words;
    std::istringstream text(line.substr(0, line.find(';')));
    for (std::string word; text >> word;)
      if (std::isalpha(static_cast<unsigned char>(word[0])) != 0) words.insert(word);
    return words;
  };
  const std::set<std::string> known = {"zage", "zgol", "cont", "qa"};
  std::size_t shown = 0;
  for (std::size_t columns = 20; columns < 68; ++columns) {
    const std::string line = progress.Line(columns);
    if (line.starts_with("step ")) continue;  // there is room for the long names
    for (const std::string& name : names(line)) EXPECT_TRUE(known.count(name) > 0) << line;
    shown = std::max(shown, names(line).size());
  }
  EXPECT_EQ(shown, 4u);
  EXPECT_EQ(progress.AddTasks({"zoom_golf", "control"}), (std::vector<std::string>{"zoom_golf"}));
  EXPECT_EQ(progress.ShortNameOf("zoom_golf"), "zgolf") << "zgol is somebody's";
  EXPECT_EQ(progress.ShortNameOf("zoom_gold"), "zgol") << "and stays";
}

TEST(ShortNames, AreDifferentWhateverTheTasks) {
  ShortNames names;
  names.Add({"zoom_gold", "zoom_golf", "zgol", "a_b_c", "abc", "imagine_10", "imagine_11", "imagine_101", "_",
             "x_", "ab_c", "control", "controls"});
  EXPECT_EQ(names.Of("zoom_gold"), "zgold");
  EXPECT_EQ(names.Of("zoom_golf"), "zgolf");
  EXPECT_EQ(names.Of("zgol"), "zgol");
  EXPECT_EQ(names.Of("control"), "control");
  EXPECT_EQ(names.Of("controls"), "controls");
  EXPECT_EQ(names.Of("imagine_10"), "i10");
  EXPECT_EQ(names.Of("imagine_101"), "i101");
  names.Add({"zgold", "i10", "abc.2", "cont"});  // which have the short names of others
  std::set<std::string> seen;
  for (const char* task :
       {"zoom_gold", "zoom_golf", "zgol", "a_b_c", "abc", "imagine_10", "imagine_11", "imagine_101", "_",
        "x_", "ab_c", "control", "controls", "zgold", "i10", "abc.2", "cont"})
    EXPECT_TRUE(seen.insert(names.Of(task)).second) << task << " is " << names.Of(task);
  EXPECT_EQ(names.Of("zoom_gold"), "zgold") << "the first keeps it";
}

TEST(Progress, ATaskThatWasNotDrawnForLongLeavesTheLineUntilItIsAgain) {
  Progress progress(0, 8500);
  for (std::int64_t step = 1; step <= 700; ++step) {
    progress.Add(Record(step,
                        step % 100 == 50 && step < 260 ? "rare"
                        : step < 100 && step % 2 == 0  ? "paused"
                                                       : "control",
                        0.5));
    const std::string line = progress.Line(), narrow = progress.Line(20);
    EXPECT_EQ(line.find("paused") != std::string::npos, step >= 2 && step <= 98 + 200) << line;
    if (step > 300) {
      EXPECT_EQ(narrow.find('+') != std::string::npos, step <= 250 + 300) << narrow;
    }
    EXPECT_EQ(line.find("rare") != std::string::npos, step >= 50 && step <= 250 + 300)
        << line << ": thrice its own hundred";
  }
  progress.Add(Record(701, "paused", 0.5));
  EXPECT_NE(progress.Line().find("paused 1"), std::string::npos);
}

// Once, and again only for a task that comes.
TEST(StatusLine, SaysOnceWhatShortNamesStandFor) {
  const std::string said = [] {
    std::FILE* file = std::tmpfile();
    double now = 0;
    Console console(file, {}, [&now] { return now += 20; });
    Progress progress(0, 8500);
    StatusLine line(progress, console);
    line.AddTasks({"arrow_to_gold", "zoom_gold", "control", "qa"});
    StepRecord record = Record(1, "control", 0.5);
    for (const char* task : {"arrow_to_gold", "zoom_gold", "qa"})
      record.losses[task] = record.losses["control"];
    for (int step = 1; step < 5; ++step) {
      record.step = step;
      ::setenv("COLUMNS", "50", 1);
      line.Take(record);
      if (step == 2) line.AddTasks({"control", "zoom_agent"});
    }
    ::unsetenv("COLUMNS");
    std::rewind(file);
    std::string text;
    for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    return text;
  }();
  const std::string once = "each line: steps, then tasks with loss, or loss/score;";
  EXPECT_EQ(said.find(once), said.rfind(once)) << said;
  for (const char* words : {" is arrow_to_gold", "zgol is", "cont is", "zage is zoom_agent",
                            "1/8500 atgo 1 cont 1 qa 1 zgol 1"}) {
    EXPECT_NE(said.find(words), std::string::npos) << words << "\n" << said;
    EXPECT_EQ(said.find(words), said.rfind(words)) << words << "\n" << said;
  }
  EXPECT_EQ(said.find("qa is"), std::string::npos) << said;
}

TEST(Progress, AStepWithoutItemsOfATermDoesNotMoveTheLine) {
  Progress progress(0, 100);
  StepRecord whole = Record(1, "fused", 0.5);
  whole.losses["fused"]["second"] = {.sum = 2, .count = 1, .weight = 1};
  progress.Add(whole);
  StepRecord part = Record(2, "fused", 0.5);
  part.losses["fused"]["second"] = {.sum = 0, .count = 0, .weight = 1};
  progress.Add(part);
  EXPECT_TRUE(progress.Line().starts_with("step 2/100:  fused 3; ")) << progress.Line();
}

TEST(Table, AlignsNamesLeftAndNumbersRight) {
  Table table({"task", "n"});
  table.Add({"a", "100"});
  table.Add({"größe", "7"});
  EXPECT_EQ(table.ToText(), "task     n\na      100\ngröße    7\n");
  EXPECT_EQ(FormatBytesOf(1536, 4096), "1.5 KiB (37.5 %)");
  EXPECT_EQ(FormatSeconds(3723), "1:02:03");
}

}  // namespace
}  // namespace medley
