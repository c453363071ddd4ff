#include "python_literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <medley/base/printable.h>

namespace medley {
namespace {

constexpr int kDeepest = 32, kMostValues = 4096;

[[noreturn]] void NoLiteral(int line, const std::string& what) {
  throw PythonProblem{line, what + "; " + kLiteralWords};
}

std::string TokenWords(const PythonToken& token) {
  constexpr std::size_t kMost = 40;
  return "'" + Printable(token.text.substr(0, kMost)) + (token.text.size() > kMost ? "..." : "") + "'";
}

bool IsDigitOf(char c, int base) {
  const int lower = c | 0x20;
  const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
  return digit < base;
}

// Digits with single underscores between them, without these; nothing where they stand elsewhere.
std::optional<std::string> DigitsIn(std::string_view text, int base) {
  std::string digits;
  bool may_break = false;
  for (const char c : text) {
    if (c == '_' && !may_break) return std::nullopt;
    may_break = c != '_';
    if (c == '_') continue;
    if (!IsDigitOf(c, base)) return std::nullopt;
    digits += c;
  }
  return may_break ? std::optional(digits) : std::nullopt;
}

// Digits, or nothing at all.
std::optional<std::string> DigitsOrNone(std::string_view text) {
  return text.empty() ? std::optional<std::string>("0") : DigitsIn(text, 10);
}

// The parts of "1_0.5e-3" are digits each; Python allows no others.
std::optional<double> FloatIn(std::string_view text) {
  const std::size_t at = std::min(text.find_first_of("eE"), text.size());
  std::string_view mantissa = text.substr(0, at), exponent = text.substr(at);
  std::string scale;
  if (!exponent.empty()) {
    exponent.remove_prefix(1);
    const bool has_sign = exponent.starts_with('+') || exponent.starts_with('-');
    const auto digits = DigitsIn(exponent.substr(has_sign ? 1 : 0), 10);
    if (!digits) return std::nullopt;
    scale = (exponent.starts_with('-') ? "e-" : "e") + *digits;
  }
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::string_view fraction = mantissa.substr(std::min(point + 1, mantissa.size()));
  mantissa = mantissa.substr(0, point);
  const auto whole = DigitsOrNone(mantissa), rest = DigitsOrNone(fraction);
  if (!whole || !rest || (mantissa.empty() && fraction.empty())) return std::nullopt;
  // Too large is infinite, and too small is 0, as Python has it.
  return std::strtod((*whole + "." + *rest + scale).c_str(), nullptr);
}

PythonValue NumberOf(const PythonToken& token, bool negative) {
  PythonValue value{.line = token.line};
  std::string_view text = token.text;
  int base = 10;
  if (text.size() > 1 && text[0] == '0' &&
      std::string_view("xXoObB").find(text[1]) != std::string_view::npos) {
    base = (text[1] | 0x20) == 'x' ? 16 : (text[1] | 0x20) == 'o' ? 8 : 2;
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
  }
  const auto digits = DigitsIn(text, base);
  if (!digits) {
    const auto number = base == 10 ? FloatIn(text) : std::nullopt;
    if (!number) NoLiteral(token.line, TokenWords(token) + " is no number that a spec may have");
    if (!std::isfinite(*number)) NoLiteral(token.line, TokenWords(token) + " is no finite number");
    value.kind = PythonValue::Kind::kFloat;
    value.number = negative ? -*number : *number;
    return value;
  }
  const bool is_zero = digits->find_first_not_of('0') == std::string::npos;
  if (base == 10 && digits->size() > 1 && digits->front() == '0' && !is_zero)
    NoLiteral(token.line, TokenWords(token) + " begins with 0, which Python does not allow");
  const std::string whole = (negative ? "-" : "") + *digits;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value.integer, base);
  if (error != std::errc()) NoLiteral(token.line, TokenWords(token) + " has more than 64 bits");
  value.kind = PythonValue::Kind::kInteger;
  return value;
}

void AppendUtf8(std::uint32_t point, std::string& text) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 63));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 63));
    text += static_cast<char>(0x80 | (point & 63));
  } else {
    text += static_cast<char>(0xf0 | point >> 18);
    text += static_cast<char>(0x80 | (point >> 12 & 63));
    text += static_cast<char>(0x80 | (point >> 6 & 63));
    text += static_cast<char>(0x80 | (point & 63));
  }
}

