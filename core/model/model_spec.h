#pragma once

#include <array>
#include <string_view>

#include <medley/base/facts.h>
#include <medley/base/spec_list.h>

namespace medley {

enum class FieldKind { kInteger, kNumber, kSwitch, kWord };

// A new field of a spec is its member, with what it means, and its line in Fields.
namespace facts {

// One value of a model's config file; see the functions below. A dot in its name puts it into a group:
// "encoder.layers" is written {"encoder": {"layers": 6}}.
template <typename In>
struct ModelField {
  Text<In> name{};
  FieldKind kind = FieldKind::kInteger;
  double value = 0;  // the default; of a switch 0 or 1
  double low = 0;
  double high = 0;
  bool above_low = false;  // `low` itself is not allowed
  Names<In> words{};       // what a word may be; the first is the default
  Text<In> help{};

  template <typename Visitor, typename... ModelFields>
  static constexpr void Fields(Visitor& visit, ModelFields&... c) {
    visit({.key = "name"}, c.name...);
    visit({.key = "kind", .low = 0}, c.kind...);
    visit({.key = "value"}, c.value...);
    visit({.key = "low"}, c.low...);
    visit({.key = "high"}, c.high...);
    visit({.key = "above_low"}, c.above_low...);
    visit({.key = "words"}, c.words...);
    visit({.key = "help"}, c.help...);
  }
};

template <typename In>
struct ModelGroup {
  Text<In> name{};
  Text<In> help{};

  template <typename Visitor, typename... Groups>
  static constexpr void Fields(Visitor& visit, Groups&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "help"}, c.help...);
  }
};

// How two integers, both 1 or more, must fit each other. One of the three is given.
template <typename In>
struct ModelRule {
  Text<In> field{};
  Text<In> where{};        // an integer field: the rule holds where that is not 0; "": always
  Text<In> divides{};      // another field
  Text<In> multiple_of{};  // another field
  int multiple = 0;        // of this number
  Text<In> why{};          // behind the message: "as rotary positions turn pairs"

  template <typename Visitor, typename... Rules>
  static constexpr void Fields(Visitor& visit, Rules&... c) {
    visit({.key = "field"}, c.field...);
    visit({.key = "where"}, c.where...);
    visit({.key = "divides"}, c.divides...);
    visit({.key = "multiple_of"}, c.multiple_of...);
    visit({.key = "multiple", .low = 0}, c.multiple...);
    visit({.key = "why"}, c.why...);
  }
};

// A number that differs from batch to batch: "text_width", "frames". A pass says the most that it needs.
template <typename In>
struct ModelSize {
  Text<In> name{};
  Text<In> help{};
  // Items of all rows lie behind one another: it is the sum over the rows, and a pass says the most of one
  // row. Else all rows are as wide as the widest.
  bool ragged = false;
  // An input [rows] of integers that says how much of it each row has. On the CPU the model computes no more
  // than the longest row of a batch.
  Text<In> lengths{};

  template <typename Visitor, typename... Sizes>
  static constexpr void Fields(Visitor& visit, Sizes&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "ragged"}, c.ragged...);
    visit({.key = "lengths"}, c.lengths...);
    visit({.key = "help"}, c.help...);
  }
};

// What stands in front of a batch's rows, and what of it. A dimension is "rows", one of the spec's sizes,
// one of its integer fields, "vocabulary" (Model::vocabulary) or a number.
template <typename In>
struct Tensor {
  Text<In> name{};
  Text<In> dtype = "float";  // the model's floating type; or "int64", "bool", "byte"
  Names<In> dimensions{};
  Text<In> times{};  // the size that says how often it comes; "": once
  Text<In> help{};
  int below = 0;  // of integers: each is from 0 to one less; 0: nothing is said of them

  template <typename Visitor, typename... Tensors>
  static constexpr void Fields(Visitor& visit, Tensors&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "dtype"}, c.dtype...);
    visit({.key = "dimensions"}, c.dimensions...);
    visit({.key = "times"}, c.times...);
    visit({.key = "help"}, c.help...);
    visit({.key = "below", .low = 0, .only_given = true}, c.below...);
  }
};

// Fields that say how large pictures are that the model looks at, in pixels a side; "": it sees none.
template <typename In>
struct Pictures {
  Text<In> size{}, patch{};

  template <typename Visitor, typename... AllPictures>
  static constexpr void Fields(Visitor& visit, AllPictures&... c) {
    visit({.key = "size"}, c.size...);
    visit({.key = "patch"}, c.patch...);
  }
};

