#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/curriculum/curriculum_edit.h>
#include <medley/curriculum/weight_log.h>
#include <medley/report/console.h>
#include <medley/run/validate.h>

namespace medley {

// What a resume goes on with: the weights as the checkpoint knew them, and the file as it is.
struct ResumedWeights {
  WeightLog log;
  std::optional<WeightsText> then;  // nothing: what the file holds, of a run without a log
  StagePlace place;                 // in them
  std::string text_of_file;
  bool edited = false;   // the file, since it was written down last
  bool damaged = false;  // the log, whose file is still as it was found
  // Of files that changed behind the checkpoint: what they are now, they stay. No longer in the log.
  std::vector<WeightEntry> changed_files{};
};

// The log, held against what the checkpoint knows of it; without one, against itself. What is wrong is said,
// and what the run then goes on with: what the checkpoint kept, and what is whole behind it. A text that is
// not as it was written is never among it.
//
// A weights file that is gone is written anew, as it was taken over last, and a run of an older medley gets
// its first. An InputError where neither the file nor the log tells what the run's weights were, or the
// checkpoint does not tell where the run was; a NewerError where a newer medley wrote the log, or drew what
// the run goes on from. It writes no other file than that, and none where it throws.
ResumedWeights ResumeWeights(const std::filesystem::path& directory,
                             const std::optional<FoundCheckpoint>& from, Console& console);

// Once all else of the resume is right: a log that is damaged is set aside, and another one lies in its
// place. Does nothing where it is whole.
void ReplaceDamagedLog(const std::filesystem::path& directory, const ResumedWeights& weights,
                       Console& console);

}  // namespace medley
