#include <medley/run/weight_log_check.h>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/newer.h>
#include <medley/base/next_command.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/report/record_sink.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

LogMark NewestMark(const fs::path& directory) {
  for (const CheckpointEntry& entry : ListCheckpoints(directory)) {
    try {
      return MarkOf(LogMarksFromJson(ReadManifest(entry.path).facts.at("logs")), kWeightLog);
    } catch (const Error&) {  // damaged, or removed by the run that goes on: the one before it tells
    } catch (const nlohmann::json::exception&) {
    }
  }
  return {};
}

}  // namespace

std::string WeightLogProblem(const fs::path& directory, const WeightLog& log) {
  return log.problem().empty() ? MarkProblem(directory / kWeightLog, NewestMark(directory)) : log.problem();
}

std::string WeightLogProblemWords(const fs::path& directory, const WeightLog& log) {
  if (!log.newer().empty()) return NewerError(DisplayPath(directory / kWeightLog), log.newer()).what();
  const std::string problem = WeightLogProblem(directory, log);
  if (problem.empty()) return "";
  return DisplayPath(directory / kWeightLog) + " " + problem +
         ". Restore it from a copy; or medley resume, which sets it aside and goes on with what its "
         "checkpoint kept";
}

void RequireOwnWeights(const fs::path& directory) {
  if (TypeOf(directory / kRunWeights) != fs::file_type::not_found) return;
  const WeightLog log(directory);
  if (log.entries().empty() && WeightLogProblem(directory, log).empty()) return;
  throw InputError(DisplayPath(directory / kRunWeights) +
                   " is missing. Restore it from a copy; or medley resume, which writes it anew from " +
                   kWeightLog + " or from what its checkpoint kept");
}

void RequireJsonOfWeights(const fs::path& directory) {
  const fs::path own = directory / kRunWeights;
  if (TypeOf(own) == fs::file_type::not_found) return;
  try {
    ReadJson(ReadFile(own), DisplayPath(own));
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) + ". Mend it; or remove it, then medley resume " +
                     ShellWord(directory.string()) + " writes it anew, as it was taken over last");
  }
}

}  // namespace medley
