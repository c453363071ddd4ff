#include "python_source.h"

#include <utility>

#include <medley/base/utf8.h>

namespace medley {
namespace {

using TokenKind = PythonToken::Kind;

// Goes through the logical lines, and knows for each whether it stands directly in a class.
class SourceReader {
 public:
  SourceReader(std::string_view source, bool with_specs) : lexer_(source), with_specs_(with_specs) {}

  // What was found stays where it throws.
  void Read(PythonSource& found) {
    for (token_ = lexer_.Next(); token_.kind != TokenKind::kEnd; token_ = lexer_.Next()) {
      if (token_.kind == TokenKind::kLineEnd) continue;
      EnterBlock(token_.indent);
      Line(found);
    }
  }

 private:
  struct Block {
    int indent;
    bool is_class;
  };

  // Of the line that begins: a deeper one begins a block of what the line before it opened.
  void EnterBlock(int indent) {
    while (blocks_.size() > 1 && blocks_.back().indent > indent) blocks_.pop_back();
    if (indent > blocks_.back().indent) blocks_.push_back({indent, line_opens_class_});
  }

  void Line(PythonSource& found) {
    line_opens_class_ = token_.Is("class");
    if (with_specs_ && blocks_.back().is_class && token_.Is("spec") && Spec(found)) return;
    bool statement_begins = true;
    for (; token_.kind != TokenKind::kLineEnd && token_.kind != TokenKind::kEnd; token_ = lexer_.Next()) {
      if (statement_begins && (token_.Is("import") || token_.Is("from"))) {
        Import(found);
        if (token_.kind == TokenKind::kLineEnd || token_.kind == TokenKind::kEnd) break;
      }
      statement_begins = token_.depth == 0 && (token_.Is(";") || token_.Is(":"));
    }
  }

  // Behind the name `spec`; false, at the token behind it, where nothing is assigned to it.
  bool Spec(PythonSource& found) {
    const int line = token_.line;
    token_ = lexer_.Next();
    if (token_.depth == 0 && token_.Is(":")) {  // its type
      while (token_.kind != TokenKind::kLineEnd && !(token_.depth == 0 && token_.Is("=")))
        token_ = lexer_.Next();
    }
    if (!token_.Is("=")) return false;
    const PythonToken first = lexer_.Next();
    if (first.Is("=")) return false;  // a comparison, whoever writes one there
    if (!first.Is("{"))
      throw PythonProblem{line, std::string("the spec is no dict in braces; ") + kLiteralWords};
    auto [spec, behind] = ReadPythonLiteral(lexer_, first);
    if (behind.kind != TokenKind::kLineEnd && behind.kind != TokenKind::kEnd && !behind.Is(";"))
      throw PythonProblem{behind.line, "behind the spec stands '" + std::string(behind.text.substr(0, 40)) +
                                           "'; " + kLiteralWords};
    spec.line = line;
    found.specs.push_back(std::move(spec));
    token_ = behind;
    while (token_.kind != TokenKind::kLineEnd && token_.kind != TokenKind::kEnd) token_ = lexer_.Next();
    return true;
  }

  // "a.b" of the tokens from here on; "" where there is no name.
  std::string DottedName() {
    std::string name;
    while (token_.kind == TokenKind::kName && !token_.Is("import")) {
      name += token_.text;
      token_ = lexer_.Next();
      if (!token_.Is(".")) break;
      name += '.';
      token_ = lexer_.Next();
    }
    return name;
  }

  void Import(PythonSource& found) {
    const bool is_from = token_.Is("from");
    const auto add = [&](const std::string& name) {
      if (!name.empty()) found.imports.insert(name);
    };
    token_ = lexer_.Next();
    if (is_from) {
      const std::string module = DottedName();
      add(module);
      if (module.empty() || !token_.Is("import")) return;
      token_ = lexer_.Next();
      Names([&](const std::string& name) { found.imports.insert(module + "." + name); });  // perhaps a module
      return;
    }
    Names(add);
  }

  // Names with commas between them, perhaps in brackets, each perhaps `as` another.
  template <typename Fn>
  void Names(const Fn& add) {
    if (token_.Is("(")) token_ = lexer_.Next();
    while (token_.kind == TokenKind::kName) {
      add(DottedName());
      if (token_.Is("as")) {
        lexer_.Next();
        token_ = lexer_.Next();
      }
      if (!token_.Is(",")) return;
      token_ = lexer_.Next();
    }
  }

  PythonLexer lexer_;
  PythonToken token_;
  bool with_specs_;
  std::vector<Block> blocks_ = {{0, false}};
  bool line_opens_class_ = false;
};

}  // namespace

PythonSource ReadPythonSource(std::string_view source) {
  if (source.find('\0') != std::string_view::npos) throw PythonProblem{1, "it holds a byte of 0"};
  int line = 1;
  for (std::string_view rest = source; !rest.empty();) {
    const std::size_t length = Utf8Length(rest);
    if (length == 0) throw PythonProblem{line, "it is no UTF-8"};
    line += rest.front() == '\n';
    rest.remove_prefix(length);
  }
  PythonSource found;
  SourceReader(source, true).Read(found);
  return found;
}

std::set<std::string> ImportsOf(std::string_view source) {
  PythonSource found;
  try {
    SourceReader(source, false).Read(found);
  } catch (const PythonProblem&) {  // Python will say it where it is imported
  }
  return std::move(found.imports);
}

}  // namespace medley
