#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/file_digest.h>

namespace medley {

// A checkpoint on the disk, without a notion of what its files mean: how one is written so that it is either
// there as a whole or not at all, and how it is proved whole before it is used.

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kSealFile = "seal";
// File in the run's directory with the name of the newest checkpoint, a hint for people.
inline constexpr const char* kLatestFile = "LATEST";

// What a checkpoint's manifest.json says.
struct Manifest {
  std::int64_t step = 0;
  std::map<std::string, FileDigest> files;  // all but the manifest and the seal
  nlohmann::ordered_json facts;  // what the writer wants to know again: tensors, log offsets, versions ...
};

// "step-00001234"
std::string CheckpointName(std::int64_t step);
// What the name begins with of a checkpoint that its run went back behind: "newer-step-00001234", also with
// "-2" and so on behind it. Verbs take it, and no run counts it.
inline constexpr std::string_view kNewerPrefix = "newer-";
// Of either; -1 where it is no such name.
std::int64_t StepOfName(const std::string& name);

// A committed checkpoint of a run, by its name.
struct CheckpointEntry {
  std::int64_t step = 0;
  std::filesystem::path path;
};
// Newest first, by number; nothing is opened.
std::vector<CheckpointEntry> ListCheckpoints(const std::filesystem::path& run);

// The newest one and how to go on from it, as a sentence; what stands in the way of listing them is words
// too.
std::string NewestCheckpointWords(const std::filesystem::path& run);

// What SetCheckpointAside made; sorted.
std::vector<std::filesystem::path> ListSetAside(const std::filesystem::path& run);

// Sizes, sums and the file list of a committed checkpoint. Throws an Error with path and reason; reads at
// most a few MiB at a time and allocates nothing of the sizes that the files claim.
Manifest VerifyCheckpoint(const std::filesystem::path& checkpoint);
// Reads only the manifest, checked against its seal. A NewerError where a newer medley wrote them.
Manifest ReadManifest(const std::filesystem::path& checkpoint);

using Sink = std::function<void(const void*, std::size_t)>;

// A checkpoint that is there, whatever failed after its commit point.
struct Committed {
  std::filesystem::path path;
  std::vector<std::string> trouble;  // that failed, in words
  bool proven = false;               // verified, and its name is durable: older ones may go
};

// Whether what went wrong with reading a checkpoint is its own fault. Trouble of the machine (a read error,
// no descriptor or memory left, no permission) says nothing about it, and a newer medley's is whole.
bool IsDamage(const std::exception& error);

// Writes one checkpoint aside and commits it with one rename. What fails until then is an Error, the
// directory aside is removed and what was committed before is untouched.
class CheckpointWriter {
 public:
  // Refuses where the disk has not `expected_bytes` and a margin left.
  CheckpointWriter(const std::filesystem::path& run, std::int64_t step, std::int64_t expected_bytes);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  void AddFile(const std::string& name, std::int64_t expected_bytes,
               const std::function<void(const Sink&)>& write);
  // Where the files lie until then.
  const std::filesystem::path& aside() const { return aside_; }
  // A file that another process of the run wrote there, durably.
  void AddWritten(const std::string& name, FileDigest digest) { manifest_.files[name] = std::move(digest); }
  // The commit point, then verification through the code that loads, then LATEST. `check` looks at what the
  // files mean, and throws. What fails after the commit point is only told, but for a checkpoint that is
  // damaged: that is set aside, and an Error.
  using Check = std::function<void(const std::filesystem::path& checkpoint, const Manifest& manifest)>;
  Committed Commit(nlohmann::ordered_json facts, const Check& check = {});
  // The same, in the place of a committed one of the same step: one act, and the old one stays until the new
  // one is proven.
  Committed Replace(nlohmann::ordered_json facts, const Check& check = {});

 private:
  void WriteText(const std::string& name, const std::string& text);
  std::filesystem::path Finish(nlohmann::ordered_json facts);
  Committed Settle(const std::filesystem::path& committed, const Check& check) const;

  std::filesystem::path run_, aside_;
  Manifest manifest_;
};

// Writes a durable file. What fails leaves a part of it, for its directory's owner to remove.
FileDigest WriteDigested(const std::filesystem::path& file, std::int64_t expected_bytes,
                         const std::function<void(const Sink&)>& write);

// A committed checkpoint leaves the list at once, then its files.
void RemoveCheckpoint(const std::filesystem::path& run, const CheckpointEntry& entry);
// LATEST, the hint for people and scripts, names it from now on.
void NameLatest(const std::filesystem::path& run, const std::filesystem::path& checkpoint);
// It is then no committed one: the first free of NAME, NAME-2 and so on, which is returned.
std::filesystem::path RenameCheckpoint(const std::filesystem::path& run, const CheckpointEntry& entry,
                                       const std::string& name);
// Keeps a damaged one for a look at it, under a name that is never loaded, and frees its step.
std::filesystem::path SetCheckpointAside(const std::filesystem::path& run, const CheckpointEntry& entry);

}  // namespace medley
