#include <medley/runs/sweep_grid.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_reader.h>
#include <medley/base/printable.h>
#include <medley/config/config_file.h>

namespace medley {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 80;  // of 255 that file systems know
constexpr std::size_t kDigest = 8;

// Parts the text behind "=" into its values. Throws an InputError: what is wrong with it.
class ValueSplitter {
 public:
  explicit ValueSplitter(const std::string& text) : text_(text) {}

  std::vector<std::string> Split() {
    for (at_ = 0; at_ < text_.size(); ++at_) Take(text_[at_]);
    if (quote_ != 0) throw InputError(std::string("the quote ") + quote_ + " is not closed");
    if (!open_.empty()) throw InputError(std::string("the bracket ") + open_.back() + " is not closed");
    End();
    return std::move(values_);
  }

 private:
  void Take(char c) {
    if (quote_ != 0) return TakeQuoted(c);
    if (c == '\'' || c == '"') return Open(c);
    if (c == '\\' && open_.empty() && at_ + 1 < text_.size() &&
        std::string_view(",'\"\\[]{}").find(text_[at_ + 1]) != std::string_view::npos) {
      value_ += text_[++at_];
      return;
    }
    if (c == ',' && open_.empty()) return End();
    if (c == '[' || c == '{') open_ += c;
    if (!open_.empty() && c == (open_.back() == '[' ? ']' : '}')) open_.pop_back();
    value_ += c;
  }

  // In a list they are JSON's, and stay.
  void Open(char quote) {
    if (!open_.empty() && quote == '\'') {
      value_ += quote;
      return;
    }
    quote_ = quote;
    was_quoted_ = true;
    if (!open_.empty()) value_ += quote;
  }

  void TakeQuoted(char c) {
    if (c == '\\' && quote_ == '"' && at_ + 1 < text_.size()) {
      const char next = text_[++at_];
      if (!open_.empty() || (next != '"' && next != '\\')) value_ += c;
      value_ += next;
    } else if (c == quote_) {
      quote_ = 0;
      if (!open_.empty()) value_ += c;
    } else {
      value_ += c;
    }
  }

  void End() {
    if (value_.empty() && !was_quoted_) throw InputError("a value is missing; '' is an empty one");
    values_.push_back(std::move(value_));
    value_.clear();
    was_quoted_ = false;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::string value_, open_;  // the brackets that are open
  char quote_ = 0;
  bool was_quoted_ = false;
  std::vector<std::string> values_;
};

json ValueOf(const std::string& text) { return IsJson(text) ? json::parse(text) : json(text); }

std::optional<std::int64_t> SeedIn(const std::string& text) {
  std::int64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size() || seed < 0) return std::nullopt;
  return seed;
}

SweptKey ParseOne(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const std::string key = argument.substr(0, equals);
  if (equals == std::string::npos || key.empty())
    throw InputError("expected KEY=V1,V2 such as optimizer.learning_rate=1e-3,1e-4, found '" +
                     Printable(argument) + "'");
  SweptKey swept{.key = key, .values = {}};
  try {
    swept.values = ValueSplitter(argument.substr(equals + 1)).Split();
  } catch (const InputError& error) {
    throw InputError(Printable(key) + ": " + error.what() + ", in '" +
                     Printable(argument.substr(equals + 1)) + "'");
  }
  for (auto one = swept.values.begin(); one != swept.values.end(); ++one) {
    if (std::any_of(swept.values.begin(), one, [&](const auto& other) { return IsSameValue(*one, other); }))
      throw InputError(Printable(key) + ": the value " + Printable(*one) + " is there twice");
  }
  return swept;
}

void TakeOne(SweptKey swept, SweepArguments& arguments) {
  if (swept.key == "seed") {
    for (const std::string& value : swept.values) {
      const std::optional<std::int64_t> seed = SeedIn(value);
      if (!seed) throw InputError("seed: expected whole numbers from 0, found '" + Printable(value) + "'");
      arguments.seeds.push_back(*seed);
    }
  } else if (swept.values.size() == 1) {
    arguments.fixed.push_back(swept.key + "=" + swept.values.front());
  } else {
    arguments.keys.push_back(std::move(swept));
  }
}

std::string LastPart(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// As short as it is said to nobody's confusion.
std::string ShortKey(const std::string& key, const std::vector<SweptKey>& keys) {
  const auto ends_alike = [&](const SweptKey& other) { return LastPart(other.key) == LastPart(key); };
  return std::count_if(keys.begin(), keys.end(), ends_alike) == 1 ? LastPart(key) : key;
}

bool IsPlainInAName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("+-._").find(c) != std::string_view::npos;
}

std::string InAName(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !IsPlainInAName(c); }, '_');
  return text;
}

// Some file systems take letters of both cases for one.
std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string NameOf(const SweepGroup& group, const std::vector<SweptKey>& keys,
                   const std::set<std::string>& taken) {
  std::string name;
  for (std::size_t i = 0; i < keys.size(); ++i)
    name += (i > 0 ? "," : "") + InAName(ShortKey(keys[i].key, keys)) + "=" + InAName(group.values[i]);
  if (name.size() <= kLongestName && taken.count(Lower(name)) == 0) return name;
  std::string whole;
  for (const std::string& override : OverridesOf(group, keys)) whole += override + "\n";
  return name.substr(0, kLongestName - kDigest - 1) + "-" + HashText(whole).substr(0, kDigest);
}

bool AreSameValues(const SweepGroup& a, const SweepGroup& b) {
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), IsSameValue);
}

}  // namespace

bool IsSameValue(const std::string& a, const std::string& b) { return ValueOf(a) == ValueOf(b); }

SweepArguments ParseSweep(const std::vector<std::string>& arguments) {
  SweepArguments parsed;
  Diagnostics diagnostics;
  std::set<std::string> seen;
  for (const std::string& argument : arguments) {
    try {
      SweptKey swept = ParseOne(argument);
      if (!seen.insert(swept.key).second)
        throw InputError(Printable(swept.key) + ": it is there twice; name all its values at once");
      TakeOne(std::move(swept), parsed);
    } catch (const InputError& error) {
      diagnostics.Add("command line", {}, error.what());
    }
  }
  diagnostics.Throw();
  return parsed;
}

std::vector<SweepGroup> GroupsOf(const std::vector<SweptKey>& keys, const std::vector<SweepGroup>& known) {
  std::vector<SweepGroup> groups(1);
  for (const SweptKey& key : keys) {
    std::vector<SweepGroup> longer;
    for (const SweepGroup& group : groups) {
      for (const std::string& value : key.values) {
        longer.push_back(group);
        longer.back().values.push_back(value);
      }
    }
    groups = std::move(longer);
  }
  if (keys.empty()) return groups;
  std::set<std::string> taken;
  for (const SweepGroup& group : known) taken.insert(Lower(group.folder));
  for (SweepGroup& group : groups) {
    const auto before = std::find_if(known.begin(), known.end(),
                                     [&](const SweepGroup& other) { return AreSameValues(group, other); });
    group.folder = before != known.end() ? before->folder : NameOf(group, keys, taken);
    taken.insert(Lower(group.folder));
  }
  return groups;
}

std::vector<std::string> OverridesOf(const SweepGroup& group, const std::vector<SweptKey>& keys) {
  std::vector<std::string> overrides;
  for (std::size_t i = 0; i < keys.size(); ++i) overrides.push_back(keys[i].key + "=" + group.values[i]);
  return overrides;
}

std::string SeedFolder(std::int64_t seed) { return "seed-" + std::to_string(seed); }

}  // namespace medley
