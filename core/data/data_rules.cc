#include <medley/data/data_rules.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>
#include <medley/text/chat_file.h>

#include "item_sides.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::int64_t kFewItems = 100;
constexpr const char* kSideNames[] = {"training", "held_out"};  // by Split

std::string ShareWords(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", share);
  return text;
}

std::string Count(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

ordered_json ShareJson(const HeldOutShare& share) {
  ordered_json json = {{"asked", share.asked}, {"files", share.files},           {"share", share.share},
                       {"items", share.items}, {"held_out", share.held_out},     {"rows", share.rows},
                       {"seen", share.seen},   {"sides", ordered_json::object()}};
  for (const auto& [hash, side] : share.sides)
    json["sides"][WordOf(hash)] = kSideNames[side == Split::kHeldOut ? 1 : 0];
  return json;
}

HeldOutShare ShareOfJson(const ordered_json& json) {
  HeldOutShare share{.asked = json.at("asked").get<double>(),
                     .files = json.at("files").get<std::string>(),
                     .share = json.at("share").get<double>(),
                     .items = json.at("items").get<std::int64_t>(),
                     .held_out = json.at("held_out").get<std::int64_t>(),
                     .rows = json.at("rows").get<std::string>(),
                     .seen = json.at("seen").get<std::int64_t>()};
  if (!(share.share >= 0 && share.share <= 1)) throw std::out_of_range("a share is from 0 to 1");
  for (const auto& [hash, side] : json.at("sides").items())
    share.sides[std::stoull(hash, nullptr, 16)] =
        side.get<std::string>() == kSideNames[1] ? Split::kHeldOut : Split::kTraining;
  return share;
}

}  // namespace

DataRules::DataRules() = default;
DataRules::DataRules(DataRules&&) noexcept = default;
DataRules& DataRules::operator=(DataRules&&) noexcept = default;
DataRules::~DataRules() = default;

DataRules DataRules::Earlier() {
  DataRules rules;
  rules.is_earlier_ = true;
  return rules;
}

DataRules DataRules::Of(const ordered_json& record) {
  const auto damaged = [](const std::exception& error) {
    return InputError(std::string("the run's run.json is damaged: data_rules: ") + error.what() +
                      ". Restore it: it says which items are held out");
  };
  RefuseNewer(record, "version", kVersion, "\"data_rules\" of the run's run.json");
  try {
    if (record.at("version").get<int>() != kVersion)
      throw InputError("the run's data_rules (run.json) are of version " + record.at("version").dump() +
                       ", this medley knows " + std::to_string(kVersion) +
                       ". Use the medley that trained the run");
    DataRules rules;
    rules.is_changed_ = false;
    for (const auto& [task, shares] : record.at("held_out").items()) {
      for (const auto& share : shares) rules.shares_[task].push_back(ShareOfJson(share));
    }
    for (const auto& [task, rows] : record.at("held_out_by_place").items())
      rules.by_place_[task] = rows.get<std::string>();
    if (record.contains("held_out_files")) {
      for (const auto& [task, file] : record.at("held_out_files").items())
        rules.files_[task] = {.items = file.at("items").get<std::int64_t>(),
                              .trained = file.at("trained").get<std::int64_t>(),
                              .rows = file.at("rows").get<std::string>()};
    }
    if (record.contains("classes"))
      rules.classes_ = record.at("classes").get<std::map<std::string, std::vector<std::string>>>();
    if (record.contains("chats")) {
      for (const auto& [file, strings] : record.at("chats").items())
        rules.chats_[file] = JsonText(strings, 2) + "\n";
    }
    return rules;
  } catch (const nlohmann::json::exception& error) {
    throw damaged(error);
  } catch (const std::logic_error& error) {  // of a number in words
    throw damaged(error);
  }
}

ordered_json DataRules::Json() const {
  if (is_earlier_) return nullptr;
  ordered_json json = {{"version", kVersion},
                       {"special_tokens", "text"},
                       {"held_out", ordered_json::object()},
                       {"held_out_by_place", by_place_}};
  for (const auto& [task, shares] : shares_) {
    for (const HeldOutShare& share : shares) json["held_out"][task].push_back(ShareJson(share));
  }
  for (const auto& [task, file] : files_)
    json["held_out_files"][task] = {{"items", file.items}, {"trained", file.trained}, {"rows", file.rows}};
  if (!classes_.empty()) json["classes"] = classes_;
  for (const auto& [file, strings] : chats_) json["chats"][file] = ordered_json::parse(strings);
  return json;
}

