#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// What a path in a config must lead to.
enum class PathKind { kFile, kDirectory, kEither, kLater };  // kLater: looked at by who needs it

// Integers that every JSON reader keeps exactly.
inline constexpr double kLargestInteger =
    9007199254740991;  // 2^53 - 1: up to it a double tells integers apart

// All that is to be known of one key of a config file. A struct lists its fields once, in
//   template <typename Visitor> void Fields(Visitor& visit, Struct& config) { visit(config.rows, {.name =
//   "rows", ...}); }
// and the reader, the JSON Schema and the dump come from that list. Defaults are the struct's. A member that
// may be missing is a std::optional. Where one of several keys decides which fields there are, the first line
// is visit.Choose(config.kind), of an enum with those keys' names or a variant of structs with a kKey. Of
// optional fields one of which must be there, visit.OneOf({"low", "high"}) names them.
//
// Every object may have a "comment" beside its fields, a text that nobody reads.
struct Field {
  std::string_view name = {};
  std::string_view help = {};
  bool required = false;
  bool omit_default =
      false;  // not dumped where it has its default (which may lie outside the bounds: "not set")
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::string_view below = {};                 // what to do instead of a number below low
  bool above_low = false;                      // low itself is not allowed
  bool below_high = false;                     // high itself is not allowed
  std::string_view zero = {};                  // the word for 0, an integer outside the bounds
  std::vector<std::string_view> allowed = {};  // of a string; empty: any
  bool or_file = false;                        // a string: one of those, or the path of a NAME.json
  bool may_be_empty = false;                   // a string
  bool or_number = false;                      // a string that may be written as a number above 0
  bool is_label = false;                       // a string of up to 64 letters, digits and "_-."
  bool is_share = false;                       // a string as ParseRecomputedLayers reads it
  PathKind path = PathKind::kFile;
  // A run that was trained cannot change it, nor what stands below it; of a task's settings, one that was
  // trained on the task.
  bool fixed = false;
};

// The words for an enum, in the order of its values, which count from 0; specialized beside the enum, with an
// array kNames of std::string_view.
template <typename Enum>
struct EnumNames;
template <typename Enum>
std::string EnumName(Enum value) {
  return std::string(EnumNames<Enum>::kNames[static_cast<std::size_t>(value)]);
}

inline constexpr std::string_view kComment = "comment";
inline constexpr const char* kSharePattern = "^[0-9]{1,4}/[1-9][0-9]{0,3}$";
inline constexpr const char* kLabelPattern = "^[A-Za-z0-9_.-]{1,64}$";
bool IsLabel(std::string_view text);

// "at least 1", "above 0 and at most 1", "" where there are no bounds.
std::string BoundsInWords(const Field& field);

}  // namespace medley
