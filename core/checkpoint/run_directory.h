#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/checkpoint/run_lock.h>
#include <medley/config/field.h>

namespace medley {

// The console's lines of a run, with their times.
inline constexpr const char* kConsoleLog = "log.txt";

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
// The same, and what is wrong with it; "" for nothing.
nlohmann::ordered_json ReadRunRecord(const std::filesystem::path& run, std::string& problem);
// Replaces run.json, whole.
void ReplaceRunRecord(const std::filesystem::path& run, const nlohmann::ordered_json& record);
// How a process left a run.
enum class RunEnd { kEnded, kStopped, kFailed };
template <>
struct EnumNames<RunEnd> {
  static constexpr std::array<std::string_view, 3> kNames = {"ended", "stopped", "failed"};
};
// Notes there, in the newest of its "starts", how that left it: "ended": {step, how, why, time}. For who
// looks at it; nothing depends on it. Does nothing where there is no start.
void RecordEnd(const std::filesystem::path& run, std::int64_t step, RunEnd how, const std::string& why);
// What "ended" says; nothing where it says nothing. An older medley noted real ends alone, and no "how".
std::optional<RunEnd> EndOfRun(const nlohmann::json& ended);
// The path itself where nothing is there, else PATH-2, PATH-3 ...
std::filesystem::path FreePath(const std::filesystem::path& path);
// runs/<config>-<time>, in the working directory; free.
std::filesystem::path DefaultRunPath(const std::filesystem::path& config);

}  // namespace medley
