#include "element_cutter.h"

namespace medley {
namespace {

bool IsBlank(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }
bool IsByteOrderMark(char byte) {
  return std::string_view("\xef\xbb\xbf").find(byte) != std::string_view::npos;
}

}  // namespace

ElementCutter::Found ElementCutter::InElement(char byte) {
  if (in_text_) {
    in_text_ = is_escaped_ || byte != '"';
    is_escaped_ = !is_escaped_ && byte == '\\';
    return Found::kNothing;
  }
  if (byte == '"') in_text_ = true;
  if (byte == '{' || byte == '[') ++depth_;
  const bool closes = byte == '}' || byte == ']';
  if (depth_ > 0) {
    if (closes) --depth_;
    return Found::kNothing;
  }
  if (byte != ',' && byte != ']') return Found::kNothing;
  place_ = byte == ',' ? Place::kNext : Place::kBehind;
  return Found::kEnd;
}

ElementCutter::Found ElementCutter::Add(char byte) {
  const bool is_over = place_ == Place::kAlone && depth_ == 0;
  if (place_ == Place::kInside || (place_ == Place::kAlone && !is_over)) return InElement(byte);
  if (IsBlank(byte)) return Found::kNothing;
  if (place_ == Place::kBefore && (byte == '[' || IsByteOrderMark(byte))) {
    if (byte == '[') place_ = Place::kFirst;
    return Found::kNothing;
  }
  if (place_ == Place::kFirst && byte == ']') {
    place_ = Place::kBehind;
    return Found::kNothing;
  }
  const bool is_alone = place_ == Place::kBefore;
  if (is_over || place_ == Place::kBehind || byte == ',' || byte == ']' || (is_alone && byte != '{'))
    return Found::kMistake;
  place_ = is_alone ? Place::kAlone : Place::kInside;
  InElement(byte);
  return Found::kBegin;
}

const char* ElementCutter::Missing() const {
  if (in_text_) return "a text is not closed";
  if (depth_ > 0) return "a bracket is not closed";
  return place_ == Place::kFirst || place_ == Place::kNext || place_ == Place::kInside
             ? "the list is not closed"
             : "";
}

std::string_view FirstElement(std::string_view text) {
  ElementCutter cutter;
  cutter.Add('[');
  std::size_t end = 0;
  while (end < text.size() && cutter.Add(text[end]) != ElementCutter::Found::kEnd) ++end;
  while (end > 0 && IsBlank(text[end - 1])) --end;
  return text.substr(0, end);
}

}  // namespace medley
