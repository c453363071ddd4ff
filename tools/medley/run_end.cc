#include "tools/medley/run_end.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/json_reader.h>
#include <medley/base/next_command.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/weight_log.h>
#include <medley/plan/plan.h>
#include <medley/report/log_lines.h>
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
  ForEachLine(run / kWeightLog, DamagedLine::kRefused,
              [&](const json& line) { early = early || At(line, "cause") == "early decay"; });
  return early;
}

// What a resume needs to be told so that it trains on; nothing where no number of steps does that. After an
// early decay it is another number than the config's.
std::optional<std::string> ArgumentsToTrainOn(const fs::path& run) {
  const json record = ReadRunRecord(run);
  const json& starts = ListAt(record, "starts");
  const json& ended = starts.empty() ? starts : At(starts.back(), "ended");
  if (EndOfRun(ended) != RunEnd::kEnded || At(ended, "why") == "its last stage is over") return std::nullopt;
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
      commands.emplace_back(ResumeCommand(run) + *more, "trains on");
  });
}

std::pair<std::string, std::string> ReportOf(const fs::path& run) {
  return {"medley report " + ShellWord(run.string()), "scores, losses, memory; --html: a page"};
}

// "budget=" of "budget=123".
std::string KeyOf(const std::string& override) { return override.substr(0, override.find('=') + 1); }

// An --out; another one where a run lies there by now, as that of a replay, which only begins anew.
std::string OutAgain(const std::string& out) {
  return ShellWord(
      (fs::exists(fs::path(out) / "config.resolved.json") ? FreePath(out) : fs::path(out)).string());
}

// With overrides that take the place of those that the arguments have.
std::string CommandAgain(const std::vector<std::string>& arguments, const std::set<std::string>& overrides) {
  const auto is_replaced = [&](const std::string& argument) {
    return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& override) {
      return argument.starts_with(KeyOf(override)) || argument.starts_with("--" + KeyOf(override));
    });
  };
  std::string command = "medley";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_replaced(arguments[i])) continue;
    if (arguments[i] == "--budget" && is_replaced("budget="))
      ++i;  // its value too
    else if (i > 0 && arguments[i - 1] == "--out")
      command += " " + OutAgain(arguments[i]);
    else if (arguments[i].starts_with("--out="))
      command += " --out=" + OutAgain(arguments[i].substr(6));
    else
      command += " " + ShellWord(arguments[i]);
  }
  for (const std::string& override : overrides) command += " " + ShellWord(override);
  return WithAsManyProcesses(command);
}

// What would fit; "" where nothing does.
std::string CommandThatFits(const std::vector<std::string>& arguments, const DoesNotFit& refusal) {
  std::set<std::string> changes;
  for (const Refusal& one : refusal.refusals()) changes.insert(one.change);
  return changes.empty() || changes.count("") > 0 ? "" : CommandAgain(arguments, changes);
}

// Where nothing of a run stands so far, or it is as it was. Whoever is to mend something before has heard
// what.
void FindNextCommand(const std::vector<std::string>& arguments, const Error& error) {
  if (!NextCommand().empty()) return;
  if (const auto* refusal = dynamic_cast<const DoesNotFit*>(&error))
    SetNextCommand(CommandThatFits(arguments, *refusal));
  else if (error.code() == ExitCode::kFailed || error.code() == ExitCode::kPeerFailed)
    SetNextCommand(CommandAgain(arguments, {}));
}

}  // namespace

int RunTraining(const std::vector<std::string>& arguments, const std::function<ExitCode()>& train) {
  ExitCode code = ExitCode::kInterrupted;
  try {
    code = train();
  } catch (const Interrupted&) {  // what is left was said
  } catch (const Error& error) {
    // Where this one was asked to stop too, the others heard of it sooner.
    const bool lost_peers = error.code() == ExitCode::kPeerFailed && InterruptAsked();
    if (error.code() != ExitCode::kInterrupted && !lost_peers) {
      FindNextCommand(arguments, error);
      throw;
    }
    if (!lost_peers) Console(stdout).Say(error.what());
  }
  if (code != ExitCode::kInterrupted) return static_cast<int>(code);
  if (NextCommand().empty()) SetNextCommand(CommandAgain(arguments, {}));
  std::string lines = NextCommandLines(code);
  if (!lines.empty()) lines.pop_back();
  if (!lines.empty()) Console(stdout).Say(lines);  // whoever read them may be gone
  return static_cast<int>(code);
}

void SayWhatIsNext(const fs::path& run, ExitCode code, Console& console) {
  if (code != ExitCode::kDone && code != ExitCode::kSomethingDropped) return;
  RunVerdict verdict;
  TryToRead(console, [&] { verdict = VerdictOf(run); });
  Commands next = {ReportOf(run),
                   {"medley eval " + ShellWord(run.string()), "scores the tasks, draws sheets"}};
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
