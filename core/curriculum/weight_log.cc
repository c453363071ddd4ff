#include <medley/curriculum/weight_log.h>

#include <algorithm>

#include <medley/base/durable_file.h>
#include <medley/base/file_digest.h>
#include <medley/base/files.h>
#include <medley/base/json_document.h>
#include <medley/base/json_text.h>
#include <medley/base/line_reader.h>
#include <medley/base/newer.h>
#include <medley/curriculum/draw_rule.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Cause = WeightEntry::Cause;

using Numbers = std::map<std::string, double>;

template <typename Value>
Numbers SharesOf(const Mixer& mixer, const Value& value) {
  Numbers shares;
  for (const auto& [task, share] : mixer.Shares()) {
    if (value(share) > 0) shares[task] = value(share);
  }
  return shares;
}

// Of what was refused a run never needs the text again: as much of it as shows which it was.
void CutRefused(WeightEntry& entry) {
  constexpr std::size_t kMost = 4096;  // bytes
  for (std::string* text : {&entry.text, &entry.words}) {
    if (text->size() <= kMost) continue;
    std::size_t size = kMost;
    while (size > 0 && (static_cast<unsigned char>((*text)[size]) & 0xc0) == 0x80)
      --size;  // no half character
    const std::size_t left = text->size() - size;
    text->resize(size);
    *text += "... (and " + std::to_string(left) + " bytes)";
  }
}

}  // namespace

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
                    .text = {},
                    .draw_rule = kDrawRule};
  for (const auto& [task, share] : mixer.Shares()) {
    entry.draw += share.draws;
    if (share.asked > 0) entry.owed[task] = share.owed;
  }
  return entry;
}

std::string ReadWeightLog(const fs::path& directory) {
  std::string text;
  if (TypeOf(directory / kWeightLog) != fs::file_type::regular) return text;
  LineReader lines(directory / kWeightLog);
  for (std::string line; lines.Next(line);) text.append(line).append(lines.whole() ? "\n" : "");
  return text;
}

WeightLog::WeightLog(const fs::path& directory, WeightLines lines)
    : file_(directory / kWeightLog),
      entries_(std::move(lines.entries)),
      lines_(std::move(lines.lines)),
      due_(std::move(lines.due)),
      problem_(std::move(lines.problem)),
      newer_(std::move(lines.newer)),
      has_sums_(lines.has_sums),
      waits_(!lines.has_sums || !problem_.empty()) {}

WeightLog::WeightLog(const fs::path& directory)
    : WeightLog(directory, TypeOf(directory / kWeightLog) == fs::file_type::not_found
                               ? WeightLines()
                               : ReadWeightLines(ReadWeightLog(directory))) {
  const fs::file_type type = TypeOf(file_);
  if (type != fs::file_type::regular && type != fs::file_type::not_found) problem_ = "is no plain file";
}

void WeightLog::RequireKnownLines() const {
  if (!newer_.empty()) throw NewerError(DisplayPath(file_), newer_);
}

void WeightLog::RequireKnownDraws() const {
  for (const WeightEntry& entry : entries_) {
    if (entry.draw_rule > kDrawRule)
      throw NewerError(
          DisplayPath(file_),
          "draw_rule " + std::to_string(entry.draw_rule) + ", this one draws by " + std::to_string(kDrawRule),
          kEarlierCheckpoint);
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
  const auto gone =
      std::ranges::find_if(entries_, [&](const WeightEntry& entry) { return entry.number > number; });
  std::vector<DueEdit> due;
  for (auto entry = gone; entry != entries_.end(); ++entry) {
    if (entry->cause == Cause::kEdit) due.push_back({entry->step, entry->text});
  }
  due.insert(due.end(), due_.begin(), due_.end());  // which come after all that were done
  due_ = std::move(due);
  waits_ = waits_ || gone != entries_.end();
  lines_.resize(static_cast<std::size_t>(gone - entries_.begin()));
  entries_.erase(gone, entries_.end());
}

void WeightLog::Add(WeightEntry entry) {
  const bool edit = entry.cause == Cause::kEdit;
  if (entry.cause == Cause::kRefusedEdit) CutRefused(entry);
  // What was refused is no part of what a checkpoint holds.
  entry.number = number() + (entry.cause == Cause::kRefusedEdit ? 0 : 1);
  lines_.push_back(LineOf(entry, lines_.empty() ? "" : lines_.back()));
  entries_.push_back(std::move(entry));
  const bool waited = std::exchange(waits_, true);
  try {
    Write();
  } catch (...) {
    if (edit) {
      entries_.pop_back();
      lines_.pop_back();
      waits_ = waited;
    }
    throw;
  }
}

void WeightLog::Sync() {
  if (waits_) Write();
}

LogMark WeightLog::mark() const {
  const std::string text = TextOf(lines_, {}, LogEnd::kOpen);
  return {static_cast<std::int64_t>(text.size()), HashText(text)};
}

void WeightLog::Write() {
  ReplaceFile(file_, FileText());
  waits_ = false;
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
