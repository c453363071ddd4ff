#include <medley/train/resumed_weights.h>

#include <stdexcept>
#include <system_error>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_count.h>
#include <medley/base/newer.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/config/run_config.h>
#include <medley/report/log_repair.h>
#include <medley/report/metrics.h>
#include <medley/train/stages.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using Cause = WeightEntry::Cause;

// What a checkpoint knows of the log.
struct KnownLog {
  std::int64_t step = 0;
  std::optional<std::int64_t> number;  // of its last entry
  std::optional<std::string> kept;     // its lines; nothing in older ones
  LogMark mark;
  StagePlace place;
  bool begins = true;  // there is no checkpoint
};

KnownLog KnownTo(const FoundCheckpoint& from) {
  const auto unusable = [&](const std::string& why) {
    return InputError(Printable(from.path) + " does not say where the run is: " + why);
  };
  KnownLog known{.step = from.facts.step,
                 .number = {},
                 .kept = {},
                 .mark = MarkOf(from.facts.logs, kWeightLog),
                 .place = {},
                 .begins = false};
  try {
    const nlohmann::json progress = ReadSection(from.path, "progress");
    known.place = Stages::PlaceIn(progress);
    if (progress.contains("weight_log")) known.number = CountOf(progress, "weight_log");
    if (progress.contains("weight_lines")) known.kept = progress.at("weight_lines").get<std::string>();
  } catch (const std::out_of_range& error) {
    throw unusable(error.what());
  } catch (const nlohmann::json::exception& error) {
    throw unusable(error.what());
  }
  if (known.kept) {
    const WeightLines kept = ReadWeightLines(*known.kept, LogEnd::kOpen);
    const std::string what = std::string("what it kept of ") + kWeightLog;
    if (!kept.newer.empty()) throw NewerError(Printable(from.path) + ": " + what, kept.newer);
    if (!kept.problem.empty()) throw unusable(what + " " + kept.problem);
  }
  return known;
}

// A run that was killed before it wrote its start down has none, and nothing to lose.
bool HadLog(const fs::path& directory, const KnownLog& known) {
  if (!known.begins) return known.number.value_or(0) > 0;
  std::error_code error;
  const auto bytes = fs::file_size(directory / kMetricsLog, error);
  return !error && bytes > 0;
}

// "": the log is what the checkpoint was saved after, and what came later.
std::string ProblemOf(const fs::path& directory, const WeightLog& log, const KnownLog& known) {
  const fs::path file = directory / kWeightLog;
  if (known.kept) {
    if (std::string problem = MarkProblem(file, known.mark); !problem.empty()) return problem;
  }
  if (TypeOf(file) == fs::file_type::not_found) return HadLog(directory, known) ? "is missing" : "";
  if (!log.problem().empty() || log.number() >= known.number.value_or(0)) return log.problem();
  return "tells of " + std::to_string(log.number()) + " changes, but the checkpoint was saved after " +
         std::to_string(*known.number);
}

// Whether the newest text up to this entry is that of the weights then: no entry behind it is missing.
bool TellsTextAt(const WeightLog& log, std::int64_t number) {
  for (auto entry = log.entries().rbegin(); entry != log.entries().rend(); ++entry) {
    if (entry->number > number || entry->cause == Cause::kRefusedEdit) continue;
    if (entry->number != number) return false;
    if (HasText(*entry)) return true;
    --number;
  }
  return false;
}

std::string AtStep(const KnownLog& known) { return "step " + std::to_string(known.step); }

// Puts what can be trusted of a damaged log in its place; returns how the run goes on, as the end of a
// sentence.
std::string Mend(const fs::path& directory, const KnownLog& known, std::int64_t number,
                 const std::string& own, WeightLog& log, bool& lost) {
  lost = true;
  if (known.kept || log.has_sums()) {
    WeightLines lines = ContinueWeightLines(known.kept.value_or(""), ReadWeightLog(directory), own);
    lost = !lines.problem.empty();
    log = WeightLog(directory, std::move(lines));
    log.RequireKnownLines();
  }
  if (known.kept)
    return "the checkpoint has kept all that it held up to " + AtStep(known) +
           (lost ? "; of later changes, those from the first damaged line on are lost"
                 : ", and what came later is whole: nothing is lost");
  if (!lost) return std::string("the damaged text stands in ") + kRunWeights + " too: nothing is lost";
  if (TellsTextAt(log, number))
    return "what can be read of it goes on, and tells the weights of " + AtStep(known) +
           "; changes that cannot be read are lost";
  log = WeightLog(directory, WeightLines());
  return "what the weights of " + AtStep(known) + " were is not known: from there on the run has those of " +
         kRunWeights;
}

