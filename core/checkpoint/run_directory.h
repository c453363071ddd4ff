#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/checkpoint/run_lock.h>

namespace medley {

// The console's lines of a run, with their times.
inline constexpr const char* kConsoleLog = "log.txt";

// The files of a run: run.lock, config.resolved.json (and .1, .2 ... at resumes), run.json, the logs and the
// checkpoints step-<8 digits>. Holds the lock as long as it lives; what it writes is durable, and whole or
// not there.
class RunDirectory {
 public:
  // Whether a new run can lie there, before anything is made: the InputError that Create would throw.
  static void CheckFree(const std::filesystem::path& path);
  // Makes the directory of a new run where needed and locks it. InputError where it holds a run already.
  static RunDirectory Create(const std::filesystem::path& path);
  // Locks the directory of a run that goes on, and removes what a killed process left half-written.
  static RunDirectory Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // "": nobody's lock was left behind.
  const std::string& took_over() const { return lock_->took_over(); }

  // The first config is config.resolved.json, later ones get a number. Returns which file it is.
  std::filesystem::path WriteConfig(const nlohmann::ordered_json& config) const;
  // run.json: what ran here. Every start is appended to "starts" with its plain values; the other keys are
  // the newest's.
  void WriteRecord(nlohmann::ordered_json record) const;

 private:
  RunDirectory(std::filesystem::path path, std::unique_ptr<RunLock> lock);

  std::filesystem::path path_;
  std::unique_ptr<RunLock> lock_;
};

// The newest resolved config. InputError where the directory holds no run.
std::filesystem::path NewestConfig(const std::filesystem::path& run);
// run.json, or null where there is none.
nlohmann::ordered_json ReadRunRecord(const std::filesystem::path& run);
// runs/<config>-<time>, in the working directory; free.
std::filesystem::path DefaultRunPath(const std::filesystem::path& config);

}  // namespace medley