// What a literal of text stands for.
class TextReader {
 public:
  TextReader(std::string_view body, int line) : body_(body), line_(line) {}

  std::string Read(bool raw) {
    while (at_ < body_.size()) {
      const char c = body_[at_++];
      if (c == '\r') {
        if (at_ < body_.size() && body_[at_] == '\n') ++at_;
        text_ += '\n', ++line_;
      } else if (c == '\\' && !raw) {
        Escape();
      } else {
        line_ += c == '\n';
        text_ += c;
      }
    }
    return std::move(text_);
  }

 private:
  void Escape() {
    if (at_ >= body_.size()) NoLiteral(line_, "a text ends with a backslash");
    const char c = body_[at_++];
    constexpr std::string_view kNames = "\\'\"abfnrtv", kMeant = "\\'\"\a\b\f\n\r\t\v";
    if (c == '\n' || c == '\r') {
      if (c == '\r' && at_ < body_.size() && body_[at_] == '\n') ++at_;
      ++line_;
    } else if (const std::size_t found = kNames.find(c); found != std::string_view::npos) {
      text_ += kMeant[found];
    } else if (c >= '0' && c <= '7') {
      --at_;
      Point(8, 1, 3);
    } else if (c == 'x') {
      Point(16, 2, 2);
    } else if (c == 'u') {
      Point(16, 4, 4);
    } else if (c == 'U') {
      Point(16, 8, 8);
    } else if (c == 'N') {
      NoLiteral(line_,
                "\\N{...} names a character, of which medley has no list; write it as it is, or as \\u...");
    } else {
      text_ += '\\';
      text_ += c;
    }
  }

  void Point(int base, std::size_t least, std::size_t most) {
    std::uint32_t point = 0;
    std::size_t digits = 0;
    for (; digits < most && at_ < body_.size() && IsDigitOf(body_[at_], base); ++digits, ++at_) {
      const int lower = body_[at_] | 0x20;
      const int digit = body_[at_] <= '9' ? body_[at_] - '0' : lower - 'a' + 10;
      point = point * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
    }
    if (digits < least) NoLiteral(line_, "an escape in a text has too few digits");
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      NoLiteral(line_, "an escape in a text is no character");
    AppendUtf8(point, text_);
  }

  std::string_view body_;
  int line_;
  std::size_t at_ = 0;
  std::string text_;
};

std::string TextOf(const PythonToken& token) {
  const std::size_t quote = token.text.find_first_of("'\"");
  const std::string_view prefix = token.text.substr(0, quote), quoted = token.text.substr(quote);
  bool raw = false;
  for (const char c : prefix) {
    const int lower = c | 0x20;
    if (lower == 'f') NoLiteral(token.line, "an f-string is computed when the file runs");
    if (lower == 'b') NoLiteral(token.line, "a text of bytes (b\"...\") is none that a spec may have");
    raw = raw || lower == 'r';
  }
  const std::size_t quotes = quoted.size() >= 6 && quoted[1] == quoted[0] && quoted[2] == quoted[0] ? 3 : 1;
  std::string text = TextReader(quoted.substr(quotes, quoted.size() - 2 * quotes), token.line).Read(raw);
  return text;
}

class LiteralReader {
 public:
  LiteralReader(PythonLexer& lexer, const PythonToken& first) : lexer_(lexer), token_(first) {}

  PythonValue Value(int depth) {
    if (depth > kDeepest) NoLiteral(token_.line, "it is more than 32 deep");
    if (++values_ > kMostValues) NoLiteral(token_.line, "it has more than 4096 values");
    switch (token_.kind) {
      case PythonToken::Kind::kText:
        return Texts();
      case PythonToken::Kind::kNumber:
        return Number(false);
      case PythonToken::Kind::kName:
        return Name();
      case PythonToken::Kind::kOperator:
        return Operator(depth);
      default:
        NoLiteral(token_.line, "a value is missing");
    }
  }
  const PythonToken& token() const { return token_; }

 private:
  void Step() { token_ = lexer_.Next(); }

  PythonValue Texts() {
    PythonValue value{.kind = PythonValue::Kind::kText, .line = token_.line};
    for (; token_.kind == PythonToken::Kind::kText; Step()) value.text += TextOf(token_);
    return value;
  }

  PythonValue Number(bool negative) {
    PythonValue value = NumberOf(token_, negative);
    Step();
    return value;
  }

