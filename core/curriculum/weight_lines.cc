#include <medley/curriculum/weight_lines.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_count.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>

namespace medley {
namespace {

using nlohmann::ordered_json;
using Cause = WeightEntry::Cause;
using Numbers = std::map<std::string, double>;

constexpr std::array<std::string_view, 9> kCauses = {"start",       "stage",        "ramp",
                                                     "edit",        "dropped task", "refused edit",
                                                     "early decay", "changed file", "decay refit"};
constexpr const char* kDue = "due edit";
constexpr const char* kEnd = "end";
// The last key of a line. Inside a JSON string its quotes would have backslashes.
constexpr std::string_view kSumKey = R"(,"line_xxh3_128":")";
constexpr std::string_view kSumEnd = R"("})";
constexpr std::size_t kSumLength = 32;
constexpr std::size_t kTailLength = kSumKey.size() + kSumLength + kSumEnd.size();

void AddText(ordered_json& line, const std::string& text) {
  line["xxh3_128"] = HashText(text);
  line["text"] = text;
}

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
  if (entry.draw_rule > 1) line["draw_rule"] = entry.draw_rule;
  if (entry.ends > 0) line["ends"] = entry.ends, line["of_steps"] = entry.of_steps;
  if (!entry.text.empty()) AddText(line, entry.text);
  return line;
}

ordered_json ToJson(const DueEdit& edit) {
  ordered_json line = {{"step", edit.step}, {"cause", kDue}};
  AddText(line, edit.text);
  return line;
}

// "" of a line without one.
std::string_view SumOf(std::string_view line) {
  if (line.size() <= kTailLength || !line.ends_with(kSumEnd)) return "";
  const std::string_view tail = line.substr(line.size() - kTailLength);
  return tail.starts_with(kSumKey) ? tail.substr(kSumKey.size(), kSumLength) : "";
}

std::string SumAfter(std::string_view line_before, std::string_view body) {
  RunningSum sum;
  sum.Add(SumOf(line_before).data(), SumOf(line_before).size());
  sum.Add(body.data(), body.size());
  return sum.Hex();
}

std::string WithSum(const ordered_json& json, std::string_view line_before) {
  std::string line = JsonText(json);
  line.pop_back();  // the brace
  const std::string sum = SumAfter(line_before, line);
  return line.append(kSumKey).append(sum).append(kSumEnd);
}

bool Continues(std::string_view line, std::string_view line_before) {
  const std::string_view sum = SumOf(line);
  return !sum.empty() && SumAfter(line_before, line.substr(0, line.size() - kTailLength)) == sum;
}

// Older medleys gave no sum to edits that were due.
enum class TextSum { kNeeded, kMayBeMissing };

std::string CheckedText(const ordered_json& line, TextSum needs) {
  auto text = line.value("text", std::string());
  const bool is_missing = !line.contains("xxh3_128");
  if (is_missing && needs == TextSum::kMayBeMissing) return text;
  if (is_missing) throw Error("has a text without its sum");
  if (HashText(text) != line.value("xxh3_128", std::string()))
    throw Error("has a text that is not as it was written");
  return text;
}

std::string TextOfEntry(const ordered_json& line, Cause cause) {
  const bool has_checked = cause == Cause::kStart || cause == Cause::kEdit;
  return has_checked ? CheckedText(line, TextSum::kNeeded) : line.value("text", "");
}

// One that was changed by hand, or is of a later medley, throws. What was refused need be no UTF-8, and is
// then not the text of the sum.
WeightEntry EntryFrom(const ordered_json& line, Cause cause) {
  return {.number = CountOf(line, "number"),
          .step = CountOf(line, "step"),
          .draw = CountOf(line, "draw"),
          .cause = cause,
          .name = line.value("name", ""),
          .words = line.value("words", ""),
          .before = line.at("before").get<Numbers>(),
          .after = line.at("after").get<Numbers>(),
          .owed = line.at("owed").get<Numbers>(),
          .text = TextOfEntry(line, cause),
          .draw_rule = line.contains("draw_rule") ? CountOf(line, "draw_rule") : 1,
          .ends = line.contains("ends") ? CountOf(line, "ends") : 0,
          .of_steps = line.contains("of_steps") ? CountOf(line, "of_steps") : 0};
}

// Takes lines one after the other.
class EntryReader {
 public:
  explicit EntryReader(std::string line_before = "") : line_before_(std::move(line_before)) {}

  // False, and nothing was taken, where the line does not continue those before it. Throws where it does and
  // cannot be understood.
  bool Take(std::string_view line) {
    if (!Continues(line, line_before_)) return false;
    Understand(line);
    line_before_ = line;
    return true;
  }
  // Whatever its sums; throws where it cannot be understood.
  void Understand(std::string_view line) {
    const auto json = ReadJson<ordered_json>(line, "");
    const auto word = json.at("cause").get<std::string>();
    if (word == kEnd) {
      ended = true;
    } else if (word == kDue) {
      read.due.push_back({.step = CountOf(json, "step"), .text = CheckedText(json, TextSum::kMayBeMissing)});
    } else {
      const auto known = std::ranges::find(kCauses, word);
      if (known == kCauses.end()) throw Error("has a cause that this medley does not know, " + word);
      read.entries.push_back(EntryFrom(json, static_cast<Cause>(known - kCauses.begin())));
      read.lines.emplace_back(line);
    }
  }

  WeightLines read;
  bool ended = false;

 private:
  std::string line_before_;
};

