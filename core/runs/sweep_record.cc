#include <medley/runs/sweep_record.h>

#include <algorithm>
#include <cstddef>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/config/budget_request.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kSweepFormat = 1;
constexpr std::int64_t kLargestRecord = 16 << 20;

ordered_json KeysJson(const std::vector<SweptKey>& keys) {
  ordered_json json = ordered_json::array();
  for (const SweptKey& key : keys) json.push_back({{"key", key.key}, {"values", key.values}});
  return json;
}

// Throws what nlohmann does where it is none.
SweepRecord RecordIn(const ordered_json& json) {
  SweepRecord record{.command = json.at("command"), .config = json.at("config").get<std::string>()};
  json.at("files").get_to(record.files);
  for (const ordered_json& key : json.at("keys"))
    record.keys.push_back({key.at("key"), key.at("values").get<std::vector<std::string>>()});
  json.at("fixed").get_to(record.fixed);
  json.at("seeds").get_to(record.seeds);
  for (const ordered_json& group : json.at("groups"))
    record.groups.push_back({group.at("values").get<std::vector<std::string>>(), group.at("folder")});
  json.at("jobs").get_to(record.jobs);
  json.at("share").get_to(record.share);
  return record;
}

// What ShareOfJobs gives: a record from somebody else must add nothing else to a command.
bool IsShare(const std::vector<std::string>& share) {
  const auto is_one = [](const std::string& one) {
    const std::size_t behind = one.find('=') + 1;
    const std::string key = one.substr(0, behind), value = one.substr(behind);
    if (key == "threads=")
      return !value.empty() && value.size() < 6 && value.find_first_not_of("0123456789") == std::string::npos;
    if (key != "budget=") return false;
    try {
      ParseBudget(value);
    } catch (const InputError&) {
      return false;
    }
    return true;
  };
  return share.size() <= 2 && std::all_of(share.begin(), share.end(), is_one);
}

// A name in the sweep's directory, or that itself.
bool IsFolder(const std::string& folder) {
  return folder != "." && folder != ".." && folder.find('/') == std::string::npos &&
         folder.find('\0') == std::string::npos;
}

SweepRecord ReadRecord(const fs::path& file) {
  const ordered_json json = ReadJson(ReadSmallFile(file, kLargestRecord), DisplayPath(file));
  const std::string remedy = ". Restore it from a copy, or choose another --out";
  RefuseNewer(json, "format", kSweepFormat, DisplayPath(file), "another --out");
  try {
    const bool is_ours = json.at("format") == kSweepFormat;
    SweepRecord record = RecordIn(json);
    const auto is_there = [](const SweepGroup& group) { return IsFolder(group.folder); };
    if (is_ours && IsShare(record.share) && std::all_of(record.groups.begin(), record.groups.end(), is_there))
      return record;
  } catch (const nlohmann::json::exception&) {
  }
  throw InputError(DisplayPath(file) + " is not as it was written" + remedy);
}

// Beside the lock, and what a sweep that was killed at its first line left.
std::vector<std::string> OtherThings(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::path& entry : ListDirectory(directory)) {
    const std::string name = entry.filename();
    if (name != "run.lock" && !name.starts_with(std::string(".tmp-") + kSweepFile))
      names.push_back(Printable(name));
  }
  return names;
}

