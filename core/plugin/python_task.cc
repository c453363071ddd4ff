#include "python_task.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <medley/base/printable.h>
#include <medley/base/spec_names.h>
#include <medley/base/suggest.h>

#include "spec_reader.h"

namespace medley {
namespace {

using ValueKind = PythonValue::Kind;

constexpr std::int64_t kLargestInteger = 1 << 24;  // as of a note

[[noreturn]] void FailAt(int line, const std::string& words) { throw PythonProblem{line, words}; }

// "'terms'": the key by which an error names a value.
std::string InQuotes(std::string_view key) { return "'" + Printable(key) + "'"; }

[[noreturn]] void Misplaced(const PythonValue& value, std::string_view key, const std::string& what) {
  FailAt(value.line, InQuotes(key) + " is " + std::string(value.What()) + ", and should be " + what);
}

std::string TextIn(const PythonValue& value, const facts::Fact& fact) {
  if (value.kind != ValueKind::kText) Misplaced(value, fact.key, "a text");
  if (value.text.size() > facts::kMostText)
    FailAt(value.line, InQuotes(fact.key) + " is longer than 4096 bytes");
  if (fact.is_name && !detail::IsName(value.text))
    FailAt(value.line, InQuotes(value.text.substr(0, 80)) +
                           " is no name: 1 to 64 characters of a-z, 0-9, _ and -, the first a letter");
  return value.text;
}

double NumberIn(const PythonValue& value, const facts::Fact& fact) {
  if (value.kind != ValueKind::kInteger && value.kind != ValueKind::kFloat)
    Misplaced(value, fact.key, "a number");
  const double number = value.kind == ValueKind::kInteger ? static_cast<double>(value.integer) : value.number;
  if (number < fact.low) FailAt(value.line, InQuotes(fact.key) + " is less than it may be");
  return number;
}

int IntegerIn(const PythonValue& value, const facts::Fact& fact) {
  if (value.kind != ValueKind::kInteger) Misplaced(value, fact.key, "a whole number");
  if (static_cast<double>(value.integer) < fact.low || value.integer < -kLargestInteger ||
      value.integer > kLargestInteger)
    FailAt(value.line, InQuotes(fact.key) + " is " + std::to_string(value.integer) + ", which it may not be");
  return static_cast<int>(value.integer);
}

bool SwitchIn(const PythonValue& value, const facts::Fact& fact) {
  if (value.kind != ValueKind::kSwitch) Misplaced(value, fact.key, "True or False");
  return value.on;
}

const std::vector<PythonValue>& ListIn(const PythonValue& value, const facts::Fact& fact, std::size_t most) {
  if (value.kind != ValueKind::kList) Misplaced(value, fact.key, "a list");
  if (value.items.size() > most)
    FailAt(value.line, InQuotes(fact.key) + " has " + std::to_string(value.items.size()) +
                           " items; at most " + std::to_string(most) + " are possible");
  return value.items;
}

std::vector<std::string> TextsIn(const PythonValue& value, const facts::Fact& fact, std::size_t most) {
  std::vector<std::string> texts;
  for (const PythonValue& item : ListIn(value, fact, most)) {
    if (item.kind != ValueKind::kText) Misplaced(item, fact.key, "a list of texts");
    texts.push_back(item.text);
  }
  return texts;
}

void RefuseUnknownKeys(const PythonValue& dict, const std::vector<std::string>& known) {
  for (const PythonValue::Key& key : dict.keys) {
    if (std::ranges::find(known, key.text) == known.end())
      FailAt(key.line, NoSuchName("key", key.text, known));
  }
}

template <template <typename> class Facts>
void FillFacts(const PythonValue& dict, const Facts<facts::Declared>& declared, Facts<facts::Read>& read);

// One of a list; an option is written otherwise.
template <template <typename> class Facts>
void FillItem(const PythonValue& dict, Facts<facts::Read>& read) {
  FillFacts(dict, Facts<facts::Declared>{}, read);
}
void FillItem(const PythonValue& dict, facts::Option<facts::Read>& option);

// What Fields calls: of each fact the declared member, which knows how long a list may be, and the read one.
class FactsFiller {
 public:
  explicit FactsFiller(const PythonValue& dict) : dict_(dict) {}

