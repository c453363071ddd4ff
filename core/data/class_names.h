#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// A label as it stands in a file, without blanks around it; a whole number as one: "07" and "7.0" are "7". An
// InputError with the place of what was read last where it is not UTF-8.
std::string ClassName(std::string_view label);
// In their order: whole numbers by value, then words by their bytes.
std::vector<std::string> SortedClasses(const std::set<std::string>& names);

// The classes of a run by name (TaskContext::Classes): which label an item of its files has.
class ClassTable {
 public:
  explicit ClassTable(const std::vector<std::string>& names);

  std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
  // Of a name as ClassName makes it. `place`: "FILE:LINE: labels", for the InputError where it is none of
  // them; asked for then alone, as a line is counted from the file's begin.
  std::int64_t Require(const std::string& name, const std::function<std::string()>& place) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> labels_;
};

}  // namespace medley
