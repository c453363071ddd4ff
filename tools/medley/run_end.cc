#include "tools/medley/run_end.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <medley/checkpoint/run_directory.h>
#include <medley/page/log_lines.h>
#include <medley/page/run_verdict.h>
#include <medley/report/screen.h>

namespace medley {
namespace {

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

// Steps in all that are worth a command; 0: more of them change nothing.
std::int64_t MoreSteps(const std::filesystem::path& run) {
  const nlohmann::json record = ReadRunRecord(run);
  const nlohmann::json& starts = ListAt(record, "starts");
  if (starts.empty()) return 0;
  const nlohmann::json& ended = At(starts.back(), "ended");
  if (!At(ended, "step").is_number_integer() || At(ended, "why") == "its last stage is over") return 0;
  return 2 * ended.at("step").get<std::int64_t>();
}

Commands NextOf(const std::string& run, const RunVerdict& verdict, std::int64_t more_steps) {
  const auto eval = std::pair("medley eval " + run, "scores the tasks, draws sheets");
  const auto report = std::pair("medley report " + run, "scores, losses, memory; --html: a page");
  Commands commands = verdict.step > 0 ? Commands{report, eval} : Commands{eval, report};
  if (more_steps > 0)
    commands.emplace_back("medley resume " + run + " --steps " + std::to_string(more_steps), "trains on");
  return commands;
}

}  // namespace

void SayWhatIsNext(const std::filesystem::path& run, ExitCode code, Console& console) {
  if (code == ExitCode::kInterrupted) return console.Say("next:\n  medley resume " + run.string());
  // The run is done and saved: what cannot be read of it is no reason to say otherwise.
  RunVerdict verdict;
  std::int64_t more_steps = 0;
  try {
    verdict = VerdictOf(run);
    more_steps = MoreSteps(run);
  } catch (const Error& error) {
    console.Warn(error.what());
  }
  if (!verdict.words.empty())
    console.Say(
        Prose(verdict.words + (verdict.step > 0 ? ", after step " + std::to_string(verdict.step) : "")));
  console.Say(CommandsWords(NextOf(run.string(), verdict, more_steps)));
}

}  // namespace medley
