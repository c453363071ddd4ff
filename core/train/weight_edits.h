#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/file_watch.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/weight_log.h>
#include <medley/plugin/registry.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>
#include <medley/train/prefetcher.h>
#include <medley/train/stages.h>

namespace medley {

// Makes room for tasks, and forms of tasks, that a run did not name so far.
class TaskAdmission {
 public:
  virtual ~TaskAdmission();
  // Has the curriculum any that the run does not know?
  virtual bool HasNew(const Curriculum& curriculum) const = 0;
  // Loads and plans them alone, and tells the mixer and the plan in force. Throws what is wrong with one;
  // then the run goes on without it.
  virtual void Admit(const Curriculum& curriculum) = 0;
};

// What the edits of a run's own weights file need, of the run that goes on.
struct LiveWeights {
  const Registry& registry;
  const ModelInfo& model;
  WeightLog& log;
  TaskAdmission& admission;
  std::string text;          // that the run starts or goes on with
  std::string text_of_file;  // as it was read
  bool edited = false;       // the file, since it was written down last: an edit before the first step
};

// Brings edits of a run's own weights file into force between two steps: a person's, once the file can be
// read as a whole, and those that the log has to come. A file that is wrong, and stays so for a second, is
// refused, and what is in force stays.
class WeightEdits {
 public:
  // References outlive it.
  struct Setting {
    std::filesystem::path file;
    const RunConfig& config;
    LiveWeights& live;
    Stages& stages;
    Prefetcher& prefetcher;
    RecordSinks& sinks;
    Console& console;
    SecondsSource now = SteadySeconds;
  };
  explicit WeightEdits(const Setting& setting);

  // Before the first step. Throws where an edit that was made since cannot be taken over.
  void Start(std::int64_t step);
  // After a step; true where something changed.
  bool Follow(std::int64_t step);

 private:
  bool FollowLog(std::int64_t step);
  bool FollowFile(std::int64_t step);
  void Apply(const std::string& text, std::int64_t step, WeightsOf whose);
  std::string WhyNot(const std::string& text, std::int64_t step, std::vector<DueEdit> due, WeightsOf whose);
  void Refuse(const std::string& text, const std::string& why, std::int64_t step);
  std::optional<std::string> Read() const;

  Setting setting_;
  FileWatch watch_;
  std::string seen_;       // of the file, that was last taken over or refused
  bool unsettled_ = true;  // the file may be another than that
  double since_ = 0;       // so long
};

}  // namespace medley
