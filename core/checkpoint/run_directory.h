#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <medley/base/descriptor.h>

namespace medley {

// The console's lines of a run, with their times.
inline constexpr const char* kConsoleLog = "log.txt";

// One process a run directory: flock on run.lock, held for the life of the object. The kernel lets go at
// death, so a lock can be stale only in its words; `took_over` then says whose it was.
class RunLock {
 public:
  // InputError with the holder's process, host and start where another one holds it.
  explicit RunLock(const std::filesystem::path& directory);
  ~RunLock();
  // The same refusal, without a trace in the directory; nothing where there is no lock file.
  static void Check(const std::filesystem::path& directory);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // "": the last holder left in good order.
  const std::string& took_over() const { return took_over_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::string took_over_;
};

// The files of a run: run.lock, config.resolved.json (and .1, .2 ... at resumes), run.json, the logs and the
// checkpoints step-<8 digits>. Holds the lock as long as it lives; what it writes is durable, and whole or
// not there.
class RunDirectory {
 public:
  // Whether a new run can lie there, before anything is made: the InputError that Create would throw, and one
  // where it would write over somebody's file.
  static void CheckFree(const std::filesystem::path& path);
  // Makes the directory of a new run where needed and locks it. InputError where it holds a run already.
  static RunDirectory Create(const std::filesystem::path& path);
  // Locks the directory of a run that goes on, and removes what a killed process left half-written. What is
  // damaged and can be made again is kept aside, as a damaged log: run.json, of which what can be read takes
  // its place; the newest config, for that of the newest checkpoint; a folder where a file is to be.
  static RunDirectory Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // "": nobody's lock was left behind.
  const std::string& took_over() const { return lock_->took_over(); }
  // Words about what was set aside when it was opened.
  const std::vector<std::string>& mended() const { return mended_; }

  // After it was trained: an Error where there is no config any more, without which it is no run.
  void RequireConfig() const;

  // The first config is config.resolved.json, later ones get a number. Returns which file it is.
  std::filesystem::path WriteConfig(const nlohmann::ordered_json& config) const;
  // run.json: what ran here. Every start is appended to "starts" with its plain values; the other keys are
  // the newest's.
  void WriteRecord(nlohmann::ordered_json record) const;

 private:
  RunDirectory(std::filesystem::path path, std::unique_ptr<RunLock> lock);

  std::filesystem::path path_;
  std::unique_ptr<RunLock> lock_;
  std::vector<std::string> mended_;
};

// The newest resolved config. InputError where the directory holds no run, or that file is damaged.
std::filesystem::path NewestConfig(const std::filesystem::path& run);
// run.json, or null where there is none. Of a damaged one what can be read: a part of it that is not as it
// was written is left out, or all of it.
nlohmann::ordered_json ReadRunRecord(const std::filesystem::path& run);
// Replaces run.json, whole.
void ReplaceRunRecord(const std::filesystem::path& run, const nlohmann::ordered_json& record);
// Notes there, in the newest of its "starts", that the run is over: "ended": {step, why}. For who looks at
// it; nothing depends on it. Does nothing where there is no start.
void RecordEnd(const std::filesystem::path& run, std::int64_t step, const std::string& why);
// The path itself where nothing is there, else PATH-2, PATH-3 ...
std::filesystem::path FreePath(const std::filesystem::path& path);
// runs/<config>-<time>, in the working directory; free.
std::filesystem::path DefaultRunPath(const std::filesystem::path& config);

}  // namespace medley
