#include "plain_json.h"

#include <algorithm>
#include <array>

#include <medley/base/utf8.h>

#include "json_walk.h"

namespace medley {
namespace {

constexpr std::size_t kMostKeys = 64;  // of all objects that are open: they are compared with each other
constexpr int kMostDigits = 15;        // before the point, and behind it: no number overflows

class PlainJson {
 public:
  PlainJson(std::string_view text, std::size_t most_values) : rest_(text), values_left_(most_values) {}

  bool Read() {
    if (!Value(0)) return false;
    SkipBlanks();
    return rest_.empty();
  }

 private:
  // `depth`: containers that are open.
  bool Value(std::size_t depth) {
    SkipBlanks();
    if (rest_.empty() || values_left_ == 0) return false;
    --values_left_;
    switch (rest_.front()) {
      case '{':
        return depth < kDeepestJson && Object(depth + 1);
      case '[':
        return depth < kDeepestJson && Array(depth + 1);
      case '"':
        return String(/*is_key=*/false);
      case 't':
        return TakeWord("true");
      case 'f':
        return TakeWord("false");
      case 'n':
        return TakeWord("null");
      default:
        return Number();
    }
  }

  bool Object(std::size_t depth) {
    const std::size_t first = keys_open_;
    rest_.remove_prefix(1);
    SkipBlanks();
    if (Take('}')) return true;
    do {
      SkipBlanks();
      if (!Key(first)) return false;
      SkipBlanks();
      if (!Take(':') || !Value(depth)) return false;
      SkipBlanks();
    } while (Take(','));
    keys_open_ = first;
    return Take('}');
  }

  // Another one than those of its object, which begin at `first`.
  bool Key(std::size_t first) {
    const std::string_view from_here = rest_;
    if (keys_open_ == kMostKeys || rest_.empty() || rest_.front() != '"' || !String(/*is_key=*/true))
      return false;
    const std::string_view key = from_here.substr(0, from_here.size() - rest_.size());
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(keys_open_);
    keys_[keys_open_++] = key;
    return std::find(begin, end, key) == end;
  }

  bool Array(std::size_t depth) {
    rest_.remove_prefix(1);
    SkipBlanks();
    if (Take(']')) return true;
    do {
      if (!Value(depth)) return false;
      SkipBlanks();
    } while (Take(','));
    return Take(']');
  }

  bool String(bool is_key) {
    for (std::size_t at = 1; at < rest_.size();) {
      const auto byte = static_cast<unsigned char>(rest_[at]);
      std::size_t length = 1;
      if (byte == '"') {
        rest_.remove_prefix(at + 1);
        return true;
      }
      if (byte == '\\') {
        const bool is_short = at + 1 < rest_.size() &&
                              std::string_view("\"\\/bfnrt").find(rest_[at + 1]) != std::string_view::npos;
        if (is_key || !is_short) return false;
        length = 2;
      } else if (byte < 0x20) {
        return false;
      } else if (byte >= 0x80) {
        length = Utf8Length(rest_.substr(at));
        if (length == 0) return false;
      }
      at += length;
    }
    return false;
  }

  bool Number() {
    Take('-');
    const bool is_zero = !rest_.empty() && rest_.front() == '0';
    const int digits = TakeDigits();
    if (digits == 0 || digits > kMostDigits || (is_zero && digits > 1)) return false;
    if (Take('.')) {
      const int behind = TakeDigits();
      if (behind == 0 || behind > kMostDigits) return false;
    }
    return rest_.empty() || (rest_.front() != 'e' && rest_.front() != 'E');
  }

  int TakeDigits() {
    int digits = 0;
    for (; digits <= kMostDigits && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++digits)
      rest_.remove_prefix(1);
    return digits;
  }
  bool Take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void SkipBlanks() {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\r' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
  std::size_t values_left_;
  std::size_t keys_open_ = 0;
  std::array<std::string_view, kMostKeys> keys_{};
};

}  // namespace

bool IsPlainJson(std::string_view text, std::size_t most_values) {
  return PlainJson(text, most_values).Read();
}

}  // namespace medley
