#include <medley/report/record_sink.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <medley/base/error.h>

namespace medley {
namespace {

using Told = std::vector<std::string>;

class Named final : public RecordSink {
 public:
  Named(std::string name, Told& told) : name_(std::move(name)), told_(told) {}

  void Take(const StepRecord& record) override {
    told_.push_back(name_ + " step " + std::to_string(record.step));
  }
  void Take(const PlanRecord& record) override { told_.push_back(name_ + " plan " + record.task); }
  void Sync(LogMarks& marks) override {
    told_.push_back(name_ + " sync");
    marks[name_] = {static_cast<std::int64_t>(marks.size()) + 1, ""};
  }

 private:
  std::string name_;
  Told& told_;
};

TEST(RecordSinks, TellAllInTheOrderInWhichTheyWereAdded) {
  Told told;
  RecordSinks sinks;
  for (const char* name : {"b", "a", "c"}) sinks.Add(std::make_unique<Named>(name, told));
  StepRecord step;
  step.step = 7;
  sinks.Take(step);
  sinks.Take(PlanRecord{.step = 7, .task = "zoom", .from = 8, .to = 4, .overflowed = std::nullopt});
  LogMarks marks;
  sinks.Sync(marks);
  EXPECT_EQ(told, (Told{"b step 7", "a step 7", "c step 7", "b plan zoom", "a plan zoom", "c plan zoom",
                        "b sync", "a sync", "c sync"}));
  EXPECT_EQ(marks, (LogMarks{{"b", {1, ""}}, {"a", {2, ""}}, {"c", {3, ""}}}));
}

TEST(RecordSinks, NestAsOne) {
  Told told;
  auto inner = std::make_unique<RecordSinks>();
  inner->Add(std::make_unique<Named>("inner", told));
  RecordSinks sinks;
  sinks.Add(std::make_unique<Named>("first", told));
  sinks.Add(std::move(inner));
  sinks.Add(std::make_unique<Named>("last", told));
  sinks.Take(StepRecord{});
  EXPECT_EQ(told, (Told{"first step 0", "inner step 0", "last step 0"}));
}

TEST(RecordSink, IgnoresWhatItDoesNotWant) {
  class Deaf final : public RecordSink {};
  Deaf sink;
  LogMarks marks{{"metrics.jsonl", {12, "ab"}}};
  sink.Take(StepRecord{});
  sink.Take(PlanRecord{});
  sink.Sync(marks);
  EXPECT_EQ(marks, (LogMarks{{"metrics.jsonl", {12, "ab"}}}));
  EXPECT_EQ(MarkOf(marks, "metrics.jsonl").bytes, 12);
  EXPECT_EQ(MarkOf(marks, "timing.jsonl"), LogMark()) << "a log that no checkpoint knows starts empty";
}

TEST(LogMarks, AreReadAsTheyWereWrittenAndOlderOnesAreLengths) {
  const LogMarks marks{{"metrics.jsonl", {12, "ab"}}, {"timing.jsonl", {0, "cd"}}};
  EXPECT_EQ(LogMarksFromJson(ToJson(marks)), marks);
  EXPECT_EQ(LogMarksFromJson({{"metrics.jsonl", 12}}), (LogMarks{{"metrics.jsonl", {12, ""}}}));
  for (const char* bad : {R"({"a": -1})", R"({"a": 1.5})", R"({"a": {"bytes": 3}})", R"(["a"])", "7",
                          R"({"a": {"bytes": -3, "xxh3_128": ""}})"})
    EXPECT_THROW(LogMarksFromJson(nlohmann::ordered_json::parse(bad)), Error) << bad;
}

}  // namespace
}  // namespace medley
