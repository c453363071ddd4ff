#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// A change of what a run draws from.
struct WeightEntry {
  enum class Cause {
    kStart,
    kStage,
    kRamp,
    kEdit,
    kDroppedTask,
    kRefusedEdit,
    kEarlyDecay,
    kChangedFile,  // of the run's inputs, as a resume allowed
    kDecayRefit,   // the decay's end moved, for the run's hours
  };

  std::int64_t number = 0;  // of the entry, from 1; the log gives it
  std::int64_t step = 0;    // after which it holds
  std::int64_t draw = 0;    // draws so far
  Cause cause = Cause::kStart;
  std::string name;                             // of the stage or the dropped task, or the file's key
  std::string words;                            // what changed, or why it was refused
  std::map<std::string, double> before, after;  // shares by task; where a ramp leads, of its stage
  std::map<std::string, double> owed;           // residuals by task, in the mixture's unit
  std::string text;                             // of the file: of a start and of edits
  std::int64_t draw_rule = 1;  // kDrawRule of the medley that made it; 1 of those that did not tell
  // Of an early decay and a refit: the run's steps from then on, of so many that its config has; 0 of medleys
  // that did not tell.
  std::int64_t ends = 0, of_steps = 0;
};

std::string_view WordOf(WeightEntry::Cause cause);
// A start or an edit that holds: its text is that of the weights in force.
bool HasText(const WeightEntry& entry);

// An edit that a run which goes on from an earlier step has still to come to.
struct DueEdit {
  std::int64_t step = 0;
  std::string text;
};

// weights.jsonl as a text: entries, due edits, and a line that says that it is the last. A line has a sum of
// its text, and one of itself and all lines before it. So whatever was changed, lost, moved or put in, the
// first line that does not continue those before it shows it, and a cut shows by the missing end.
struct WeightLines {
  std::vector<WeightEntry> entries;
  std::vector<std::string> lines;  // of the entries, as they were written
  std::vector<DueEdit> due;
  std::string problem{};  // the rest of a sentence that the file begins; "": all is as it was written
  std::string newer{};    // where that is a line which a newer medley wrote: what it says of it
  bool has_sums = true;   // false: of an older medley, with sums of the texts of starts and edits
};

// The line of an entry behind another one's, which is "" for the first.
std::string LineOf(const WeightEntry& entry, const std::string& line_before);
// All of them, with "\n"; kOpen: without the end, as a checkpoint keeps them.
enum class LogEnd { kOpen, kClosed };
std::string TextOf(const std::vector<std::string>& lines, const std::vector<DueEdit>& due, LogEnd end);

// What lies before the first line that is not as it was written; of a log without sums, all that can be read.
// Throws for no text: what is wrong with it is the problem.
WeightLines ReadWeightLines(std::string_view text, LogEnd end = LogEnd::kClosed);

// What a checkpoint kept of a log, and of the log's file, which is damaged, all that continues it: what came
// after the checkpoint. `own`: a text that may stand for one that was damaged, if its sum is right. The
// problem is "" where the file continues what was kept up to its end: then nothing is lost.
WeightLines ContinueWeightLines(std::string_view kept, std::string_view file, const std::string& own);

// Entries from a run's start on, none of which is missing.
bool IsWholeHistory(const std::vector<WeightEntry>& entries);

}  // namespace medley
