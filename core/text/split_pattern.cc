#include <medley/text/split_pattern.h>

#include <cstdint>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/pcre2.h>
#include <medley/base/utf8.h>
#include <medley/text/onig_pattern.h>

namespace medley {
namespace {

using CompileContext = std::unique_ptr<pcre2_compile_context, pcre2::FreedBy<pcre2_compile_context_free>>;

// What a search writes to: one for each thread.
struct Scratch {
  std::unique_ptr<pcre2_match_data, pcre2::FreedBy<pcre2_match_data_free>> data{
      pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, pcre2::FreedBy<pcre2_match_context_free>> context{
      pcre2_match_context_create(nullptr)};
};

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace

struct SplitPattern::Code {
  std::unique_ptr<pcre2_code, pcre2::FreedBy<pcre2_code_free>> code;
};

SplitPattern::SplitPattern(const std::string& pattern, bool literal, std::string where)
    : code_(std::make_unique<Code>()), where_(std::move(where)) {
  const std::string translated = literal ? pattern : TranslateOnig(pattern, where_);
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  const std::uint32_t options = literal ? PCRE2_UTF | PCRE2_LITERAL : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE;
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), options,
                                  &error, &at, context.get()));
  if (code_->code == nullptr)
    throw InputError(where_ + ": PCRE2 does not take the pattern: " + pcre2::Words(error) +
                     ", in front of '" + CutText(ValidUtf8(translated.substr(at)), 40) + "'");
  // Where memory must not be run as code there is none: slower, not wrong.
  pcre2_jit_compile(code_->code.get(), PCRE2_JIT_COMPLETE);
}

SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;

bool SplitPattern::Search(std::string_view text, std::size_t from, Span& found) const {
  Scratch& scratch = ThreadScratch();
  // A run of white space is gone through backwards in a step a character, so a fair search of a long text
  // takes many steps; a pattern that doubles them with each character takes more.
  const auto steps = static_cast<std::uint32_t>(1'000'000 + std::min<std::size_t>(text.size(), 1 << 26) * 16);
  pcre2_set_match_limit(scratch.context.get(), steps);
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       options | PCRE2_NO_UTF_CHECK, scratch.data.get(), scratch.context.get());
  };
  int result = match(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(PCRE2_NO_JIT);  // has the heap for a stack
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0)
    throw Error(where_ + ": the pattern cannot cut a text of " + std::to_string(text.size()) +
                " bytes: " + pcre2::Words(result));
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(scratch.data.get());
  found = {.begin = offsets[0], .end = offsets[1], .found = true};
  return true;
}

std::vector<Span> SplitPattern::Spans(std::string_view text) const {
  std::vector<Span> spans;
  std::size_t done = 0;
  Span found;
  for (std::size_t from = 0; from <= text.size() && Search(text, from, found);) {
    // An empty place where the last one ended is none: from there on it would be found for ever.
    if (found.begin == found.end && !spans.empty() && spans.back().end == found.end) {
      from = found.end < text.size() ? found.end + Utf8Length(text.substr(found.end)) : text.size() + 1;
      continue;
    }
    if (done != found.begin) spans.push_back({.begin = done, .end = found.begin});
    spans.push_back(found);
    from = done = found.end;
  }
  if (done != text.size()) spans.push_back({.begin = done, .end = text.size()});
  return spans;
}

bool SplitPattern::Matches(std::string_view text) const {
  Span found;
  return Search(text, 0, found) && found.begin == 0;
}

}  // namespace medley
