#include <medley/base/full_match.h>

#include <cstdint>

#include <medley/base/error.h>
#include <medley/base/pcre2.h>
#include <medley/base/printable.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

constexpr std::uint32_t kMostSteps = 100'000;  // of names that are short

PCRE2_SPTR Bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct FullMatch::Code {
  std::unique_ptr<pcre2_code, pcre2::FreedBy<pcre2_code_free>> code;
  std::unique_ptr<pcre2_match_data, pcre2::FreedBy<pcre2_match_data_free>> found;
  std::unique_ptr<pcre2_match_context, pcre2::FreedBy<pcre2_match_context_free>> context;
};

FullMatch::FullMatch(const std::string& pattern) : pattern_(pattern), code_(std::make_unique<Code>()) {
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->code.reset(pcre2_compile(Bytes(pattern), pattern.size(),
                                  PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF, &error, &at, nullptr));
  if (code_->code == nullptr)
    throw InputError("'" + Printable(CutText(pattern, 64)) + "' is no regular expression: " +
                     pcre2::Words(error) + " (byte " + std::to_string(at) + ")");
  code_->found.reset(pcre2_match_data_create(1, nullptr));
  code_->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(code_->context.get(), kMostSteps);
}

FullMatch::~FullMatch() = default;
FullMatch::FullMatch(FullMatch&&) noexcept = default;

bool FullMatch::operator()(std::string_view text) const {
  const int result = pcre2_match(code_->code.get(), Bytes(text), text.size(), 0, 0, code_->found.get(),
                                 code_->context.get());
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  throw InputError("the regular expression '" + Printable(CutText(pattern_, 64)) +
                   "' cannot be held against '" + Printable(CutText(text, 64)) +
                   "': " + pcre2::Words(result) + ". Write it in a simpler way");
}

}  // namespace medley
