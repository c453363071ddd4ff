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

template <typename Names>
constexpr int CountOf(const Names& names, std::string_view name) {
  int count = 0;
  for (const auto& one : names) count += one == name;
  return count;
}

// How often a variant's passes name it as what they make.
template <typename Passes>
constexpr int MakersOf(const Passes& passes, std::string_view name) {
  int makers = 0;
  for (const auto& pass : passes) makers += CountOf(pass.carries, name) + CountOf(pass.keeps, name);
  return makers;
}

// A carry, with a gradient or without, has one maker: of two nobody could say which one a later pass reads.
template <typename Spec>
constexpr bool CarriesDiffer(const Spec& spec) {
  return EveryVariant(spec, [](const auto& passes, const auto&) {
    for (const auto& pass : passes) {
      for (const auto& carry : pass.carries) {
        if (MakersOf(passes, carry) > 1) return false;
      }
      for (const auto& kept : pass.keeps) {
        if (MakersOf(passes, kept) > 1) return false;
      }
    }
    return true;
  });
}

template <typename Spec>
constexpr bool GradientsCanFlow(const Spec& spec) {
  return EveryVariant(spec, [](const auto& passes, const auto&) {
    for (const auto& pass : passes) {
      if (!pass.HasGradient() && !pass.carries.empty()) return false;
    }
    return true;
  });
}

// What the spec alone can tell: some pass could.
template <typename Spec>
constexpr bool SomethingIsLearned(const Spec& spec) {
  return EveryVariant(spec, [](const auto& passes, const auto& terms) {
    bool learns = false, is_wanted = false;
    for (const auto& pass : passes) learns = learns || pass.HasGradient();
    for (const auto& term : terms) is_wanted = is_wanted || term.weight > 0;
    return learns || !is_wanted;
  });
}

template <typename Spec>
constexpr bool ReferencesAreNamed(const Spec& spec) {
  return EveryVariant(spec, [](const auto& passes, const auto&) {
    for (const auto& pass : passes) {
      if (!pass.reference.empty() && !IsName(pass.reference)) return false;
    }
    return true;
  });
}

// A size that an option says is named by an option of whole numbers of at least 1.
template <typename Spec>
constexpr bool SizesHaveOptions(const Spec& spec) {
  const auto is_size = [&spec](std::string_view name) {
    for (const auto& option : spec.options) {
      if (option.name == name) return option.kind == OptionKind::kNumber && option.low >= 1;
    }
    return name.empty();
  };
  return EveryVariant(spec, [&](const auto& passes, const auto& terms) {
    for (const auto& pass : passes) {
      if (!is_size(pass.text_width_of)) return false;
    }
    for (const auto& term : terms) {
      if (!is_size(term.max_items_of)) return false;
    }
    return true;
  });
}

// How many pictures a pass reads is said by an option that is 0 or more, and no more than they are.
template <typename Spec>
constexpr bool ImagesHaveOptions(const Spec& spec) {
  return EveryVariant(spec, [&spec](const auto& passes, const auto&) {
    for (const auto& pass : passes) {
      bool is_good = pass.images_of.empty();
      for (const auto& option : spec.options) {
        if (option.name != pass.images_of) continue;
        is_good = option.kind == OptionKind::kNumber && option.low >= 0 &&
                  option.high <= static_cast<double>(pass.images.size());
      }
      if (!is_good) return false;
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
                "carries or in its keeps, once");
  static_assert(
      GradientsCanFlow(kSpec),
      "medley: a pass without a gradient (.no_gradient, or of a .reference) carries something; name "
      "it in .keeps");
  static_assert(SomethingIsLearned(kSpec),
                "medley: nothing of a term would be learned: its weight is above 0, and no pass of its "
                "variant has a gradient");
  static_assert(ReferencesAreNamed(kSpec),
                "medley: the name of a reference must be like a task's: a-z, 0-9, _ and -, the first a "
                "letter");
  static_assert(SizesHaveOptions(kSpec),
                "medley: .text_width_of and .max_items_of name a number option of this spec whose low is 1 "
                "or more");
  static_assert(ImagesHaveOptions(kSpec),
                "medley: .images_of names a number option of this spec that is from 0 to as many as .images");
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
