#include <medley/runs/run_state.h>

#include <optional>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/report/log_lines.h>

namespace medley {
namespace {

using nlohmann::json;

std::string TextAt(const json& value, const char* key) {
  const json& found = At(value, key);
  return found.is_string() ? found.get<std::string>() : "";
}

RunStatus StatusOf(RunEnd how) {
  switch (how) {
    case RunEnd::kEnded:
      return RunStatus::kEnded;
    case RunEnd::kStopped:
      return RunStatus::kStopped;
    case RunEnd::kFailed:
      return RunStatus::kFailed;
  }
  return RunStatus::kUnknown;
}

}  // namespace

std::string RunState::Words() const {
  std::string words = status == RunStatus::kLost ? "ended without a word" : EnumName(status);
  if (!host.empty()) words += " on " + host;
  if (!since.empty()) words += " since " + since;
  return Printable(why.empty() ? words : words + ": " + why);
}

const json& NewestEnd(const json& record) {
  const json& starts = ListAt(record, "starts");
  static const json kNone;
  return starts.empty() ? kNone : At(starts.back(), "ended");
}

RunState StateOf(const std::filesystem::path& run, const json& ended) try {
  const RunHolder holder = HolderOf(run);
  if (holder.state == RunHolder::State::kHolds)
    return {.status = RunStatus::kTraining, .host = holder.host, .since = holder.started};
  if (const std::optional<RunEnd> how = EndOfRun(ended))
    return {.status = StatusOf(*how), .why = TextAt(ended, "why")};
  return {.status = holder.state == RunHolder::State::kLost ? RunStatus::kLost : RunStatus::kStopped};
} catch (const Error& error) {
  return {.why = error.what()};
}

RunState StateOf(const std::filesystem::path& run) try {
  return StateOf(run, NewestEnd(ReadRunRecord(run)));
} catch (const Error& error) {
  return {.why = error.what()};
}

}  // namespace medley
