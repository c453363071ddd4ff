#include "tools/medley/ask_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/json_text.h>
#include <medley/base/line_reader.h>
#include <medley/base/printable.h>
#include <medley/data/csv_file.h>
#include <medley/data/jsonl_file.h>

#include "tools/medley/answer_signal.h"
#include "tools/medley/reply_words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 32;  // of a .json file

// The questions of a file, and what stands there for each.
struct AskedLines {
  Questions questions;
  std::vector<ordered_json> lines;
};

AskedLines OfRecords(const fs::path& file) {
  AskedLines asked;
  const CsvFile records(file);
  for (std::int64_t row = 0; row < records.size(); ++row) {
    asked.lines.push_back({{"file", file.string()}, {"row", row}});
    asked.questions.lines.emplace_back(nlohmann::json{{"file", fs::absolute(file).string()}, {"row", row}},
                                       records.PlaceOf(row));
  }
  return asked;
}

// With the keys in the file's order.
std::vector<ordered_json> AsTheyStand(const fs::path& file) {
  if (file.extension() == ".json") {
    ordered_json json = ordered_json::parse(ReadFile(file, kMostBytes));
    if (!json.is_array()) return {std::move(json)};
    return {json.begin(), json.end()};
  }
  std::vector<ordered_json> lines;
  LineReader reader(file);
  for (std::string line; reader.Next(line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(ordered_json::parse(line));
  }
  return lines;
}

AskedLines OfJson(const fs::path& file) {
  AskedLines asked{.questions = {.lines = {}, .folder = fs::absolute(file).parent_path()}, .lines = {}};
  const JsonlFile items = file.extension() == ".json" ? JsonlFile::OfElements(file) : JsonlFile(file);
  for (std::int64_t item = 0; item < items.size(); ++item) {
    asked.questions.lines.push_back(items.Read(item));
    const JsonItem& line = asked.questions.lines.back();
    if (!line.json().is_object()) line.Fail("expected an object, a question of the task's");
  }
  asked.lines = AsTheyStand(file);
  if (asked.lines.size() != asked.questions.lines.size())
    throw InputError(DisplayPath(file) + " was changed while it was read; ask again");
  return asked;
}

// Up to the first that was not finished.
void KeepFinished(std::vector<Reply>& replies) {
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].end == ReplyEnd::kInterrupted) return replies.resize(i);
  }
}

void WriteReplies(const AskedLines& asked, const std::vector<Reply>& replies, bool details,
                  const OutputFileOption& out, Console& console) {
  std::string text;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ordered_json line = asked.lines[i];
    line.erase("reply"), line.erase("reply_details");  // of an earlier answer; the new ones stand at the end
    line["reply"] = replies[i].text;
    if (details) line["reply_details"] = DetailsOf(replies[i]);
    text += JsonText(line) + '\n';
  }
  out.Write(text);
  const std::size_t all = asked.lines.size();
  console.Say("wrote " + Printable(out.path()) + ": " + std::to_string(replies.size()) +
              (replies.size() == 1 ? " line" : " lines") +
              (replies.size() == all ? "" : " of " + std::to_string(all)));
}

void SayHowManyCut(const std::vector<Reply>& replies, Console& console) {
  const auto cut = std::ranges::count(replies, ReplyEnd::kCut, &Reply::end);
  if (cut > 0)
    console.Say(std::to_string(cut) + " of " + std::to_string(replies.size()) +
                " replies were cut; --tokens says how many tokens they may have");
}

}  // namespace

int AskFile(const fs::path& from, const Chosen& chosen, const AskSetting& setting, bool details,
            const OutputFileOption& out, Console& console) {
  const bool has_records = chosen.form.kind == AnswerKind::kClass && from.extension() == ".csv";
  const AskedLines asked = has_records ? OfRecords(from) : OfJson(from);
  const std::size_t all = asked.lines.size();
  if (all == 0) throw InputError(DisplayPath(from) + " has no lines; expected a question at least");
  const AnswerSignal signal;
  console.Say(std::to_string(all) + (all == 1 ? " question to " : " questions to ") +
              (chosen.is_plain() ? "the model" : "'" + chosen.task + "'"));
  std::vector<Reply> replies;
  TokenSpeed speed;
  AskSetting watched = setting;
  watched.on_token = [](const Generated&) { return !InterruptAsked(); };
  const auto finish = [&] {
    KeepFinished(replies);
    speed.Add(replies);
    speed.Say(console);
    SayHowManyCut(replies, console);
    if (!replies.empty()) return WriteReplies(asked, replies, details, out, console);
    console.Say("nothing was answered, and nothing is written");
  };
  try {
    AskAll(*chosen.asker, asked.questions, watched, replies, [&] {
      console.Status(std::to_string(replies.size()) + " of " + std::to_string(all) + " answered");
      return !InterruptAsked();
    });
  } catch (...) {
    finish();  // hours may be in them
    throw;
  }
  finish();
  return static_cast<int>(replies.size() == all ? ExitCode::kDone : ExitCode::kInterrupted);
}

}  // namespace medley
