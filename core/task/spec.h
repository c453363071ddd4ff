#pragma once

#include <optional>
#include <string_view>

#include <medley/base/facts.h>
#include <medley/base/spec_list.h>

namespace medley {

enum class OptionKind { kNumber, kWord, kSwitch, kPath, kText };

// A new field of a spec is its member, with what it means, and its line in Fields.
namespace facts {

// The most of one of the model's sizes (see ModelSize) that a row of a pass has: {"frames", 150}.
template <typename In>
struct PassSize {
  Text<In> name{};
  int most = 0;

  template <typename Visitor, typename... Sizes>
  static constexpr void Fields(Visitor& visit, Sizes&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "most", .low = 1}, c.most...);
  }
};

// One forward of the model.
template <typename In>
struct Pass {
  Text<In> name{};
  int text_width = 0;             // most tokens of a row, 0: no text: the size "text_width"
  Names<In> images{};             // what it reads, oldest first, the current one last: columns or carries
  bool decodes_image = false;     // asks the model for a picture: its "image" or "drawing"
  Names<In> carries{};            // the carries that it makes
  List<In, PassSize, 4> sizes{};  // further ones
  // Further carries, of any type, through which no gradient flows: later passes of the same micro-batch read
  // them with Carried.
  Names<In> keeps{};
  // It makes no graph: it makes no carries, and adds to terms of weight 0 at most.
  bool no_gradient = false;
  // Whose weights it asks: "" the model's; "start", as training found them; or one of the run config's
  // `references`. Of a reference it has no gradient.
  Text<In> reference{};
  Text<In> text_width_of{};  // the number option whose value is text_width
  Text<In> images_of{};      // the number option that says how many of `images` it reads, from the first on

  template <typename Visitor, typename... Passes>
  static constexpr void Fields(Visitor& visit, Passes&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "text_width", .low = 0}, c.text_width...);
    visit({.key = "images"}, c.images...);
    visit({.key = "decodes_image"}, c.decodes_image...);
    visit({.key = "carries"}, c.carries...);
    visit({.key = "sizes"}, c.sizes...);
    visit({.key = "keeps", .only_given = true}, c.keeps...);
    visit({.key = "no_gradient", .only_given = true}, c.no_gradient...);
    visit({.key = "reference", .only_given = true}, c.reference...);
    visit({.key = "text_width_of", .only_given = true}, c.text_width_of...);
    visit({.key = "images_of", .only_given = true}, c.images_of...);
  }

  constexpr bool HasGradient() const { return !no_gradient && reference.empty(); }
  // Calls fn with the name of each thing that it hands on to later passes.
  template <typename Fn>
  constexpr void ForEachMade(const Fn& fn) const {
    for (const auto& carry : carries) fn(carry);
    for (const auto& kept : keeps) fn(kept);
  }
  // The most of a model's size that a row has; 0 where the pass does not say.
  constexpr int Size(std::string_view size) const {
    if (size == "text_width") return text_width;
    if (size == "images") return static_cast<int>(images.size());
    for (const auto& further : sizes) {
      if (further.name == size) return further.most;
    }
    return 0;
  }
};

// One loss: a sum over items. It belongs to the draw; several passes may add to it.
template <typename In>
struct Term {
  Text<In> name{};
  double weight = 1.0;
  int max_items = 1;  // the most items that one row can have
  // Gradient is kept out of a part on purpose, such as a target that is made of the output: so the check of
  // the task does not compare its gradient with how the sum changes.
  bool stops_gradient = false;
  // Its items are counted in another way than its sum is added up (over all anchors, divided by those that
  // hit): so the check of the task does not compare the two.
  bool counts_otherwise = false;
  Text<In> max_items_of{};  // the number option whose value is max_items

  template <typename Visitor, typename... Terms>
  static constexpr void Fields(Visitor& visit, Terms&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "weight", .low = 0}, c.weight...);
    visit({.key = "max_items", .low = 1}, c.max_items...);
    visit({.key = "stops_gradient", .only_given = true}, c.stops_gradient...);
    visit({.key = "counts_otherwise", .only_given = true}, c.counts_otherwise...);
    visit({.key = "max_items_of", .only_given = true}, c.max_items_of...);
  }
};

// A way to make the passes of a step. The task's own name for the first is "default".
template <typename In>
struct Variant {
  Text<In> name{};
  List<In, Pass, 8> passes{};
  List<In, Term, 8> terms{};
  Text<In> summary{};  // how it differs, in a line of at most 200 bytes

  template <typename Visitor, typename... Variants>
  static constexpr void Fields(Visitor& visit, Variants&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "passes"}, c.passes...);
    visit({.key = "terms"}, c.terms...);
    visit({.key = "summary", .only_given = true}, c.summary...);
  }

  // Does any pass make a carry that gradient flows through?
  constexpr bool Carries() const {
    for (const auto& pass : passes) {
      if (!pass.carries.empty()) return true;
    }
    return false;
  }
  // Does any pass keep something for later ones?
  constexpr bool Keeps() const {
    for (const auto& pass : passes) {
      if (!pass.keeps.empty()) return true;
    }
    return false;
  }
  // Declared text widths, added up.
  constexpr int TokensPerRow() const {
    int tokens = 0;
    for (const auto& pass : passes) tokens += pass.text_width;
    return tokens;
  }
};

// A table that every row may look into, tokens mostly: [rows, width].
template <typename In>
struct Constant {
  Text<In> name{};
  int rows = 0;
  int width = 0;
  Text<In> dtype = "int64";  // int64 or float32

