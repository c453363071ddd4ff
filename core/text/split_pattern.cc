#include <medley/text/split_pattern.h>

#include <algorithm>
#include <array>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/pcre2.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

// Unicode's White_Space. PCRE2's \s has U+180E too, which is none since Unicode 6.3.
constexpr std::string_view kSpaceClass =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNoSpaceClass =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

// Letters that follow a backslash and mean the same to both.
constexpr std::string_view kSame = "dDrntf";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
// Properties of both that are no script.
constexpr std::array<std::string_view, 5> kProperties = {"Alphabetic", "Any", "Lowercase", "Uppercase",
                                                         "White_Space"};
constexpr std::array<std::string_view, 10> kGroups = {"(?:", "(?=",  "(?!",   "(?<=", "(?<!",
                                                      "(?>", "(?i:", "(?-i:", "(?i)", "(?-i)"};

class Translation {
 public:
  Translation(std::string_view pattern, const std::string& where) : rest_(pattern), where_(where) {}

  std::string Run() {
    while (!rest_.empty()) Step();
    return out_;
  }

 private:
  void Step() {
    switch (rest_.front()) {
      case '\\':
        return Escape();
      case '[':
        return OpenClass();
      case ']':
        in_class_ = false;
        return Copy(1);
      case '&':
        if (in_class_ && rest_.starts_with("&&")) Refuse("an intersection of classes (&&)");
        return Copy(1);
      case '(':
        return in_class_ ? Copy(1) : Group();
      case '{':
        if (!in_class_ && rest_.starts_with("{,")) Refuse("a repetition without a least number ({,n})");
        return Copy(1);
      case '}':
        if (!in_class_ && rest_.starts_with("}+")) Refuse("a repetition of a repetition ({n}+)");
        return Copy(1);
      default:
        return Copy(1);
    }
  }

  void Copy(std::size_t length) {
    out_ += rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  void OpenClass() {
    if (in_class_) Refuse("a class in a class");
    in_class_ = true;
    Copy(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with("]")) Refuse("a class that begins with ]");
  }

  void Group() {
    if (rest_.starts_with("(*")) Refuse("a verb ((*...))");
    if (!rest_.starts_with("(?")) return Copy(1);
    const auto* group =
        std::ranges::find_if(kGroups, [&](std::string_view known) { return rest_.starts_with(known); });
    if (group == kGroups.end()) Refuse("the group " + std::string(rest_.substr(0, 4)));
    Copy(group->size());
  }

  void Escape() {
    const std::string_view letter = rest_.substr(1, 1);
    if (letter.empty()) Refuse("a backslash at the end");
    if (letter == "s" || letter == "S") return Spaces(letter == "s");
    if (letter == "p" || letter == "P") return Property();
    if (rest_.starts_with("\\x{")) return Copy(3);
    const bool has_meaning = kLetters.find(letter) != std::string_view::npos;
    if (has_meaning && kSame.find(letter) == std::string_view::npos) Refuse("\\" + std::string(letter));
    Copy(2);
  }

  void Spaces(bool are) {
    out_ += in_class_ ? "" : "[";
    out_ += are ? kSpaceClass : kNoSpaceClass;
    out_ += in_class_ ? "" : "]";
    rest_.remove_prefix(2);
  }

  // PCRE2 takes the bare name of a script for its extensions.
  void Property() {
    const std::size_t end = rest_.find('}');
    if (rest_.substr(2, 1) != "{" || end == std::string_view::npos) Refuse("\\p without {NAME}");
    const bool is_not = rest_.substr(3, 1) == "^";
    const std::string_view name = rest_.substr(is_not ? 4 : 3, end - (is_not ? 4 : 3));
    out_ += rest_.substr(0, is_not ? 4 : 3);
    const bool is_category = name.size() <= 2;  // L, Lu
    if (!is_category && std::ranges::find(kProperties, name) == kProperties.end()) out_ += "sc:";
    out_.append(name).append("}");
    rest_.remove_prefix(end + 1);
  }

  [[noreturn]] void Refuse(const std::string& what) const {
    throw InputError(
        where_ + ": " + what +
        " in the pattern does not mean the same to PCRE2 as to Oniguruma, which the vocabulary was "
        "made with; medley has no equivalent");
  }

  std::string_view rest_;
  std::string where_, out_;
  bool in_class_ = false;
};

using CompileContext = std::unique_ptr<pcre2_compile_context, pcre2::FreedBy<pcre2_compile_context_free>>;

// Steps of a search that are not counted, and those that all searches of a text may take beside them. A run
// of white space is gone through backwards in a few steps a character; a pattern that doubles them with each
// takes more.
constexpr std::int64_t kFreeSteps = 256;
std::int64_t StepsFor(std::string_view text) {
  return 10'000 + 64 * static_cast<std::int64_t>(std::min<std::size_t>(text.size(), 1 << 25));
}

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

std::string TranslateOnig(std::string_view pattern, const std::string& where) {
  return Translation(pattern, where).Run();
}

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

bool SplitPattern::Search(std::string_view text, std::size_t from, std::int64_t& steps, Span& found) const {
  Scratch& scratch = ThreadScratch();
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       options | PCRE2_NO_UTF_CHECK, scratch.data.get(), scratch.context.get());
  };
  const auto match_within = [&](std::int64_t most) {
    pcre2_set_match_limit(scratch.context.get(), static_cast<std::uint32_t>(most));
    const int result = match(0);
    return result == PCRE2_ERROR_JIT_STACKLIMIT ? match(PCRE2_NO_JIT) : result;  // has the heap for a stack
  };
  // PCRE2 does not tell how many steps a search took: one that needs more begins anew with more.
  std::int64_t most = kFreeSteps;
  int result = match_within(most);
  while (result == PCRE2_ERROR_MATCHLIMIT && steps > 0) {
    HeedInterrupt();
    most = std::min(4 * most, steps);
    steps -= most;
    result = match_within(most);
  }
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
  std::int64_t steps = StepsFor(text);
  std::size_t done = 0;
  Span found;
  for (std::size_t from = 0; from <= text.size() && Search(text, from, steps, found);) {
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
  std::int64_t steps = StepsFor(text);
  return Search(text, 0, steps, found) && found.begin == 0;
}

}  // namespace medley