// What cannot be checked, for it is of an older medley; the rest of a sentence.
std::string Doubt(const WeightLog& log, const KnownLog& known) {
  if (!log.has_sums())
    return " is of an older medley: the texts of its start and its edits are as they were written; whether "
           "steps, shares and edits that were due are, and whether it lacks lines behind the checkpoint, "
           "cannot be told";
  if (known.begins || known.kept || log.entries().empty()) return "";
  return " is as it was written; whether it is that of the checkpoint of " + AtStep(known) +
         ", which is of an older medley, cannot be told";
}

fs::path OriginalOf(const fs::path& directory) { return ReadWrittenConfig(NewestConfig(directory)).weights; }

// As it was taken over last; of a run that has not yet written any down, as it will begin.
std::string WriteAnew(const fs::path& directory, const KnownLog& known, const WeightLog& log, bool damaged,
                      bool lost, Console& console) {
  const fs::path own = directory / kRunWeights;
  const std::optional<std::string> last = log.LastText();
  if (!last && damaged && !known.begins)
    throw InputError(
        Printable(own) + " is missing, and " + kWeightLog + " does not tell what the weights of " +
        AtStep(known) +
        " were either. Nothing was changed. Restore one of them from a copy, or write the weights that the "
        "run is to go on with to " +
        own.string());
  const fs::path original = last ? fs::path() : OriginalOf(directory);
  const std::string text =
      last ? *last : WithAbsoluteSchema(ReadFile(original, kLargestWeightsFile), original.parent_path());
  ReplaceFile(own, text);
  if (last)
    console.Warn(Printable(own) + " is missing; it is written anew, as it was taken over last" +
                 (lost ? " of what can be read" : "") + ", and no edit");
  if (!last && damaged)
    console.Warn(Printable(own) + " is missing; it is a copy of " + Printable(original) + " again");
  return text;
}

}  // namespace

ResumedWeights ResumeWeights(const fs::path& directory, const std::optional<FoundCheckpoint>& from,
                             Console& console) {
  const fs::path own = directory / kRunWeights, file = directory / kWeightLog;
  const bool has_own = TypeOf(own) != fs::file_type::not_found;
  const KnownLog known = from ? KnownTo(*from) : KnownLog();
  ResumedWeights weights{.log = WeightLog(directory),
                         .then = {},
                         .place = known.place,
                         .text_of_file = has_own ? ReadFile(own, kLargestWeightsFile) : ""};
  WeightLog& log = weights.log;
  log.RequireKnownLines();
  const std::int64_t number = known.begins   ? 1
                              : known.number ? *known.number
                                             : log.NumberAt(known.step);  // 1: the start
  const std::string problem = ProblemOf(directory, log, known);
  weights.damaged = !problem.empty();
  bool lost = false;
  std::string words;
  if (weights.damaged) words = Mend(directory, known, number, weights.text_of_file, log, lost);
  for (const WeightEntry& entry : log.entries()) {
    if (entry.number > number && entry.cause == Cause::kChangedFile) weights.changed_files.push_back(entry);
  }
  log.GoBackTo(number);
  log.RequireKnownDraws();
  const std::optional<std::string> last = log.LastText();
  weights.edited = has_own && last && *last != weights.text_of_file;
  if (lost && weights.edited) {
    log.SwapDue({});
    words += std::string(". ") + kRunWeights +
             " has another text than the newest that can be read: it holds from " + AtStep(known) +
             " on, be it an edit or what was lost, and no later edit comes again";
  } else if (lost && !log.due().empty()) {
    words += "; edits behind it that can be read come again: " + std::to_string(log.due().size());
  }
  if (weights.damaged) console.Warn(Printable(file) + " " + problem + "; " + words);
  if (!has_own) weights.text_of_file = WriteAnew(directory, known, log, weights.damaged, lost, console);
  if (const std::string doubt = Doubt(log, known); !weights.damaged && !doubt.empty())
    console.Say(Printable(file) + doubt);
  if (const auto then = log.Text()) weights.then = WeightsText{own, *then};
  return weights;
}

void ReplaceDamagedLog(const fs::path& directory, const ResumedWeights& weights, Console& console) {
  if (!weights.damaged) return;
  const fs::path file = directory / kWeightLog;
  const std::string name = ReplaceDamaged(file, weights.log.FileText());
  console.Warn(Printable(file) + " begins anew with " + std::to_string(weights.log.entries().size()) +
               " entries" + (name.empty() ? "" : "; the damaged one is now " + name));
}

}  // namespace medley
