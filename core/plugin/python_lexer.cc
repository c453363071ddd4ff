#include "python_lexer.h"

#include <algorithm>

namespace medley {
namespace {

constexpr int kDeepestField = 32;

bool BeginsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOfName(char c) { return BeginsName(c) || IsDigit(c); }
bool IsQuote(char c) { return c == '"' || c == '\''; }
char Opening(char closing) { return closing == ')' ? '(' : closing == ']' ? '[' : '{'; }

bool HasLetter(std::string_view word, char lower) {
  return std::ranges::any_of(word, [&](char c) { return (c | 0x20) == lower; });
}

[[noreturn]] void HasNoEnd(int line, const char* what) {
  throw PythonProblem{line, std::string(what) + " that begins here does not end"};
}

}  // namespace

bool IsTextPrefix(std::string_view word) {
  return word.size() <= 2 && std::ranges::all_of(word, [](char c) {
           const char lower = static_cast<char>(c | 0x20);
           return lower == 'r' || lower == 'b' || lower == 'u' || lower == 'f';
         });
}

PythonLexer::PythonLexer(std::string_view source) : source_(source) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (source_.starts_with(kMark)) at_ = kMark.size();
}

// A line end of any make; says whether there was one.
bool PythonLexer::SkipLineBreak() {
  if (At(0) == '\r')
    at_ += At(1) == '\n' ? 2 : 1;
  else if (At(0) == '\n')
    ++at_;
  else
    return false;
  ++line_;
  return true;
}

// Up to the next token, or to the end of the logical line.
void PythonLexer::SkipBlanks() {
  while (!AtEnd()) {
    const char c = At(0);
    if (c == '#') {
      while (!AtEnd() && At(0) != '\n' && At(0) != '\r') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\f') {
      if (line_begins_) indent_ = c == '\t' ? indent_ / 8 * 8 + 8 : c == ' ' ? indent_ + 1 : 0;
      ++at_;
    } else if (c == '\\' && (At(1) == '\n' || At(1) == '\r')) {
      ++at_;
      SkipLineBreak();
    } else if ((c == '\n' || c == '\r') && (line_begins_ || !brackets_.empty())) {
      SkipLineBreak();
      if (line_begins_) indent_ = 0;
    } else {
      return;
    }
  }
}

PythonToken PythonLexer::Make(Kind kind, std::size_t begin, int line) const {
  return {.kind = kind,
          .text = source_.substr(begin, at_ - begin),
          .line = line,
          .indent = indent_,
          .depth = static_cast<int>(brackets_.size())};
}

PythonToken PythonLexer::Bracket(int line) {
  const char c = At(0);
  const bool opens = c == '(' || c == '[' || c == '{';
  if (opens)
    brackets_ += c;
  else if (brackets_.empty() || brackets_.back() != Opening(c))
    throw PythonProblem{line, std::string("a '") + c + "' closes no bracket that is open"};
  ++at_;
  PythonToken token = Make(Kind::kOperator, at_ - 1, line);
  if (!opens) brackets_.pop_back();
  return token;
}

void PythonLexer::SkipWord() {
  while (!AtEnd() && IsOfName(At(0))) ++at_;
}

// Whatever may belong to one; whether it is one, who reads it says.
void PythonLexer::SkipNumber() {
  const bool is_hexadecimal = At(0) == '0' && (At(1) | 0x20) == 'x';
  while (!AtEnd() && (IsOfName(At(0)) || At(0) == '.')) {
    const bool has_exponent = !is_hexadecimal && (At(0) | 0x20) == 'e' && (At(1) == '+' || At(1) == '-');
    at_ += has_exponent ? 2 : 1;
  }
}

