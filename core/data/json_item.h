#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <medley/data/record_index.h>

namespace medley {

// A line of a JSONL file, or an object in it, that knows where it stands. What is asked for must be there and
// be of that kind; else an InputError says "FILE:LINE: turns[0].role: expected a text, found 5". Of any
// thread; copies share the line.
class JsonItem {
 public:
  // The record of the file, as it was read; for JsonlFile.
  JsonItem(nlohmann::json line, std::shared_ptr<const RecordIndex> file, std::int64_t record);
  // Of no file: errors say "PLACE: turns[0].role: ...".
  JsonItem(nlohmann::json line, std::string place);

  // Whether the key is there, and not null.
  bool Has(std::string_view key) const;
  std::string Text(std::string_view key) const;
  // A text that must be one of these.
  std::string Word(std::string_view key, std::initializer_list<std::string_view> words) const;
  bool Switch(std::string_view key) const;
  // Both ends of a range are in it.
  double Number(std::string_view key, double low = std::numeric_limits<double>::lowest(),
                double high = std::numeric_limits<double>::max()) const;
  // Written without a point: 3, not 3.0.
  std::int64_t Integer(std::string_view key, std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  JsonItem Object(std::string_view key) const;

  // Lists, of any length; a wrong element is told with its place in the list.
  std::vector<std::string> Texts(std::string_view key) const;
  std::vector<double> Numbers(std::string_view key, double low = std::numeric_limits<double>::lowest(),
                              double high = std::numeric_limits<double>::max()) const;
  std::vector<std::int64_t> Integers(std::string_view key,
                                     std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  std::vector<JsonItem> Objects(std::string_view key) const;

  // What is wrong with it, or with the value of a key, by rules of a task's own: the same error.
  [[noreturn]] void Fail(const std::string& what) const;
  [[noreturn]] void Fail(std::string_view key, const std::string& what) const;

  // As nlohmann has it, whose exceptions know no file: for what the above does not read.
  const nlohmann::json& json() const { return *value_; }

 private:
  JsonItem(const JsonItem& parent, const nlohmann::json& value, std::string path);

  const nlohmann::json& Member(std::string_view key) const;
  // read(element, path) of each element.
  template <typename Read>
  auto List(std::string_view key, const Read& read) const;
  std::string Path(std::string_view key) const;

  std::string TextAt(const nlohmann::json& value, const std::string& path) const;
  double NumberAt(const nlohmann::json& value, const std::string& path, double low, double high) const;
  std::int64_t IntegerAt(const nlohmann::json& value, const std::string& path, std::int64_t low,
                         std::int64_t high) const;
  JsonItem ObjectAt(const nlohmann::json& value, const std::string& path) const;
  [[noreturn]] void FailAt(const std::string& path, const std::string& what) const;
  [[noreturn]] void Unexpected(const std::string& path, const std::string& expected,
                               const nlohmann::json& found) const;

  std::shared_ptr<const nlohmann::json> line_;
  const nlohmann::json* value_;              // in the line
  std::string path_;                         // to it: "" for the line itself
  std::shared_ptr<const RecordIndex> file_;  // null: of none
  std::int64_t record_;
  std::string place_{};  // where it is of none
};

}  // namespace medley
