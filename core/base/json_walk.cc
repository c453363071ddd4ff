#include "json_walk.h"

#include <medley/base/printable.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

constexpr std::size_t kMostProblems = 100;
constexpr std::size_t kMostWords = 300;  // bytes of what is repeated from the text

std::string Shown(std::string_view text) { return Printable(CutText(text, kMostWords)); }

}  // namespace

JsonCursor::JsonCursor(std::string_view text) : text_(text) {
  if (text_.substr(0, 3) == "\xef\xbb\xbf") next_ = 3;
}

SourcePosition JsonCursor::Begin() {
  while (next_ < text_.size() && std::string_view(" \t\r\n,:").find(text_[next_]) != std::string_view::npos)
    Step();
  return {line_, column_};
}

void JsonCursor::SkipScalar() {
  if (Current() == '"') return SkipString();
  while (next_ < text_.size() && std::string_view(" \t\r\n,:]}").find(text_[next_]) == std::string_view::npos)
    Step();
}

void JsonCursor::SkipString() {
  Step();
  while (next_ < text_.size() && text_[next_] != '"') {
    if (text_[next_] == '\\') Step();
    Step();
  }
  Step();
}

void JsonCursor::Step() {
  if (next_ >= text_.size()) return;
  const auto byte = static_cast<unsigned char>(text_[next_++]);
  if (byte == '\n') {
    ++line_;
    column_ = 1;
  } else if ((byte & 0xc0) != 0x80) {
    // Counted at the lead byte: the other bytes of a character add no column.
    ++column_;
  }
}

bool JsonWalk::Scalar() {
  at_ = cursor_.Begin();
  cursor_.SkipScalar();
  return Count();
}

bool JsonWalk::Open(bool array) {
  at_ = cursor_.Begin();
  if (levels_.size() >= kDeepestJson) return Fail("nested more than 64 levels deep");
  if (!Count()) return false;
  cursor_.Step();
  levels_.push_back({.array = array, .elements = 0, .key = {}, .keys = {}});
  return true;
}

void JsonWalk::Close() {
  at_ = cursor_.Begin();
  cursor_.Step();
  levels_.pop_back();
}

bool JsonWalk::Key(const std::string& name, bool& twice) {
  at_ = cursor_.Begin();
  cursor_.SkipString();
  Level& object = levels_.back();
  object.key = name;
  const auto [first, added] = object.keys.try_emplace(name, at_.line);
  twice = !added;
  if (!twice) return true;
  if (problems_.size() >= kMostProblems) return Fail("too many keys stand twice");
  problems_.push_back(
      {at_, Path(),
       "the key stands twice (first on line " + std::to_string(first->second) + "); remove one"});
  return true;
}

bool JsonWalk::ParseError(const std::string& token, const nlohmann::detail::exception& error) {
  at_ = cursor_.Begin();
  if (error.id == 406) return Fail("not valid JSON: the number " + Shown(token) + " is too large" + Hint());
  std::string_view why = error.what();
  const auto cut = why.find(" - ");
  if (cut != std::string_view::npos) why.remove_prefix(cut + 3);
  return Fail("not valid JSON: " + Shown(why) + Hint());
}

bool JsonWalk::Count() {
  if (++values_ > limits_.values) return Fail("more than " + std::to_string(limits_.values) + " values");
  if (!levels_.empty() && levels_.back().array) ++levels_.back().elements;
  return true;
}

bool JsonWalk::Fail(const std::string& message) {
  problems_.push_back({at_, "", message});
  return false;
}

std::string JsonWalk::Path() const {
  std::string path;
  for (const Level& level : levels_)
    path = JoinPath(path, level.array ? std::to_string(level.elements - 1) : Shown(level.key));
  return path;
}

std::string JsonWalk::Hint() const {
  switch (cursor_.Current()) {
    case '/':
    case '#':
      return " (JSON has no comments)";
    case '\'':
      return " (strings stand in double quotes)";
    case '}':
    case ']':
      return " (is there a comma too many?)";
    case 'N':
    case 'I':
      return " (JSON has no NaN or Infinity)";
    default:
      return "";
  }
}

}  // namespace medley
