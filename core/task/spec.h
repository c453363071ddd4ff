#pragma once

#include <optional>
#include <string_view>

#include <medley/base/spec_list.h>

namespace medley {

// The most of one of the model's sizes (see ModelSize) that a row of a pass has: {"frames", 150}.
struct SizeSpec {
  std::string_view name{};
  int most = 0;
};

// One forward of the model.
struct PassSpec {
  std::string_view name{};
  int text_width = 0;             // most tokens of a row, 0: no text: the size "text_width"
  NameList images{};              // what it reads, oldest first, the current one last: columns or carries
  bool decodes_image = false;     // asks the model for a picture
  NameList carries{};             // the carries that it makes
  SpecList<SizeSpec, 4> sizes{};  // further ones
};

// One loss: a sum over items. It belongs to the draw; several passes may add to it.
struct TermSpec {
  std::string_view name{};
  double weight = 1.0;
  int max_items = 1;  // the most items that one row can have
  // Gradient is kept out of a part on purpose, such as a target that is made of the output: so the check of
  // the task does not compare its gradient with how the sum changes.
  bool stops_gradient = false;
  // Its items are counted in another way than its sum is added up (over all anchors, divided by those that
  // hit): so the check of the task does not compare the two.
  bool counts_otherwise = false;
};

// A way to make the passes of a step. The task's own name for the first is "default".
struct VariantSpec {
  std::string_view name{};
  SpecList<PassSpec, 8> passes{};
  SpecList<TermSpec, 8> terms{};
};

// A table that every row may look into, tokens mostly: [rows, width].
struct ConstantSpec {
  std::string_view name{};
  int rows = 0;
  int width = 0;
  std::string_view dtype = "int64";  // int64 or float32
};

enum class OptionKind { kNumber, kWord, kSwitch, kPath };

// Something that a config may set. Written out for a number; see the functions below for the others.
struct OptionSpec {
  std::string_view name{};
  double value = 0;  // the default of a number, or of a switch: 0 or 1
  double low = 0;
  double high = 1;
  std::string_view summary{};
  OptionKind kind = OptionKind::kNumber;
  NameList words{};       // what a word may be; the first is the default
  bool required = false;  // a path that must be given; of others it is "" where it is not
};

constexpr OptionSpec WordOption(std::string_view name, NameList words, std::string_view summary) {
  return {.name = name, .summary = summary, .kind = OptionKind::kWord, .words = words};
}
constexpr OptionSpec SwitchOption(std::string_view name, bool value, std::string_view summary) {
  return {.name = name, .value = value ? 1.0 : 0.0, .summary = summary, .kind = OptionKind::kSwitch};
}
// A file or a folder. In a config it is relative to the file that names it.
constexpr OptionSpec PathOption(std::string_view name, std::string_view summary, bool required = true) {
  return {.name = name, .summary = summary, .kind = OptionKind::kPath, .required = required};
}

using OptionList = SpecList<OptionSpec, 16>;

struct ScoreSpec {
  std::string_view name{};
  bool higher_is_better = true;
  std::optional<double> chance{};  // what guessing gives
  // The range that a row's score can be in, for its interval, which never leaves that. Not given: from 0 to 1
  // where more is better than a chance in that range, at least 0 where less is better; else the rows tell.
  std::optional<double> low{}, high{};
};

// What a task declares: all that medley knows of it before its code is loaded.
struct TaskSpec {
  std::string_view name{};  // [a-z][a-z0-9_-]{0,63}
  std::string_view version = "1";
  std::string_view summary{};
  SpecList<PassSpec, 8> passes{};  // of the default variant
  SpecList<TermSpec, 8> terms{};
  SpecList<VariantSpec, 3> variants{};  // further ones
  SpecList<ConstantSpec, 16> constants{};
  OptionList options{};
  NameList inputs{};          // model inputs that it hands in
  NameList outputs{};         // model outputs that it asks for
  NameList special_tokens{};  // that its texts contain
  ScoreSpec score{};
  // Rows are made up, of few different ones: held-out ones may be training's too, and that is meant, and
  // equal ones count each for itself. Not for finite data: see Task::Items.
  bool rows_repeat = false;
};

}  // namespace medley
