#pragma once

#include <cstddef>
#include <string_view>

namespace medley {

// Cuts the text of a JSON list into its elements, byte by byte, without looking into them: what an element is
// made of is for who reads it. A text that is one object, and no list, is one element.
class ElementCutter {
 public:
  enum class Found { kNothing, kBegin, kEnd, kMistake };

  // kBegin: an element begins with this byte; kEnd: one ended before it; kMistake: none can stand here.
  Found Add(char byte);
  // What the text lacks at its end, in words; "" for one that is whole. An empty text is whole.
  const char* Missing() const;

 private:
  enum class Place { kBefore, kFirst, kNext, kInside, kAlone, kBehind };

  Found InElement(char byte);

  Place place_ = Place::kBefore;
  std::size_t depth_ = 0;
  bool in_text_ = false, is_escaped_ = false;
};

// Of a text that begins with an element what is this element, without blanks behind it.
std::string_view FirstElement(std::string_view text);

}  // namespace medley
