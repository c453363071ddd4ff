#pragma once

#include <string>
#include <string_view>

namespace medley {

// What a file of Python says that cannot be read as it is meant; a Rejection or an InputError names the file.
struct PythonProblem {
  int line = 0;  // from 1
  std::string words;
};

struct PythonToken {
  // kText: a literal of text or bytes as it is written, with its prefix and quotes; an f-string whole.
  // kLineEnd: of a logical line, which goes on in brackets and behind a backslash.
  enum class Kind { kName, kNumber, kText, kOperator, kLineEnd, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text{};  // an operator is one character
  int line = 0;             // where it begins
  int indent = 0;           // of its logical line: columns, a tab to the next multiple of 8
  int depth = 0;            // of brackets around it; of a bracket itself, around what it opens or closes

  bool Is(std::string_view what) const {
    return text == what && (kind == Kind::kName || kind == Kind::kOperator);
  }
};

// Cuts Python's source into tokens and runs nothing. Linear in its length, whatever it holds. Throws a
// PythonProblem for a text that does not end, and for brackets that do not match.
class PythonLexer {
 public:
  explicit PythonLexer(std::string_view source);

  PythonToken Next();

 private:
  using Kind = PythonToken::Kind;

  char At(std::size_t offset) const { return at_ + offset < source_.size() ? source_[at_ + offset] : '\0'; }
  bool AtEnd() const { return at_ >= source_.size(); }
  void SkipBlanks();
  PythonToken Make(Kind kind, std::size_t begin, int line) const;
  PythonToken Bracket(int line);
  void SkipWord();
  void SkipNumber();
  // Behind the prefix; `is_formatted`: an f-string, in whose fields texts may stand.
  void SkipText(bool is_formatted, bool is_raw, int depth);
  void SkipField(int depth);
  void SkipFormat(int depth);
  bool SkipLineBreak();

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1, indent_ = 0;
  bool line_begins_ = true;
  std::string brackets_;  // those that are open
};

// Whether a word before a quote makes it a text: r, b, u, f in any case and combination.
bool IsTextPrefix(std::string_view word);

}  // namespace medley
