#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/append_file.h>
#include <medley/report/records.h>

namespace medley {

// Marks of the logs that a checkpoint points into, by their path below the run's directory.
using LogMarks = std::map<std::string, LogMark>;
// An empty one for a log that is not there.
LogMark MarkOf(const LogMarks& marks, const std::string& log);
nlohmann::ordered_json ToJson(const LogMarks& marks);
// Older ones are lengths alone. An Error for anything else.
LogMarks LogMarksFromJson(const nlohmann::ordered_json& json);

// Writes down what a run leaves, each in its own form: a log, a line on the screen, a table. Takes what it
// wants and ignores the rest. Called on the trainer's thread, between steps; what it throws ends the run, or
// from Sync fails the save.
class RecordSink {
 public:
  virtual ~RecordSink();

  // Called before the first step, where the run is evaluated then.
  virtual void Take(const EvaluationRecord& /*at_start*/) {}
  // Called after every step; an evaluation comes with its step.
  virtual void Take(const StepRecord& /*record*/) {}
  virtual void Take(const PlanRecord& /*record*/) {}
  virtual void Take(const PhaseRecord& /*record*/) {}
  virtual void Take(const StageStart& /*start*/) {}
  virtual void Take(const SaveRecord& /*record*/) {}
  // The run names these tasks from now on.
  virtual void AddTasks(const std::vector<std::string>& /*named*/) {}
  // Makes durable what a checkpoint is to point into, and adds where that ends.
  virtual void Sync(LogMarks& /*marks*/) {}
};

// All sinks of a run, in the order in which they are told. Where one throws, those behind it are not told.
class RecordSinks final : public RecordSink {
 public:
  void Add(std::unique_ptr<RecordSink> sink) {
    Add(*sink);
    owned_.push_back(std::move(sink));
  }
  // Keeps the reference.
  void Add(RecordSink& sink) { sinks_.push_back(&sink); }

  void Take(const EvaluationRecord& at_start) override;
  void Take(const StepRecord& record) override;
  void Take(const PlanRecord& record) override;
  void Take(const PhaseRecord& record) override;
  void Take(const StageStart& start) override;
  void Take(const SaveRecord& record) override;
  void AddTasks(const std::vector<std::string>& named) override;
  void Sync(LogMarks& marks) override;

 private:
  std::vector<RecordSink*> sinks_;
  std::vector<std::unique_ptr<RecordSink>> owned_;
};

}  // namespace medley
