#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace medley {

// A regular expression (of PCRE2) for whole texts.
class FullMatch {
 public:
  // InputError for what is none.
  explicit FullMatch(const std::string& pattern);
  ~FullMatch();
  FullMatch(FullMatch&&) noexcept;

  // InputError where the search takes too long: patterns come from strangers.
  bool operator()(std::string_view text) const;

 private:
  struct Code;
  std::string pattern_;
  std::unique_ptr<Code> code_;
};

}  // namespace medley