// A group of fields that a Hugging Face folder may give, weights and all: "pretrained" of the group names it
// in the file. It has the fields of a Language, as the agent declares them; `root` is in front of the
// published names of its parameters. "": no group.
template <typename In>
struct Pretrained {
  Text<In> group{}, root{};

  template <typename Visitor, typename... Groups>
  static constexpr void Fields(Visitor& visit, Groups&... c) {
    visit({.key = "group"}, c.group...);
    visit({.key = "root"}, c.root...);
  }
};

// A group of fields that describes a vision tower (kTowerFields), which a Hugging Face folder may give,
// weights and all: "pretrained" of the group names it in the file. The tower's pictures are the spec's
// `pictures`. `root` is in front of the published names of its parameters, `projector` in front of those of
// what maps its vectors to the width of a language; "": the model has its own.
template <typename In>
struct Tower {
  Text<In> group{}, root{}, projector{};
  bool layers_only = false;  // the model cuts what it sees in its own way: kTowerLayerFields, no pictures

  constexpr bool empty() const { return group.empty(); }  // the model has none

  template <typename Visitor, typename... Groups>
  static constexpr void Fields(Visitor& visit, Groups&... c) {
    visit({.key = "group"}, c.group...);
    visit({.key = "root"}, c.root...);
    visit({.key = "projector"}, c.projector...);
    visit({.key = "layers_only", .only_given = true}, c.layers_only...);
  }
};

// What a model declares: all that medley knows of it before its code is loaded.
template <typename In>
struct Model {
  Text<In> name{};  // the "kind" of its config files, [a-z][a-z0-9_-]{0,63}
  Text<In> version = "1";
  Text<In> summary{};
  List<In, ModelGroup, 8> groups{};  // of its fields, in the order of the file
  List<In, ModelField, 64> fields{};
  List<In, ModelRule, 16> rules{};
  List<In, ModelSize, 8> sizes{};
  List<In, Tensor, 12> inputs{};
  List<In, Tensor, 12> outputs{};
  // What of a run it needs, and so what its tasks may ask for.
  bool tokenizer = false;
  bool control_text = false;
  Pictures<In> pictures{};
  Pretrained<In> pretrained{};
  Tower<In> tower{};

  template <typename Visitor, typename... Models>
  static constexpr void Fields(Visitor& visit, Models&... c) {
    visit({.key = "name", .is_name = true}, c.name...);
    visit({.key = "version"}, c.version...);
    visit({.key = "summary"}, c.summary...);
    visit({.key = "groups"}, c.groups...);
    visit({.key = "fields"}, c.fields...);
    visit({.key = "rules"}, c.rules...);
    visit({.key = "sizes"}, c.sizes...);
    visit({.key = "inputs"}, c.inputs...);
    visit({.key = "outputs"}, c.outputs...);
    visit({.key = "tokenizer"}, c.tokenizer...);
    visit({.key = "control_text"}, c.control_text...);
    visit({.key = "pictures"}, c.pictures...);
    visit({.key = "pretrained"}, c.pretrained...);
    visit({.key = "tower", .only_given = true}, c.tower...);
  }
};

}  // namespace facts

using ModelField = facts::ModelField<facts::Declared>;
using ModelGroup = facts::ModelGroup<facts::Declared>;
using ModelRule = facts::ModelRule<facts::Declared>;
using ModelSize = facts::ModelSize<facts::Declared>;
using TensorSpec = facts::Tensor<facts::Declared>;
using PictureFields = facts::Pictures<facts::Declared>;
using PretrainedGroup = facts::Pretrained<facts::Declared>;
using TowerGroup = facts::Tower<facts::Declared>;
using ModelSpec = facts::Model<facts::Declared>;

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

// The fields that such a group has.
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
// The same of a vision tower's layers, and of a tower.
inline constexpr std::array<std::string_view, 7> kTowerLayerFields = {"kind", "width",   "layers",    "heads",
                                                                      "ffn",  "epsilon", "activation"};
inline constexpr std::array<std::string_view, 18> kTowerFields = {
    "kind",           "width",      "layers",     "heads",         "ffn",           "epsilon",
    "activation",     "mean_red",   "mean_green", "mean_blue",     "deviation_red", "deviation_green",
    "deviation_blue", "resampling", "fit",        "shortest_edge", "projector",     "image_token"};

}  // namespace medley
