#pragma once

#include <string>
#include <vector>

namespace medley {

// A list of names in a config, or one text that stands for several: a pattern, or a word with a meaning.
struct NamesOrPattern {
  std::vector<std::string> names{};
  std::string pattern{};  // "": the names count

  bool empty() const { return names.empty() && pattern.empty(); }
  bool operator==(const NamesOrPattern&) const = default;
};

}  // namespace medley
