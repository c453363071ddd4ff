#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include <medley/base/spec_names.h>
#include <medley/model/model_spec.h>

// The rules of a model's spec, for a ModelSpec (checked by the compiler) and for the ModelInfo of a note.
namespace medley::detail {

constexpr bool IsNumberName(std::string_view name) {
  if (name.empty() || name.size() > 9) return false;
  for (const char c : name) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

// What every model's file has.
constexpr bool IsReserved(std::string_view name) { return name == "kind" || name == "comment"; }

// "layers", or "encoder.layers" where there is the group.
template <typename Spec>
constexpr bool FieldNamesAreGood(const Spec& spec) {
  for (const auto& field : spec.fields) {
    const std::string_view name = field.name;
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) {
      if (!IsName(name) || IsReserved(name)) return false;
      continue;
    }
    bool found = false;
    for (const auto& group : spec.groups) found = found || group.name == name.substr(0, dot);
    if (!found || !IsName(name.substr(dot + 1))) return false;
  }
  for (const auto& group : spec.groups) {
    if (IsReserved(group.name)) return false;
    for (const auto& field : spec.fields) {
      if (group.name == field.name) return false;
    }
  }
  return NamesDiffer(spec.fields) && NamesDiffer(spec.groups) && NamesAreGood(spec.groups);
}

template <typename Spec>
constexpr bool FieldsAreGood(const Spec& spec) {
  for (const auto& field : spec.fields) {
    if (field.kind > FieldKind::kWord || (field.kind == FieldKind::kWord) == field.words.empty())
      return false;
    if (!IsFinite(field.low) || !IsFinite(field.high) || !IsFinite(field.value)) return false;
    if (field.kind == FieldKind::kWord) continue;
    if (field.value < field.low || field.value > field.high) return false;
    if (field.above_low && field.value == field.low) return false;
    const bool whole = field.kind != FieldKind::kNumber;
    constexpr double kMost = 1LL << 52;
    if (whole && (field.low < -kMost || field.high > kMost)) return false;
    if (whole && field.value != static_cast<double>(static_cast<long long>(field.value))) return false;
  }
  return true;
}

// Whether the field is a count from 1 on: what a rule divides by must not be 0.
template <typename Spec>
constexpr bool IsCountField(const Spec& spec, std::string_view name) {
  for (const auto& field : spec.fields) {
    if (field.name == name) return field.kind == FieldKind::kInteger && field.low >= 1;
  }
  return false;
}

template <typename Spec>
constexpr bool IsIntegerField(const Spec& spec, std::string_view name) {
  for (const auto& field : spec.fields) {
    if (field.name == name) return field.kind == FieldKind::kInteger;
  }
  return false;
}

template <typename Spec>
constexpr bool RulesAreGood(const Spec& spec) {
  for (const auto& rule : spec.rules) {
    const int given =
        (rule.divides.empty() ? 0 : 1) + (rule.multiple_of.empty() ? 0 : 1) + (rule.multiple == 0 ? 0 : 1);
    if (given != 1 || rule.multiple < 0 || !IsCountField(spec, rule.field)) return false;
    if (!rule.where.empty() && !IsIntegerField(spec, rule.where)) return false;
    if (!rule.divides.empty() && !IsCountField(spec, rule.divides)) return false;
    if (!rule.multiple_of.empty() && !IsCountField(spec, rule.multiple_of)) return false;
  }
  return true;
}

template <typename Items>
constexpr bool HasItem(const Items& items, std::string_view name) {
  for (const auto& item : items) {
    if (item.name == name) return true;
  }
  return false;
}

template <typename Spec>
constexpr bool SizesAreGood(const Spec& spec) {
  for (const auto& size : spec.sizes) {
    if (!size.lengths.empty() && !HasItem(spec.inputs, size.lengths)) return false;
  }
  return NamesAreGood(spec.sizes) && NamesDiffer(spec.sizes) && !HasItem(spec.sizes, "rows") &&
         !HasItem(spec.sizes, "vocabulary");
}

template <typename Spec, typename Tensors>
constexpr bool TensorsAreGood(const Spec& spec, const Tensors& tensors) {
  for (const auto& tensor : tensors) {
    if (tensor.dtype != "float" && tensor.dtype != "int64" && tensor.dtype != "bool" &&
        tensor.dtype != "byte")
      return false;
    if (!tensor.times.empty() && !HasItem(spec.sizes, tensor.times)) return false;
    if (tensor.below < 0 || (tensor.below > 0 && tensor.dtype != "int64")) return false;
    for (const std::string_view dimension : tensor.dimensions) {
      if (dimension != "rows" && dimension != "vocabulary" && !IsNumberName(dimension) &&
          !HasItem(spec.sizes, dimension) && !IsIntegerField(spec, dimension))
        return false;
    }
  }
  return !tensors.empty() && NamesAreGood(tensors) && NamesDiffer(tensors);
}

template <typename Spec>
constexpr bool PicturesAreGood(const Spec& spec) {
  const auto& [size, patch] = spec.pictures;
  return size.empty() ? patch.empty() : IsIntegerField(spec, size) && IsIntegerField(spec, patch);
}

// "layers" of "encoder.layers" for the group "encoder".
template <typename Spec>
constexpr bool HasFieldIn(const Spec& spec, std::string_view group, std::string_view name) {
  for (const auto& field : spec.fields) {
    const std::string_view all = field.name;
    if (all.size() == group.size() + 1 + name.size() && all.starts_with(group) && all.ends_with(name))
      return true;
  }
  return false;
}

template <typename Spec>
constexpr bool PretrainedIsGood(const Spec& spec) {
  const std::string_view group = spec.pretrained.group;
  if (group.empty()) return true;
  for (const std::string_view name : kPretrainedFields) {
    if (!HasFieldIn(spec, group, name)) return false;
  }
  return HasItem(spec.groups, group);
}

template <typename Spec>
constexpr bool TowerIsGood(const Spec& spec) {
  const std::string_view group = spec.tower.group;
  if (group.empty()) return true;
  for (const std::string_view name : kTowerLayerFields) {
    if (!HasFieldIn(spec, group, name)) return false;
  }
  if (spec.tower.layers_only) return HasItem(spec.groups, group);
  for (const std::string_view name : kTowerFields) {
    if (!HasFieldIn(spec, group, name)) return false;
  }
  return HasItem(spec.groups, group) && !std::string_view(spec.pictures.size).empty();
}

template <typename T>
concept HasModelSpec = requires {
  { T::kSpec } -> std::convertible_to<const ModelSpec&>;
};

template <typename T>
concept HasConstexprModelSpec = HasModelSpec<T> && requires {
  typename std::bool_constant<(T::kSpec.name.size(), true)>;
};

// One line of our own for each mistake; several mistakes give several lines.
template <typename T, bool = HasConstexprModelSpec<T>>
struct CheckedModelSpec {
  static_assert(HasModelSpec<T>,
                "medley: a model class needs a public `static constexpr medley::ModelSpec kSpec`");
  static_assert(!HasModelSpec<T> || HasConstexprModelSpec<T>,
                "medley: kSpec must be constexpr, not only const or static");
  static constexpr bool kGood = false;
};

template <typename T>
struct CheckedModelSpec<T, true> {
  static constexpr const ModelSpec& kSpec = T::kSpec;
  static_assert(facts::FitsTheFormat<facts::LongList(kSpec)>::kSaid);
  static_assert(IsName(kSpec.name),
                "medley: a model's name must be 1 to 64 characters of a-z, 0-9, _ and -, the first a letter");
  static_assert(
      FieldNamesAreGood(kSpec),
      "medley: a model's fields need different names, \"field\" or \"group.field\" of a group of the "
      "spec, like a task's: a-z, 0-9, _ and -, the first a letter; none is called \"kind\" or "
      "\"comment\"");
  static_assert(
      FieldsAreGood(kSpec),
      "medley: the default of a model's field must lie between its low and high (an integer a whole "
      "number, its bounds within 2^52), and a word needs a list of words");
  static_assert(
      RulesAreGood(kSpec),
      "medley: a rule of a model needs an integer field and one of divides, multiple_of (an integer "
      "field) and multiple; such a field's low is 1 or more; where is an integer field, too");
  static_assert(
      SizesAreGood(kSpec),
      "medley: a model's sizes need different names like a task's (not \"rows\" or \"vocabulary\"), "
      "and their lengths an input");
  static_assert(
      TensorsAreGood(kSpec, kSpec.inputs) && TensorsAreGood(kSpec, kSpec.outputs),
      "medley: a model needs inputs and outputs with different names; a dtype is \"float\", \"int64\", "
      "\"bool\" or \"byte\", a dimension \"rows\", \"vocabulary\", a size, an integer field or a number; "
      "below is "
      "of \"int64\" alone");
  static_assert(PicturesAreGood(kSpec), "medley: pictures need the integer fields of their size and patch");
  static_assert(
      PretrainedIsGood(kSpec),
      "medley: what may be pretrained must be one of the spec's groups, with the fields of a language: "
      "kPretrainedFields");
  static_assert(
      TowerIsGood(kSpec),
      "medley: a tower must be one of the spec's groups, with the fields of kTowerFields, of a model "
      "that says how large its pictures are; or, of layers_only, with those of kTowerLayerFields");
  static constexpr bool kGood = FieldsAreGood(kSpec);  // can be written as JSON
};

}  // namespace medley::detail
