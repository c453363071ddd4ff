#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/curriculum/mixer.h>

namespace medley {

inline constexpr const char* kWeightLog = "weights.jsonl";
// The run's own weights file, which its verbs read and people edit.
inline constexpr const char* kRunWeights = "weights.json";

// A change of what a run draws from.
struct WeightEntry {
  enum class Cause { kStart, kStage, kRamp, kEdit, kDroppedTask, kRefusedEdit, kEarlyDecay };

  std::int64_t number = 0;  // of the entry, from 1; the log gives it
  std::int64_t step = 0;    // after which it holds
  std::int64_t draw = 0;    // draws so far
  Cause cause = Cause::kStart;
  std::string name;                             // of the stage, or of the dropped task
  std::string words;                            // what changed, or why it was refused
  std::map<std::string, double> before, after;  // shares by task; where a ramp leads, of its stage
  std::map<std::string, double> owed;           // residuals by task, in the mixture's unit
  std::string text;                             // of the file: of a start and of edits
};

std::string_view WordOf(WeightEntry::Cause cause);

// The shares that tasks have now, or that a ramp leads to; those without any are left out.
std::map<std::string, double> SharesNow(const Mixer& mixer);
std::map<std::string, double> SharesAimedAt(const Mixer& mixer);
// An entry that has the mixer's draws, shares and residuals; `before`: as SharesNow was.
WeightEntry EntryOf(const Mixer& mixer, std::int64_t step, WeightEntry::Cause cause, std::string name,
                    std::map<std::string, double> before);

// An edit that a run which goes on from an earlier step has still to come to.
struct DueEdit {
  std::int64_t step = 0;
  std::string text;
};

// weights.jsonl: every change of the weights, a line each. Written as a whole, as one act: after a crash all
// entries are there, or all but the last.
class WeightLog {
 public:
  // Empty where there is none yet. Lines that cannot be read are passed over.
  explicit WeightLog(const std::filesystem::path& directory);

  const std::vector<WeightEntry>& entries() const { return entries_; }
  // Of the newest entry, 0 without any. A checkpoint has it, and a run goes back to it.
  std::int64_t number() const { return entries_.empty() ? 0 : entries_.back().number; }
  // Of the newest entry of a step up to this one, for a checkpoint that does not tell.
  std::int64_t NumberAt(std::int64_t step) const;
  // Of the newest start or edit that holds; nothing where there is none.
  std::optional<std::string> Text() const;
  // The same, with those that are due.
  std::optional<std::string> LastText() const;

  // The run goes on from a checkpoint with the entries up to this number: what came after them is no longer
  // true, and its edits are due again at their steps.
  void GoBackTo(std::int64_t number);
  const std::vector<DueEdit>& due() const { return due_; }
  // Other edits are due from the next entry on; returns those that were.
  std::vector<DueEdit> SwapDue(std::vector<DueEdit> due) { return std::exchange(due_, std::move(due)); }

  // On the disk when it returns, with the edits that are due. An Error where it cannot be written; then it
  // waits for the next one, unless it is an edit.
  void Add(WeightEntry entry);

 private:
  void Write() const;

  std::filesystem::path file_;
  std::vector<WeightEntry> entries_;
  std::vector<DueEdit> due_;
};

// The text of a weights file for another place: a "$schema" that is relative to its directory becomes an
// absolute path, and no other byte changes.
std::string WithAbsoluteSchema(const std::string& text, const std::filesystem::path& directory);

}  // namespace medley
