#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// A part of a text: found by a pattern, or what lies between.
struct Span {
  std::size_t begin = 0, end = 0;
  bool found = false;
};

// A regular expression as Oniguruma, which the tokenizers package uses, reads it; searched with PCRE2. Safe
// to use from several threads.
class SplitPattern {
 public:
  // `where`: of the pattern, for errors. Throws InputError for a pattern that PCRE2 does not take, and for
  // parts of one that mean something else to the two.
  SplitPattern(const std::string& pattern, bool literal, std::string where);
  ~SplitPattern();
  SplitPattern(SplitPattern&&) noexcept;

  // All of a text of valid UTF-8, in order. Throws Error where its searches together take more time or memory
  // than a fair pattern does, which is in proportion to its length, and Interrupted where one takes long and
  // an interrupt was asked for.
  std::vector<Span> Spans(std::string_view text) const;
  // Whether it begins there.
  bool Matches(std::string_view text) const;

 private:
  // The next place at `from` or behind; false where there is none. `steps`: that are left, of those that are
  // counted.
  bool Search(std::string_view text, std::size_t from, std::int64_t& steps, Span& found) const;

  struct Code;
  std::unique_ptr<Code> code_;
  std::string where_;
};

// A regular expression of Oniguruma's for PCRE2 (UTF, UCP, MULTILINE): the same where both agree, and white
// space and scripts as Oniguruma has them. Throws InputError "WHERE: ..." for what means something else to
// the two and has no such equivalent.
std::string TranslateOnig(std::string_view pattern, const std::string& where);

}  // namespace medley
