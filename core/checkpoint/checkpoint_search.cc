#include <medley/checkpoint/checkpoint_search.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/newer.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint_files.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestHint = 4096;

// By the run that it belongs to, which goes on meanwhile and has newer ones by now.
bool WasRemoved(const CheckpointEntry& entry) {
  std::error_code error;
  return fs::symlink_status(entry.path, error).type() == fs::file_type::not_found;
}

// Nothing, and a line about it, where the checkpoint is damaged.
std::optional<FoundCheckpoint> VerifyOrWarn(const CheckpointEntry& entry, Console& console) {
  try {
    return ReadCheckpoint(entry.path);
  } catch (const NewerError&) {
    throw;
  } catch (const FileError& error) {
    if (!IsDamage(error)) {
      throw FileError(std::string(error.what()) + ". That says nothing about the checkpoint " +
                          Printable(entry.path.filename()) +
                          ", and nothing was changed: try again, or move it away to use the one before it",
                      error.number());
    }
    if (!WasRemoved(entry)) console.Warn("refused checkpoint " + Printable(entry.path) + ": " + error.what());
    return std::nullopt;
  } catch (const Error& error) {
    if (!WasRemoved(entry)) console.Warn("refused checkpoint " + Printable(entry.path) + ": " + error.what());
    return std::nullopt;
  }
}

[[noreturn]] void FailWithoutWholeOne(const fs::path& run, std::vector<fs::path> damaged) {
  for (const fs::path& path : ListSetAside(run)) damaged.push_back(path);
  std::string names;
  for (const fs::path& path : damaged) names += (names.empty() ? "" : ", ") + path.filename().string();
  throw InputError("no checkpoint of " + Printable(run) + " is whole: " + names +
                   " cannot be used. Nothing was changed. Restore one of them (and the logs) from a copy, or "
                   "start a new run; to begin this one again at step 0, without its logs, move them away");
}

// To go on without them would train anew over the logs of what they held.
void RefuseLostCheckpoints(const fs::path& run) {
  const fs::path latest = run / kLatestFile;
  if (TypeOf(latest) == fs::file_type::not_found) return;
  std::string name = "a checkpoint";
  try {
    name = ReadSmallFile(latest, kLargestHint);
    name.erase(std::ranges::find(name, '\n'), name.end());
  } catch (const Error&) {  // that it is there says enough
  }
  throw InputError(
      Printable(run) + " has no checkpoint any more, but " + Printable(latest) + " says that " + name +
      " was saved. Nothing was changed. Restore the checkpoint from a copy, or start a new run; to "
      "begin this one again at step 0, without its logs, remove " +
      latest.string());
}

// A hint only: nothing here depends on it.
void MendLatest(const fs::path& run, const fs::path& newest, Console& console) {
  try {
    const fs::path latest = run / kLatestFile;
    const std::string expected = newest.filename().string() + "\n";
    if (FileProblem(latest).empty() && ReadSmallFile(latest, kLargestHint) == expected) return;
    NameLatest(run, newest);
  } catch (const Error& error) {
    console.Warn(std::string("LATEST names another checkpoint: ") + error.what());
  }
}

// Without facts where it was damaged since: it can then not be the best.
struct Known {
  CheckpointEntry entry;
  CheckpointFacts facts;
};

std::vector<Known> FactsOf(const std::vector<CheckpointEntry>& entries) {
  std::vector<Known> all;
  for (const CheckpointEntry& entry : entries) {
    all.push_back({entry, {}});
    try {
      all.back().facts = ReadCheckpointFacts(entry.path, ReadManifest(entry.path));
    } catch (const Error& error) {
      if (!IsDamage(error)) throw;
    }
  }
  return all;
}

// From the newest: it sets stage and tasks, and of equals the one nearest to its evaluation wins.
std::optional<CheckpointEntry> BestOf(const std::vector<Known>& all) {
  const Known* best = nullptr;
  for (const Known& one : all) {
    const std::optional<MeanEvaluation>& evaluation = one.facts.evaluated;
    if (!evaluation) continue;
    if (best != nullptr && !evaluation->ComparesWith(*best->facts.evaluated)) continue;
    if (best != nullptr && evaluation->loss > best->facts.evaluated->loss) continue;
    best = &one;
  }
  return best == nullptr ? std::nullopt : std::optional(best->entry);
}

}  // namespace

std::optional<FoundCheckpoint> FindCheckpoint(const fs::path& run, OnDamage on_damage, Console& console) {
  std::vector<CheckpointEntry> damaged;
  for (const CheckpointEntry& entry : ListCheckpoints(run)) {
    auto found = VerifyOrWarn(entry, console);
    if (!found && WasRemoved(entry)) return FindCheckpoint(run, on_damage, console);
    if (!found) {
      damaged.push_back(entry);
      continue;
    }
    for (const CheckpointEntry& bad : damaged) {
      if (on_damage == OnDamage::kSkip) break;
      console.Warn(Printable(bad.path) + " is set aside as " +
                   SetCheckpointAside(run, bad).filename().string());
    }
    if (on_damage == OnDamage::kSetAside) MendLatest(run, found->path, console);
    return found;
  }
  if (damaged.empty() && ListSetAside(run).empty()) {
    RefuseLostCheckpoints(run);
    return std::nullopt;
  }
  std::vector<fs::path> paths;
  for (const CheckpointEntry& entry : damaged) paths.push_back(entry.path);
  FailWithoutWholeOne(run, std::move(paths));
}

std::optional<CheckpointEntry> BestCheckpoint(const fs::path& run) {
  return BestOf(FactsOf(ListCheckpoints(run)));
}

void RotateCheckpoints(const fs::path& run, std::int64_t keep, std::set<std::int64_t> kept) {
  const std::vector<CheckpointEntry> entries = ListCheckpoints(run);
  const auto newest = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  if (entries.size() <= newest) return;
  const std::vector<Known> all = FactsOf(entries);
  for (const Known& one : all) {
    if (one.facts.keep) kept.insert(one.entry.step);
  }
  if (const auto best = BestOf(all)) kept.insert(best->step);
  for (std::size_t i = newest; i < entries.size(); ++i) {
    if (kept.count(entries[i].step) == 0) RemoveCheckpoint(run, entries[i]);
  }
}

}  // namespace medley