  template <typename Visitor, typename... Constants>
  static constexpr void Fields(Visitor& visit, Constants&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "rows", .low = 1}, c.rows...);
    visit({.key = "width", .low = 1}, c.width...);
    visit({.key = "dtype"}, c.dtype...);
  }
};

// Something that a config may set. Written out for a number; see the functions below for the others.
template <typename In>
struct Option {
  Text<In> name{};
  double value = 0;  // the default of a number, or of a switch: 0 or 1
  double low = 0;
  double high = 1;
  Text<In> summary{};  // what it does, in a few words
  OptionKind kind = OptionKind::kNumber;
  Names<In> words{};      // what a word may be; the first is the default
  bool required = false;  // a path that must be given; of others it is "" where it is not

  template <typename Visitor, typename... Options>
  static constexpr void Fields(Visitor& visit, Options&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "value"}, c.value...);
    visit({.key = "low"}, c.low...);
    visit({.key = "high"}, c.high...);
    visit({.key = "kind", .low = 0}, c.kind...);
    visit({.key = "words"}, c.words...);
    visit({.key = "required"}, c.required...);
    visit({.key = "summary"}, c.summary...);
  }
};

template <typename In>
struct Score {
  Text<In> name{};
  bool higher_is_better = true;
  std::optional<double> chance{};  // what guessing gives
  // Where a row's score can be, for its interval, which never leaves that. Not given: from 0 to 1 where more
  // is better than a chance in that range, at least 0 where less is better; else anywhere, unless every row
  // is 0 or 1, which is taken for wrong and right.
  std::optional<double> low{}, high{};
  // Chance is that of guessing among the answers that the spec declares, whatever the rows are. Else it is
  // that of rows which the task makes up: where a path option names a file, nobody shows it.
  bool chance_of_any_rows = false;

  template <typename Visitor, typename... Scores>
  static constexpr void Fields(Visitor& visit, Scores&... c) {
    visit({.key = "name"}, c.name...);
    visit({.key = "higher_is_better"}, c.higher_is_better...);
    visit({.key = "chance"}, c.chance...);
    visit({.key = "low"}, c.low...);
    visit({.key = "high"}, c.high...);
    visit({.key = "chance_of_any_rows", .only_given = true}, c.chance_of_any_rows...);
  }
};

// What a task declares: all that medley knows of it before its code is loaded.
template <typename In>
struct Task {
  Text<In> name{};  // [a-z][a-z0-9_-]{0,63}
  Text<In> version = "1";
  Text<In> summary{};          // what it learns, in a few words: lists show as much as a line holds
  List<In, Pass, 8> passes{};  // of the default variant
  List<In, Term, 8> terms{};
  List<In, Variant, 3> variants{};  // further ones
  List<In, Constant, 16> constants{};
  List<In, Option, 24> options{};
  Names<In> inputs{};          // model inputs that it hands in
  Names<In> outputs{};         // model outputs that it asks for
  Names<In> special_tokens{};  // that its texts contain
  Score<In> score{};
  // Rows are made up, of few different ones: held-out ones may be training's too, and that is meant, and
  // equal ones count each for itself. Not for finite data: see Task::Items.
  bool rows_repeat = false;

  template <typename Visitor, typename... Tasks>
  static constexpr void Fields(Visitor& visit, Tasks&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "version"}, c.version...);
    visit({.key = "summary"}, c.summary...);
    visit({.key = "passes"}, c.passes...);
    visit({.key = "terms"}, c.terms...);
    visit({.key = "variants"}, c.variants...);
    visit({.key = "constants"}, c.constants...);
    visit({.key = "options"}, c.options...);
    visit({.key = "inputs"}, c.inputs...);
    visit({.key = "outputs"}, c.outputs...);
    visit({.key = "special_tokens"}, c.special_tokens...);
    visit({.key = "score"}, c.score...);
    visit({.key = "rows_repeat"}, c.rows_repeat...);
  }
};

}  // namespace facts

using SizeSpec = facts::PassSize<facts::Declared>;
using PassSpec = facts::Pass<facts::Declared>;
using TermSpec = facts::Term<facts::Declared>;
using VariantSpec = facts::Variant<facts::Declared>;
using ConstantSpec = facts::Constant<facts::Declared>;
using OptionSpec = facts::Option<facts::Declared>;
using ScoreSpec = facts::Score<facts::Declared>;
using TaskSpec = facts::Task<facts::Declared>;

constexpr OptionSpec WordOption(std::string_view name, NameList words, std::string_view summary) {
  return {.name = name, .summary = summary, .kind = OptionKind::kWord, .words = words};
}
constexpr OptionSpec SwitchOption(std::string_view name, bool value, std::string_view summary) {
  return {.name = name, .value = value ? 1.0 : 0.0, .summary = summary, .kind = OptionKind::kSwitch};
}
// Any text; "" where none is given.
constexpr OptionSpec TextOption(std::string_view name, std::string_view summary) {
  return {.name = name, .summary = summary, .kind = OptionKind::kText};
}
// A text option of this name is a chat format: the name of one, or the path of a JSON file as below.
inline constexpr std::string_view kChatOption = "chat";
// A file or a folder. In a config it is relative to the file that names it.
constexpr OptionSpec PathOption(std::string_view name, std::string_view summary, bool required = true) {
  return {.name = name, .summary = summary, .kind = OptionKind::kPath, .required = required};
}

using OptionList = SpecList<OptionSpec, 24>;

}  // namespace medley
