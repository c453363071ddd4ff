#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/append_file.h>
#include <medley/curriculum/mixer.h>
#include <medley/curriculum/weight_lines.h>

namespace medley {

inline constexpr const char* kWeightLog = "weights.jsonl";
// The run's own weights file, which its verbs read and people edit.
inline constexpr const char* kRunWeights = "weights.json";

// The shares that tasks have now, or that a ramp leads to; those without any are left out.
std::map<std::string, double> SharesNow(const Mixer& mixer);
std::map<std::string, double> SharesAimedAt(const Mixer& mixer);
// An entry that has the mixer's draws, shares and residuals; `before`: as SharesNow was.
WeightEntry EntryOf(const Mixer& mixer, std::int64_t step, WeightEntry::Cause cause, std::string name,
                    std::map<std::string, double> before);

// weights.jsonl: every change of the weights, a line each. Written as a whole, as one act: after a crash all
// entries are there, or all but the last. Not for two threads at once.
class WeightLog {
 public:
  // Reads the file in the directory; empty where there is none. What is damaged is the problem, a file that
  // cannot be read a FileError. Writes nothing.
  explicit WeightLog(const std::filesystem::path& directory);
  // Has these lines, whatever lies there; the next entry replaces it.
  WeightLog(const std::filesystem::path& directory, WeightLines lines);

  const std::vector<WeightEntry>& entries() const { return entries_; }
  // What is wrong with the file, as WeightLines has it; the entries are then those that can be trusted.
  const std::string& problem() const { return problem_; }
  // What of a newer medley the file has; "" of others. A NewerError of that; and of an entry that was drawn
  // by a later rule.
  const std::string& newer() const { return newer_; }
  void RequireKnownLines() const;
  void RequireKnownDraws() const;
  // False of one that an older medley wrote: of its lines only texts were compared with their sums.
  bool has_sums() const { return has_sums_; }
  // The number of the newest entry, 0 without any. A checkpoint has it, and a run goes back to it.
  std::int64_t number() const { return entries_.empty() ? 0 : entries_.back().number; }
  // That of the newest entry of a step up to this one, for a checkpoint that does not tell.
  std::int64_t NumberAt(std::int64_t step) const;
  // The text of the newest start or edit that holds; nothing where there is none.
  std::optional<std::string> Text() const;
  // The same, with those that are due.
  std::optional<std::string> LastText() const;

  // The run goes on from a checkpoint with the entries up to this number: what came after them is no longer
  // true, and its edits are due again at their steps. The file follows with the next entry or Sync.
  void GoBackTo(std::int64_t number);
  const std::vector<DueEdit>& due() const { return due_; }
  // Other edits are due from the next entry on; returns those that were.
  std::vector<DueEdit> SwapDue(std::vector<DueEdit> due) { return std::exchange(due_, std::move(due)); }

  // On the disk when it returns, with the edits that are due. An Error where it cannot be written; then it
  // waits for the next one, or for Sync, unless it is an edit: that one is then forgotten. Of a refused edit
  // only the first 4096 bytes are kept.
  void Add(WeightEntry entry);

  // Makes a checkpoint durable. Once it returns, what waited is on the disk, else an Error is thrown and it
  // still waits; the mark is of the entries, which a run that goes on from there never changes. Kept is them
  // and the edits that are due.
  void Sync();
  LogMark mark() const;
  std::string Kept() const { return TextOf(lines_, due_, LogEnd::kOpen); }
  std::string FileText() const { return TextOf(lines_, due_, LogEnd::kClosed); }

 private:
  void Write();

  std::filesystem::path file_;
  std::vector<WeightEntry> entries_;
  std::vector<std::string> lines_;  // of the entries
  std::vector<DueEdit> due_;
  std::string problem_, newer_;
  bool has_sums_ = true;
  bool waits_ = false;  // the file is another
};

// The bytes of a run's log; "" where it is no plain file.
std::string ReadWeightLog(const std::filesystem::path& directory);

// The text of a weights file for another place: a "$schema" that is relative to its directory becomes an
// absolute path, and no other byte changes.
std::string WithAbsoluteSchema(const std::string& text, const std::filesystem::path& directory);

}  // namespace medley