  template <typename D, typename T>
  void operator()(const facts::Fact& fact, const D& declared, T& read) {
    keys_.emplace_back(fact.key);
    const PythonValue* value = dict_.Find(fact.key);
    if (value == nullptr) return;
    if constexpr (facts::HasFields<T>) {
      FillFacts(*value, declared, read);
    } else if constexpr (std::is_same_v<T, std::string>) {
      read = TextIn(*value, fact);
    } else if constexpr (std::is_same_v<T, bool>) {
      read = SwitchIn(*value, fact);
    } else if constexpr (std::is_same_v<T, double>) {
      read = NumberIn(*value, fact);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      if (value->kind != ValueKind::kNone) read = NumberIn(*value, fact);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      read = TextsIn(*value, fact, declared.kMost);
    } else if constexpr (std::is_integral_v<T>) {
      read = IntegerIn(*value, fact);
    } else if constexpr (!std::is_enum_v<T>) {
      Items(ListIn(*value, fact, declared.kMost), fact, read);
    }
  }
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  template <typename Info>
  static void Items(const std::vector<PythonValue>& values, const facts::Fact& fact,
                    std::vector<Info>& items) {
    for (const PythonValue& value : values) {
      if (value.kind != ValueKind::kDict) Misplaced(value, fact.key, "a list of dicts");
      FillItem(value, items.emplace_back());
      if constexpr (requires(const Info& info) { info.name; }) {
        for (std::size_t i = 0; i + 1 < items.size(); ++i) {
          if (items[i].name == items.back().name)
            FailAt(value.line,
                   "the name " + InQuotes(items.back().name) + " stands twice in " + InQuotes(fact.key));
        }
      }
    }
  }

  const PythonValue& dict_;
  std::vector<std::string> keys_;
};

template <template <typename> class Facts>
void FillFacts(const PythonValue& dict, const Facts<facts::Declared>& declared, Facts<facts::Read>& read) {
  if (dict.kind != ValueKind::kDict)
    FailAt(dict.line, "here should be a dict, and is " + std::string(dict.What()));
  FactsFiller filler(dict);
  Facts<facts::Read>::Fields(filler, declared, read);
  RefuseUnknownKeys(dict, filler.keys());
  if constexpr (requires { read.name; }) {
    if (dict.Find("name") == nullptr && !std::is_same_v<Facts<facts::Read>, facts::Score<facts::Read>>)
      FailAt(dict.line, "'name' is missing");
  }
}

void FillItem(const PythonValue& dict, facts::Option<facts::Read>& option) {
  RefuseUnknownKeys(dict, {"name", "summary", "value", "low", "high", "words", "path", "text", "required"});
  const PythonValue* const name = dict.Find("name");
  if (name == nullptr) FailAt(dict.line, "'name' is missing");
  option.name = TextIn(*name, {.key = "name", .is_name = true});
  if (const PythonValue* value = dict.Find("summary")) option.summary = TextIn(*value, {.key = "summary"});
  int kinds = 0;
  const auto is_on = [&](std::string_view key) {
    const PythonValue* found = dict.Find(key);
    return found != nullptr && SwitchIn(*found, {.key = key});
  };
  if (const PythonValue* words = dict.Find("words")) {
    ++kinds;
    option.kind = OptionKind::kWord;
    option.words = TextsIn(*words, {.key = "words"}, NameList::kMost);
  }
  if (is_on("path")) {
    ++kinds;
    option.kind = OptionKind::kPath;
    option.required = dict.Find("required") == nullptr || is_on("required");
  } else if (dict.Find("required") != nullptr) {
    FailAt(dict.Find("required")->line, "'required' is for a path: \"path\": True");
  }
  if (is_on("text")) ++kinds, option.kind = OptionKind::kText;
  if (const PythonValue* value = dict.Find("value")) {
    ++kinds;
    option.kind = value->kind == ValueKind::kSwitch ? OptionKind::kSwitch : OptionKind::kNumber;
    option.value =
        value->kind == ValueKind::kSwitch ? (value->on ? 1 : 0) : NumberIn(*value, {.key = "value"});
  }
  if (kinds != 1)
    FailAt(dict.line,
           "the option " + InQuotes(option.name) +
               " needs one of \"value\": a number, True or False; \"words\": [...]; \"path\": True; "
               "\"text\": True");
  for (const auto& [key, bound] : {std::pair("low", &option.low), std::pair("high", &option.high)}) {
    const PythonValue* found = dict.Find(key);
    if (found != nullptr) *bound = NumberIn(*found, {.key = key});
  }
}

}  // namespace

TaskInfo TaskOf(const PythonValue& spec) {
  static const facts::Task<facts::Declared> kDeclared{};  // large
  facts::Task<facts::Read> task;
  FillFacts(spec, kDeclared, task);
  if (const std::string what = WhatIsWrong(task); !what.empty())
    FailAt(spec.line, "the spec of '" + task.name + "' has " + what);
  return TaskInfo(std::move(task));
}

}  // namespace medley
