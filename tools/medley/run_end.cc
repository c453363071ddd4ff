#include "tools/medley/run_end.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/weight_log.h>
#include <medley/page/log_lines.h>
#include <medley/report/screen.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Commands = std::vector<std::pair<std::string, std::string>>;  // with what each does

// A command is never broken, so that it can be copied: what it does stands below where there is no room.
std::string CommandsWords(const Commands& commands) {
  std::size_t width = 0, most = 0;
  for (const auto& [command, does] : commands) {
    width = std::max(width, TextWidth(command));
    most = std::max(most, TextWidth(does));
  }
  const bool fits = 2 + width + 2 + most <= ColumnsOf(stdout);
  std::string text = "next:";
  for (const auto& [command, does] : commands)
    text += "\n  " + command +
            (fits ? std::string(width - TextWidth(command) + 2, ' ') : "\n" + std::string(6, ' ')) + does;
  return text;
}

bool DecayedEarly(const fs::path& run) {
  bool early = false;
  ForEachLine(run / kWeightLog,
              [&](const json& line) { early = early || At(line, "cause") == "early decay"; });
  return early;
}

// What a resume needs to be told so that it trains on; nothing where no number of steps does that. After an
// early decay it is another number than the config's.
std::optional<std::string> ArgumentsToTrainOn(const fs::path& run) {
  const json record = ReadRunRecord(run);
  const json& starts = ListAt(record, "starts");
  const json& ended = starts.empty() ? starts : At(starts.back(), "ended");
  if (!At(ended, "step").is_number_integer() || At(ended, "why") == "its last stage is over")
    return std::nullopt;
  if (At(ended, "why") == "its hours are over" && !DecayedEarly(run)) return "";
  const fs::path config = NewestConfig(run);
  const auto done = ended.at("step").get<std::int64_t>();
  const bool is_same = At(ReadJson<json>(ReadFile(config), DisplayPath(config)), "steps") == 2 * done;
  return " --steps " + std::to_string((is_same ? 3 : 2) * done);
}

std::string VerdictLine(const RunVerdict& verdict) {
  return Prose(verdict.words + (verdict.step > 0 ? ", after step " + std::to_string(verdict.step) : ""));
}

// The run is saved: what cannot be read of it is no reason to say otherwise.
template <typename Read>
void TryToRead(Console& console, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    console.Warn(error.what());
  }
}

void AddTrainingOn(const fs::path& run, Commands& commands, Console& console) {
  TryToRead(console, [&] {
    if (const std::optional<std::string> more = ArgumentsToTrainOn(run))
      commands.emplace_back("medley resume " + run.string() + *more, "trains on");
  });
}

std::pair<std::string, std::string> ReportOf(const fs::path& run) {
  return {"medley report " + run.string(), "scores, losses, memory; --html: a page"};
}

}  // namespace

void SayWhatIsNext(const fs::path& run, ExitCode code, Console& console) {
  if (code == ExitCode::kInterrupted) return console.Say("next:\n  medley resume " + run.string());
  RunVerdict verdict;
  TryToRead(console, [&] { verdict = VerdictOf(run); });
  Commands next = {ReportOf(run), {"medley eval " + run.string(), "scores the tasks, draws sheets"}};
  if (verdict.step == 0) std::swap(next[0], next[1]);
  AddTrainingOn(run, next, console);
  if (!verdict.words.empty()) console.Say(VerdictLine(verdict));
  console.Say(CommandsWords(next));
}

std::string WordsAfterScoring(const fs::path& run, const RunVerdict& verdict, Console& console) {
  Commands next = {ReportOf(run)};
  AddTrainingOn(run, next, console);
  return VerdictLine(verdict) + "\n" + CommandsWords(next);
}

}  // namespace medley
