#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/config/mode.h>
#include <medley/curriculum/form_id.h>
#include <medley/plan/peak_lines.h>
#include <medley/report/memory_ledger.h>

namespace medley {

// How long one forward and backward of all passes took with so many rows.
struct StepTime {
  std::int64_t rows = 0;
  double milliseconds = 0;
};

// The floating-point operations of one forward and backward of all passes with so many rows: see WorkCounter.
struct CountedWork {
  std::int64_t rows = 0;
  std::int64_t operations = 0;
};

// What was measured of a task in one way. Bytes are above the floor, for rows of the task's largest lengths.
struct ModeProfile {
  Way way{};
  std::vector<Probe> whole;   // all rows of a draw in one forward
  std::vector<Probe> pieces;  // as one of several micro-batches: from the second on gradients are there
  std::vector<StepTime> times;
  std::int64_t saved_per_row = 0;  // bytes kept for the backward, of all graphs that live together
  std::int64_t forwards = 0;       // of passes, for one micro-batch
  // One row was tried and overflowed: it needs more than this. 0: it was not so.
  std::int64_t more_than = 0;
  std::map<std::string, std::int64_t> saved_by_pass{};  // bytes a row that each keeps for its backward
  // How many of the bytes at the peak are gradients; of the largest size.
  std::int64_t gradients_whole = 0, gradients_pieces = 0;
  std::vector<CountedWork> work{};  // none: nobody counted it
  // Where nobody did: that it makes something once which other modes make in several passes.
  bool makes_once = false;

  bool measured() const { return !whole.empty() && !pieces.empty(); }
  // One micro-batch; between the measured sizes by lines, 0 where nothing was measured.
  double Milliseconds(std::int64_t rows) const;
  double Operations(std::int64_t rows) const;
};

struct TaskProfile {
  nlohmann::ordered_json key;                    // what it is valid for, beside the profile's
  std::int64_t gradients = 0;                    // bytes of the gradients that a draw of the task leaves
  std::int64_t constants = 0;                    // bytes of its tables on the device
  std::map<std::string, std::int64_t> shared{};  // of these, what it may share: see SharedTables::KeyOf
  std::int64_t rebuilding = 0;     // bytes above its tables for a moment, where they are built anew
  std::int64_t held = 0;           // bytes that the task itself keeps on the device once it is loaded
  std::int64_t cache = 0;          // bytes on the device of what it keeps of its files, at most
  std::int64_t batch_per_row = 0;  // bytes of a sampled row
  std::int64_t contract = 0;       // bytes above the floor to hold a row against the spec
  int layers = 0;                  // of the model's deepest stack; 0: not known
  std::vector<ModeProfile> modes;

  ModeProfile* Find(const Way& way);
  const ModeProfile* Find(const Way& way) const;
};

// The tables of several forms together, where each that they share is there once.
class TablesTogether {
 public:
  // Returns the bytes by which they grow.
  std::int64_t Add(const TaskProfile& profile);

 private:
  std::set<std::string> there_;
};

// Measured bytes. Knows no limit: the same profile serves every budget.
struct Profile {
  nlohmann::ordered_json key;           // model, tokenizer, versions, device: a plain object
  MemoryLedger floor;                   // what lives between steps, without the constants of tasks
  std::int64_t gradients = 0;           // of all trained parameters
  std::map<FormId, TaskProfile> tasks;  // by form
};

// A member of a JSON object: "recompute_every" where a number says it (-1: nothing is pinned), else
// "recompute_layers".
std::pair<std::string, nlohmann::ordered_json> RecomputedMember(
    const std::optional<RecomputedLayers>& recomputed);
// Of an object that has "mode" and such a member; std::out_of_range where they are wrong.
Way WayOf(const nlohmann::ordered_json& json);

// profile.json. Reading throws an InputError that names the file where it is no profile.
nlohmann::ordered_json ToJson(const Profile& profile);
Profile ProfileFromJson(const nlohmann::ordered_json& json, const std::filesystem::path& file);
Profile ReadProfile(const std::filesystem::path& file);

// "model agent-tiny.json (5f0c...) -> agent-base.json (77ab...)": every member in which the keys differ,
// "" where they are the same.
std::string KeyDifferences(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now);

}  // namespace medley
