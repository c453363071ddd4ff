#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <medley/config/field.h>

namespace medley {

// kLost: its process is gone, without a word. kUnknown: nothing of it can be read.
enum class RunStatus { kTraining, kEnded, kStopped, kFailed, kLost, kUnknown };
template <>
struct EnumNames<RunStatus> {
  static constexpr std::array<std::string_view, 6> kNames = {"training", "ended", "stopped",
                                                             "failed",   "lost",  "unknown"};
};

// What became of a run, as its files and its lock tell.
struct RunState {
  RunStatus status = RunStatus::kUnknown;
  std::string host = {}, since = {};  // of one that trains: where, and the time of its start
  std::string why = {};               // of the others: "all its steps are done", or what it failed by

  // "training on HOST since TIME", "ended: all its steps are done", "ended without a word"
  std::string Words() const;
};

// Of a run that is written just now too; throws nothing: what cannot be read is kUnknown, with the reason.
// Older medleys noted nothing of one that was stopped or failed: both are kStopped.
RunState StateOf(const std::filesystem::path& run);
// The same, where its run.json says this of its end: "ended" of the newest start, or null.
RunState StateOf(const std::filesystem::path& run, const nlohmann::json& ended);
// That, of a run.json.
const nlohmann::json& NewestEnd(const nlohmann::json& record);

}  // namespace medley