void PythonLexer::SkipText(bool is_formatted, bool is_raw, int depth) {
  const int begin = line_;
  const char quote = At(0);
  const std::size_t quotes = At(1) == quote && At(2) == quote ? 3 : 1;
  at_ += quotes;
  while (!AtEnd()) {
    const char c = At(0);
    if (c == quote && (quotes == 1 || (At(1) == quote && At(2) == quote))) {
      at_ += quotes;
      return;
    }
    if (c == '\\' && (!is_raw || At(1) != '{')) {
      ++at_;
      if (!SkipLineBreak() && !AtEnd()) ++at_;
    } else if (c == '\n' || c == '\r') {
      if (quotes == 1) break;
      SkipLineBreak();
    } else if (is_formatted && c == '{' && At(1) == '{') {
      at_ += 2;
    } else if (is_formatted && c == '{') {
      ++at_;
      SkipField(depth + 1);
    } else {
      ++at_;
    }
  }
  HasNoEnd(begin, "a text");
}

// What stands in the braces of an f-string, the closing one too.
void PythonLexer::SkipField(int depth) {
  const int begin = line_;
  if (depth > kDeepestField) throw PythonProblem{begin, "f-strings stand in each other too deep"};
  int brackets = 0;
  while (!AtEnd()) {
    const char c = At(0);
    if (BeginsName(c)) {
      const std::size_t from = at_;
      SkipWord();
      const std::string_view word = source_.substr(from, at_ - from);
      if (IsQuote(At(0)) && IsTextPrefix(word)) SkipText(HasLetter(word, 'f'), HasLetter(word, 'r'), depth);
    } else if (IsQuote(c)) {
      SkipText(false, false, depth);
    } else if (SkipLineBreak()) {
      continue;
    } else if (c == '#') {
      while (!AtEnd() && At(0) != '\n' && At(0) != '\r') ++at_;
    } else if (c == '}' && brackets == 0) {
      ++at_;
      return;
    } else if (c == ':' && brackets == 0) {
      ++at_;
      SkipFormat(depth);
      return;
    } else {
      brackets += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      ++at_;
    }
  }
  HasNoEnd(begin, "an f-string");
}

// Behind the colon of a field, its closing brace too.
void PythonLexer::SkipFormat(int depth) {
  const int begin = line_;
  while (!AtEnd()) {
    const char c = At(0);
    if (c == '}') {
      ++at_;
      return;
    }
    if (c == '\n' || c == '\r') {
      SkipLineBreak();
    } else if (c == '{') {
      ++at_;
      SkipField(depth + 1);
    } else if (IsQuote(c)) {  // the field's own end is missing, as in f"{x:"
      break;
    } else {
      ++at_;
    }
  }
  HasNoEnd(begin, "an f-string");
}

PythonToken PythonLexer::Next() {
  SkipBlanks();
  const int line = line_;
  const std::size_t begin = at_;
  if (AtEnd()) {
    if (!brackets_.empty())
      throw PythonProblem{line, std::string("a '") + brackets_.back() + "' is not closed"};
    if (line_begins_) return Make(Kind::kEnd, begin, line);
    line_begins_ = true;
    return Make(Kind::kLineEnd, begin, line);
  }
  if (SkipLineBreak()) {
    PythonToken end = Make(Kind::kLineEnd, begin, line);
    line_begins_ = true;
    indent_ = 0;
    return end;
  }
  line_begins_ = false;
  const char c = At(0);
  if (IsQuote(c)) {
    SkipText(false, false, 0);
    return Make(Kind::kText, begin, line);
  }
  if (BeginsName(c)) {
    SkipWord();
    const std::string_view word = source_.substr(begin, at_ - begin);
    if (!IsQuote(At(0)) || !IsTextPrefix(word)) return Make(Kind::kName, begin, line);
    SkipText(HasLetter(word, 'f'), HasLetter(word, 'r'), 0);
    return Make(Kind::kText, begin, line);
  }
  if (IsDigit(c) || (c == '.' && IsDigit(At(1)))) {
    SkipNumber();
    return Make(Kind::kNumber, begin, line);
  }
  if (std::string_view("()[]{}").find(c) != std::string_view::npos) return Bracket(line);
  ++at_;
  return Make(Kind::kOperator, begin, line);
}

}  // namespace medley