  PythonValue Name() {
    PythonValue value{.line = token_.line};
    if (token_.Is("True") || token_.Is("False")) {
      value.kind = PythonValue::Kind::kSwitch;
      value.on = token_.Is("True");
    } else if (!token_.Is("None")) {
      NoLiteral(token_.line, TokenWords(token_) + " is a name");
    }
    Step();
    return value;
  }

  PythonValue Operator(int depth) {
    if (token_.Is("[") || token_.Is("(")) return List(depth);
    if (token_.Is("{")) return Dict(depth);
    if (!token_.Is("-") && !token_.Is("+")) NoLiteral(token_.line, TokenWords(token_) + " is no value");
    const bool negative = token_.Is("-");
    Step();
    if (token_.kind != PythonToken::Kind::kNumber)
      NoLiteral(token_.line, "a sign stands before what is no number");
    return Number(negative);
  }

  // Also a tuple; one value in round brackets without a comma is that value.
  PythonValue List(int depth) {
    PythonValue value{.kind = PythonValue::Kind::kList, .line = token_.line};
    const bool may_be_value = token_.Is("(");
    const std::string_view end = may_be_value ? ")" : "]";
    Step();
    while (!token_.Is(end)) {
      value.items.push_back(Value(depth + 1));
      if (may_be_value && value.items.size() == 1 && token_.Is(")")) {
        PythonValue only = std::move(value.items.front());
        Step();
        return only;
      }
      Separate(end);
    }
    Step();
    return value;
  }

  PythonValue Dict(int depth) {
    PythonValue value{.kind = PythonValue::Kind::kDict, .line = token_.line};
    Step();
    while (!token_.Is("}")) {
      PythonValue key = Value(depth + 1);
      if (key.kind != PythonValue::Kind::kText)
        NoLiteral(key.line, "a key is " + std::string(key.What()) + ", and no text");
      if (!token_.Is(":"))
        NoLiteral(token_.line, "behind the key '" + Printable(key.text) + "' stands no ':'");
      if (value.Find(key.text) != nullptr)
        NoLiteral(key.line, "the key '" + Printable(key.text) + "' stands twice");
      Step();
      PythonValue held = Value(depth + 1);
      value.keys.push_back({std::move(key.text), key.line});
      value.items.push_back(std::move(held));
      Separate("}");
    }
    Step();
    return value;
  }

  void Separate(std::string_view end) {
    if (token_.Is(",")) return Step();
    if (token_.Is(end)) return;
    if (token_.kind == PythonToken::Kind::kName || token_.kind == PythonToken::Kind::kOperator)
      NoLiteral(token_.line,
                "behind a value stands " + TokenWords(token_) + ", which is computed when the file runs");
    NoLiteral(token_.line, "a ',' or a '" + std::string(end) + "' is missing before " + TokenWords(token_));
  }

  PythonLexer& lexer_;
  PythonToken token_;
  int values_ = 0;
};

}  // namespace

std::string_view PythonValue::What() const {
  switch (kind) {
    case Kind::kNone:
      return "None";
    case Kind::kSwitch:
      return on ? "True" : "False";
    case Kind::kInteger:
      return "a whole number";
    case Kind::kFloat:
      return "a number";
    case Kind::kText:
      return "a text";
    case Kind::kList:
      return "a list";
    case Kind::kDict:
      return "a dict";
  }
  return "";
}

const PythonValue* PythonValue::Find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &Key::text);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

nlohmann::ordered_json PythonValue::ToJson() const {
  using Json = nlohmann::ordered_json;
  switch (kind) {
    case Kind::kNone:
      return nullptr;
    case Kind::kSwitch:
      return on;
    case Kind::kInteger:
      return integer;
    case Kind::kFloat:
      return number;
    case Kind::kText:
      return text;
    case Kind::kList: {
      Json list = Json::array();
      for (const PythonValue& item : items) list.push_back(item.ToJson());
      return list;
    }
    case Kind::kDict: {
      Json dict = Json::object();
      for (std::size_t i = 0; i < keys.size(); ++i) dict[keys[i].text] = items[i].ToJson();
      return dict;
    }
  }
  return nullptr;
}

std::pair<PythonValue, PythonToken> ReadPythonLiteral(PythonLexer& lexer, const PythonToken& first) {
  LiteralReader reader(lexer, first);
  PythonValue value = reader.Value(0);
  return {std::move(value), reader.token()};
}

}  // namespace medley