ChatStrings DataRules::Chat(const std::string& named) {
  if (!IsChatFile(named)) return BuiltInChatFormat(named.empty() ? "plain" : named);
  if (const auto kept = chats_.find(named); kept != chats_.end()) return ReadChatText(named, kept->second);
  ChatStrings strings = ReadChatFile(named);
  if (is_earlier_) return strings;
  chats_[named] = JsonText(ToJson(strings), 2) + "\n";
  is_changed_ = true;
  return strings;
}

void DataRules::TakeOver(EarlierItems from) { from_ = std::make_unique<EarlierItems>(std::move(from)); }

void DataRules::NoteByPlace(const std::string& task, const std::string& rows) {
  if (std::exchange(by_place_[task], rows) == rows || is_earlier_) return;
  is_changed_ = true;
  Say("'" + task +
      "' holds out items by their number and place: where its file grows, shrinks or is sorted, others are "
      "held out, and those were trained on. Its author can hold out by TaskContext::HeldOut "
      "(docs/writing-a-task.md)");
}

// Of the run; else what the run that its weights come from decided; else a new one.
HeldOutShare DataRules::ShareOf(const HeldOutItems& asked, std::int64_t items) const {
  const auto find = [&](const DataRules& rules, auto is_it) -> const HeldOutShare* {
    const std::vector<HeldOutShare>& shares = rules.SharesOf(asked.task);
    const auto found = std::ranges::find_if(
        shares, [&](const HeldOutShare& share) { return share.asked == asked.asked && is_it(share); });
    return found == shares.end() ? nullptr : &*found;
  };
  const auto has_its_files = [&](const HeldOutShare& share) { return share.files == asked.files; };
  if (const HeldOutShare* own = find(*this, has_its_files)) return *own;
  // A file that was renamed has as many items.
  const HeldOutShare* taken = find(*this, [&](const HeldOutShare& share) { return share.items == items; });
  if (from_ && taken == nullptr) taken = find(from_->rules, has_its_files);
  if (from_ && taken == nullptr)  // one that grew may be called anew
    taken = find(from_->rules, [](const HeldOutShare&) { return true; });
  HeldOutShare share = taken != nullptr ? *taken : HeldOutShare{.asked = asked.asked};
  share.files = asked.files;
  if (taken == nullptr)
    share.share = asked.asked < 1 ? asked.asked : asked.asked / static_cast<double>(items);
  return share;
}

DividedItems DataRules::Divide(const HeldOutItems& asked, std::span<const std::uint64_t> hashes) {
  const std::int64_t items = std::ssize(hashes);
  const auto refuse = [&](const std::string& what) {
    throw InputError("'" + asked.task + "' has " + Count(items, "item") +
                     (asked.files.empty() ? "" : " in " + asked.files) + what + "; " + asked.option + " is " +
                     ShareWords(asked.asked) +
                     ". Expected a share below 1, or a number of items that leaves one for training");
  };
  if (items == 0 || !(asked.asked > 0)) refuse(", so nothing can be held out");
  HeldOutShare share = ShareOf(asked, items);
  if (share.share >= 1) refuse(", of which none is left for training");
  std::int64_t held_out = CountHeldOut(share, hashes);
  if (held_out == 0 || held_out == items) {
    if (const auto moved = Nearest(share, hashes))
      share.sides[*moved] = held_out == 0 ? Split::kHeldOut : Split::kTraining;
    held_out = CountHeldOut(share, hashes);
    if (held_out == 0 || held_out == items)
      refuse(items == 1 ? ", which cannot be both trained on and held out"
                        : ", all equal, and equal ones are trained on or held out together");
  }
  DividedItems divided = DivideBy(share, hashes, held_out);
  if (from_) {
    const SeenItems seen = SeenBefore(*from_, asked, share, hashes);
    share.seen = seen.count;
    if (!seen.words.empty()) Say(seen.words);
  }
  Keep(asked, share, {.items = items, .held_out = held_out, .rows = divided.rows});
  return divided;
}

