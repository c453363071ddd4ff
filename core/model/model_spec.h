#pragma once

#include <array>
#include <string_view>

#include <medley/base/spec_list.h>

namespace medley {

enum class FieldKind { kInteger, kNumber, kSwitch, kWord };

// One value of a model's config file; see the functions below. A dot in its name puts it into a group:
// "encoder.layers" is written {"encoder": {"layers": 6}}.
struct ModelField {
  std::string_view name{};
  FieldKind kind = FieldKind::kInteger;
  double value = 0;  // the default; of a switch 0 or 1
  double low = 0;
  double high = 0;
  bool above_low = false;  // `low` itself is not allowed
  NameList words{};        // what a word may be; the first is the default
  std::string_view help{};
};

constexpr ModelField IntegerField(std::string_view name, double value, double low, double high,
                                  std::string_view help) {
  return {.name = name, .value = value, .low = low, .high = high, .help = help};
}
constexpr ModelField NumberField(std::string_view name, double value, double low, double high,
                                 std::string_view help, bool above_low = false) {
  return {.name = name,
          .kind = FieldKind::kNumber,
          .value = value,
          .low = low,
          .high = high,
          .above_low = above_low,
          .help = help};
}
constexpr ModelField SwitchField(std::string_view name, bool value, std::string_view help) {
  return {.name = name, .kind = FieldKind::kSwitch, .value = value ? 1.0 : 0.0, .high = 1, .help = help};
}
constexpr ModelField WordField(std::string_view name, NameList words, std::string_view help) {
  return {.name = name, .kind = FieldKind::kWord, .words = words, .help = help};
}

struct ModelGroup {
  std::string_view name{};
  std::string_view help{};
};

// How two integers, both 1 or more, must fit each other. One of the three is given.
struct ModelRule {
  std::string_view field{};
  std::string_view divides{};      // another field
  std::string_view multiple_of{};  // another field
  int multiple = 0;                // of this number
  std::string_view why{};          // behind the message: "as rotary positions turn pairs"
};

// A number that differs from batch to batch: "text_width", "frames". A pass says the most that it needs.
struct ModelSize {
  std::string_view name{};
  std::string_view help{};
  // Items of all rows lie behind one another: it is the sum over the rows, and a pass says the most of one
  // row. Else all rows are as wide as the widest.
  bool ragged = false;
  // An input [rows] of integers that says how much of it each row has. On the CPU the model computes no more
  // than the longest row of a batch.
  std::string_view lengths{};
};

// What stands in front of a batch's rows, and what of it. A dimension is "rows", one of the spec's sizes,
// one of its integer fields, "vocabulary" (Model::vocabulary) or a number.
struct TensorSpec {
  std::string_view name{};
  std::string_view dtype = "float";  // the model's floating type; or "int64", "bool", "byte"
  NameList dimensions{};
  std::string_view times{};  // the size that says how often it comes; "": once
  std::string_view help{};
};

// Fields that say how large pictures are that the model looks at, in pixels a side; "": it sees none.
struct PictureFields {
  std::string_view size{}, patch{};
};

// A group of fields that a Hugging Face folder may give, weights and all: "pretrained" of the group names it
// in the file. It has the fields of a Language, as the agent declares them; `root` is in front of the
// published names of its parameters. "": no group.
struct PretrainedGroup {
  std::string_view group{}, root{};
};
inline constexpr std::array<std::string_view, 16> kPretrainedFields = {"hidden",
                                                                       "layers",
                                                                       "heads",
                                                                       "kv_heads",
                                                                       "head_dim",
                                                                       "ffn",
                                                                       "vocabulary",
                                                                       "rms_epsilon",
                                                                       "rope_base",
                                                                       "tied",
                                                                       "qk_norm",
                                                                       "attention_bias",
                                                                       "rope_factor",
                                                                       "rope_low_freq_factor",
                                                                       "rope_high_freq_factor",
                                                                       "rope_original_positions"};

// What a model declares: all that medley knows of it before its code is loaded.
struct ModelSpec {
  std::string_view name{};  // the "kind" of its config files, [a-z][a-z0-9_-]{0,63}
  std::string_view version = "1";
  std::string_view summary{};
  SpecList<ModelGroup, 8> groups{};  // of its fields, in the order of the file
  SpecList<ModelField, 48> fields{};
  SpecList<ModelRule, 16> rules{};
  SpecList<ModelSize, 8> sizes{};
  SpecList<TensorSpec, 12> inputs{};
  SpecList<TensorSpec, 12> outputs{};
  // What of a run it needs, and so what its tasks may ask for.
  bool tokenizer = false;
  bool control_text = false;
  PictureFields pictures{};
  PretrainedGroup pretrained{};
};

}  // namespace medley