const SweptKey* Find(const std::vector<SweptKey>& keys, const std::string& key) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& one) { return one.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

// Those of `some` that `all` lacks.
std::vector<std::string> Lacking(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  std::vector<std::string> lacking;
  for (const std::string& one : some) {
    if (std::none_of(all.begin(), all.end(), [&](const auto& other) { return IsSameValue(one, other); }))
      lacking.push_back(one);
  }
  return lacking;
}

std::vector<std::string> Texts(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

// What the sweep has, and the command has not; overrides are compared as they were written.
void CompareOverrides(const SweepRecord& begun, const SweepRecord& asked, std::vector<std::string>& words) {
  const auto has = [](const auto& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  for (const std::string& one : begun.fixed)
    if (!has(asked.fixed, one)) words.push_back("it was begun with " + Printable(one));
  for (const std::string& one : asked.fixed)
    if (!has(begun.fixed, one)) words.push_back("it was begun without " + Printable(one));
}

void CompareKeys(const SweepRecord& begun, const SweepRecord& asked, std::vector<std::string>& words) {
  for (const SweptKey& key : begun.keys) {
    const SweptKey* const now = Find(asked.keys, key.key);
    const std::vector<std::string> lacking =
        Lacking(key.values, now == nullptr ? std::vector<std::string>() : now->values);
    if (!lacking.empty()) words.push_back(Printable(key.key) + " lacks its " + Printable(JoinNames(lacking)));
  }
  for (const SweptKey& key : asked.keys)
    if (Find(begun.keys, key.key) == nullptr)
      words.push_back("it was begun with one value of " + Printable(key.key));
  const std::vector<std::string> seeds = Lacking(Texts(begun.seeds), Texts(asked.seeds));
  if (!seeds.empty()) words.push_back("the seeds lack its " + JoinNames(seeds));
}

// A file that a new value brings is no change.
void CompareFiles(const SweepRecord& begun, const SweepRecord& asked, std::vector<std::string>& words) {
  for (const auto& [name, sum] : begun.files) {
    const auto now = asked.files.find(name);
    if (now != asked.files.end() && now->second != sum)
      words.push_back("the " + Printable(name) + " has another text than when it was begun");
  }
}

}  // namespace

std::vector<SweepRun> RunsOf(const SweepRecord& record) {
  std::vector<SweepRun> runs;
  for (const std::int64_t seed : record.seeds) {
    for (std::size_t group = 0; group < record.groups.size(); ++group)
      runs.push_back({.group = group,
                      .seed = seed,
                      .name = (fs::path(record.groups[group].folder) / SeedFolder(seed)).string()});
  }
  return runs;
}

ordered_json ToJson(const SweepRecord& record) {
  ordered_json groups = ordered_json::array();
  for (const SweepGroup& group : record.groups)
    groups.push_back({{"values", group.values}, {"folder", group.folder}});
  return {{"format", kSweepFormat},
          {"command", record.command},
          {"config", record.config.string()},
          {"files", record.files},
          {"keys", KeysJson(record.keys)},
          {"fixed", record.fixed},
          {"seeds", record.seeds},
          {"groups", groups},
          {"jobs", record.jobs},
          {"share", record.share}};
}

std::optional<SweepRecord> ReadSweep(const fs::path& directory) {
  std::error_code ignored;
  if (const std::optional<fs::path> run = RunAround(fs::weakly_canonical(fs::absolute(directory), ignored)))
    throw InputError(DisplayPath(directory) + ": the run " + DisplayPath(*run) +
                     " lies there, whose files are its own; choose another --out");
  if (TypeOf(directory) == fs::file_type::not_found) return std::nullopt;
  if (const std::string problem = DirectoryProblem(directory); !problem.empty())
    throw InputError(problem + "; choose another --out");
  if (TypeOf(directory / kSweepFile) != fs::file_type::not_found) return ReadRecord(directory / kSweepFile);
  if (const std::vector<std::string> others = OtherThings(directory); !others.empty())
    throw InputError(DisplayPath(directory) + " is no sweep's, and holds other things: " + JoinFew(others) +
                     ". Choose a new or an empty folder");
  return std::nullopt;
}

void WriteSweep(const fs::path& directory, const SweepRecord& record) {
  ReplaceFile(directory / kSweepFile, JsonText(ToJson(record), 2) + "\n");
}

fs::path WriteSweepPage(const fs::path& directory, const std::string& page) {
  ReplaceFile(directory / kSweepPage, page);
  return directory / kSweepPage;
}

void RequireSameSweep(const SweepRecord& begun, const SweepRecord& asked, const fs::path& directory) {
  std::vector<std::string> words;
  CompareFiles(begun, asked, words);
  CompareKeys(begun, asked, words);
  CompareOverrides(begun, asked, words);
  if (begun.jobs != asked.jobs)
    words.push_back("it was begun with --jobs " + std::to_string(begun.jobs) +
                    ", which decides what each run has of budget and threads");
  if (words.empty()) return;
  throw InputError(DisplayPath(directory) + " holds another sweep: " + JoinNames(words, "; ") +
                   ". Values of its keys and seeds may be added. It was begun, or goes on, with\n  " +
                   begun.command + "\nelse choose another --out");
}

}  // namespace medley
