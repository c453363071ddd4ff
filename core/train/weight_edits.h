#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/clock.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/weight_log.h>
#include <medley/model/model_info.h>
#include <medley/plugin/registry.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>
#include <medley/train/admission.h>
#include <medley/train/prefetcher.h>
#include <medley/train/rounds.h>
#include <medley/train/stages.h>
#include <medley/train/weights_file.h>

namespace medley {

// A run's own weights file, as a start of the run finds it.
struct FoundWeights {
  std::string text;          // that the run begins or goes on with
  std::string text_of_file;  // as it was read
  bool edited = false;       // since it was written down last: an edit before the first step
};

// Brings edits of a run's own weights file into force between two steps: a person's, once the file can be
// read as a whole, a program's, and those that the log has to come. A file that is wrong, and stays so for a
// second, is refused, and what is in force stays; written again, it is looked at again, though it be the
// same. One that was refused for what is not in its text (a full disk, a plugin that does not load) is tried
// again by itself, ever more rarely, for less than a hundredth of the time. On the trainer's thread.
class WeightEdits {
 public:
  // References outlive it.
  struct Setting {
    std::filesystem::path run;  // what people call it
    const RunConfig& config;
    const ModelInfo& model;
    const Registry& registry;
    WeightLog& log;
    Admission& admission;
    Stages& stages;
    WeightsFile& file;
    Rounds& rounds;
    SecondsSource clock;  // the same on all processes
    Prefetcher& prefetcher;
    RecordSinks& sinks;
    Console& console;
  };
  WeightEdits(Setting setting, FoundWeights found)
      : setting_(std::move(setting)), found_(std::move(found)), seen_(found_.text_of_file) {}

  // Before the first step. Throws where an edit that was made since cannot be taken over; where it was
  // interrupted the edit is left to the next resume.
  void Start(std::int64_t step);
  // After a step; true where something changed. A refusal is no exception. An Error where trouble with a file
  // keeps an edit of the log from coming again: it stays due.
  bool Follow(std::int64_t step);
  // This text holds from the next step on, and is what the file holds. Throws what is wrong with it, an
  // InputError with every mistake or what Admission throws; then what is in force and the file are as they
  // were, and only tasks that were loaded for it stay loaded. The file is written first: where the process
  // ends meanwhile, a resume finds the edit there.
  void Take(const std::string& text, std::int64_t step);

 private:
  bool FollowLog(std::int64_t step);
  bool FollowFile(std::int64_t step);
  struct Refusal {
    std::string why;        // "": the text is in force
    bool may_pass = false;  // for a cause outside the text
  };

  Curriculum Checked(const std::string& text, WeightsOf whose);
  void Apply(const std::string& text, Curriculum next, std::int64_t step, std::vector<DueEdit> due);
  Refusal Try(const std::string& text, std::int64_t step, std::vector<DueEdit> due, WeightsOf whose);
  Refusal TryFile(std::optional<std::string>& text, std::int64_t step);
  void TakenOver(const std::string& text);
  void TryLater(const Refusal& refusal, double took);
  void Refuse(const std::string& text, const std::string& why, std::int64_t step);

  Setting setting_;
  FoundWeights found_;
  std::string seen_;             // of the file, that was last taken over or refused
  std::string why_;              // that was refused; "": it was not
  bool unsettled_ = true;        // the file may be another than that
  double since_ = 0;             // so long
  double wait_ = 0;              // seconds until what was refused is tried again
  std::optional<double> again_;  // when that is
};

}  // namespace medley
