#include <medley/curriculum/weight_log.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_count.h>
#include <medley/base/json_document.h>
#include <medley/base/json_text.h>
#include <medley/base/line_reader.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using Cause = WeightEntry::Cause;

constexpr std::array<std::string_view, 7> kCauses = {"start",        "stage",        "ramp",       "edit",
                                                     "dropped task", "refused edit", "early decay"};
constexpr const char* kDue = "due edit";

ordered_json ToJson(const WeightEntry& entry) {
  ordered_json line = {{"number", entry.number},
                       {"step", entry.step},
                       {"draw", entry.draw},
                       {"cause", std::string(WordOf(entry.cause))}};
  if (!entry.name.empty()) line["name"] = entry.name;
  if (!entry.words.empty()) line["words"] = entry.words;
  line["before"] = entry.before;
  line["after"] = entry.after;
  line["owed"] = entry.owed;
  if (entry.text.empty()) return line;
  line["xxh3_128"] = HashText(entry.text);
  line["text"] = entry.text;
  return line;
}

using Numbers = std::map<std::string, double>;

// One that was changed by hand, or is of a later medley, throws.
WeightEntry FromJson(const json& line, Cause cause) {
  return {.number = CountOf(line, "number"),
          .step = CountOf(line, "step"),
          .draw = CountOf(line, "draw"),
          .cause = cause,
          .name = line.value("name", ""),
          .words = line.value("words", ""),
          .before = line.at("before").get<Numbers>(),
          .after = line.at("after").get<Numbers>(),
          .owed = line.at("owed").get<Numbers>(),
          .text = line.value("text", "")};
}

bool HasText(const WeightEntry& entry) { return entry.cause == Cause::kStart || entry.cause == Cause::kEdit; }

template <typename Value>
Numbers SharesOf(const Mixer& mixer, const Value& value) {
  Numbers shares;
  for (const auto& [task, share] : mixer.Shares()) {
    if (value(share) > 0) shares[task] = value(share);
  }
  return shares;
}

}  // namespace

std::string_view WordOf(Cause cause) { return kCauses[static_cast<std::size_t>(cause)]; }

Numbers SharesNow(const Mixer& mixer) {
  return SharesOf(mixer, [](const Mixer::Share& share) { return share.asked; });
}

Numbers SharesAimedAt(const Mixer& mixer) {
  return SharesOf(mixer, [](const Mixer::Share& share) { return share.aim; });
}

WeightEntry EntryOf(const Mixer& mixer, std::int64_t step, Cause cause, std::string name, Numbers before) {
  WeightEntry entry{.number = 0,
                    .step = step,
                    .draw = 0,
                    .cause = cause,
                    .name = std::move(name),
                    .words = {},
                    .before = std::move(before),
                    .after = SharesAimedAt(mixer),
                    .owed = {},
                    .text = {}};
  for (const auto& [task, share] : mixer.Shares()) {
    entry.draw += share.draws;
    if (share.asked > 0) entry.owed[task] = share.owed;
  }
  return entry;
}

WeightLog::WeightLog(const fs::path& directory) : file_(directory / kWeightLog) {
  if (TypeOf(file_) != fs::file_type::regular) return;
  LineReader lines(file_);
  for (std::string line; lines.Next(line);) {
    try {
      const json read = json::parse(line);
      const auto cause = read.at("cause").get<std::string>();
      if (cause == kDue) {
        due_.push_back({.step = CountOf(read, "step"), .text = read.at("text").get<std::string>()});
        continue;
      }
      const auto known = std::find(kCauses.begin(), kCauses.end(), cause);
      if (known != kCauses.end())
        entries_.push_back(FromJson(read, static_cast<Cause>(known - kCauses.begin())));
    } catch (const std::exception&) {  // changed by hand
    }
  }
}

std::int64_t WeightLog::NumberAt(std::int64_t step) const {
  std::int64_t number = 0;
  for (const WeightEntry& entry : entries_) {
    if (entry.step <= step) number = entry.number;
  }
  return number;
}

std::optional<std::string> WeightLog::Text() const {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), HasText);
  return found == entries_.rend() ? std::nullopt : std::optional(found->text);
}

std::optional<std::string> WeightLog::LastText() const {
  return due_.empty() ? Text() : std::optional(due_.back().text);
}

void WeightLog::GoBackTo(std::int64_t number) {
  std::vector<DueEdit> due;
  for (const WeightEntry& entry : entries_) {
    if (entry.number > number && entry.cause == Cause::kEdit) due.push_back({entry.step, entry.text});
  }
  due.insert(due.end(), due_.begin(), due_.end());  // which come after all that were done
  due_ = std::move(due);
  std::erase_if(entries_, [&](const WeightEntry& entry) { return entry.number > number; });
}

void WeightLog::Add(WeightEntry entry) {
  const bool edit = entry.cause == Cause::kEdit;
  // What was refused is no part of what a checkpoint holds.
  entry.number = number() + (entry.cause == Cause::kRefusedEdit ? 0 : 1);
  entries_.push_back(std::move(entry));
  try {
    Write();
  } catch (...) {
    if (edit) entries_.pop_back();
    throw;
  }
}

void WeightLog::Write() const {
  std::string text;
  for (const WeightEntry& entry : entries_) text += JsonText(ToJson(entry)) + "\n";
  for (const DueEdit& edit : due_)
    text += JsonText(ordered_json{{"step", edit.step}, {"cause", kDue}, {"text", edit.text}}) + "\n";
  ReplaceFile(file_, text);
}

std::string WithAbsoluteSchema(const std::string& text, const fs::path& directory) {
  const JsonDocument document = ParseJson(text);
  const JsonNode* schema = document.parsed ? document.root.Find("$schema") : nullptr;
  if (schema == nullptr || !schema->IsString()) return text;
  const auto named = schema->scalar.get<std::string>();
  if (named.find("://") != std::string::npos || fs::path(named).is_absolute()) return text;
  // The byte that the position names: columns count characters.
  std::size_t begin = 0;
  for (int line = 1; line < schema->at.line; ++line) begin = text.find('\n', begin) + 1;
  if (begin == 0 && text.starts_with("\xef\xbb\xbf")) begin = 3;
  for (int column = 1; column < schema->at.column; ++column) {
    ++begin;
    while ((static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) ++begin;
  }
  std::size_t end = begin + 1;
  while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  const std::string absolute = JsonText(json((directory / named).lexically_normal().string()));
  return text.substr(0, begin) + absolute + text.substr(end + 1);
}

}  // namespace medley
