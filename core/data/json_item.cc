#include <medley/data/json_item.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/json_document.h>
#include <medley/base/suggest.h>
#include <medley/data/last_read.h>

namespace medley {
namespace {

using Json = nlohmann::json;

std::string InWords(const Json& value) {
  JsonNode node;
  node.type = value.type();
  if (!value.is_structured()) node.scalar = value;
  return Describe(node);
}

// " from 0 to 9", " from 0 on", " up to 9" or "".
template <typename Number>
std::string RangeWords(Number low, Number high) {
  const bool any_low = low == std::numeric_limits<Number>::lowest();
  const bool any_high = high == std::numeric_limits<Number>::max();
  const auto number = [](Number value) {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  if (any_low) return any_high ? "" : " up to " + number(high);
  return " from " + number(low) + (any_high ? " on" : " to " + number(high));
}

}  // namespace

JsonItem::JsonItem(Json line, std::shared_ptr<const RecordIndex> file, std::int64_t record)
    : line_(std::make_shared<const Json>(std::move(line))),
      value_(line_.get()),
      file_(std::move(file)),
      record_(record) {}

JsonItem::JsonItem(Json line, std::string place)
    : line_(std::make_shared<const Json>(std::move(line))),
      value_(line_.get()),
      record_(0),
      place_(std::move(place)) {}

JsonItem::JsonItem(const JsonItem& parent, const Json& value, std::string path)
    : line_(parent.line_),
      value_(&value),
      path_(std::move(path)),
      file_(parent.file_),
      record_(parent.record_),
      place_(parent.place_) {}

void JsonItem::FailAt(const std::string& path, const std::string& what) const {
  throw InputError((file_ == nullptr ? place_ : file_->PlaceOf(record_)) + ": " +
                   (path.empty() ? "" : path + ": ") + what);
}

void JsonItem::Unexpected(const std::string& path, const std::string& expected, const Json& found) const {
  FailAt(path, "expected " + expected + ", found " + InWords(found));
}

void JsonItem::Fail(const std::string& what) const { FailAt(path_, what); }
void JsonItem::Fail(std::string_view key, const std::string& what) const { FailAt(Path(key), what); }

std::string JsonItem::Path(std::string_view key) const { return JoinPath(path_, key); }

const Json& JsonItem::Member(std::string_view key) const {
  if (file_ != nullptr) NoteUse(file_->path(), file_->BeginOf(record_));
  if (!value_->is_object()) Unexpected(path_, "an object", *value_);
  const auto found = value_->find(key);
  if (found != value_->end()) return *found;
  std::vector<std::string> keys;
  for (const auto& member : value_->items()) keys.push_back(member.key());
  Fail("\"" + std::string(key) + "\" is missing" + DidYouMean(key, keys) + " (there are: " + Listed(keys) +
       ")");
}

bool JsonItem::Has(std::string_view key) const {
  if (!value_->is_object()) Unexpected(path_, "an object", *value_);
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

std::string JsonItem::TextAt(const Json& value, const std::string& path) const {
  if (!value.is_string()) Unexpected(path, "a text", value);
  return value.get<std::string>();
}

double JsonItem::NumberAt(const Json& value, const std::string& path, double low, double high) const {
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!(number >= low && number <= high)) Unexpected(path, "a number" + RangeWords(low, high), value);
  return number;
}

std::int64_t JsonItem::IntegerAt(const Json& value, const std::string& path, std::int64_t low,
                                 std::int64_t high) const {
  // What is above the largest std::int64_t is read as unsigned.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || std::in_range<std::int64_t>(value.get<std::uint64_t>()));
  const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
  if (!fits || number < low || number > high)
    Unexpected(path, "a whole number" + RangeWords(low, high), value);
  return number;
}

JsonItem JsonItem::ObjectAt(const Json& value, const std::string& path) const {
  if (!value.is_object()) Unexpected(path, "an object", value);
  return {*this, value, path};
}

template <typename Read>
auto JsonItem::List(std::string_view key, const Read& read) const {
  const Json& list = Member(key);
  if (!list.is_array()) Unexpected(Path(key), "a list", list);
  std::vector<decltype(read(list, path_))> all;
  for (const Json& element : list)
    all.push_back(read(element, Path(key) + "[" + std::to_string(all.size()) + "]"));
  return all;
}

std::string JsonItem::Text(std::string_view key) const { return TextAt(Member(key), Path(key)); }

std::string JsonItem::Word(std::string_view key, std::initializer_list<std::string_view> words) const {
  std::string text = Text(key), known;
  for (const std::string_view word : words) {
    if (word == text) return text;
    known += (known.empty() ? "\"" : " or \"") + std::string(word) + "\"";
  }
  Unexpected(Path(key), known, Member(key));
}

bool JsonItem::Switch(std::string_view key) const {
  const Json& value = Member(key);
  if (!value.is_boolean()) Unexpected(Path(key), "true or false", value);
  return value.get<bool>();
}

double JsonItem::Number(std::string_view key, double low, double high) const {
  return NumberAt(Member(key), Path(key), low, high);
}

std::int64_t JsonItem::Integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  return IntegerAt(Member(key), Path(key), low, high);
}

JsonItem JsonItem::Object(std::string_view key) const { return ObjectAt(Member(key), Path(key)); }

std::vector<std::string> JsonItem::Texts(std::string_view key) const {
  return List(key, [&](const Json& value, const std::string& path) { return TextAt(value, path); });
}

std::vector<double> JsonItem::Numbers(std::string_view key, double low, double high) const {
  return List(key,
              [&](const Json& value, const std::string& path) { return NumberAt(value, path, low, high); });
}

std::vector<std::int64_t> JsonItem::Integers(std::string_view key, std::int64_t low,
                                             std::int64_t high) const {
  return List(key,
              [&](const Json& value, const std::string& path) { return IntegerAt(value, path, low, high); });
}

std::vector<JsonItem> JsonItem::Objects(std::string_view key) const {
  return List(key, [&](const Json& value, const std::string& path) { return ObjectAt(value, path); });
}

}  // namespace medley
