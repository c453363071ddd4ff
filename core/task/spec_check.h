#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <medley/base/spec_names.h>
#include <medley/task/spec.h>

// The rules of a spec, for a TaskSpec (checked by the compiler) and for what is read from a note.
namespace medley::detail {

// Applies a check of (passes, terms) to the default variant and to each further one.
template <typename Spec, typename Fn>
constexpr bool EveryVariant(const Spec& spec, Fn check) {
  if (!check(spec.passes, spec.terms)) return false;
  for (const auto& variant : spec.variants) {
    if (!check(variant.passes, variant.terms)) return false;
  }
  return true;
}

// A carry has one maker: of two nobody could say which one a later pass reads.
template <typename Spec>
constexpr bool CarriesDiffer(const Spec& spec) {
  return EveryVariant(spec, [](const auto& passes, const auto&) {
    for (std::size_t i = 0; i < passes.size(); ++i) {
      for (std::size_t c = 0; c < passes[i].carries.size(); ++c) {
        for (std::size_t j = 0; j <= i; ++j) {
          const std::size_t end = j == i ? c : passes[j].carries.size();
          for (std::size_t before = 0; before < end; ++before) {
            if (passes[j].carries[before] == passes[i].carries[c]) return false;
          }
        }
      }
    }
    return true;
  });
}

template <typename Spec>
constexpr bool WidthsAreGood(const Spec& spec) {
  return EveryVariant(spec, [](const auto& passes, const auto& terms) {
    for (const auto& pass : passes) {
      if (pass.text_width < 0) return false;
      for (const auto& size : pass.sizes) {
        if (size.most < 1 || size.name == "text_width" || size.name == "images") return false;
      }
    }
    for (const auto& term : terms) {
      if (term.max_items < 1 || !IsFinite(term.weight) || term.weight < 0) return false;
    }
    return true;
  });
}

template <typename Spec>
constexpr bool ConstantsAreGood(const Spec& spec) {
  for (const auto& constant : spec.constants) {
    if (constant.rows < 1 || constant.width < 1) return false;
    if (constant.dtype != "int64" && constant.dtype != "float32") return false;
  }
  return true;
}

template <typename Spec>
constexpr bool OptionsAreGood(const Spec& spec) {
  for (const auto& option : spec.options) {
    if (!IsFinite(option.low) || !IsFinite(option.high)) return false;
    if (!(option.low <= option.value && option.value <= option.high)) return false;
    if (option.kind > OptionKind::kText) return false;
    if ((option.kind == OptionKind::kWord) == option.words.empty()) return false;
    if (option.required && option.kind != OptionKind::kPath) return false;
  }
  return true;
}

template <typename Score>
constexpr bool ScoreIsGood(const Score& score) {
  const auto below = [](const std::optional<double>& low, const std::optional<double>& high, bool or_equal) {
    return !low || !high || *low < *high || (or_equal && *low == *high);
  };
  for (const std::optional<double>* value : {&score.chance, &score.low, &score.high}) {
    if (*value && !IsFinite(**value)) return false;
  }
  return below(score.low, score.high, false) && below(score.low, score.chance, true) &&
         below(score.chance, score.high, true);
}

template <typename Spec>
constexpr bool VariantNamesAreGood(const Spec& spec) {
  for (const auto& variant : spec.variants) {
    if (!IsName(variant.name) || variant.name == "default") return false;
  }
  return NamesDiffer(spec.variants);
}

// Those of tasks and options are older: what compiled with them is not refused now.
template <typename Spec>
constexpr bool VariantSummariesAreGood(const Spec& spec) {
  for (const auto& variant : spec.variants) {
    if (!IsShortLine(variant.summary)) return false;
  }
  return true;
}

template <typename T>
concept HasSpec = requires {
  { T::kSpec } -> std::convertible_to<const TaskSpec&>;
};

template <typename T>
concept HasConstexprSpec = HasSpec<T> && requires {
  typename std::bool_constant<(T::kSpec.name.size(), true)>;
};

// One line of our own for each mistake; several mistakes give several lines.
template <typename T, bool = HasConstexprSpec<T>>
struct CheckedSpec {
  static_assert(HasSpec<T>, "medley: a task class needs a public `static constexpr medley::TaskSpec kSpec`");
  static_assert(!HasSpec<T> || HasConstexprSpec<T>,
                "medley: kSpec must be constexpr, not only const or static");
  static constexpr bool kGood = false;
};

template <typename T>
struct CheckedSpec<T, true> {
  static constexpr const TaskSpec& kSpec = T::kSpec;
  static_assert(facts::FitsTheFormat<facts::LongList(kSpec)>::kSaid);
  static_assert(IsName(kSpec.name),
                "medley: a task's name must be 1 to 64 characters of a-z, 0-9, _ and -, the first a letter");
  static_assert(EveryVariant(kSpec, [](const auto& passes, const auto&) { return !passes.empty(); }),
                "medley: a task must make at least one pass (in every variant)");
  static_assert(EveryVariant(kSpec, [](const auto&, const auto& terms) { return !terms.empty(); }),
                "medley: a task must have at least one loss term (in every variant)");
  static_assert(
      EveryVariant(kSpec, [](const auto& p, const auto& t) { return NamesAreGood(p) && NamesAreGood(t); }),
      "medley: the name of a pass or term must be like a task's: a-z, 0-9, _ and -, the first a letter");
  static_assert(EveryVariant(kSpec, [](const auto& passes, const auto&) { return NamesDiffer(passes); }),
                "medley: two passes have the same name");
  static_assert(EveryVariant(kSpec, [](const auto&, const auto& terms) { return NamesDiffer(terms); }),
                "medley: two loss terms have the same name");
  static_assert(CarriesDiffer(kSpec),
                "medley: a carry is named twice; each is made by one pass of a variant, and stands in its "
                "carries once");
  static_assert(
      WidthsAreGood(kSpec),
      "medley: a text_width must be 0 or more, another size 1 or more (and neither \"text_width\" nor "
      "\"images\", which stand for themselves), max_items 1 or more, a weight a number of 0 or more");
  static_assert(VariantNamesAreGood(kSpec),
                "medley: variants need different names, none of them 'default' (that is the spec itself)");
  static_assert(
      VariantSummariesAreGood(kSpec),
      "medley: a variant's summary must be one line of at most 200 bytes, without control characters");
  static_assert(facts::TextsFit(kSpec), "medley: a text of a task spec is longer than 4096 bytes");
  static_assert(NamesAreGood(kSpec.constants) && NamesAreGood(kSpec.options),
                "medley: the name of a constant or option must be like a task's: a-z, 0-9, _ and -, the "
                "first a letter");
  static_assert(NamesDiffer(kSpec.constants), "medley: two constants have the same name");
  static_assert(NamesDiffer(kSpec.options), "medley: two options have the same name");
  static_assert(
      ConstantsAreGood(kSpec),
      "medley: a constant needs 1 or more rows, 1 or more in width, and dtype \"int64\" or \"float32\"");
  static_assert(
      OptionsAreGood(kSpec),
      "medley: an option's value must lie between its low and high, and a word needs a list of words");
  static_assert(ScoreIsGood(kSpec.score),
                "medley: a score's low must be below its high, and its chance between the two");
  // Can be written as JSON.
  static constexpr bool kGood = WidthsAreGood(kSpec) && OptionsAreGood(kSpec) && ScoreIsGood(kSpec.score);
};

}  // namespace medley::detail