void DataRules::Keep(const HeldOutItems& asked, HeldOutShare share, const HeldOutShare& now) {
  std::vector<HeldOutShare>& own = shares_[asked.task];
  const auto place = std::ranges::find_if(own, [&](const HeldOutShare& known) {
    return known.asked == share.asked && known.files == share.files;
  });
  const HeldOutShare before = share;
  const bool is_new = before.rows.empty();
  const std::int64_t items = share.items = now.items, held_out = share.held_out = now.held_out;
  const std::string& rows = share.rows = now.rows;
  if (place != own.end() && before.rows == rows && before.items == items) return;
  is_changed_ = true;
  if (place == own.end())
    own.push_back(share);
  else
    *place = share;
  const std::string what = asked.files.empty() ? "" : " of " + asked.files;
  std::string words =
      "'" + asked.task + "' holds out " + std::to_string(held_out) + " of " + Count(items, "item") + what;
  if (!is_new && before.rows != rows) {
    words += "; before they were " + std::to_string(before.held_out) + " of " + std::to_string(before.items) +
             ". Scores of then and now are of other rows";
  } else if (asked.asked >= 1) {
    words += ": " + asked.option + " " + ShareWords(asked.asked) + " is the share " +
             ShareWords(share.share) + ", which the run keeps when the file grows";
  } else {
    words += ": the share " + ShareWords(share.share);
  }
  if (!share.sides.empty())
    words += ". " + Count(std::ssize(share.sides), "item") +
             " nearest to the share went to a side that was empty, for ever";
  if (held_out < kFewItems)
    words += ". Scores of fewer than " + std::to_string(kFewItems) +
             " items tell little: a larger share holds out more";
  Say(words);
}

void DataRules::NoteFile(const std::string& task, std::span<const std::uint64_t> training,
                         std::span<const std::uint64_t> held_out) {
  const std::set<std::uint64_t> trained(training.begin(), training.end());
  const HeldOutFile file{
      .items = std::ssize(held_out),
      .trained = std::ranges::count_if(held_out, [&](std::uint64_t hash) { return trained.contains(hash); }),
      .rows = RowsWord(held_out)};
  HeldOutFile& known = files_[task];
  is_changed_ = is_changed_ || known.rows != file.rows || known.trained != file.trained;
  known = file;
  Say("'" + task + "' is evaluated on " + Count(file.items, "item") + " of a file of their own, of which " +
      (file.trained == 0 ? "none stands in the training file"
                         : std::to_string(file.trained) + " stand in the training file too: " +
                               "their scores tell nothing of what is new"));
  if (!from_ || !from_->tasks.contains(task) || from_->rules.RowsHeldOut(task) == file.rows) return;
  Say("init_from: " + from_->run + " held out other items of '" + task +
      "'; what of these it trained on is not known. Scores of what it did are too good");
}

const std::vector<std::string>& DataRules::ClassesOf(const std::string& task) const {
  static const std::vector<std::string> none;
  const auto found = classes_.find(task);
  return found == classes_.end() ? none : found->second;
}

void DataRules::KeepClasses(const std::string& task, std::vector<std::string> names) {
  is_changed_ = true;
  classes_[task] = std::move(names);
}

const std::vector<HeldOutShare>& DataRules::SharesOf(const std::string& task) const {
  static const std::vector<HeldOutShare> none;
  const auto found = shares_.find(task);
  return found == shares_.end() ? none : found->second;
}

std::string DataRules::RowsHeldOut(const std::string& task) const {
  std::string rows;
  if (const auto found = by_place_.find(task); found != by_place_.end()) rows = found->second;
  if (const auto found = files_.find(task); found != files_.end())
    rows += (rows.empty() ? "" : " ") + found->second.rows;
  for (const HeldOutShare& share : SharesOf(task)) rows += (rows.empty() ? "" : " ") + share.rows;
  return rows;
}

std::string DataRules::HeldOutWords(const std::string& task) const {
  if (const auto found = by_place_.find(task); found != by_place_.end()) return found->second;
  if (const auto found = files_.find(task); found != files_.end())
    return std::to_string(found->second.items) + " of a file of their own";
  const std::vector<HeldOutShare>& shares = SharesOf(task);
  if (shares.empty()) return is_earlier_ ? "by place" : "none";
  return std::to_string(shares.back().held_out) + " of " + std::to_string(shares.back().items);
}

void DataRules::Say(std::string words) {
  if (said_.insert(words).second) words_.push_back(std::move(words));
}

std::vector<std::string> DataRules::TakeWords() { return std::exchange(words_, {}); }

}  // namespace medley