// Of what stands behind the last "\n" too, which is not whole.
template <typename Take>
void ForEachLine(std::string_view text, const Take& take) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t size = text.find('\n');
    take(number, text.substr(0, size), size != std::string_view::npos);
    text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
  }
}

std::string Damaged(int line, const std::string& how) {
  return "was damaged: line " + std::to_string(line) + " " + how;
}

// Of a line whose sum is right.
std::string NotKnown(int line) { return "line " + std::to_string(line) + " has what this one does not know"; }

// Entries of a medley without sums of lines get some.
void GiveSums(WeightLines& read) {
  read.lines.clear();
  for (const WeightEntry& entry : read.entries)
    read.lines.push_back(LineOf(entry, read.lines.empty() ? "" : read.lines.back()));
}

// Numbers go up by one, but for what was refused: that has the one before it.
bool Follows(const WeightEntry& entry, std::int64_t number) {
  return entry.number == number + (entry.cause == Cause::kRefusedEdit ? 0 : 1);
}

// Takes a line whatever its sums; what is wrong with it, or "".
std::string TakeOld(std::string_view line, EntryReader& reader) {
  std::vector<WeightEntry>& entries = reader.read.entries;
  const std::int64_t number = entries.empty() ? 0 : entries.back().number;
  const std::size_t before = entries.size();
  try {
    reader.Understand(line);
  } catch (const InputError&) {
    return "cannot be read";
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception&) {
    return "is no entry";
  }
  if (entries.size() == before || Follows(entries.back(), number)) return "";
  if (entries.back().number <= number) entries.pop_back();
  return "does not follow the one before it";
}

// Of before lines had sums. A line that is damaged costs no other one.
WeightLines ReadOldLines(std::string_view text) {
  EntryReader reader;
  std::string problem;
  ForEachLine(text, [&](int at, std::string_view line, bool whole) {
    const std::string how = whole ? TakeOld(line, reader) : "is cut";
    if (problem.empty() && !how.empty()) problem = Damaged(at, how);
  });
  reader.read.problem = std::move(problem);
  reader.read.has_sums = false;
  GiveSums(reader.read);
  return std::move(reader.read);
}

// The line with this text, which was another's when its sum was made; nothing where it has none.
std::optional<std::string> WithText(std::string_view line, const std::string& text) {
  try {
    auto json = ReadJson<ordered_json>(line, "");
    if (!json.at("text").is_string()) return std::nullopt;
    AddText(json, text);
    return JsonText(json);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string_view WordOf(Cause cause) { return kCauses[static_cast<std::size_t>(cause)]; }

bool HasText(const WeightEntry& entry) { return entry.cause == Cause::kStart || entry.cause == Cause::kEdit; }

std::string LineOf(const WeightEntry& entry, const std::string& line_before) {
  return WithSum(ToJson(entry), line_before);
}

std::string TextOf(const std::vector<std::string>& lines, const std::vector<DueEdit>& due, LogEnd end) {
  std::string text, last;
  const auto add = [&](std::string line) {
    text.append(line).append("\n");
    last = std::move(line);
  };
  for (const std::string& line : lines) add(line);
  for (const DueEdit& edit : due) add(WithSum(ToJson(edit), last));
  if (end == LogEnd::kClosed) add(WithSum({{"cause", kEnd}}, last));
  return text;
}

WeightLines ReadWeightLines(std::string_view text, LogEnd end) {
  if (text.find(kSumKey) == std::string_view::npos && !text.empty()) return ReadOldLines(text);
  EntryReader reader;
  std::string& problem = reader.read.problem;
  ForEachLine(text, [&](int at, std::string_view line, bool whole) {
    if (!problem.empty()) return;
    try {
      if (reader.ended) {
        problem = Damaged(at, "stands behind its end");
      } else if (!whole) {
        problem = Damaged(at, "is cut");
      } else if (!reader.Take(line)) {
        problem = Damaged(at, "is not as it was written behind those before it");
      }
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {
      reader.read.newer = NotKnown(at);
      problem = OfANewerMedley(reader.read.newer);
    }
  });
  if (problem.empty() && !reader.ended && end == LogEnd::kClosed) problem = "was cut: its end is missing";
  return std::move(reader.read);
}

WeightLines ContinueWeightLines(std::string_view kept, std::string_view file, const std::string& own) {
  WeightLines read = ReadWeightLines(kept, LogEnd::kOpen);
  EntryReader tail(read.lines.empty() ? "" : read.lines.back());
  ForEachLine(file, [&](int at, std::string_view line, bool whole) {
    if (tail.ended || !whole) return;
    try {
      if (tail.Take(line)) return;
      if (const auto mended = WithText(line, own)) tail.Take(*mended);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {  // the end is then never reached
      read.newer = NotKnown(at);
    }
  });
  const auto edits = static_cast<std::size_t>(std::ranges::count_if(tail.read.entries, HasText));
  if (!tail.ended) read.problem = "was damaged";
  // Those that were due come first of all.
  if (!tail.ended && edits + tail.read.due.size() < read.due.size()) return read;
  for (WeightEntry& entry : tail.read.entries) read.entries.push_back(std::move(entry));
  for (std::string& line : tail.read.lines) read.lines.push_back(std::move(line));
  read.due = std::move(tail.read.due);
  return read;
}

bool IsWholeHistory(const std::vector<WeightEntry>& entries) {
  if (entries.empty() || entries.front().cause != Cause::kStart || entries.front().step > 0) return false;
  std::int64_t number = 0;
  return std::ranges::all_of(
      entries, [&](const WeightEntry& entry) { return Follows(entry, std::exchange(number, entry.number)); });
}

}  // namespace medley
